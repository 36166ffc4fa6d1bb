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
	divertPage  = 2_000
	divertPause = time.Second // between two looks for what came meanwhile
	divertLook  = time.Minute // the longest that what waits for others to be back is left alone
)

// pool is the pool of a sender's channel, as the sender knows it.
type pool struct {
	mu      sync.Mutex
	members []channels.Member
}

func (p *pool) know(members []channels.Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = members
}

// other chooses the member that takes a delivery of a channel over; 0: no other one works.
func (p *pool) other(than channels.ID, id deliveries.ID, now time.Time) channels.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return channels.Chosen(channels.Ranges(p.members, than, now), channels.Draw(int64(id), int64(id)))
}

// rests is how soon another member may be back, of those that are active; false: none is.
func (p *pool) rests(than channels.ID, now time.Time) (wait time.Duration, some bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait = divertLook
	for _, m := range p.members {
		if m.ID != than && m.Active {
			wait, some = min(wait, max(m.Until.Sub(now), m.UsedUp.Sub(now))), true
		}
	}
	return max(wait, divertPause), some
}

// offers are what the others may take over, as far as they have room.
func (p *pool) offers(rooms channels.Rooms, from channels.ID, now time.Time) []channels.Offer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return rooms.Offers(p.members, from, now)
}

// size is how many channels may take a delivery.
func (p *pool) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.members)
}

// learn reads who is in the pool, and how they are.
func (s *sender) learn(ctx context.Context) error {
	if s.config.Pool == "" && !s.gone {
		s.pool.know(nil)
		return nil
	}
	members, err := s.worker.queue.Pool(ctx, s.at.organization, s.at.channel)
	if err == nil {
		s.pool.know(members)
	}
	return err
}

// passedOn is the outcome of a delivery that was not tried, with which another member of the pool
// takes it over at once. It stays where none works, and where its provider may have it already.
func (s *sender) passedOn(j deliveries.Job, o deliveries.Outcome, why channels.Why) deliveries.Outcome {
	now := s.worker.clock.Now()
	if to := s.pool.other(s.at.channel, j.ID, now); to != 0 && !j.Unsure {
		o.To, o.Why, o.Next = to, why, now
	}
	return o
}

// failedOver is the outcome of an attempt that failed. Where that was the channel's fault, another
// member of the pool takes the delivery over: each has it once at once, and from then on after the
// pauses of failed attempts. A provider that may have taken it gets a second attempt first.
func (s *sender) failedOver(j deliveries.Job, o deliveries.Outcome, f *deliveries.Failure) deliveries.Outcome {
	if !f.Channel {
		return o
	}
	now := s.worker.clock.Now()
	to := s.pool.other(s.at.channel, j.ID, now)
	if o.Unsure = f.Unsure && (!j.Unsure || to == 0); o.Unsure || to == 0 {
		return o
	}
	o.To, o.Why = to, channels.NotWorking
	if f.RetryAfter > 0 {
		o.Why = channels.AtItsLimit
	}
	if o.Attempts < s.pool.size() {
		o.Next = now
	}
	return o
}

// restsBecause is why others take what waits for a channel that rests.
func (s *sender) restsBecause() channels.Why {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.worker.clock.Now(); s.breaker.forAll || now.Before(s.paused) || now.Before(s.usedUp) {
		return channels.AtItsLimit
	}
	return channels.NotWorking
}

// divert has the other members of the pool take what waits for a channel that rests or is inactive.
func (s *sender) divert(ctx context.Context) {
	if s.config.Pool == "" && !s.gone {
		return
	}
	why := s.restsBecause()
	if !s.config.Active {
		why = channels.OutOfUse
	}
	for ctx.Err() == nil {
		if !s.takeTurn(ctx) {
			return
		}
		moved, err := s.worker.queue.Divert(ctx, s.at.organization, s.at.channel, why, divertPage)
		s.worker.claiming.release(s.at)
		if err != nil {
			if ctx.Err() == nil {
				s.worker.log.Warn("the deliveries of a channel could not be given to others of its pool", "channel", int64(s.at.channel), "error", err)
			}
			return
		}
		if moved > 0 {
			notify(s.worker.claim)
			s.worker.log.Info("deliveries were given to others of the pool", "channel", int64(s.at.channel), "count", moved, "because", why.String())
		}
		if moved < divertPage {
			return
		}
	}
}

// patience is how long the sender of a channel that rests waits before it looks again.
func (s *sender) patience() time.Duration {
	if s.config.Pool != "" {
		return divertPause
	}
	return refreshInterval
}

// try waits for an attempt that shows whether the channel works. What comes meanwhile goes to
// others.
func (s *sender) try(ctx context.Context, attempt *sync.WaitGroup) {
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
