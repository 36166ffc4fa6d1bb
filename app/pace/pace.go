// Package pace keeps work that nobody waits for from taking the time of work that somebody waits
// for.
package pace

import (
	"context"
	"time"
)

// Share lets something that is done again and again take no more than a part of a processor's time
// in the long run. A Share must not be used concurrently.
type Share struct {
	part   float64
	burst  time.Duration
	credit time.Duration // what may still be taken at once; below 0: what is owed
	at     time.Time     // when credit was counted
}

// NewShare returns a share of part of the time, of which burst may be taken at once.
func NewShare(part float64, burst time.Duration) Share { return Share{part: part, burst: burst} }

// Worked counts work that lasted from begin to now, and returns for how long nothing more should be
// done: 0 within the share. A piece of work is never charged with more than the burst twice.
func (s *Share) Worked(begin, now time.Time) time.Duration {
	earned := time.Duration(s.part * float64(now.Sub(s.at)))
	s.credit = max(min(s.burst, s.credit+earned)-now.Sub(begin), -s.burst)
	s.at = now
	if s.credit >= 0 {
		return 0
	}
	return time.Duration(float64(-s.credit) / s.part)
}

// Pause waits until the time is over, a notification arrives or ctx ends.
func Pause(ctx context.Context, d time.Duration, notified <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-notified:
	}
}
