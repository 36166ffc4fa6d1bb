package delivery_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// TestIdleSenderReturnsQuota checks that a sender which stays, because its channel has failed,
// keeps nothing of the quota without work. Other instances may need it.
func TestIdleSenderReturnsQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, channels.Settings{channels.SettingQuotaPerDay: 50_000})
		second := q.pooled()
		var mended atomic.Bool
		var sent taken
		d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
			if c == 1 && !mended.Load() {
				return deliveries.Unreachable("refused")
			}
			sent.take(c, m)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(30 * time.Second)
			require.Equal(t, 1, sent.by(second))
			q.set(func(q *fakeQueue) { assert.NotZero(t, q.usage.OfDay) })
			let(90 * time.Second)
			q.set(func(q *fakeQueue) { assert.Zero(t, q.usage.OfDay, "the attempt has failed and does not count") })
			let(time.Hour)
			q.set(func(q *fakeQueue) { assert.LessOrEqual(t, q.allows, 2, "it is returned once") })

			mended.Store(true)
			q.set(func(q *fakeQueue) { q.add() })
			let(2 * time.Minute)
			assert.Equal(t, 1, sent.by(1))
			q.set(func(q *fakeQueue) { assert.Equal(t, 1, q.usage.OfDay) })
		})
	})
}
