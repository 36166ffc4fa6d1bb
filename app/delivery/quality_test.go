package delivery_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// TestPoolAttemptsAreReported is about a member that fails some attempts, and a slow one.
func TestPoolAttemptsAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, nil)
		second := q.pooled()
		for range 20 {
			q.addTo(second, "a@b.example")
		}
		refused := false
		d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
			switch {
			case c == second:
				let(3 * time.Second)
			case m.ID == string(rune(1)) && !refused:
				refused = true
				return deliveries.Unreachable("no route to the host")
			case m.ID == string(rune(2)):
				return deliveries.Refused("550 no such mailbox")
			}
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(5 * time.Second) })
		first, slow := q.answered[1], q.answered[second]
		assert.InDelta(t, 1, first.Faults, 0.3, "a refusal of one recipient is no fault of the channel")
		assert.Zero(t, slow.Faults)
		assert.InDelta(t, 3, slow.Took/slow.Attempts, 0.01)
		assert.Greater(t, first.Attempts, 10.0)
	})
}

func TestRecordAnswerOnlyInPools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, nil)
		var sent taken
		work(t, q, sent.driver(), plainComposer{}, settings(), func() { let(5 * time.Second) })
		assert.Equal(t, 20, sent.by(1))
		assert.Empty(t, q.answered)
	})
}
