package delivery

import (
	"context"
	"math"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/channels"
)

// Limits of offloading.
const (
	offloadInterval    = 250 * time.Millisecond // after a transfer, until the next check
	offloadMaxInterval = 2 * time.Second        // the longest pause between two checks
	throttledFor       = 2 * shareInterval      // a waiting message records this at least that often
)

// offload lets idle members of the pool take over deliveries that wait while the channel is at its
// limit, until ctx ends.
func (s *sender) offload(ctx context.Context) {
	if s.limits.PerSecond <= 0 && !s.limits.Shared {
		return
	}
	wait, said := offloadInterval, false
	began, looked := s.started.Load(), s.worker.clock.Now()
	for {
		pace.Pause(ctx, wait, nil)
		if ctx.Err() != nil {
			return
		}
		now := s.worker.clock.Now()
		begun := s.started.Load()
		perSecond := float64(begun-began) / max(now.Sub(looked), offloadInterval).Seconds()
		began, looked = begun, now
		transfers, err := s.offloadOnce(ctx, perSecond, now)
		if err != nil && ctx.Err() == nil {
			s.worker.log.Warn("deliveries of a channel at its limit could not be given to others of its pool", "channel", int64(s.ref.channel), "error", err)
		}
		if len(transfers) == 0 {
			wait = min(2*wait, offloadMaxInterval)
			continue
		}
		wait = offloadInterval
		if !said {
			said = true
			s.worker.log.Info("deliveries were given to others of the pool", "channel", int64(s.ref.channel), "because", channels.LimitReached.String())
		}
		notify(s.worker.claim)
	}
}

// offloadOnce offers waiting deliveries to the other members, except those that the channel itself
// sends within channels.KeepFor, on all instances together. perSecond is how many attempts this
// instance begins. It returns what the members took.
func (s *sender) offloadOnce(ctx context.Context, perSecond float64, now time.Time) ([]channels.Transfer, error) {
	held := time.Unix(0, s.throttled.Load())
	keep, has := s.keepCount(perSecond, now)
	if !has || now.Sub(held) > throttledFor || s.pauseLeft() > 0 || s.worker.set.Paused() {
		return nil, nil
	}
	offers := s.pool.offers(s.capacities, s.ref.channel, now)
	if len(offers) == 0 || !s.worker.claiming.acquire(ctx, s.ref) {
		return nil, nil
	}
	defer s.worker.claiming.release(s.ref)
	asking, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	transfers, err := s.worker.queue.Offload(asking, s.ref.organization, s.ref.channel, offers, keep, s.worker.set.Lease)
	s.capacities.Record(offers, transfers, now)
	return transfers, err
}

// keepCount returns how many messages the channel keeps because its limits let them go soon,
// counted over all instances. It reports whether this instance has a part of the concurrent
// attempts. An instance without one does not know the rate and leaves the offloading to the others.
func (s *sender) keepCount(perSecond float64, now time.Time) (n int, has bool) {
	rate := math.Ceil(s.limits.PerSecond * channels.KeepFor.Seconds())
	if !s.limits.Shared {
		return int(rate), true
	}
	if s.targets.limitAt(now) == 0 {
		return 0, false
	}
	all := float64(s.limits.Concurrency)
	keep := max(all, math.Ceil(perSecond*channels.KeepFor.Seconds()*all/float64(max(1, s.targets.claimedAt(now)))))
	if rate > 0 {
		keep = min(keep, rate)
	}
	return int(keep), true
}

// noteThrottled records that a message waits for a limit of the channel.
func (s *sender) noteThrottled(now time.Time) { s.throttled.Store(now.UnixNano()) }
