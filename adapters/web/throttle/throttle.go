// Package throttle limits the rate of events per key and says how long to wait beyond it. Keys are
// opaque: it knows neither the clients behind them nor their requests.
package throttle

import (
	"container/list"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Throttle allows each key the same number of events per second. Its memory is bounded: when it is
// full, it forgets the least recently used keys. It is safe for concurrent use.
type Throttle[K comparable] struct {
	limit   rate.Limit
	burst   int
	maxKeys int
	now     func() time.Time

	mu      sync.Mutex
	buckets map[K]*list.Element
	recent  *list.List // of *bucket[K], the most recently used first
}

type bucket[K comparable] struct {
	key     K
	limiter *rate.Limiter
}

// New returns a throttle of perSecond events per second and key, for up to maxKeys keys. The burst
// is the number of events in one second, but at least one. A perSecond of 0 means no limit.
func New[K comparable](perSecond float64, maxKeys int, now func() time.Time) *Throttle[K] {
	return NewBurst[K](perSecond, max(1, int(math.Ceil(perSecond))), maxKeys, now)
}

// NewBurst is New with another burst.
func NewBurst[K comparable](perSecond float64, burst, maxKeys int, now func() time.Time) *Throttle[K] {
	return &Throttle[K]{
		limit: rate.Limit(perSecond), burst: burst, maxKeys: maxKeys, now: now,
		buckets: map[K]*list.Element{}, recent: list.New(),
	}
}

// Take counts one event of the key. It returns 0 if the event is allowed, else how long to wait. It
// does not count an event that must wait.
func (t *Throttle[K]) Take(key K) (wait time.Duration) {
	if t.limit <= 0 {
		return 0
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	return reserve(t.bucket(key).limiter, now, 1)
}

// reserve takes n events. It returns 0 if they are allowed; otherwise it takes none and returns how
// long to wait.
func reserve(l *rate.Limiter, now time.Time, n int) (wait time.Duration) {
	r := l.ReserveN(now, n)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// Wait returns how long the key's next event would have to wait, without counting one.
func (t *Throttle[K]) Wait(key K) time.Duration {
	if t.limit <= 0 {
		return 0
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	e, known := t.buckets[key]
	if !known {
		return 0
	}
	missing := 1 - e.Value.(*bucket[K]).limiter.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(t.limit) * float64(time.Second))
}

// Knows reports whether the key was used and has not been forgotten since.
func (t *Throttle[K]) Knows(key K) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.buckets[key]
	return known
}

func (t *Throttle[K]) bucket(key K) *bucket[K] {
	if e, known := t.buckets[key]; known {
		t.recent.MoveToFront(e)
		return e.Value.(*bucket[K])
	}
	if t.recent.Len() >= t.maxKeys {
		oldest := t.recent.Back()
		delete(t.buckets, t.recent.Remove(oldest).(*bucket[K]).key)
	}
	b := &bucket[K]{key: key, limiter: rate.NewLimiter(t.limit, t.burst)}
	t.buckets[key] = t.recent.PushFront(b)
	return b
}
