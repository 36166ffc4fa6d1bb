package delivery

import "time"

// Limits of a breaker.
const (
	breakerFailures   = 5                // failures of the channel in a row that open it
	breakerSpan       = 30 * time.Second // or fewer failures in a row that are so far apart
	breakerFirst      = 5 * time.Second
	breakerMax        = time.Minute
	maxRequestedPause = time.Hour // the longest pause that a provider may ask for
)

// breaker stops a channel whose attempts keep failing. Failures of single recipients do not count.
// After a pause one attempt is let through as a trial; if it fails too, the pause doubles.
type breaker struct {
	failures int
	since    time.Time // the first failure in the row
	last     time.Time // the latest failure in the row
	pause    time.Duration
	until    time.Time
	forAll   bool // the provider asked for the pause
}

// open returns until when the channel is paused, or zero when it is not.
func (b *breaker) open(now time.Time) time.Time {
	if now.Before(b.until) {
		return b.until
	}
	return time.Time{}
}

// reason is why the breaker is open, or was before a trial.
func (b *breaker) reason() PauseReason {
	if b.forAll {
		return Requested
	}
	return Unreachable
}

// onTrial reports whether the breaker was open, so that the next attempt shows whether the channel
// works again.
func (b *breaker) onTrial() bool { return b.pause > 0 }

// succeeded records that the channel works. It does not end a pause that the provider asked for,
// because the attempt began before it.
func (b *breaker) succeeded(now time.Time) {
	if b.forAll && now.Before(b.until) {
		return
	}
	*b = breaker{}
}

// failed records a failure of the channel.
func (b *breaker) failed(now time.Time) {
	if b.failures++; b.failures == 1 {
		b.since = now
	}
	b.last = now
	few := b.failures < breakerFailures && now.Sub(b.since) < breakerSpan
	if few && !b.onTrial() || now.Before(b.until) {
		return
	}
	b.pause = min(max(2*b.pause, breakerFirst), breakerMax)
	b.until, b.forAll = now.Add(b.pause), false
}

// requestPause records that the provider asked for a pause.
func (b *breaker) requestPause(now time.Time, pause time.Duration) {
	b.pause = max(b.pause, breakerFirst)
	b.forAll = true
	if until := now.Add(min(pause, maxRequestedPause)); until.After(b.until) {
		b.until = until
	}
}
