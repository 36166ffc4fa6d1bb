package delivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/clocks"
)

// fakeShare is a part of a channel's concurrent attempts.
type fakeShare struct {
	channels.Holder

	until time.Time
}

func (q *fakeQueue) HoldShare(_ context.Context, c channels.ID, owner string, lease time.Duration, places channels.Concurrency) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away != nil {
		return 0, q.away
	}
	if q.shares == nil {
		q.shares = map[channels.ID]map[string]*fakeShare{}
	}
	if q.shares[c] == nil {
		q.shares[c] = map[string]*fakeShare{}
	}
	number := int64(1)
	for name, s := range q.shares[c] {
		number = max(number, s.Joined+1)
		if s.until.Before(time.Now()) {
			delete(q.shares[c], name)
		}
	}
	mine := q.shares[c][owner]
	if mine == nil {
		mine = &fakeShare{Holder: channels.Holder{Owner: owner, Joined: number}}
		q.shares[c][owner] = mine
	}
	mine.until = time.Now().Add(lease)
	var all []channels.Holder
	for _, s := range q.shares[c] {
		all = append(all, s.Holder)
	}
	share := places.Share(owner, all)
	mine.Concurrency = max(share, places.Held)
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

func (q *cutOff) HoldShare(ctx context.Context, c channels.ID, owner string, lease time.Duration, places channels.Concurrency) (int, error) {
	if q.away.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return q.Queue.HoldShare(ctx, c, owner, lease, places)
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
