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
	reliefLook = 250 * time.Millisecond // after a gift, others are looked at again
	reliefRest = 2 * time.Second        // the longest between two looks
	reliefHold = time.Second            // what a member of a pool holds, and keeps, leaves within
)

// relieve has idle members of the pool take over what waits while the channel is at its limit,
// until ctx ends.
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
		gifts, err := s.give(ctx, int(math.Ceil(perSecond*reliefHold.Seconds())), now)
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
			s.worker.log.Info("deliveries were given to others of the pool", "channel", int64(s.at.channel), "because", channels.AtItsLimit.String())
		}
		notify(s.worker.claim)
	}
}

// give offers the others of the pool what waits, but for what the channel sends itself within a
// moment. It returns what they took.
func (s *sender) give(ctx context.Context, sends int, now time.Time) ([]channels.Gift, error) {
	held := time.Unix(0, s.heldUp.Load())
	if now.Sub(held) > reliefHold || s.resting() > 0 || s.worker.set.Paused() {
		return nil, nil
	}
	offers := s.pool.offers(s.rooms, s.at.channel, now)
	if len(offers) == 0 || !s.worker.claiming.acquire(ctx, s.at) {
		return nil, nil
	}
	defer s.worker.claiming.release(s.at)
	asking, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	gifts, err := s.worker.queue.Relieve(asking, s.at.organization, s.at.channel, offers, max(sends, s.sendsSoon(now)), s.worker.set.Lease)
	s.rooms.Given(offers, gifts, now)
	return gifts, err
}

// sendsSoon is how many messages the channel's limits let go in a moment, at least.
func (s *sender) sendsSoon(now time.Time) int {
	if rate := s.mayRate(now); rate > 0 {
		return int(math.Ceil(rate * reliefHold.Seconds()))
	}
	return s.targets.held(now)
}

// isHeldUp notes that a message waits for a limit of the channel.
func (s *sender) isHeldUp(now time.Time) { s.heldUp.Store(now.UnixNano()) }
