// Package pace limits background work, so that it takes no time from requests.
package pace

import (
	"context"
	"time"
)

// Share limits repeated work to a part of a processor's time in the long run. A Share must not be
// used concurrently.
type Share struct {
	part   float64
	burst  time.Duration
	credit time.Duration // time that may still be used at once; below 0: debt
	at     time.Time     // when credit was computed
}

// NewShare returns a share of part of the time, of which burst may be taken at once.
func NewShare(part float64, burst time.Duration) Share { return Share{part: part, burst: burst} }

// Worked counts work that lasted from begin to now, and returns how long to pause; 0 within the
// share. One piece of work is charged with at most twice the burst.
func (s *Share) Worked(begin, now time.Time) time.Duration {
	earned := time.Duration(s.part * float64(now.Sub(s.at)))
	s.credit = max(min(s.burst, s.credit+earned)-now.Sub(begin), -s.burst)
	s.at = now
	if s.credit >= 0 {
		return 0
	}
	return time.Duration(float64(-s.credit) / s.part)
}

// Pause waits until d is over, a notification arrives or ctx ends. It reports whether it was a
// notification.
func Pause(ctx context.Context, d time.Duration, notified <-chan struct{}) bool {
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-notified:
		return true
	}
	return false
}
