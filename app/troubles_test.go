package app_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// told are the words about the channel so far.
func (q *fakeQueue) toldTroubles() []channels.Trouble {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]channels.Trouble(nil), q.troubles...)
}

func TestWorkerTellsWhichChannelsDoNotWork(t *testing.T) {
	t.Parallel()
	well := channels.Trouble{Channel: 1, Instance: "host:1"}

	t.Run("OneThatWorksIsToldOnce", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(1_000, nil)
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
			work(t, q, d, plainComposer{}, settings(), func() { let(time.Minute) })
			assert.Equal(t, []channels.Trouble{well}, q.toldTroubles())
		})
	})

	t.Run("RefusedRecipientsAreNoTrouble", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(100, nil)
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return deliveries.Refused("no such mailbox") }}
			work(t, q, d, plainComposer{}, settings(), func() { let(time.Minute) })
			assert.Equal(t, []channels.Trouble{well}, q.toldTroubles())
		})
	})

	t.Run("OneThatRestsIsToldWithEveryRestAndWithdrawnWhenItWorks", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 1})
			var mended atomic.Bool
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
				if mended.Load() {
					return nil
				}
				return deliveries.Unreachable("connection refused")
			}}
			work(t, q, d, plainComposer{}, settings(), func() {
				let(17 * time.Second) // rests of 5 and 10 seconds, and a third has begun
				mended.Store(true)
				let(5 * time.Minute)
			})
			told := q.toldTroubles()
			require.Len(t, told, 4)
			for i, rest := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
				assert.Equal(t, "connection refused", told[i].Error)
				assert.Equal(t, "host:1", told[i].Instance)
				assert.Equal(t, begun, told[i].Since)
				assert.Equal(t, rest, told[i].Until.Sub(told[i].Last))
			}
			assert.Equal(t, well, told[3])
		})
	})

	t.Run("AStoreThatTakesNoWordHoldsUpNoMessage", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 1})
			q.deaf = errors.New("no")
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
			work(t, q, d, plainComposer{}, settings(), func() { let(time.Second) })
			assert.Equal(t, 100, q.count(deliveries.Sent))
			assert.Len(t, q.toldTroubles(), 1)
		})
	})
}
