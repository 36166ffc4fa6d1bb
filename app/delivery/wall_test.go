package delivery_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
)

// TestWorkerHangingProviders is about organizations that share an installation and do not trust
// each other: whatever hangs at one of them, a message of another one is sent at once.
func TestWorkerHangingProviders(t *testing.T) {
	t.Parallel()
	const hang = 29 * time.Second
	for name, c := range map[string]struct {
		organizations, channels, concurrency int

		sibling bool // another channel of an organization whose providers hang goes on, too
	}{
		"ThirteenChannelsAtDefaultSettings": {1, 13, channels.DefaultConcurrency, true},
		"FourWithTheHighestConcurrency":     {1, 4, channels.MaxConcurrency, true},
		"FiftyChannels":                     {1, 50, channels.DefaultConcurrency, false},
		"ManyOrganizations":                 {15, 3, 64, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(0, nil)
				for org := range c.organizations {
					for range c.channels {
						slow := q.open(orgs.ID(org+1), channels.WEBHOOK, channels.Settings{channels.SettingConcurrency: c.concurrency})
						for i := range 70 {
							q.addTo(slow, fmt.Sprintf("https://h%d.example/", i))
						}
					}
				}
				quick, sibling := q.open(1_000, channels.EMAIL, nil), q.open(1, channels.EMAIL, nil)
				var mu sync.Mutex
				left := map[string]time.Time{}
				d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
					if m.To != "a@b.example" {
						let(hang)
						return deliveries.Unanswered("no answer in time")
					}
					mu.Lock()
					defer mu.Unlock()
					left[m.ID] = time.Now()
					return nil
				}}
				began := time.Now()
				work(t, q, d, plainComposer{}, settings(), func() {
					for range 12 {
						let(3 * time.Second)
						before := time.Now()
						var single, own string
						q.set(func(q *fakeQueue) { single, own = q.addTo(quick, "a@b.example"), q.addTo(sibling, "a@b.example") })
						q.added <- struct{}{}
						let(100 * time.Millisecond)
						mu.Lock()
						assert.Contains(t, left, single, "after %s", before.Sub(began))
						assert.True(t, !c.sibling || !left[own].IsZero(), "other channels of the same organization go on: after %s", before.Sub(began))
						mu.Unlock()
					}
				})
			})
		})
	}
}

// TestWorkerAttemptsPerOrganization bounds what a crash can repeat, and
// goroutines and connections: an organization has at most 200 attempts under way, whatever the
// settings of its channels.
//
//nolint:paralleltest // It counts goroutines.
func TestWorkerAttemptsPerOrganization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(0, nil)
		for range 20 {
			c := q.open(1, channels.EMAIL, channels.Settings{channels.SettingConcurrency: channels.MaxConcurrency})
			for range 500 {
				q.addTo(c, "a@b.example")
			}
		}
		var now, most atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			most.Store(max(most.Load(), now.Add(1)))
			let(25 * time.Second)
			now.Add(-1)
			return nil
		}}
		before := runtime.NumGoroutine()
		work(t, q, d, plainComposer{}, settings(), func() {
			let(5 * time.Second)
			assert.Less(t, runtime.NumGoroutine()-before, 20*6+2*200+20, "there are no goroutines beside those of senders and two of each attempt")
			let(time.Minute)
		})
		assert.LessOrEqual(t, most.Load(), int32(200))
		assert.Greater(t, most.Load(), int32(190))
	})
}

// TestWorkerClaimFairness is about a slow store.
func TestWorkerClaimFairness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(0, nil)
		q.reading = 100 * time.Millisecond
		for range 300 {
			c := q.open(1, channels.EMAIL, channels.Settings{channels.SettingRatePerSecond: 0.1})
			for range 10 {
				q.addTo(c, "a@b.example")
			}
		}
		quick := q.open(2, channels.EMAIL, nil)
		var left atomic.Int64
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			if m.To == "b@b.example" {
				left.Store(time.Now().UnixNano())
			}
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(2 * time.Second)
			added := time.Now()
			q.set(func(q *fakeQueue) { q.addTo(quick, "b@b.example") })
			q.added <- struct{}{}
			let(10 * time.Second)
			assert.NotZero(t, left.Load())
			assert.Less(t, time.Unix(0, left.Load()).Sub(added), time.Second)
		})
	})
}

// TestWorkerHangingHost uses webhooks, whose messages go to hosts of the recipients.
func TestWorkerHangingHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, hooks := newHooks(1_000, "https://hangs.example/hook")
		for range 100 {
			q.addTo(hooks, "https://works.example/hook")
		}
		var tried, hanging, most, sent atomic.Int32
		var mended atomic.Bool
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			if m.To == "https://works.example/hook" || mended.Load() {
				sent.Add(1)
				return nil
			}
			tried.Add(1)
			most.Store(max(most.Load(), hanging.Add(1)))
			defer hanging.Add(-1)
			let(29 * time.Second)
			return deliveries.Unanswered("no answer in time")
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(20 * time.Second)
			assert.EqualValues(t, 100, sent.Load(), "they do not wait for a host that hangs")
			assert.LessOrEqual(t, most.Load(), int32(12), "some attempts are left for others")
			let(10 * time.Minute)
			assert.Less(t, tried.Load(), int32(60), "a host that hangs is tried now and then")
			assert.Zero(t, q.count(deliveries.Failed))
			q.set(func(q *fakeQueue) { q.addTo(hooks, "https://works.example/hook") })
			q.added <- struct{}{}
			let(100 * time.Millisecond)
			assert.EqualValues(t, 101, sent.Load())
			mended.Store(true)
			let(2 * time.Hour)
			assert.Equal(t, 1_101, q.count(deliveries.Sent))
		})
	})
}

// TestWorkerSlowHost is about the common case of one receiver: its messages are neither postponed
// nor claimed repeatedly.
func TestWorkerSlowHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, _ := newHooks(1_000, "https://slow.example/hook")
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(time.Second)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(1_000/12*time.Second + 5*time.Second) })
		assert.Equal(t, 1_000, q.count(deliveries.Sent))
		assert.Zero(t, q.givenBack)
	})
}

// TestWorkerParkedDeliveriesHeedNewSettings is about deliveries that wait for a host when the
// channel changes.
func TestWorkerParkedDeliveriesHeedNewSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, hooks := newHooks(100, "https://hangs.example/hook")
		var mended atomic.Bool
		d := fakeDriver{opened: func(c channels.Channel) { mended.Store(c.Settings["secret"] == "new") },
			dispatch: func(context.Context, deliveries.Message) error {
				if mended.Load() {
					return nil
				}
				let(29 * time.Second)
				return deliveries.Unanswered("no answer in time")
			}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(5 * time.Second)
			q.set(func(q *fakeQueue) {
				c := q.others[hooks]
				c.Settings = channels.Settings{"secret": "new"}
				q.others[hooks] = c
			})
			let(40 * time.Second)
			assert.GreaterOrEqual(t, q.count(deliveries.Sent), 88, "all but those that were under way")
		})
	})
}
