package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/channels"
)

// Limits of sharing. The part of an instance that is gone is free when its lease ends; a new
// instance waits until the others have renewed theirs.
const (
	shareLease    = 6 * time.Second
	shareInterval = 1500 * time.Millisecond
	// slotCatchUp is how late a message may leave without slowing those behind it.
	slotCatchUp = 10 * time.Millisecond
)

// share is the sender's part of the channel's rate limit. targets has its part of the concurrent
// attempts.
type share struct {
	changed chan struct{} // receives when it may have changed

	mu    sync.Mutex
	rate  float64   // messages a second; 0: none yet
	until time.Time // the end of the lease
	lacks time.Time // since when it may run no attempt; zero: it has one
	stop  func()    // nil: it is not held
}

// perSecond returns how many messages may leave in a second; 0: none for now.
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

// holdShare holds a part of the channel's limits, if there are any, until releaseShare.
func (s *sender) holdShare(ctx context.Context) {
	limit := s.limits.PerSecond
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	if limit <= 0 && !s.limits.Shared || s.share.stop != nil {
		return
	}
	s.share.lacks = s.worker.clock.Now()
	// A share that is held when the worker stops is released after the running attempts.
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

// renewShare renews the part for another lease. When the store does not answer, the part ends with
// the last lease.
func (s *sender) renewShare(ctx context.Context, limit float64) {
	asking, cancel := context.WithTimeout(ctx, shareLease)
	defer cancel()
	asked := s.worker.clock.Now() // The store's lease ends no earlier.
	var places channels.Concurrency
	if s.limits.Shared {
		places = channels.Concurrency{Limit: s.limits.Concurrency, Held: s.targets.claimedAt(asked)}
	}
	part, err := s.worker.queue.HoldShare(asking, s.ref.channel, s.worker.set.Owner, shareLease, places)
	switch {
	case err == nil:
		if s.limits.Shared {
			s.setConcurrency(part.Concurrency, asked)
		}
		s.share.set(part.Of(limit), asked.Add(shareLease))
	case ctx.Err() == nil:
		s.worker.log.Warn("the share of a channel's limit could not be renewed", "channel", int64(s.ref.channel), "error", err)
	}
}

// setConcurrency sets how many concurrent attempts the sender may have.
func (s *sender) setConcurrency(n int, asked time.Time) {
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

// awaitShare holds a part of the concurrent attempts, if instances share them. It reports whether
// the sender has some, and whether it is worth waiting for them: if there are fewer attempts than
// instances, the last one gets none.
func (s *sender) awaitShare(ctx context.Context) (has, worth bool) {
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

// releaseShare gives the part back to the others.
func (s *sender) releaseShare(ctx context.Context) {
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
	if err := s.worker.queue.ReleaseShare(leaving, s.ref.channel, s.worker.set.Owner); err != nil {
		s.worker.log.Warn("the share of a channel's limit could not be given back", "channel", int64(s.ref.channel), "error", err)
	}
}

// slotIn returns how long the rate limit lets no message go.
func (s *sender) slotIn(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nextSlot.Sub(now)
}

// waitForRate waits until the channel's rate limit lets a message go. It reports false when ctx
// ends first.
func (s *sender) waitForRate(ctx context.Context) bool {
	if s.limits.PerSecond <= 0 {
		return true
	}
	for ctx.Err() == nil {
		now := s.worker.clock.Now()
		rate := s.share.perSecond(now)
		if rate <= 0 {
			s.noteThrottled(now)
			pace.Pause(ctx, shareInterval, s.share.changed)
			continue
		}
		s.mu.Lock()
		if late := now.Add(-slotCatchUp); s.nextSlot.Before(late) {
			s.nextSlot = late
		}
		wait := s.nextSlot.Sub(now)
		if wait <= 0 {
			s.nextSlot = s.nextSlot.Add(time.Duration(float64(time.Second) / rate))
			s.mu.Unlock()
			return true
		}
		s.mu.Unlock()
		s.noteThrottled(now)
		// Another message may take the slot, and new instances may need a part.
		pace.Pause(ctx, min(wait, shareInterval), nil)
	}
	return false
}
