package delivery_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// pooledBy makes the channel with the id 1 a member of a pool with the first weight, and adds a
// member for each further weight.
func (q *fakeQueue) pooledBy(weights ...int) {
	q.channel.Pool, q.channel.Weight = "mail", weights[0]
	for _, weight := range weights[1:] {
		id := q.open(0, channels.EMAIL, nil)
		c := q.others[id]
		c.Pool, c.Weight = "mail", weight
		q.others[id] = c
	}
}

// TestFailoverReachesEachMember checks that a message gets to the only member that works without a
// pause, whichever that is, and to a member without a weight last.
func TestFailoverReachesEachMember(t *testing.T) {
	t.Parallel()
	for name, weights := range map[string][]int{"ByWeight": {100, 100, 100}, "Standby": {100, 100, 0}, "Unequal": {1, 1_000, 10}} {
		for works := channels.ID(2); works <= 3; works++ {
			t.Run(name+strconv.Itoa(int(works)), func(t *testing.T) {
				t.Parallel()
				for id := deliveries.ID(1); id <= 20; id++ {
					synctest.Test(t, func(t *testing.T) {
						q := newFakeQueue(int(id), nil)
						q.pooledBy(weights...)
						for other, r := range q.rows {
							if other != id {
								r.state = deliveries.Sent
							}
						}
						var mu sync.Mutex
						var asked []channels.ID
						d := fakeDriver{through: func(_ context.Context, c channels.ID, _ deliveries.Message) error {
							mu.Lock()
							defer mu.Unlock()
							if asked = append(asked, c); c == works {
								return nil
							}
							return deliveries.Unreachable("the connection was refused")
						}}
						work(t, q, d, plainComposer{}, settings(), func() { let(5 * time.Second) })
						require.Equal(t, deliveries.Sent, q.rows[id].state, "message %d", id)
						assert.LessOrEqual(t, len(asked), 3, "message %d: each member has it once", id)
						if name == "Standby" && works == 3 {
							assert.Equal(t, []channels.ID{1, 2, 3}, asked)
						}
					})
				}
			})
		}
	}
}

// TestFailoverWhileTheOutcomeIsStored checks that a member of a pool gets a message that it claimed
// before the store answered that the outcome of the other member is recorded.
func TestFailoverWhileTheOutcomeIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, nil)
		q.pooledBy(100, 0)
		q.answering = 100 * time.Millisecond
		d := fakeDriver{through: func(_ context.Context, c channels.ID, _ deliveries.Message) error {
			if c == 2 {
				return nil
			}
			return deliveries.Unreachable("the connection was refused")
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(20 * time.Second) })
		assert.Equal(t, 20, q.count(deliveries.Sent))
	})
}
