package delivery_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// TestMessagesOfAnotherPool checks that messages which a channel took over in its former pool go
// back to the channel of their assignment, and not to members of its present pool, when the channel
// does not work.
func TestMessagesOfAnotherPool(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(q *fakeQueue){
		"Inactive": func(q *fakeQueue) {
			q.channel.Active = false
			for _, r := range q.rows {
				r.job.Gates.ChannelActive = false
			}
		},
		"Paused": func(q *fakeQueue) {
			q.outages = append(q.outages, channels.Outage{Channel: 1, Instance: "b", Until: time.Now().Add(time.Hour), ForAll: true})
		},
		"Failing": func(*fakeQueue) {},
		"UsedUp": func(q *fakeQueue) {
			q.channel.Settings = channels.Settings{channels.SettingQuotaPerDay: 1}
		},
		"Limited": func(q *fakeQueue) { q.channel.Settings = channels.Settings{channels.SettingRatePerSecond: 0.01} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(40, nil)
				other := q.pooled()
				assigned := q.open(0, channels.EMAIL, nil)
				for id, r := range q.rows { // The channel with the id 1 was in the pool of assigned.
					if id > 20 {
						r.job.Named, r.job.Assigned = assigned, assigned
					}
				}
				fault(q)
				var sent taken
				d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
					if c == 1 && name == "Failing" {
						return deliveries.Unreachable("the connection was refused")
					}
					sent.take(c, m)
					return nil
				}}
				work(t, q, d, plainComposer{}, settings(), func() { let(2 * time.Minute) })
				require.Equal(t, 40, sent.by(1)+sent.by(other)+sent.by(assigned))
				assert.LessOrEqual(t, sent.by(1), 3)
				assert.LessOrEqual(t, sent.by(other), 20)
				assert.GreaterOrEqual(t, sent.by(assigned), 18)
				for id, r := range q.rows {
					if id > 20 {
						assert.NotEqual(t, other, r.channel, "message %d", id)
					} else {
						assert.NotEqual(t, assigned, r.channel, "message %d", id)
					}
				}
			})
		})
	}
}
