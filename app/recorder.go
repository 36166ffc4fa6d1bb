package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// Limits of recording.
const (
	recordPage    = 500                    // outcomes in one unit of work
	recordPause   = 250 * time.Millisecond // after a failure of the store
	storePatience = 30 * time.Second       // with a store that is away while the worker stops
)

// recorder notes outcomes in sets: while one set is being written, the next one gathers. A message may only be handed to a provider
// with a token, which comes back once the outcome is noted, so the tokens bound what a crash can repeat.
type recorder struct {
	queue    deliveries.Queue
	owner    string
	clock    ports.Clock
	log      *slog.Logger
	again    func() // called when something has become due, now or later
	tokens   chan struct{}
	outcomes chan noted
	giveUp   time.Time // set when the worker stops while the store is away

	mu   sync.Mutex
	owed map[deliveries.ID]bool // those whose outcome is not stored yet
}

// noted is an outcome on its way into the store.
type noted struct {
	deliveries.Outcome
	token bool // held until it is stored
}

func newRecorder(q deliveries.Queue, set WorkerSettings, clock ports.Clock, log *slog.Logger, again func()) *recorder {
	return &recorder{queue: q, owner: set.Owner, clock: clock, log: log, again: again, tokens: make(chan struct{}, set.Unrecorded),
		outcomes: make(chan noted, recordPage), owed: map[deliveries.ID]bool{}}
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

// giveBack returns a token that was not needed.
func (r *recorder) giveBack() { <-r.tokens }

// note hands over an outcome. With token set, the caller holds a token and gives it away.
func (r *recorder) note(o deliveries.Outcome, token bool) {
	r.owe(o.ID)
	r.outcomes <- noted{Outcome: o, token: token}
}

// owe announces that an outcome will be noted.
func (r *recorder) owe(id deliveries.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owed[id] = true
}

// owes are the deliveries whose outcome is not stored yet.
func (r *recorder) owes() map[deliveries.ID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.owed)
}

// settled tells that outcomes are stored, or lost.
func (r *recorder) settled(page []deliveries.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range page {
		delete(r.owed, o.ID)
	}
}

// close tells run that no outcome follows.
func (r *recorder) close() { close(r.outcomes) }

// run notes outcomes until close. When ctx has ended, it bears with a store that is away for storePatience and no longer.
func (r *recorder) run(ctx context.Context) {
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
		r.store(ctx, page)
		r.settled(page)
		for range tokens {
			<-r.tokens
		}
		if slices.ContainsFunc(page, func(o deliveries.Outcome) bool { return o.State.Open() }) {
			r.again()
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
func (r *recorder) store(ctx context.Context, page []deliveries.Outcome) {
	for {
		lost, err := r.attempt(ctx, page)
		if err == nil {
			if lost > 0 {
				r.log.Warn("deliveries were taken over by another worker before their outcome was noted", "count", lost)
			}
			return
		}
		r.log.Error("outcomes could not be noted", "count", len(page), "error", err)
		now := r.clock.Now()
		if ctx.Err() != nil && r.giveUp.IsZero() {
			r.giveUp = now.Add(storePatience)
		}
		if !r.giveUp.IsZero() && !now.Before(r.giveUp) {
			r.log.Error("outcomes are lost, their messages will be sent again", "count", len(page))
			return
		}
		pause(context.WithoutCancel(ctx), recordPause, nil)
	}
}

func (r *recorder) attempt(ctx context.Context, page []deliveries.Outcome) (lost int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	return r.queue.Record(ctx, r.owner, page)
}
