package delivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/clocks"
)

// fakeShare is a part of a channel's limits.
type fakeShare struct {
	channels.Holder

	until time.Time
}

func (q *fakeQueue) HoldShare(_ context.Context, c channels.ID, owner string, lease time.Duration, places channels.Concurrency) (channels.Share, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away != nil {
		return channels.Share{}, q.away
	}
	if q.shares == nil {
		q.shares = map[channels.ID]map[string]*fakeShare{}
	}
	if q.shares[c] == nil {
		q.shares[c] = map[string]*fakeShare{}
	}
	number := int64(1)
	for name, s := range q.shares[c] {
		number = max(number, s.Renewed+1)
		if s.until.Before(time.Now()) {
			delete(q.shares[c], name)
		}
	}
	mine := q.shares[c][owner]
	if mine == nil {
		mine = &fakeShare{Holder: channels.Holder{Owner: owner, Joined: number}}
		q.shares[c][owner] = mine
	}
	mine.Renewed, mine.until = number, time.Now().Add(lease)
	var all []channels.Holder
	for _, s := range q.shares[c] {
		all = append(all, s.Holder)
	}
	share := places.Share(owner, all)
	mine.Concurrency = max(share.Concurrency, places.Held)
	return share, nil
}

func (q *fakeQueue) ReleaseShare(_ context.Context, c channels.ID, owner string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.shares[c], owner)
	return q.away
}

// cutOff is the queue of an instance that at times cannot reach the store.
type cutOff struct {
	deliveries.Queue

	away atomic.Bool
}

func (q *cutOff) HoldShare(ctx context.Context, c channels.ID, owner string, lease time.Duration, places channels.Concurrency) (channels.Share, error) {
	if q.away.Load() {
		<-ctx.Done()
		return channels.Share{}, ctx.Err()
	}
	return q.Queue.HoldShare(ctx, c, owner, lease, places)
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

func (l *leaving) between(from, to time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(l.all), func(at time.Time) bool { return at.Before(from) || !at.Before(to) }))
}

// instances are workers that send through one queue. Each may lose the store.
type instances struct {
	queues  []*cutOff
	stops   []context.CancelFunc
	running sync.WaitGroup
}

// start starts one more of them.
func (i *instances) start(t *testing.T, q *fakeQueue, d fakeDriver) {
	t.Helper()
	set := settings()
	set.Owner = fmt.Sprintf("w%d", len(i.queues))
	own := &cutOff{Queue: q}
	ctx, stop := context.WithCancel(t.Context())
	i.queues, i.stops = append(i.queues, own), append(i.stops, stop)
	w := delivery.NewWorker(own, delivery.Drivers{d}, plainComposer{}, clocks.Wall{}, slog.New(slog.DiscardHandler), set)
	i.running.Go(func() { w.Run(ctx) })
}

// TestInstancesShareTheRateLimit is about three instances that start one after the other. One loses
// the store, and one stops.
func TestInstancesShareTheRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(5_000, channels.Settings{channels.SettingRatePerSecond: 100})
		var left leaving
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			left.note()
			return nil
		}}
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

func TestRequestedPauseOnAllInstances(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(200, channels.Settings{channels.SettingConcurrency: 2})
		var left leaving
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(100 * time.Millisecond)
			if left.note() != 40 {
				return nil
			}
			failed := deliveries.Unreachable("answered 429")
			failed.RetryAfter = 5 * time.Minute
			return failed
		}}
		workTogether(t, q, d, 2, func() {
			let(10 * time.Second)
			quiet := time.Now()
			let(4 * time.Minute)
			assert.Zero(t, left.between(quiet, time.Now()))
			assert.Greater(t, q.count(deliveries.Pending)+q.count(deliveries.Retrying), 50)
			let(5 * time.Minute)
			assert.Equal(t, 200, q.count(deliveries.Sent))
		})
	})
}
