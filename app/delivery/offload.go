package delivery

import (
	"context"
	"math"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/channels"
)

// Limits of relief.
const (
	reliefLook = 250 * time.Millisecond // after a gift, until the next check
	reliefRest = 2 * time.Second        // the longest pause between two checks
	reliefHold = time.Second            // what a member of a pool keeps leaves within this time
	reliefHeld = 2 * shareInterval      // a message that waits for a limit records it this often, at least
)

// relieve lets idle members of the pool take over deliveries that wait while the channel is at its
// limit, until ctx ends.
func (s *sender) relieve(ctx context.Context) {
	if s.limits.PerSecond <= 0 && !s.limits.Shared {
		return
	}
	wait, said := reliefLook, false
	began, looked := s.started.Load(), s.worker.clock.Now()
	for {
		pace.Pause(ctx, wait, nil)
		if ctx.Err() != nil {
			return
		}
		now := s.worker.clock.Now()
		begun := s.started.Load()
		perSecond := float64(begun-began) / max(now.Sub(looked), reliefLook).Seconds()
		began, looked = begun, now
		gifts, err := s.give(ctx, perSecond, now)
		if err != nil && ctx.Err() == nil {
			s.worker.log.Warn("deliveries of a channel at its limit could not be given to others of its pool", "channel", int64(s.at.channel), "error", err)
		}
		if len(gifts) == 0 {
			wait = min(2*wait, reliefRest)
			continue
		}
		wait = reliefLook
		if !said {
			said = true
			s.worker.log.Info("deliveries were given to others of the pool", "channel", int64(s.at.channel), "because", channels.LimitReached.String())
		}
		notify(s.worker.claim)
	}
}

// give offers waiting deliveries to the other members, except those that the channel itself sends
// within reliefHold, on all instances together. perSecond is how many attempts this instance
// begins. It returns what the members took.
func (s *sender) give(ctx context.Context, perSecond float64, now time.Time) ([]channels.Transfer, error) {
	held := time.Unix(0, s.heldUp.Load())
	keep, has := s.keeps(perSecond, now)
	if !has || now.Sub(held) > reliefHeld || s.resting() > 0 || s.worker.set.Paused() {
		return nil, nil
	}
	offers := s.pool.offers(s.rooms, s.at.channel, now)
	if len(offers) == 0 || !s.worker.claiming.acquire(ctx, s.at) {
		return nil, nil
	}
	defer s.worker.claiming.release(s.at)
	asking, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	gifts, err := s.worker.queue.Offload(asking, s.at.organization, s.at.channel, offers, keep, s.worker.set.Lease)
	s.rooms.Record(offers, gifts, now)
	return gifts, err
}

// keeps returns how many messages the channel keeps because its limits let them go soon, counted
// over all instances. It reports whether this instance has a part of the limits. An instance
// without one does not know the rate and leaves giving to the others.
func (s *sender) keeps(perSecond float64, now time.Time) (n int, has bool) {
	rate := math.Ceil(s.limits.PerSecond * reliefHold.Seconds())
	if rate > 0 && s.share.perSecond(now) <= 0 {
		return 0, false
	}
	if !s.limits.Shared {
		return int(rate), true
	}
	if s.targets.places(now) == 0 {
		return 0, false
	}
	all := float64(s.limits.Concurrency)
	keep := max(all, math.Ceil(perSecond*reliefHold.Seconds()*all/float64(s.targets.held(now))))
	if rate > 0 {
		keep = min(keep, rate)
	}
	return int(keep), true
}

// noteHeldUp records that a message waits for a limit of the channel.
func (s *sender) noteHeldUp(now time.Time) { s.heldUp.Store(now.UnixNano()) }
