package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// claims are the deliveries that a sender has claimed and not finished. Their leases are renewed
// while they are held.
type claims struct {
	worker *Worker
	empty  chan struct{} // receives when the last one is finished
	fewer  chan struct{} // receives when one is finished, or its attempt begins
	mu     sync.Mutex
	jobs   map[deliveries.ID]claimedJob
}

type claimedJob struct {
	deliveries.Job
	until time.Time // the end of the lease
	trace string    // the traceparent of the claim; empty: none
	begun bool      // its attempt is under way
}

// newClaims returns claims that belong to the worker until they are released.
func newClaims(w *Worker) *claims {
	c := &claims{worker: w, empty: make(chan struct{}, 1), fewer: make(chan struct{}, 1), jobs: map[deliveries.ID]claimedJob{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held[c] = true
	return c
}

// claim claims deliveries and returns those to send.
//
// While the store is down leases end. So a claim may return deliveries that are still held, whose
// lease then starts again, and deliveries that were sent but not recorded yet, which must not be
// sent again.
//
// A claim that has begun is not cut short when the worker stops. Otherwise the deliveries that it
// took would stay locked until the lease ends, instead of being released.
func (c *claims) claim(ctx context.Context, channel channels.ID, limit int) ([]deliveries.Job, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	// Read the held deliveries before the claim, because all of them may be recorded meanwhile, and
	// before the unrecorded ones, because they become these.
	held, unrecorded := c.ids(), c.worker.records.beginClaim()
	until := c.worker.clock.Now().Add(c.worker.set.Lease) // Counted from before the claim: the store's lease ends no earlier.
	ctx, span := c.worker.set.Tracer.Begin(ctx, ports.SpanStart{Name: "claim", Held: true})
	claimed, err := c.worker.queue.Claim(ctx, channel, c.worker.set.Owner, limit, c.worker.set.Lease)
	if err != nil || len(claimed) > 0 { // The span belongs to no organization: a claim takes messages of many.
		span.Number("tocsin.channel", int64(channel))
		span.Number("tocsin.deliveries", int64(len(claimed)))
		span.Release("")
	}
	span.End(err != nil)
	c.worker.occurrences.take(claimed)
	known := c.worker.records.endClaim(unrecorded)
	for _, id := range held {
		known[id] = true
	}
	fresh, done := c.classify(claimed, known, until, span.Traceparent())
	for _, j := range done {
		c.worker.records.giveBack(j)
	}
	return fresh, err
}

// classify adds deliveries that were unknown before the claim to the claims, and returns them as
// fresh. It returns as done those that were known before and are no longer held.
func (c *claims) classify(claimed []deliveries.Job, known map[deliveries.ID]bool, until time.Time, trace string) (fresh, done []deliveries.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh = make([]deliveries.Job, 0, len(claimed))
	for _, j := range claimed {
		had, held := c.jobs[j.ID]
		switch {
		case !held && known[j.ID]:
			done = append(done, j)
			continue
		case !held:
			fresh = append(fresh, j)
		}
		c.jobs[j.ID] = claimedJob{j, until, trace, had.begun}
	}
	return fresh, done
}

// wait waits until there may be something to claim, and no longer than longest. It reports false
// when nothing is held any more, or when ctx ends.
func (c *claims) wait(ctx context.Context, notified <-chan struct{}, longest time.Duration) bool {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	for len(c.ids()) > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-notified:
			return true
		case <-timer.C:
			return true
		case <-c.empty: // Or it was empty before the last claim.
		}
	}
	return false
}

// waitFewer waits until fewer deliveries wait for their attempt or something urgent is due, no
// longer than longest, or until ctx ends. It reports whether something urgent is due.
func (c *claims) waitFewer(ctx context.Context, urgent <-chan struct{}, longest time.Duration) bool {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-urgent:
		return true
	case <-c.fewer:
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// begin records that the attempt at a delivery has begun.
func (c *claims) begin(id deliveries.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j, held := c.jobs[id]; held {
		j.begun = true
		c.jobs[id] = j
		notify(c.fewer)
	}
}

// waiting returns how many held deliveries have no attempt yet.
func (c *claims) waiting() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.jobs {
		if !j.begun {
			n++
		}
	}
	return n
}

// holds reports whether a delivery stays claimed for as long as an attempt may take. The wall clock
// counts, too: the monotonic one stands still while the machine is suspended.
func (c *claims) holds(id deliveries.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	spare := min(c.worker.set.SendTimeout, c.worker.set.Lease/2)
	end, until := c.worker.clock.Now().Add(spare), c.jobs[id].until
	return end.Before(until) && end.Round(0).Before(until.Round(0))
}

// trace returns the traceparent of the claim of a delivery, or "" if there is none.
func (c *claims) trace(id deliveries.ID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jobs[id].trace
}

// finish records the outcome of a delivery, with the slot of its attempt if there was one, and
// drops it.
func (c *claims) finish(o deliveries.Outcome, at *channelRef) {
	c.mu.Lock()
	c.worker.records.expect(o.ID) // So it is known at every moment.
	c.drop(o.ID)
	c.mu.Unlock()
	c.worker.records.record(o, at)
}

func (c *claims) drop(id deliveries.ID) {
	delete(c.jobs, id)
	notify(c.fewer)
	if len(c.jobs) == 0 {
		notify(c.empty)
	}
}

// addOccurrences adds the occurrences of the held deliveries to all.
func (c *claims) addOccurrences(all map[events.OccurrenceID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.jobs {
		all[j.Occurrence] = true
	}
}

// release gives back the deliveries that were not begun.
func (c *claims) release() {
	c.worker.mu.Lock()
	delete(c.worker.held, c)
	c.worker.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.worker.clock.Now()
	for _, j := range c.jobs {
		c.worker.records.record(postponedUntried(j.Job, now), nil)
	}
	clear(c.jobs)
}

// keepLeases renews the leases until the returned function is called.
func (c *claims) keepLeases(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // Held deliveries stay held when the worker stops.
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(c.worker.set.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := c.renew(ctx); err != nil && ctx.Err() == nil {
					c.worker.log.Warn("leases could not be renewed", "error", err)
				}
			}
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

// renew renews the leases of the deliveries that the store still assigns to this worker. Others of
// them have lost theirs: an attempt that has not begun will not begin.
func (c *claims) renew(ctx context.Context) error {
	until := c.worker.clock.Now().Add(c.worker.set.Lease)
	asked := c.ids()
	renewed, err := c.worker.queue.Renew(ctx, c.worker.set.Owner, asked, c.worker.set.Lease)
	if err != nil {
		return err
	}
	ends := make(map[deliveries.ID]time.Time, len(asked)) // the zero time: lost
	for _, id := range asked {
		ends[id] = time.Time{}
	}
	for _, id := range renewed {
		ends[id] = until
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, end := range ends {
		if j, held := c.jobs[id]; held {
			j.until = end
			c.jobs[id] = j
		}
	}
	return nil
}

func (c *claims) ids() []deliveries.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]deliveries.ID, 0, len(c.jobs))
	for id := range c.jobs {
		ids = append(ids, id)
	}
	return ids
}
