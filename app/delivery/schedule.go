package delivery

import (
	"context"
	"maps"
	"slices"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// Limits of scheduled work.
const (
	schedulePage  = 2_000 // rows in one unit of work
	cancelledPage = 1_000 // occurrences that are asked about at once
)

// scheduleLoop begins scheduled occurrences, ends those that were cancelled or have expired, and
// remembers the cancelled ones of which the worker holds deliveries.
func (w *Worker) scheduleLoop(ctx context.Context, loop *watchdog.Loop) {
	for ctx.Err() == nil {
		loop.Tick()
		n, err := w.schedule(ctx)
		loop.Result(ctx, "scheduled occurrences could not be started", err)
		if n > 0 {
			w.notifyExpanders()
			continue
		}
		loop.Pause(w.set.Poll)
		pace.Pause(ctx, w.set.Poll, nil)
	}
}

// schedule leaves the occurrences alone after a failure of the store, until outcomes are stored:
// deliveries of ended ones may have been sent.
func (w *Worker) schedule(ctx context.Context) (n int, err error) {
	if !w.records.behind() {
		if n, err = w.queue.Schedule(ctx, schedulePage); err != nil {
			return 0, err
		}
	}
	cancelled := map[events.OccurrenceID]bool{}
	for held := range slices.Chunk(w.heldOccurrences(), cancelledPage) {
		ids, err := w.queue.Cancelled(ctx, held)
		if err != nil {
			return 0, err
		}
		for _, id := range ids {
			cancelled[id] = true
		}
	}
	w.cancelled.Store(&cancelled)
	return n, nil
}

// heldOccurrences returns the occurrences of the deliveries that the senders hold.
func (w *Worker) heldOccurrences() []events.OccurrenceID {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := map[events.OccurrenceID]bool{}
	for c := range w.held {
		c.addOccurrences(held)
	}
	return slices.Collect(maps.Keys(held))
}

// ended returns the outcome of a claimed delivery that must not be sent now, because its occurrence
// was cancelled or seems to have expired. Then it is given back, and the next claim decides by the
// database's clock: this machine's clock may have jumped.
func (w *Worker) ended(j deliveries.Job) (out deliveries.Outcome, ended bool) {
	if cancelled := w.cancelled.Load(); cancelled != nil && (*cancelled)[j.Occurrence] {
		return skipped(j, deliveries.Cancelled), true
	}
	if !j.Expires.IsZero() && !w.storeNow().Before(j.Expires) {
		return w.untilPoll(j), true
	}
	return deliveries.Outcome{}, false
}
