package app

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// hold is the deliveries that a lane has claimed and not finished. Their lease is renewed as long as they are held.
type hold struct {
	worker   *Worker
	empty    chan struct{} // receives when the last one is finished
	finished chan struct{} // receives when one is
	mu       sync.Mutex
	jobs     map[deliveries.ID]heldJob
}

type heldJob struct {
	deliveries.Job
	until time.Time // the lease
}

func newHold(w *Worker) *hold {
	return &hold{worker: w, empty: make(chan struct{}, 1), finished: make(chan struct{}, 1), jobs: map[deliveries.ID]heldJob{}}
}

// claim claims deliveries and returns those that are to be sent. When the store was away, leases end of what is held already, whose
// lease then begins anew, and of what was sent and is yet to be noted: to send that would be to send it twice.
//
// A claim that has begun is not cut short when the worker stops: what it took would be held by nobody until the lease ends, instead of
// being given back.
func (h *hold) claim(ctx context.Context, channel channels.ID, limit int) ([]deliveries.Job, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	// From before the claim, during which all of it may be noted; what is held first, because it becomes what is owed.
	held := h.held()
	known := h.worker.records.owes()
	for _, id := range held {
		known[id] = true
	}
	until := h.worker.clock.Now().Add(h.worker.set.Lease) // Counted from before the claim: the store's own lease ends no earlier.
	claimed, err := h.worker.queue.Claim(ctx, channel, h.worker.set.Owner, limit, h.worker.set.Lease)
	fresh, passed := h.sort(claimed, known, until)
	owed := h.worker.records.owes()
	for _, j := range passed {
		if !owed[j.ID] {
			h.worker.records.note(untried(j, h.worker.clock.Now()), false)
		}
	}
	return fresh, err
}

// sort takes hold of what was not known before a claim, and returns it. What is passed over is known and not held any more.
func (h *hold) sort(claimed []deliveries.Job, known map[deliveries.ID]bool, until time.Time) (fresh, passed []deliveries.Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh = make([]deliveries.Job, 0, len(claimed))
	for _, j := range claimed {
		_, held := h.jobs[j.ID]
		switch {
		case !held && known[j.ID]:
			passed = append(passed, j)
			continue
		case !held:
			fresh = append(fresh, j)
		}
		h.jobs[j.ID] = heldJob{j, until}
	}
	return fresh, passed
}

// wait waits until there may be something to claim; false when nothing is held any more, or ctx ends.
func (h *hold) wait(ctx context.Context, woken <-chan struct{}) bool {
	for len(h.held()) > 0 {
		timer := time.NewTimer(laneRefresh)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-woken:
			timer.Stop()
			return true
		case <-timer.C:
			return true
		case <-h.empty: // Or it was, before the last claim.
			timer.Stop()
		}
	}
	return false
}

// waitFinished waits until one is finished, a moment at most, or ctx ends.
func (h *hold) waitFinished(ctx context.Context) { pause(ctx, laneRefresh, h.finished) }

// holds tells whether a delivery is still ours for as long as an attempt may take. If not, the hold lets go of it.
func (h *hold) holds(id deliveries.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	spare := min(h.worker.set.SendTimeout, h.worker.set.Lease/2)
	if h.worker.clock.Now().Add(spare).Before(h.jobs[id].until) {
		return true
	}
	h.forget(id)
	return false
}

func (h *hold) finish(o deliveries.Outcome, token bool) {
	h.mu.Lock()
	h.worker.records.owe(o.ID) // It is known all the time.
	h.forget(o.ID)
	h.mu.Unlock()
	h.worker.records.note(o, token)
}

func (h *hold) forget(id deliveries.ID) {
	delete(h.jobs, id)
	nudge(h.finished)
	if len(h.jobs) == 0 {
		nudge(h.empty)
	}
}

// release gives back what was not begun.
func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.worker.clock.Now()
	for _, j := range h.jobs {
		h.worker.records.note(untried(j.Job, now), false)
	}
	clear(h.jobs)
}

// keep renews the lease of what is held until the returned function is called.
func (h *hold) keep(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // What is held when the worker stops is still held.
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(h.worker.set.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := h.renew(ctx); err != nil && ctx.Err() == nil {
					h.worker.log.Warn("leases could not be renewed", "error", err)
				}
			}
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

// renew renews the lease of what is held, as far as the store says that it still is.
func (h *hold) renew(ctx context.Context) error {
	until := h.worker.clock.Now().Add(h.worker.set.Lease)
	renewed, err := h.worker.queue.Renew(ctx, h.worker.set.Owner, h.held(), h.worker.set.Lease)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range renewed {
		if j, held := h.jobs[id]; held {
			j.until = until
			h.jobs[id] = j
		}
	}
	return nil
}

func (h *hold) held() []deliveries.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]deliveries.ID, 0, len(h.jobs))
	for id := range h.jobs {
		ids = append(ids, id)
	}
	return ids
}
