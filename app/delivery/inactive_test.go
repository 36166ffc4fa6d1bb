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

// TestInactiveChannelWaitsForNoPause checks that the messages of an inactive channel are skipped,
// or return to the channel of their assignment, although its quota is used up or its provider has
// asked for a pause.
func TestInactiveChannelWaitsForNoPause(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]channels.Settings{"QuotaUsedUp": {channels.SettingQuotaPerMonth: 5}, "RequestedPause": nil} {
		for taken, takenOver := range map[string]bool{"Own": false, "TakenOver": true} {
			t.Run(name+taken, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { inactiveAndPaused(t, settings, takenOver) })
			})
		}
	}
}

// inactiveAndPaused makes a channel inactive after its sender has paused. Its messages may be taken
// over from another channel.
func inactiveAndPaused(t *testing.T, of channels.Settings, takenOver bool) {
	q := newFakeQueue(20, of)
	assigned := q.open(0, channels.EMAIL, nil)
	var sent taken
	var attempts atomic.Int32
	d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
		if c == 1 {
			attempts.Add(1)
			if of == nil {
				return withRetryAfter(deliveries.Unreachable("answered 429"), time.Hour)
			}
		}
		sent.take(c, m)
		return nil
	}}
	if takenOver {
		for _, r := range q.rows {
			r.job.Assigned = assigned
		}
	}
	work(t, q, d, plainComposer{}, settings(), func() {
		let(10 * time.Second)
		before := sent.by(1)
		tried := attempts.Load()
		require.Less(t, before, 20)
		q.set(func(q *fakeQueue) {
			q.channel.Active = false
			for _, r := range q.rows {
				r.job.Gates.ChannelActive = false
			}
		})
		let(2*time.Minute + 10*time.Second)
		assert.Equal(t, tried, attempts.Load())
		if takenOver {
			assert.Equal(t, 20, before+sent.by(assigned))
		} else {
			assert.Equal(t, 20, before+q.count(deliveries.Skipped))
		}
	})
}
