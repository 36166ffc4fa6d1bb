package throttle

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// TakeAt is TakeN for one event.
func (t *Throttle[K]) TakeAt(key K, perSecond float64) (left int, wait time.Duration) {
	return t.TakeN(key, perSecond, 1)
}

// TakeN is Take for n events of a key with its own rate. The burst is the number of events in one
// second, but at least one; left is how many of them remain. An n above the burst counts as the
// burst. If perSecond is 0 or less, there is no limit and left is 0.
func (t *Throttle[K]) TakeN(key K, perSecond float64, n int) (left int, wait time.Duration) {
	if perSecond <= 0 {
		return 0, 0
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.bucket(key)
	if b.limiter.Limit() != rate.Limit(perSecond) { // It starts again with the new rate.
		b.limiter = rate.NewLimiter(rate.Limit(perSecond), max(1, int(math.Ceil(perSecond))))
	}
	wait = reserve(b.limiter, now, min(n, b.limiter.Burst()))
	return max(0, int(b.limiter.TokensAt(now))), wait
}
