package delivery_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// underWay counts concurrent attempts.
type underWay struct {
	mu        sync.Mutex
	now, most int
	since     int // the most since it was last read
}

func (u *underWay) driver(took time.Duration) fakeDriver {
	count := func(n int) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.now += n
		u.most, u.since = max(u.most, u.now), max(u.since, u.now)
	}
	return fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
		count(1)
		let(took)
		count(-1)
		return nil
	}}
}

// within returns how many attempts ran at once at most during d.
func (u *underWay) within(d time.Duration) int {
	u.mu.Lock()
	u.since = 0
	u.mu.Unlock()
	let(d)
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.since
}

// TestInstancesShareTheConcurrency is about two instances that join a sending one. One loses the
// store, and one stops. Attempts take longer than the renewal of a part.
func TestInstancesShareTheConcurrency(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]channels.Protocol{"ToOneProvider": channels.EMAIL, "ToHosts": channels.WEBHOOK} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(0, channels.Settings{channels.SettingConcurrency: 16})
				q.channel.Protocol = protocol
				for i := range 1_000 {
					q.addTo(1, fmt.Sprintf("https://host-%d.example/", i%20))
				}
				var now underWay
				d := now.driver(2 * time.Second)
				var all instances
				all.start(t, q, d)
				assert.Equal(t, 16, now.within(10*time.Second), "alone it has all of them")
				all.start(t, q, d)
				all.start(t, q, d)
				assert.LessOrEqual(t, now.within(10*time.Second), 16)
				assert.Equal(t, 16, now.within(10*time.Second), "together they have all of them")
				all.queues[0].away.Store(true)
				assert.LessOrEqual(t, now.within(15*time.Second), 16+6, "what it has under way when its lease ends is not cut short")
				assert.Equal(t, 16, now.within(10*time.Second), "the others have its part after its lease")
				all.stops[1]()
				assert.LessOrEqual(t, now.within(10*time.Second), 16)
				assert.Equal(t, 16, now.within(10*time.Second), "one that stops gives its part back")
				all.stops[0]()
				all.stops[2]()
				all.running.Wait()
			})
		})
	}
}

func TestFewerPlacesThanInstances(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(300, channels.Settings{channels.SettingConcurrency: 1})
		var now underWay
		workTogether(t, q, now.driver(100*time.Millisecond), 3, func() {
			let(90 * time.Second)
			assert.Equal(t, 300, q.count(deliveries.Sent), "nobody keeps what it may not send")
		})
		assert.Equal(t, 1, now.most)
	})
}

func TestDefaultConcurrencyIsNotShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(600, nil)
		var now underWay
		workTogether(t, q, now.driver(time.Second), 2, func() { let(20 * time.Second) })
		assert.Equal(t, 32, now.most)
		assert.Empty(t, q.shares, "nothing is asked of the store")
	})
}

func TestChangedSharedConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(7_000, channels.Settings{channels.SettingConcurrency: 16})
		change := func(to any) {
			q.set(func(q *fakeQueue) { q.channel.Settings = channels.Settings{channels.SettingConcurrency: to} })
		}
		var now underWay
		workTogether(t, q, now.driver(200*time.Millisecond), 3, func() {
			let(10 * time.Second)
			assert.Equal(t, 16, now.within(10*time.Second))
			change(5)
			let(5 * time.Second) // All instances know, and the earlier attempts have ended.
			assert.Equal(t, 5, now.within(10*time.Second))
			change(40)
			let(10 * time.Second)
			assert.Equal(t, 40, now.within(10*time.Second))
		})
		assert.Equal(t, 40, now.most, "and never were there more")
	})
}

// TestShareOfUnreachableProvider is about a provider that refuses one of two instances.
func TestShareOfUnreachableProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(3_000, channels.Settings{channels.SettingConcurrency: 16})
		var now underWay
		works, refused := now.driver(time.Second), fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			return deliveries.Unreachable("no route to the host")
		}}
		workTogether(t, q, works, 1, func() {
			set := settings()
			set.Owner, set.Instance = "cut", "host:cut"
			work(t, q, refused, plainComposer{}, set, func() {
				let(2 * time.Minute) // Its breaker is open for a minute now.
				assert.Equal(t, 16, now.within(10*time.Second))
			})
		})
		assert.LessOrEqual(t, now.most, 16)
	})
}

func TestShareWithoutConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(3_000, channels.Settings{channels.SettingConcurrency: 1, channels.SettingRatePerSecond: 50})
		var left leaving
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			left.note()
			let(10 * time.Millisecond)
			return nil
		}}
		workTogether(t, q, d, 3, func() {
			let(20 * time.Second)
			began := time.Now()
			let(20 * time.Second)
			assert.Greater(t, left.between(began, time.Now()), 950)
		})
		assert.LessOrEqual(t, left.most(), 53)
	})
}

// unrecording is the queue of an instance that sometimes cannot reach the store or record outcomes.
type unrecording struct{ cutOff }

func (q *unrecording) Record(ctx context.Context, owner string, outcomes []deliveries.Outcome) (int, error) {
	if q.away.Load() {
		return 0, context.DeadlineExceeded
	}
	return q.Queue.Record(ctx, owner, outcomes)
}

// TestShareLeaseEnd cuts an instance off for so long that it must record before it sends more,
// while others get its places.
func TestShareLeaseEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(7_000, channels.Settings{channels.SettingConcurrency: 8})
		var now underWay
		d := now.driver(100 * time.Millisecond)
		cut := &unrecording{cutOff{Queue: q}}
		set := settings()
		set.Owner, set.Instance, set.Unrecorded = "cut", "host:cut", 40
		work(t, cut, d, plainComposer{}, set, func() {
			workTogether(t, q, d, 1, func() {
				let(10 * time.Second)
				assert.Equal(t, 8, now.within(10*time.Second))
				cut.away.Store(true)
				let(20 * time.Second)
				assert.Equal(t, 8, now.within(5*time.Second), "the other one has all of them")
				cut.away.Store(false)
				assert.Equal(t, 8, now.within(20*time.Second), "what had waited gives way")
			})
		})
	})
}

// TestClaimSizeWithSharedConcurrency is about three instances with 4 places each and a slow
// provider.
func TestClaimSizeWithSharedConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1_500, channels.Settings{channels.SettingConcurrency: 12})
		var now underWay
		workTogether(t, q, now.driver(5*time.Second), 3, func() {
			let(8 * time.Minute) // The first one's early claims have left.
			held := map[string]int{}
			q.set(func(q *fakeQueue) {
				for _, r := range q.rows {
					if r.state == deliveries.Sending {
						held[r.owner]++
					}
				}
			})
			assert.Len(t, held, 3)
			for _, n := range held {
				assert.LessOrEqual(t, n, 2*4+2*16, "under way, just recorded, and claimed ahead")
			}
		})
	})
}
