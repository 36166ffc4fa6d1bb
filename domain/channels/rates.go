package channels

import (
	"math"
	"time"
)

// Rate is how many messages may leave through a channel in a second, on all instances together.
// Each message takes a slot. Slots are at least an interval of the rate apart.
type Rate float64

// Bounds of the slots that a Take returns.
const (
	// SlotsAhead is how far ahead the first slot may be.
	SlotsAhead = 1500 * time.Millisecond
	// SlotsSpan is the time from the first slot to the last one.
	SlotsSpan = 250 * time.Millisecond
	// slotCatchUp is how late a message may take a slot, so that short delays do not lower the
	// rate.
	slotCatchUp = 10 * time.Millisecond
	// strictInterval is the interval from which on a message is never early by the delay of the one
	// before it. Short delays do not matter for such a rate.
	strictInterval = 100 * time.Millisecond
)

// Slots are consecutive slots of a rate.
type Slots struct {
	Number int           // how many were taken; 0: the next one is too far ahead
	In     time.Duration // until the first one, or the next one; negative: it is over, but not too late
	Before time.Time     // the last slot that was taken before; zero: none
	Last   time.Time     // the last slot that is taken now
}

// Interval returns the time from one slot to the next, in whole microseconds, as databases keep
// times.
func (r Rate) Interval() time.Duration {
	return time.Duration(math.Ceil(1e6/float64(r))) * time.Microsecond
}

// CatchUp returns how late a message may take a slot.
func (r Rate) CatchUp() time.Duration {
	if r.Interval() >= strictInterval {
		return 0
	}
	return slotCatchUp
}

// Take takes the next slots after last: at most want, and at least one unless the next one is more
// than SlotsAhead ahead. A last slot that Take cannot have returned by now is ignored: the clock
// was set back.
func (r Rate) Take(last, now time.Time, want int) Slots {
	interval := r.Interval()
	if last.Sub(now) > SlotsAhead+SlotsSpan {
		last = now
	}
	first := last.Add(interval)
	if earliest := now.Add(-r.CatchUp()); last.IsZero() || first.Before(earliest) {
		first = earliest
	}
	slots := Slots{In: first.Sub(now), Before: last, Last: last}
	if slots.In > SlotsAhead {
		return slots
	}
	slots.Number = max(1, min(want, 1+int(SlotsSpan/interval)))
	slots.Last = first.Add(time.Duration(slots.Number-1) * interval)
	return slots
}

// Gap returns for how long no slot was taken before the first one.
func (s Slots) Gap(r Rate) time.Duration {
	return s.Last.Add(-time.Duration(s.Number) * r.Interval()).Sub(s.Before)
}

// Part returns which part of the latest slots a taker has that took these, and whose last slot
// before was own; 1 if nobody took others meanwhile, or if nobody waits for slots.
func (s Slots) Part(r Rate, own time.Time) float64 {
	others := float64(s.Before.Sub(own)) / float64(r.Interval())
	if own.IsZero() || s.In <= 0 || others < 1 {
		return 1
	}
	return float64(s.Number) / (float64(s.Number) + others)
}
