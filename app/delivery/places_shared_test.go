package delivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// underWay counts attempts.
type underWay struct {
	mu        sync.Mutex
	now, most int
	since     int // the most since it was asked
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

// within is how many there were at once at most in the next time.
func (u *underWay) within(d time.Duration) int {
	u.mu.Lock()
	u.since = 0
	u.mu.Unlock()
	let(d)
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.since
}

// TestInstancesShareTheConcurrency has two instances come to one that sends, one be cut off from
// the store, and one stop. Attempts take longer than a part takes to be renewed.
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
				var running sync.WaitGroup
				queues, stops := make([]*cutOff, 3), make([]context.CancelFunc, 3)
				start := func(i int) {
					set := settings()
					set.Owner = fmt.Sprintf("w%d", i)
					queues[i] = &cutOff{Queue: q}
					ctx, stop := context.WithCancel(t.Context())
					stops[i] = stop
					w := delivery.NewWorker(queues[i], delivery.Drivers{now.driver(2 * time.Second)}, plainComposer{}, machineClock{}, slog.New(slog.DiscardHandler), set)
					running.Go(func() { w.Run(ctx) })
				}
				start(0)
				assert.Equal(t, 16, now.within(10*time.Second), "alone it has all of them")
				start(1)
				start(2)
				assert.LessOrEqual(t, now.within(10*time.Second), 16)
				assert.Equal(t, 16, now.within(10*time.Second), "together they have all of them")
				queues[0].away.Store(true)
				assert.LessOrEqual(t, now.within(15*time.Second), 16+6, "what it has under way when its lease ends is not cut short")
				assert.Equal(t, 16, now.within(10*time.Second), "the others have its part after its lease")
				stops[1]()
				assert.LessOrEqual(t, now.within(10*time.Second), 16)
				assert.Equal(t, 16, now.within(10*time.Second), "one that stops gives its part back")
				stops[0]()
				stops[2]()
				running.Wait()
			})
		})
	}
}

func TestFewerPlacesThanInstances(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(300, channels.Settings{channels.SettingConcurrency: 1})
		var now underWay
		crew(t, q, now.driver(100*time.Millisecond), 3, func() {
			let(90 * time.Second)
			assert.Equal(t, 300, q.count(deliveries.Sent), "nobody keeps what it may not send")
		})
		assert.Equal(t, 1, now.most)
	})
}

func TestConcurrencyThatIsNotSetIsEachInstancesOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(600, nil)
		var now underWay
		crew(t, q, now.driver(time.Second), 2, func() { let(20 * time.Second) })
		assert.Equal(t, 32, now.most)
		assert.Empty(t, q.shares, "nothing is asked of the store")
	})
}
