package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Limits of diverting.
const (
	divertPage    = 2_000
	divertPause   = time.Second // between two checks for new deliveries
	divertMaxWait = time.Minute // the longest wait between two checks of deliveries that no member can take
)

// pool is the pool of a sender's channel, as the sender last read it.
type pool struct {
	mu      sync.Mutex
	members []channels.Member
}

func (p *pool) set(members []channels.Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = members
}

// foreign reports whether the channel of a delivery's assignment is not in the pool. The caller
// holds mu.
func (p *pool) foreign(j deliveries.Job) bool {
	return j.Named != 0 && len(p.members) > 0 && !channels.Contains(p.members, j.Named)
}

// successor chooses the member that takes over a delivery of a channel; 0: no other member works.
// A foreign delivery returns to the channel of its assignment.
func (p *pool) successor(from channels.ID, j deliveries.Job, now time.Time) channels.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.foreign(j) {
		return j.Assigned
	}
	return channels.Successor(p.members, from, j.FailedAt, int64(j.ID), now)
}

// nextReturn returns how soon another active member that may take over a delivery may be back. It
// reports false when no such member is active.
func (p *pool) nextReturn(than channels.ID, j deliveries.Job, now time.Time) (wait time.Duration, some bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait = divertMaxWait
	if p.foreign(j) {
		return wait, false
	}
	for _, m := range p.members {
		if m.ID != than && m.Active {
			wait, some = min(wait, max(m.Until.Sub(now), m.UsedUp.Sub(now))), true
		}
	}
	return max(wait, divertPause), some
}

// offers returns what the other members may take over, within their capacity.
func (p *pool) offers(rooms channels.Capacities, from channels.ID, now time.Time) []channels.Offer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return rooms.Offers(p.members, from, now)
}

// size returns how many channels may take a delivery.
func (p *pool) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.members)
}

// loadPool reads the members of the pool and their health.
func (s *sender) loadPool(ctx context.Context) error {
	if s.config.Pool == "" && !s.gone {
		s.pool.set(nil)
		return nil
	}
	members, err := s.worker.queue.Pool(ctx, s.ref.organization, s.ref.channel)
	if err == nil {
		s.pool.set(members)
	}
	return err
}

// handOver is the outcome of a delivery that was not tried and that another member of the pool
// takes over at once. It stays if no other member works, or if its provider may already have it.
func (s *sender) handOver(j deliveries.Job, o deliveries.Outcome, why channels.PoolReason) deliveries.Outcome {
	now := s.worker.clock.Now()
	if to := s.pool.successor(s.ref.channel, j, now); to != 0 && !j.MaybeAccepted {
		o.To, o.Why, o.Next = to, why, now
	}
	return o
}

// failOver is the outcome of a failed attempt. If the channel failed, another member of the pool
// takes the delivery over: each member gets it once without a pause, and then with the pauses of
// retries. A provider that may already have it gets a second attempt first.
func (s *sender) failOver(j deliveries.Job, o deliveries.Outcome, f *deliveries.Failure) deliveries.Outcome {
	if !f.Channel {
		return o
	}
	now := s.worker.clock.Now()
	to := s.pool.successor(s.ref.channel, j, now)
	if o.MaybeAccepted = f.MaybeAccepted && (!j.MaybeAccepted || to == 0); o.MaybeAccepted || to == 0 {
		return o
	}
	o.To, o.Why = to, channels.NotWorking
	if f.RetryAfter > 0 {
		o.Why = channels.LimitReached
	}
	if o.Attempts < s.pool.size() {
		o.Next = now
	}
	return o
}

// divert moves the deliveries of a paused or inactive channel to other members of the pool. After a
// failure of the store it waits until the outcomes are stored: the leases of these deliveries may
// have ended.
func (s *sender) divert(ctx context.Context) {
	if s.config.Pool == "" && !s.gone || s.worker.records.behind() || s.worker.set.Paused() {
		return
	}
	why := s.pauseReason()
	if !s.config.Active {
		why = channels.Deactivated
	}
	for ctx.Err() == nil {
		if !s.takeTurn(ctx) {
			return
		}
		moved, err := s.worker.queue.Divert(ctx, s.ref.organization, s.ref.channel, why, divertPage)
		s.worker.claiming.release(s.ref)
		if err != nil {
			if ctx.Err() == nil {
				s.worker.log.Warn("the deliveries of a channel could not be given to others of its pool", "channel", int64(s.ref.channel), "error", err)
			}
			return
		}
		if moved > 0 {
			notify(s.worker.claim)
			s.worker.log.Info("deliveries were given to others of the pool", "channel", int64(s.ref.channel), "count", moved, "because", why.String())
		}
		if moved < divertPage {
			return
		}
	}
}

// recheckInterval returns how long the sender of a paused channel waits before it checks again.
func (s *sender) recheckInterval() time.Duration {
	if s.config.Pool != "" {
		return divertPause
	}
	return refreshInterval
}

// awaitTrial waits for an attempt that shows whether the channel works. New deliveries go to other
// members meanwhile.
func (s *sender) awaitTrial(ctx context.Context, attempt *sync.WaitGroup) {
	over := make(chan struct{})
	go func() {
		attempt.Wait()
		close(over)
	}()
	look := time.NewTicker(divertPause)
	defer look.Stop()
	for {
		select {
		case <-over:
			return
		case <-look.C:
			s.divert(ctx)
		}
	}
}
