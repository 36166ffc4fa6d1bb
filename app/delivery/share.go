package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/channels"
)

// Limits of sharing. An instance that is gone gives its part back when its lease ends; one that
// comes waits until the others have renewed theirs.
const (
	shareLease    = 6 * time.Second
	shareInterval = 1500 * time.Millisecond
	// slotCatchUp is how much later than it might a message may leave without slowing the others.
	slotCatchUp = 10 * time.Millisecond
)

// share is the part of the channel's limits that a sender has while it sends: of the rate, and of
// the attempts at once, which are targets'.
type share struct {
	changed chan struct{} // receives when it may be another one

	mu    sync.Mutex
	rate  float64   // messages a second; 0: none yet
	until time.Time // it ends then, if it is not renewed
	lacks time.Time // since when it has no place; zero: it has
	stop  func()    // nil: it is not held
}

// perSecond is how many messages may leave in a second; 0: none for now.
func (p *share) perSecond(now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !now.Before(p.until) {
		return 0
	}
	return p.rate
}

func (p *share) set(rate float64, until time.Time) {
	p.mu.Lock()
	p.rate, p.until = rate, until
	p.mu.Unlock()
	notify(p.changed)
}

// holdShare holds a part of the channel's limits, if there are any, until letShareGo.
func (s *sender) holdShare(ctx context.Context) {
	limit := s.limits.PerSecond
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	if limit <= 0 && !s.limits.Shared || s.share.stop != nil {
		return
	}
	s.share.lacks = s.worker.clock.Now()
	// What is held when the worker stops is given back after the attempts that are under way.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var holding sync.WaitGroup
	holding.Go(func() {
		for ctx.Err() == nil {
			s.renewShare(ctx, limit)
			pace.Pause(ctx, shareInterval, nil)
		}
	})
	s.share.stop = func() {
		cancel()
		holding.Wait()
	}
}

// renewShare holds the part for another lease. What the store does not answer about ends with the
// last one.
func (s *sender) renewShare(ctx context.Context, limit float64) {
	asking, cancel := context.WithTimeout(ctx, shareLease)
	defer cancel()
	asked := s.worker.clock.Now() // The store's lease ends no earlier.
	var places channels.Places
	if s.limits.Shared {
		places = channels.Places{All: s.limits.Concurrency, Held: s.targets.held(asked)}
	}
	part, err := s.worker.queue.Share(asking, s.at.channel, s.worker.set.Owner, shareLease, places)
	switch {
	case err == nil:
		if s.limits.Shared {
			s.givePlaces(part.Places, asked)
		}
		s.share.set(part.Of(limit), asked.Add(shareLease))
	case ctx.Err() == nil:
		s.worker.log.Warn("the share of a channel's limit could not be renewed", "channel", int64(s.at.channel), "error", err)
	}
}

// givePlaces gives the sender so many of the places that instances share.
func (s *sender) givePlaces(n int, asked time.Time) {
	s.targets.allow(n, asked.Add(shareLease))
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	switch {
	case n > 0:
		s.share.lacks = time.Time{}
	case s.share.lacks.IsZero():
		s.share.lacks = asked
	}
}

// awaitPlaces holds a part of the places that instances share, if they do. It reports whether the
// sender has some, and whether it is worth waiting for them: where there are fewer places than
// instances, who came last gets none.
func (s *sender) awaitPlaces(ctx context.Context) (has, worth bool) {
	if !s.limits.Shared {
		return true, true
	}
	s.holdShare(ctx)
	s.share.mu.Lock()
	lacks := s.share.lacks
	s.share.mu.Unlock()
	if lacks.IsZero() {
		return true, true
	}
	return false, s.worker.clock.Now().Sub(lacks) < shareLease
}

// letShareGo gives the part back to the others.
func (s *sender) letShareGo(ctx context.Context) {
	s.share.mu.Lock()
	stop := s.share.stop
	s.share.stop, s.share.rate, s.share.until = nil, 0, time.Time{}
	s.share.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	s.share.set(0, time.Time{})
	if s.limits.Shared {
		s.targets.allow(0, time.Time{})
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	if err := s.worker.queue.Unshare(leaving, s.at.channel, s.worker.set.Owner); err != nil {
		s.worker.log.Warn("the share of a channel's limit could not be given back", "channel", int64(s.at.channel), "error", err)
	}
}

// takeSlot waits until the channel's rate limit lets a message go. It reports false when ctx ends
// first.
func (s *sender) takeSlot(ctx context.Context) bool {
	if s.limits.PerSecond <= 0 {
		return true
	}
	for ctx.Err() == nil {
		now := s.worker.clock.Now()
		rate := s.share.perSecond(now)
		if rate <= 0 {
			s.isHeldUp(now)
			pace.Pause(ctx, shareInterval, s.share.changed)
			continue
		}
		s.mu.Lock()
		if late := now.Add(-slotCatchUp); s.slot.Before(late) {
			s.slot = late
		}
		wait := s.slot.Sub(now)
		if wait <= 0 {
			s.slot = s.slot.Add(time.Duration(float64(time.Second) / rate))
			s.mu.Unlock()
			return true
		}
		s.mu.Unlock()
		s.isHeldUp(now)
		// Another one may take it, and others may have come that want a part.
		pace.Pause(ctx, min(wait, shareInterval), nil)
	}
	return false
}
