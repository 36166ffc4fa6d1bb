package statistics

import (
	"slices"
	"time"
)

// Buckets is how many groups of durations a Histogram has.
const Buckets = 16

// bounds are where a group ends and the next one begins. Stored data refers to them by index:
// they never change.
func bounds() [Buckets - 1]time.Duration {
	return [...]time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second,
		2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
		6 * time.Hour, 24 * time.Hour}
}

// Bucket is the group that a duration belongs to: 0 to Buckets - 1.
func Bucket(d time.Duration) int {
	b := bounds()
	i, found := slices.BinarySearch(b[:], d)
	if found {
		i++ // A bound belongs to the group above it.
	}
	return i
}

// Histogram counts durations by group.
type Histogram [Buckets]int

// Count is how many durations there are.
func (h Histogram) Count() (n int) {
	for _, c := range h {
		n += c
	}
	return n
}

// Plus returns the sum of both.
func (h Histogram) Plus(other Histogram) Histogram {
	for i, c := range other {
		h[i] += c
	}
	return h
}

// Quantile returns the duration that the fraction q of all durations does not exceed; q is in (0,
// 1]. It interpolates within a group. 0: there are no durations. The last group has no upper bound:
// for it the result is the lower bound.
func (h Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	rank := q * float64(h.Count())
	var below float64
	var from time.Duration
	for i, to := range bounds() {
		n := float64(h[i])
		if n > 0 && below+n >= rank {
			return from + time.Duration((rank-below)/n*float64(to-from))
		}
		below += n
		from = to
	}
	return from
}
