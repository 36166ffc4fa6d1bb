package delivery_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// errUnsent is the failure of a message that a driver refuses by itself.
var errUnsent = deliveries.Unsendable("there is no text to send")

// TestUnsentMessageIsNoTrial is about a channel whose provider is down. Messages that the driver
// refuses do not show that it works: the pause goes on, and the next message is the trial.
func TestUnsentMessageIsNoTrial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const first, empty, then = 10, 20, 10
		q := newFakeQueue(first, nil)
		var back atomic.Bool
		var attempts atomic.Int32
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			switch {
			case m.ID > string(rune(first)) && m.ID <= string(rune(first+empty)):
				return errUnsent
			case back.Load():
				return nil
			}
			attempts.Add(1)
			let(time.Millisecond) // All of the first ones begin before one fails.
			return deliveries.Unreachable("connection refused")
		}}
		_, log := logged(t, q, d, settings(), func(*delivery.Worker) {
			let(time.Second)
			assert.EqualValues(t, first, attempts.Load())
			q.set(func(q *fakeQueue) {
				for range empty + then {
					q.add()
				}
			})
			let(5 * time.Second)
			assert.Equal(t, empty, q.count(deliveries.Failed), "they need no provider")
			assert.EqualValues(t, first+1, attempts.Load(), "the next message is the trial")
			let(time.Minute)
			assert.Less(t, attempts.Load(), int32(first+6), "the pauses double")
			q.set(func(q *fakeQueue) {
				for _, o := range q.outages {
					assert.NotEmpty(t, o.Error, "the outage is not cleared")
				}
			})
			back.Store(true)
			let(time.Hour)
		})
		assert.Equal(t, first+then, q.count(deliveries.Sent))
		assert.Len(t, lines(log, "a channel is paused, because its provider is unreachable"), 1)
		assert.Len(t, lines(log, "a channel works again"), 1)
	})
}

// TestUnsentMessagesOnly is about a channel on trial that gets nothing but messages that the driver
// refuses. None waits for another pause.
func TestUnsentMessagesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(5, nil)
		var broken atomic.Bool
		broken.Store(true)
		var calls atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			calls.Add(1)
			if broken.Load() {
				return deliveries.Unreachable("connection refused")
			}
			return errUnsent
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(time.Second)
			broken.Store(false)
			q.set(func(q *fakeQueue) {
				for range 200 {
					q.add()
				}
			})
			let(time.Hour)
		})
		assert.Equal(t, 205, q.count(deliveries.Failed))
		assert.EqualValues(t, 210, calls.Load())
	})
}

// TestUnsentMessageCostsNoQuota is about messages that never reached the provider.
func TestUnsentMessageCostsNoQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, channels.Settings{channels.SettingQuotaPerDay: 10})
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			if id, _ := utf8.DecodeRuneInString(m.ID); id%2 == 0 {
				return errUnsent
			}
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(5 * time.Minute) })
		assert.Equal(t, 10, q.count(deliveries.Sent), "all of it")
		assert.Equal(t, 10, q.usage.OfDay)
	})
}

// TestUnsentMessageIsNoAnswer checks that such a message says nothing about the member of a pool.
func TestUnsentMessageIsNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, nil)
		q.pooled()
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return errUnsent }}
		work(t, q, d, plainComposer{}, settings(), func() { let(5 * time.Second) })
		assert.Equal(t, 20, q.count(deliveries.Failed))
		assert.Empty(t, q.answered)
	})
}

// TestUnsentMessageAndItsHost checks that such a message does not show that its host answers.
func TestUnsentMessageAndItsHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, hooks := newHooks(10, "https://down.example/hook")
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			if m.ID > string(rune(10)) {
				return errUnsent
			}
			let(time.Millisecond) // All of the first ones begin before one fails.
			return deliveries.Unanswered("the connection was refused")
		}}
		_, log := logged(t, q, d, settings(), func(*delivery.Worker) {
			let(2 * time.Second)
			q.set(func(q *fakeQueue) {
				for range 10 {
					q.addTo(hooks, "https://down.example/hook")
				}
			})
			let(time.Hour)
		})
		assert.Positive(t, q.count(deliveries.Failed))
		assert.Len(t, lines(log, "a host does not answer; its messages are postponed"), 1)
		assert.Empty(t, lines(log, "a host answers again"))
	})
}
