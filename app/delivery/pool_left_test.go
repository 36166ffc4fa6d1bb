package delivery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
)

// TestInactiveChannelOutsideItsPool checks that messages which an inactive channel had taken over,
// in a pool that it has left, return to the channels of their assignments.
func TestInactiveChannelOutsideItsPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(5, nil)
		q.channel.Active = false
		assigned := q.open(0, channels.EMAIL, nil)
		for _, r := range q.rows {
			r.job.Gates.ChannelActive, r.job.Assigned = false, assigned
		}
		var sent taken
		work(t, q, sent.driver(), plainComposer{}, settings(), func() { let(10 * time.Second) })
		assert.Equal(t, 5, sent.by(assigned))
	})
}
