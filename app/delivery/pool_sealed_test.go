package delivery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// TestSealedMemberHandsOver checks that the pool of a channel takes over its deliveries when its
// settings cannot be decrypted, as after any failure of the channel.
func TestSealedMemberHandsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, channels.Settings{"host": "localhost"})
		second := q.pooled()
		q.noChannel = channels.ErrSealed
		var sent taken
		work(t, q, sent.driver(), plainComposer{}, settings(), func() {
			let(time.Minute)
			assert.Equal(t, 20, sent.by(second))
			assert.Equal(t, 20, q.count(deliveries.Sent))

			q.set(func(q *fakeQueue) {
				q.noChannel = nil
				q.add()
			})
			let(5 * time.Minute)
			assert.Equal(t, 21, q.count(deliveries.Sent))
		})
	})
}
