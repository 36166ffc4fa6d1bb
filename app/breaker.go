package app

import "time"

// Limits of a breaker.
const (
	breakerFailures = 5 // failures of the channel in a row that open it
	breakerFirst    = 5 * time.Second
	breakerLongest  = time.Minute
)

// breaker keeps a channel quiet whose connections keep failing. Answers about one recipient do not count. After a pause one attempt is
// let through; when that fails too the pause doubles.
type breaker struct {
	failures int
	since    time.Time // of the first of them
	last     time.Time // of the latest
	pause    time.Duration
	until    time.Time
}

// open tells until when the channel rests; zero when it does not.
func (b *breaker) open(now time.Time) time.Time {
	if now.Before(b.until) {
		return b.until
	}
	return time.Time{}
}

// trying tells that the breaker was open and one attempt shall show whether the channel is back.
func (b *breaker) trying() bool { return b.pause > 0 }

// passed notes that the channel works.
func (b *breaker) passed() { *b = breaker{} }

// failed notes a failure of the channel.
func (b *breaker) failed(now time.Time) {
	if b.failures++; b.failures == 1 {
		b.since = now
	}
	b.last = now
	if b.failures < breakerFailures && !b.trying() || now.Before(b.until) {
		return
	}
	b.pause = min(max(2*b.pause, breakerFirst), breakerLongest)
	b.until = now.Add(b.pause)
}
