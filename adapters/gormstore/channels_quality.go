package gormstore

import (
	"maps"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/ports"
)

// qualities are this instance's recent results by channel.
type qualities struct {
	clock ports.Clock
	mu    sync.Mutex
	known map[channels.ID]channels.Quality
	swept time.Time // when expired ones were last removed
}

func newQualities(clock ports.Clock) *qualities {
	return &qualities{clock: clock, known: map[channels.ID]channels.Quality{}}
}

func (q *qualities) record(id channels.ID, fault bool, took time.Duration) {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known[id] = q.known[id].With(fault, took, now)
	if now.Sub(q.swept) > channels.QualityExpiry {
		maps.DeleteFunc(q.known, func(_ channels.ID, had channels.Quality) bool { return now.Sub(had.At) > channels.QualityExpiry })
		q.swept = now
	}
}

// of returns the quality of a channel; the zero value if it is unknown.
func (q *qualities) of(id channels.ID) channels.Quality {
	if q == nil {
		return channels.Quality{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.known[id]
}

func (q queue) RecordAnswer(id channels.ID, fault bool, took time.Duration) {
	q.store.qualities.record(id, fault, took)
}

// withQualities returns the unit with the recent results of channels.
func (s *Store) withQualities(t tx) tx {
	t.qualities = s.qualities
	return t
}
