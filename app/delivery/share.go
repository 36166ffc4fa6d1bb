package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/channels"
)

// Limits of sharing. The part of an instance that is gone is free when its lease ends.
const (
	shareLease    = 6 * time.Second
	shareInterval = 1500 * time.Millisecond
)

// share is the sender's lease on a part of the concurrent attempts. targets has the part itself.
type share struct {
	changed chan struct{} // receives when it may have changed

	mu    sync.Mutex
	lacks time.Time // since when it may run no attempt; zero: it has one
	stop  func()    // nil: it is not held
}

// holdShare holds a part of the concurrent attempts, if instances share them, until releaseShare.
func (s *sender) holdShare(ctx context.Context) {
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	if !s.limits.Shared || s.share.stop != nil {
		return
	}
	s.share.lacks = s.worker.clock.Now()
	// A share that is held when the worker stops is released after the running attempts.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var holding sync.WaitGroup
	holding.Go(func() {
		for ctx.Err() == nil {
			s.renewShare(ctx)
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
func (s *sender) renewShare(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, shareLease)
	defer cancel()
	asked := s.worker.clock.Now() // The store's lease ends no earlier.
	places := channels.Concurrency{Limit: s.limits.Concurrency, Held: s.targets.claimedAt(asked)}
	part, err := s.worker.queue.HoldShare(asking, s.ref.channel, s.worker.set.Owner, shareLease, places)
	switch {
	case err == nil:
		s.setConcurrency(part, asked)
		notify(s.share.changed)
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
	s.share.stop = nil
	s.share.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	notify(s.share.changed)
	s.targets.allow(0, time.Time{})
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	if err := s.worker.queue.ReleaseShare(leaving, s.ref.channel, s.worker.set.Owner); err != nil {
		s.worker.log.Warn("the share of a channel's limit could not be given back", "channel", int64(s.ref.channel), "error", err)
	}
}
