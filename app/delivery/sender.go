package delivery

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// Limits of a sender.
const (
	senderIdle      = time.Minute     // a sender without work ends, and closes its connections
	refreshInterval = 2 * time.Second // how long a channel's settings and the render cache are valid
	renewInterval   = time.Second     // the age from which an idle sender renews them
	claimFactor     = 8               // deliveries claimed at once, per concurrent attempt
	claimMin        = 64
	claimMax        = 512
	claimUrgent     = 16 // deliveries claimed at once when something urgent is due
	urgentAhead     = 3  // it is claimed while no more than this multiple of the largest claim waits
	claimFew        = 4  // if a claim finds no more, nothing else is due
)

// sender sends the deliveries of one channel: it claims due deliveries, keeps the channel's limits
// and pauses while its provider is down. Each channel has its own sender, so that a slow channel
// does not hold up another one.
type sender struct {
	worker   *Worker
	ref      channelRef // the channel, and its organization
	notified chan struct{}
	urgent   chan struct{} // receives when something urgent is due
	cache    *renderCache

	// Only the goroutine of run uses these.
	loop    *watchdog.Loop
	checked time.Time // when config was read
	config  channels.Channel
	sealed  string // why config has no settings: they cannot be decrypted
	gone    bool   // the channel was deleted
	stale   bool   // config is newer than the dispatcher
	other   bool   // with more than new limits
	rate    attemptRate

	// reopen sets these while no attempt runs. Attempts read them.
	limits     channels.Limits
	dispatcher deliveries.Dispatcher
	protocol   channels.Protocol
	targets    *targets // with a lock of its own

	// These have locks of their own.
	pool  pool
	share share
	slots rateSlots
	quota quota

	begun      atomic.Int64        // attempts since the rate was last measured
	started    atomic.Int64        // attempts since the start
	throttled  atomic.Int64        // when a message last waited for a limit of the channel, in Unix nanoseconds
	capacities channels.Capacities // of the other members of the pool; only offload uses them

	mu         sync.Mutex // guards the fields below
	breaker    breaker
	retryAfter time.Time // the provider asked for a pause until then, on any instance
	usedUp     time.Time // nothing is left of the channel's quota until then
	failure    string    // the latest failure of the channel, without the recipient's address

	logging  sync.Mutex    // held while a failure is logged, so that the lines are in order
	failures *pace.Sampler // of the failures that are logged
	hosts    *pace.Sampler // of the hosts of recipients that are logged

	health health
}

func newSender(w *Worker, at channelRef) *sender {
	return &sender{worker: w, ref: at, notified: make(chan struct{}, 1), urgent: make(chan struct{}, 1), cache: newRenderCache(w.queue, w.occurrences), capacities: channels.Capacities{},
		targets: newTargets(1), share: share{changed: make(chan struct{}, 1)},
		failures: pace.NewSampler(failuresLogged), hosts: pace.NewSampler(failuresLogged)}
}

func (s *sender) run(ctx context.Context) {
	defer s.closeDispatcher()
	defer s.logSuppressed()
	defer s.returnQuota(ctx)
	// A stalled sender holds claims, so no other one may replace it before it has ended.
	s.loop = s.worker.set.Watchdog.Watch(fmt.Sprintf("sending by channel %d", s.ref.channel))
	defer s.loop.End()
	for {
		s.loop.Idle()
		idle := time.NewTimer(senderIdle)
		select {
		case <-ctx.Done():
			idle.Stop()
			return
		case <-s.notified:
			idle.Stop()
			claimed, err := s.work(ctx)
			s.loop.Idle()
			switch {
			case err != nil && ctx.Err() == nil:
				s.worker.log.Error("a channel could not be worked on", "channel", int64(s.ref.channel), "error", err)
				pace.Pause(ctx, s.worker.set.Poll, nil)
			case claimed:
				// There may be more: the claim passes over rows that another worker has locked.
				notify(s.worker.claim)
				s.renew(ctx)
			}
		case <-idle.C:
			if s.worker.set.Paused() {
				continue // It keeps its quota, which returnQuota does not give back now.
			}
			if s.worker.retire(s) {
				return
			}
			s.returnQuota(ctx)
		}
	}
}

// work sends until nothing is due and every attempt has ended. It reports whether anything was
// claimed. Attempts run while the next deliveries are claimed.
func (s *sender) work(ctx context.Context) (claimed bool, err error) {
	changed, err := s.reload(ctx)
	if err != nil {
		return false, err
	}
	if changed {
		s.reopen(ctx)
	}
	held := newClaims(s.worker)
	stopRenewing := held.keepLeases(ctx)
	defer held.release()
	defer stopRenewing()
	defer s.releaseShare(ctx)
	jobs := newJobQueue()
	var starting, attempts sync.WaitGroup
	beginning, stopBeginning := context.WithCancel(ctx)
	defer stopBeginning()
	starting.Go(func() {
		for j, more := jobs.take(); more; j, more = jobs.take() {
			s.start(beginning, held, j, jobs, &attempts)
			s.begun.Add(1)
		}
	})
	giving, stopGiving := context.WithCancel(ctx)
	defer stopGiving()
	attempts.Go(func() { s.offload(giving) })
	claimed, err = s.feed(ctx, held, jobs)
	jobs.close()
	stopGiving()
	if s.stale { // Deliveries not begun are released, and claimed again with the new settings.
		stopBeginning()
	}
	s.loop.Idle() // Attempts have limits of their own.
	starting.Wait()
	for _, j := range s.targets.drop() {
		held.finish(postponedUntried(j, s.worker.clock.Now()), nil)
	}
	attempts.Wait()
	return claimed, err
}

// feed claims deliveries and hands them out until nothing is left, or until the channel's settings
// have changed.
func (s *sender) feed(ctx context.Context, held *claims, jobs *jobQueue) (claimed bool, err error) {
	for urgent := false; ctx.Err() == nil; {
		s.loop.Tick()
		if changed, err := s.refresh(ctx); changed || err != nil {
			return claimed, err
		}
		if s.worker.set.Paused() && len(held.ids()) == 0 {
			return claimed, nil
		}
		if !s.config.Active { // A gate is closed: no attempt follows, so no pause matters.
			s.divert(ctx)
		} else if err := s.ensureQuota(ctx); err != nil {
			return claimed, err
		} else if left := s.pauseLeft(); left > 0 {
			s.waitPaused(ctx, held, left)
			continue
		}
		if has, worth := s.awaitShare(ctx); !has {
			if !worth && len(held.ids()) == 0 {
				return claimed, nil
			}
			pace.Pause(ctx, shareInterval, s.share.changed)
			continue
		}
		size, trial := s.claimable(held, urgent), s.config.Active && s.onTrial()
		if size == 0 {
			urgent = held.waitFewer(ctx, s.urgent, s.untilRefresh()) || urgent
			continue
		}
		switch {
		case trial:
			size = 1
		case urgent:
			size = min(size, claimUrgent)
		}
		found, err := s.claim(ctx, held, size)
		if err != nil {
			return claimed, err
		}
		urgent = urgent && len(found) > 0 && !slices.ContainsFunc(found, func(j deliveries.Job) bool { return j.Priority != events.Urgent })
		if len(found) == 0 && !held.wait(ctx, s.notified, s.untilRefresh()) {
			return claimed, nil
		}
		claimed = claimed || len(found) > 0
		if err := s.cache.prefetch(ctx, found); err != nil && ctx.Err() == nil {
			s.worker.log.Warn("occurrences could not be read ahead", "channel", int64(s.ref.channel), "error", err)
		}
		s.loop.Idle() // The channel's limits decide how soon these begin.
		if trial {
			s.tryChannel(ctx, held, found)
			continue
		}
		jobs.add(found)
		if n := len(found); n > 0 && n <= claimFew && n < size {
			if !held.wait(ctx, s.notified, s.untilRefresh()) {
				return claimed, nil
			}
			continue
		}
		var changed bool
		if urgent, changed, err = s.awaitJobs(ctx, jobs); changed || err != nil {
			return claimed, err
		}
	}
	return claimed, nil
}

// waitPaused waits until the channel is no longer paused, or its settings are checked again: an
// operator may have changed them. The sender stays meanwhile, and keeps its breaker.
func (s *sender) waitPaused(ctx context.Context, held *claims, left time.Duration) {
	s.divert(ctx)
	s.reportPause(ctx)
	if len(held.ids()) == 0 {
		s.releaseShare(ctx) // Another instance may reach the provider.
	}
	pace.Pause(ctx, min(left, s.recheckInterval()), nil)
}

// tryChannel makes the attempt that shows whether the channel works again. Nothing else is claimed
// before it has ended.
func (s *sender) tryChannel(ctx context.Context, held *claims, found []deliveries.Job) {
	for _, j := range found {
		var attempt sync.WaitGroup
		s.start(ctx, held, j, newJobQueue(), &attempt)
		s.awaitTrial(ctx, &attempt)
	}
}

// awaitJobs waits until more may be claimed. It reports whether something urgent is the reason, or
// whether the channel's settings have changed. It reads the channel meanwhile, because another
// instance may learn that it is paused.
func (s *sender) awaitJobs(ctx context.Context, jobs *jobQueue) (urgent, changed bool, err error) {
	for ctx.Err() == nil {
		ready, urgent := jobs.waitUntil(ctx, s.claimSize(), urgentAhead*s.claimMost(), s.urgent, s.untilRefresh())
		if ready {
			return urgent, false, nil
		}
		if changed, err := s.refresh(ctx); changed || err != nil {
			return false, changed, err
		}
	}
	return false, false, nil
}

// claim claims deliveries when it is the organization's turn.
func (s *sender) claim(ctx context.Context, held *claims, size int) ([]deliveries.Job, error) {
	if !s.takeTurn(ctx) {
		return nil, nil
	}
	defer s.worker.claiming.release(s.ref)
	s.rate.measure(s.worker.clock.Now(), int(s.begun.Swap(0)))
	return held.claim(ctx, s.ref.channel, size)
}

// takeTurn waits until it is the organization's turn to read from the queue. It reports false when
// ctx ends first.
func (s *sender) takeTurn(ctx context.Context) bool {
	s.loop.Idle() // Waiting for others is no stall.
	defer s.loop.Tick()
	return s.worker.claiming.acquire(ctx, s.ref)
}

// claimSize returns how many deliveries are claimed at once: enough to keep the attempts busy, and
// no more than leave soon, so that newly triggered ones do not wait behind them.
func (s *sender) claimSize() int {
	most := s.claimMost()
	size := s.rate.ahead(min(most, max(2*s.concurrency(), claimUrgent)), most)
	if rate := s.slots.perSecond(s.limits.PerSecond); rate > 0 {
		ahead := s.slotTooFar()
		if s.pool.size() > 1 { // Other members may take deliveries that are not held.
			ahead = min(ahead, channels.KeepFor)
		}
		size = min(size, max(1, int(rate*ahead.Seconds())))
	}
	return size
}

// claimMost returns how many deliveries are claimed at once while nobody knows how soon they leave.
func (s *sender) claimMost() int { return min(max(claimFactor*s.concurrency(), claimMin), claimMax) }

// concurrency returns how many attempts may run, or are running, whichever is more.
func (s *sender) concurrency() int {
	if s.limits.Shared {
		return s.targets.claimedAt(s.worker.clock.Now())
	}
	return s.limits.Concurrency
}

// claimable returns how many deliveries may be claimed now. A rate limit bounds all held deliveries
// that have not begun, not only the size of a claim: the gates are checked at the claim, and a
// message that waits long afterwards would leave although a gate has closed meanwhile. An attempt
// under way does not count: its duration depends on the provider. It is 0 until half of the
// deliveries have begun, unless something urgent is due, and while the next one could not begin
// within a quarter of the lease.
func (s *sender) claimable(held *claims, urgent bool) int {
	size := s.claimSize()
	if s.limits.PerSecond <= 0 {
		return size
	}
	now := s.worker.clock.Now()
	if s.slots.in(now) > s.slotTooFar() {
		s.noteThrottled(now)
		return 0
	}
	switch n := held.waiting(); {
	case n <= size/2:
		return size - n
	case urgent && n <= urgentAhead*size:
		return max(1, min(int(s.limits.PerSecond), claimUrgent))
	}
	return 0
}
