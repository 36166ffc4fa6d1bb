package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// Limits of recording.
const (
	recordPage     = 500                    // outcomes in one unit of work
	recordPause    = 250 * time.Millisecond // after a failure of the store
	recordPatience = 30 * time.Second       // with a store that is away while the worker stops
)

// recorder notes outcomes in sets: while one set is being written, the next one gathers. A message may only be handed to a provider
// with a token, which comes back once the outcome is noted, so the tokens bound what a crash can repeat.
type recorder struct {
	queue    deliveries.Queue
	owner    string
	log      *slog.Logger
	tokens   chan struct{}
	outcomes chan noted
	closing  chan struct{}
}

// noted is an outcome on its way into the store.
type noted struct {
	deliveries.Outcome
	token bool // held until it is stored
}

func newRecorder(q deliveries.Queue, set WorkerSettings, log *slog.Logger) *recorder {
	return &recorder{queue: q, owner: set.Owner, log: log, tokens: make(chan struct{}, set.Unrecorded),
		outcomes: make(chan noted, recordPage), closing: make(chan struct{})}
}

// acquire takes a token; false when ctx ends first.
func (r *recorder) acquire(ctx context.Context) bool {
	select {
	case r.tokens <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// note hands over an outcome. With token set, the caller holds a token and gives it away.
func (r *recorder) note(o deliveries.Outcome, token bool) {
	r.outcomes <- noted{Outcome: o, token: token}
}

// close tells run that no outcome follows.
func (r *recorder) close() {
	close(r.closing)
	close(r.outcomes)
}

func (r *recorder) run() {
	page := make([]deliveries.Outcome, 0, recordPage)
	for first := range r.outcomes {
		page = append(page[:0], first.Outcome)
		tokens := count(first)
	gather:
		for len(page) < recordPage {
			select {
			case next, open := <-r.outcomes:
				if !open {
					break gather
				}
				page = append(page, next.Outcome)
				tokens += count(next)
			default:
				break gather
			}
		}
		r.store(page)
		for range tokens {
			<-r.tokens
		}
	}
}

func count(n noted) int {
	if n.token {
		return 1
	}
	return 0
}

// store notes a set and does not give up while the worker runs: to forget that a message was sent is to send it twice.
func (r *recorder) store(page []deliveries.Outcome) {
	var giveUp <-chan time.Time
	for {
		lost, err := r.queue.Record(context.Background(), r.owner, page)
		if err == nil {
			if lost > 0 {
				r.log.Warn("deliveries were taken over by another worker before their outcome was noted", "count", lost)
			}
			return
		}
		r.log.Error("outcomes could not be noted", "count", len(page), "error", err)
		select {
		case <-r.closing:
			if giveUp == nil {
				giveUp = time.After(recordPatience)
			}
		default:
		}
		select {
		case <-giveUp:
			r.log.Error("outcomes are lost, their messages will be sent again", "count", len(page))
			return
		case <-time.After(recordPause):
		}
	}
}
