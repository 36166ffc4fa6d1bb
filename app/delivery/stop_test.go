package delivery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/clocks"
)

// logged runs a worker, stops it, and returns how long the stop took and what it logged.
func logged(t *testing.T, q *fakeQueue, d fakeDriver, set delivery.Settings, then func(w *delivery.Worker)) (took time.Duration, lines []map[string]any) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var log bytes.Buffer
	w := delivery.NewWorker(q, delivery.Drivers{d}, plainComposer{}, clocks.Wall{}, slog.New(slog.NewJSONHandler(&log, nil)), set)
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	then(w)
	stop()
	start := time.Now()
	running.Wait()
	took = time.Since(start)
	for line := range strings.Lines(log.String()) {
		var l map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		lines = append(lines, l)
	}
	return took, lines
}

// TestWorkerStopDeadline is about a store that is down from the first message on: the number of
// messages is logged once.
func TestWorkerStopDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(5_000, channels.Settings{channels.SettingConcurrency: 256})
		q.broken = errors.New("the database is away")
		set := settings()
		set.SendTimeout, set.Grace = 5*time.Second, 10*time.Second
		var left int
		took, lines := logged(t, q, fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}, set, func(w *delivery.Worker) {
			let(time.Minute)
			left = w.Unrecorded()
		})
		assert.LessOrEqual(t, took, set.SendTimeout+set.Grace+time.Second)
		assert.Greater(t, left, 100)
		var lost []any
		attempts := 0
		for _, l := range lines {
			switch l["msg"] {
			case "outcomes could not be recorded, their messages will be sent again":
				lost = append(lost, l["count"])
			case "outcomes cannot be recorded at the moment":
				attempts++
			}
		}
		assert.Equal(t, []any{float64(left)}, lost)
		assert.InDelta(t, 7, attempts, 2, "a line every ten seconds")
	})
}

func TestWorkerAbandonsAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		hangs := make(chan struct{})
		set := settings()
		set.SendTimeout = 5 * time.Second
		took, _ := logged(t, q, fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			<-hangs
			return nil
		}}, set, func(*delivery.Worker) { let(2 * time.Second) })
		assert.Less(t, took, 5*time.Second)
		row := q.row(1)
		require.Equal(t, deliveries.Retrying, row.state)
		assert.Equal(t, "the attempt did not end in time", row.outcome.Error)
		close(hangs)
	})
}

// TestLostLeases checks that no attempt begins at a delivery whose lease could not be renewed.
func TestLostLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1_000, nil)
		var mu sync.Mutex
		taken := map[string]bool{}
		var lost time.Time // when a renewal has shown it
		begun := 0
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			mu.Lock()
			if taken[m.ID] && time.Now().After(lost) {
				begun++
			}
			mu.Unlock()
			let(3 * time.Second)
			return nil
		}}
		set := settings()
		work(t, q, d, plainComposer{}, set, func() {
			let(set.Lease/3 - time.Second)
			q.set(func(q *fakeQueue) {
				mu.Lock()
				defer mu.Unlock()
				for id, r := range q.rows {
					if r.state.Open() { // Another instance has claimed and sent them.
						r.state, r.owner = deliveries.Sent, ""
						taken[string(rune(id))] = true
					}
				}
				lost = time.Now().Add(2 * time.Second)
			})
			let(2 * time.Minute)
		})
		assert.Greater(t, len(taken), 100)
		assert.Zero(t, begun)
	})
}
