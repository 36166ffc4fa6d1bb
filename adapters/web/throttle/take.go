package throttle

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// TakeAt is Take for a key with a rate of its own, and also returns how many events it may still use at once. A key may, after a quiet
// second, use a whole second's worth, and at least one event, at once. perSecond 0 or less means that the key is never held up: left is 0.
func (t *Throttle[K]) TakeAt(key K, perSecond float64) (left int, wait time.Duration) {
	if perSecond <= 0 {
		return 0, 0
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.bucket(key)
	if b.limiter.Limit() != rate.Limit(perSecond) { // It starts afresh.
		b.limiter = rate.NewLimiter(rate.Limit(perSecond), max(1, int(math.Ceil(perSecond))))
	}
	r := b.limiter.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return max(0, int(b.limiter.TokensAt(now))), wait
}
