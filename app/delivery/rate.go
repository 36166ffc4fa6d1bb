package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/channels"
)

// Bounds of the slots that a sender takes at once.
const (
	// contestedSpan is the time for which a sender takes slots while other instances take some,
	// too, so that instances take turns quickly.
	contestedSpan = 100 * time.Millisecond
	// steadyGap is the time without slots up to which a sender is steady. A steady sender takes
	// slots for messages that it does not have yet, and so asks the store more rarely.
	steadyGap = 100 * time.Millisecond
)

// rateSlots are the slots of the channel's rate that the sender has taken in the store and not
// used.
type rateSlots struct {
	taking sync.Mutex // held while slots are taken in the store

	mu        sync.Mutex // guards the fields below
	left      int
	next      time.Time // the next one; if none is left, the earliest one that may be free
	last      time.Time // the last one that was taken in the store, by its clock
	contested bool      // others took slots since the sender took some
	steady    bool
	part      float64 // which part of the rate the sender had; 0: unknown
}

// use returns the next slot, unless none is left. Slots that no message has used in time are lost.
func (r *rateSlots) use(rate channels.Rate, now time.Time) (at time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; r.left > 0; r.left-- {
		if at = r.next; !at.Before(now.Add(-rate.CatchUp())) {
			r.left--
			r.next = at.Add(rate.Interval())
			return at, true
		}
		r.next = at.Add(rate.Interval())
	}
	return time.Time{}, false
}

// want returns how many slots are worth taking for so many messages.
func (r *rateSlots) want(rate channels.Rate, messages int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.contested:
		messages = min(messages, int(float64(rate)*contestedSpan.Seconds()))
	case r.steady:
		messages = int(float64(rate) * channels.SlotsSpan.Seconds())
	}
	return max(1, messages)
}

// add adds slots that were taken in the store just now, and returns the first one.
func (r *rateSlots) add(rate channels.Rate, taken channels.Slots, now time.Time) (at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at = now.Add(taken.In)
	r.left, r.next = 0, at
	if taken.Number > 0 {
		r.contested = taken.Before.After(r.last)
		r.steady = taken.Gap(rate) < steadyGap
		r.part, r.last = taken.Part(rate, r.last), taken.Last
		r.left, r.next = taken.Number-1, at.Add(rate.Interval())
	}
	return at
}

// in returns how long there is no slot.
func (r *rateSlots) in(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next.Sub(now)
}

// perSecond returns how many messages the sender may send in a second, beside other instances.
func (r *rateSlots) perSecond(rate float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.part == 0 {
		return rate
	}
	return rate * r.part
}

// reset forgets the slots, because the rate may have changed.
func (r *rateSlots) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left, r.next, r.last, r.part, r.contested, r.steady = 0, time.Time{}, time.Time{}, 0, false, false
}

// waitForRate waits for a slot of the channel's rate limit. It reports false when ctx ends first,
// or when the next slot is so far ahead that the delivery should wait unclaimed.
func (s *sender) waitForRate(ctx context.Context, held *claims) bool {
	rate := channels.Rate(s.limits.PerSecond)
	if rate <= 0 {
		return true
	}
	for ctx.Err() == nil {
		at, taken, err := s.takeSlot(ctx, rate, held)
		now := s.worker.clock.Now()
		wait := at.Sub(now)
		switch {
		case err != nil:
			if ctx.Err() == nil {
				s.worker.log.Warn("the rate limit of a channel could not be read", "channel", int64(s.ref.channel), "error", err)
			}
			wait = s.worker.set.Poll
		case taken && wait <= 0:
			return true
		case !taken && wait > s.slotTooFar():
			s.noteThrottled(now)
			return false
		case !taken:
			wait -= channels.SlotsAhead / 2
		}
		s.noteThrottled(now)
		pace.Pause(ctx, wait, nil)
		if taken {
			return ctx.Err() == nil
		}
	}
	return false
}

// takeSlot returns the next slot for a message. If none is left, it takes some in the store. It
// reports false, with the time of the next slot, if that is too far ahead to be taken.
func (s *sender) takeSlot(ctx context.Context, rate channels.Rate, held *claims) (at time.Time, taken bool, err error) {
	if at, ok := s.slots.use(rate, s.worker.clock.Now()); ok {
		return at, true, nil
	}
	s.slots.taking.Lock()
	defer s.slots.taking.Unlock()
	if at, ok := s.slots.use(rate, s.worker.clock.Now()); ok { // Another message took some meanwhile.
		return at, true, nil
	}
	taking, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	slots, err := s.worker.queue.TakeSlots(taking, s.ref.channel, rate, s.slots.want(rate, held.waiting()))
	if err != nil {
		return time.Time{}, false, err
	}
	return s.slots.add(rate, slots, s.worker.clock.Now()), slots.Number > 0, nil
}

// slotTooFar is how far ahead the next slot of the rate may be for deliveries to be claimed.
func (s *sender) slotTooFar() time.Duration { return s.worker.set.Lease / 4 }
