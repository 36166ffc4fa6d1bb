package delivery_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

func (q *fakeQueue) TakeSlots(_ context.Context, c channels.ID, rate channels.Rate, want int) (channels.Slots, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away != nil {
		return channels.Slots{}, q.away
	}
	if q.lastSlots == nil {
		q.lastSlots = map[channels.ID]time.Time{}
	}
	q.slotTakes++
	slots := rate.Take(q.lastSlots[c], time.Now(), want)
	q.lastSlots[c] = slots.Last
	return slots, nil
}

func (q *cutOff) TakeSlots(ctx context.Context, c channels.ID, rate channels.Rate, want int) (channels.Slots, error) {
	if q.away.Load() {
		<-ctx.Done()
		return channels.Slots{}, ctx.Err()
	}
	return q.Queue.TakeSlots(ctx, c, rate, want)
}

// leaving records when messages left.
type leaving struct {
	mu  sync.Mutex
	all []time.Time
}

// note adds one message and returns how many there were.
func (l *leaving) note() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, time.Now())
	return len(l.all)
}

// most returns how many messages left in the busiest second, and most between two moments.
func (l *leaving) most() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := 0
	for i, at := range l.all {
		for at.Sub(l.all[first]) >= time.Second {
			first++
		}
		n = max(n, i-first+1)
	}
	return n
}

// closest returns the shortest time between two messages.
func (l *leaving) closest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	shortest := time.Hour
	for i := 1; i < len(l.all); i++ {
		shortest = min(shortest, l.all[i].Sub(l.all[i-1]))
	}
	return shortest
}

// driver sends messages and notes when they leave.
func (l *leaving) driver() fakeDriver {
	return fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
		l.note()
		return nil
	}}
}

func (l *leaving) between(from, to time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(l.all), func(at time.Time) bool { return at.Before(from) || !at.Before(to) }))
}

// TestInstancesShareTheRateLimit is about three instances that start one after the other. One loses
// the store, and one stops.
func TestInstancesShareTheRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(5_000, channels.Settings{channels.SettingRatePerSecond: 100})
		var left leaving
		d := left.driver()
		var all instances
		within := func(d time.Duration) int {
			began := time.Now()
			let(d)
			return left.between(began, time.Now())
		}
		all.start(t, q, d)
		let(5 * time.Second)
		assert.Greater(t, within(5*time.Second), 475, "alone it has all of it")
		all.start(t, q, d)
		all.start(t, q, d)
		let(5 * time.Second)
		assert.Greater(t, within(5*time.Second), 475, "together they have all of it")
		all.queues[0].away.Store(true)
		let(9 * time.Second)
		assert.Greater(t, within(5*time.Second), 475, "the others have its part after its lease")
		all.stops[1]()
		let(3 * time.Second)
		assert.Greater(t, within(5*time.Second), 475, "one that stops gives its part back at once")
		all.stops[0]()
		all.stops[2]()
		all.running.Wait()
		require.LessOrEqual(t, left.most(), 105)
	})
}

// TestSingleMessagesAtALowRate is about messages that come one by one, and each may be claimed by
// any of three instances. An instance that takes over an idle channel does not send before its
// time.
func TestSingleMessagesAtALowRate(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(0, channels.Settings{channels.SettingRatePerSecond: 1})
			random := rand.New(rand.NewPCG(seed, 1))
			var left leaving
			workTogether(t, q, left.driver(), 3, func() {
				for range 60 {
					q.set((*fakeQueue).add)
					let(time.Duration(random.IntN(1_900)) * time.Millisecond)
				}
				let(30 * time.Second)
			})
			assert.Equal(t, 60, q.count(deliveries.Sent))
			assert.GreaterOrEqual(t, left.closest(), time.Second)
		})
	}
}

// TestUnclaimedUntilItsSlot is about a message whose slot is hours away. No instance keeps it
// claimed meanwhile, because its gates are checked at the claim.
func TestUnclaimedUntilItsSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(3, channels.Settings{channels.SettingRatePerSecond: 1.0 / 3_600})
		var left leaving
		workTogether(t, q, left.driver(), 2, func() {
			let(10 * time.Second)
			assert.Equal(t, 1, q.count(deliveries.Sent))
			assert.Equal(t, 2, q.count(deliveries.Pending))
			let(2*time.Hour + time.Minute)
			assert.Equal(t, 3, q.count(deliveries.Sent))
		})
		assert.GreaterOrEqual(t, left.closest(), time.Hour)
	})
}

// TestSlotsAreTakenTogether is about how often slots are taken in the store.
func TestSlotsAreTakenTogether(t *testing.T) {
	t.Parallel()
	for name, rate := range map[string]float64{"TheRateIsTheLimit": 200, "TheProviderIsTheLimit": 50_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(10_000, channels.Settings{channels.SettingRatePerSecond: rate})
				var left leaving
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
					let(20 * time.Millisecond)
					left.note()
					return nil
				}}
				work(t, q, d, plainComposer{}, settings(), func() { let(10 * time.Second) })
				assert.Greater(t, q.count(deliveries.Sent), 1_900)
				assert.Less(t, q.slotTakes, 60)
			})
		})
	}
}
