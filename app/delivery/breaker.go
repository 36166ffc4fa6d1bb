package delivery

import "time"

// Limits of a breaker.
const (
	breakerFailures = 5 // failures of the channel in a row that open it
	breakerFirst    = 5 * time.Second
	breakerLongest  = time.Minute
	breakerAsked    = time.Hour // the longest that a provider may ask for
)

// breaker keeps a channel quiet whose attempts keep failing. Answers about one recipient do not
// count. After a pause one attempt is let through as a trial; when it fails too the pause doubles.
type breaker struct {
	failures int
	since    time.Time // of the first failure in the row
	last     time.Time // of the latest
	pause    time.Duration
	until    time.Time
	forAll   bool // the provider asked for the rest
}

// open returns until when the channel rests; zero when it does not rest.
func (b *breaker) open(now time.Time) time.Time {
	if now.Before(b.until) {
		return b.until
	}
	return time.Time{}
}

// onTrial reports whether the breaker was open, so that one attempt shall show whether the channel
// works again.
func (b *breaker) onTrial() bool { return b.pause > 0 }

// passed notes that the channel works.
func (b *breaker) passed() { *b = breaker{} }

// failed notes a failure of the channel.
func (b *breaker) failed(now time.Time) {
	if b.failures++; b.failures == 1 {
		b.since = now
	}
	b.last = now
	if b.failures < breakerFailures && !b.onTrial() || now.Before(b.until) {
		return
	}
	b.pause = min(max(2*b.pause, breakerFirst), breakerLongest)
	b.until = now.Add(b.pause)
}

// asked notes that the provider asked not to be asked for so long.
func (b *breaker) asked(now time.Time, pause time.Duration) {
	b.pause = max(b.pause, breakerFirst)
	b.forAll = true
	if until := now.Add(min(pause, breakerAsked)); until.After(b.until) {
		b.until = until
	}
}
