package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// leavingPoolCases are about deliveries that wait for a channel which has left its pool.
func leavingPoolCases() cases {
	return cases{
		"AMessageReturnsToTheChannelOfItsAssignment": func(t *testing.T, w *world) {
			first := w.pooled(t, 0)[0]
			for how, leave := range map[string]func(c channels.Channel){
				"Deleted": func(c channels.Channel) {
					act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), c) })
				},
				"Inactive": func(c channels.Channel) {
					c.Pool, c.Active = "", false
					w.saveChannel(t, c)
				},
			} {
				first.Pool, first.Weight = "post", 0
				w.saveChannel(t, first)
				other := w.open(t, channels.Channel{Name: "Mail " + how, Protocol: channels.EMAIL, Active: true, Pool: "post", Weight: 100})
				o := w.waiting(t, 1)
				held := w.claim(t, other, "w", 1, lease)
				require.Len(t, held, 1, how)
				assert.Equal(t, first.ID, held[0].Assigned, how)
				w.record(t, "w", deliveries.Outcome{ID: held[0].ID, State: deliveries.Failed, Attempts: 1, Error: "suspended"})
				first.Pool = ""
				w.saveChannel(t, first)
				leave(other)
				act(t, w, func(tx ports.Tx) error { _, err := tx.Deliveries().Requeue(t.Context(), o, 0, 10); return err })
				held = w.claim(t, other, "w", 1, lease)
				require.Len(t, held, 1, how)
				assert.Equal(t, deliveries.ChannelInactive, held[0].Gates.Closed(), how)
				assert.Equal(t, first.ID, held[0].Assigned, how)
				w.record(t, "w", deliveries.Outcome{ID: held[0].ID, State: deliveries.Pending, Next: time.Now(), To: held[0].Assigned, Why: channels.Deactivated})
				again := w.claim(t, first, "w", 1, lease)
				require.Len(t, again, 1, how)
				assert.Empty(t, again[0].Gates.Closed(), how)
				assert.Zero(t, again[0].Assigned, how)
				assert.Equal(t, "Mail", w.delivery(t, o, again[0].ID).Channel, how)
				w.record(t, "w", deliveries.Outcome{ID: again[0].ID, State: deliveries.Sent, Attempts: 1})
			}
		},
		"MessagesOfAnotherPoolGoBack": func(t *testing.T, w *world) {
			first := w.pooled(t, 0)[0]
			other := w.open(t, channels.Channel{Name: "Mail B", Protocol: channels.EMAIL, Active: true, Pool: "post", Weight: 100})
			o := w.waiting(t, 40)
			require.Equal(t, map[string]int{"Mail B": 40}, w.through(t, o))
			held := w.claim(t, other, "w", 10, lease)
			assert.Equal(t, first.ID, held[0].Named)
			other.Pool = "marketing"
			w.saveChannel(t, other)
			retry := func(id deliveries.ID, to channels.ID) {
				w.record(t, "w", deliveries.Outcome{ID: id, State: deliveries.Retrying, Attempts: 1, Next: time.Now().Add(-time.Second), To: to, Why: channels.NotWorking})
			}
			w.down(t, other, time.Minute)
			assert.Equal(t, 30, w.divert(t, w.mine.org.ID, other, 1_000), "also where its pool has no other member")
			assert.Equal(t, map[string]int{"Mail": 30, "Mail B": 10}, w.through(t, o))
			second := w.open(t, channels.Channel{Name: "Mail C", Protocol: channels.EMAIL, Active: true, Pool: "marketing", Weight: 100})
			retry(held[0].ID, second.ID)
			assert.Equal(t, "Mail B", w.delivery(t, o, held[0].ID).Channel, "a member of another pool takes nothing")
			retry(held[1].ID, first.ID)
			assert.Equal(t, "Mail", w.delivery(t, o, held[1].ID).Channel)
			first.Active = false
			w.saveChannel(t, first)
			assert.Zero(t, w.divert(t, w.mine.org.ID, other, 1_000), "an inactive channel takes nothing")
			first.Active = true
			w.saveChannel(t, first)
			assert.Equal(t, 1, w.divert(t, w.mine.org.ID, other, 1_000), "what has failed, too")
			for _, j := range held[2:] {
				w.record(t, "w", deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1})
			}
			assert.Equal(t, map[string]int{"Mail": 32, "Mail B": 8}, w.through(t, o))
			for _, j := range w.claim(t, first, "w", 100, lease) {
				assert.Empty(t, j.Gates.Closed())
				assert.Zero(t, j.Named)
			}
		},
		"OffloadedMessagesOfAnotherPoolGoBack": func(t *testing.T, w *world) {
			w.pooled(t, 0)
			other := w.open(t, channels.Channel{Name: "Mail B", Protocol: channels.EMAIL, Active: true, Pool: "post", Weight: 100})
			o := w.waiting(t, 40)
			other.Pool = "marketing"
			w.saveChannel(t, other)
			second := w.open(t, channels.Channel{Name: "Mail C", Protocol: channels.EMAIL, Active: true, Pool: "marketing", Weight: 100})
			assert.Zero(t, w.relieve(t, w.mine.org.ID, other, second, 25, 10))
			assert.Equal(t, map[string]int{"Mail": 25, "Mail B": 15}, w.through(t, o))
		},
		"AMessageDoesNotReturnToAnInactiveChannel": func(t *testing.T, w *world) {
			first := w.pooled(t, 0)[0]
			other := w.open(t, channels.Channel{Name: "Mail B", Protocol: channels.EMAIL, Active: true, Pool: "post", Weight: 100})
			w.waiting(t, 1)
			first.Active = false
			w.saveChannel(t, first)
			held := w.claim(t, other, "w", 1, lease)
			require.Len(t, held, 1)
			assert.Zero(t, held[0].Assigned)
		},
		"AMessageReturnsToAnInactiveChannelWhosePoolSends": func(t *testing.T, w *world) {
			first := w.pooled(t, 0)[0]
			other := w.open(t, channels.Channel{Name: "Mail B", Protocol: channels.EMAIL, Active: true, Pool: "post", Weight: 100})
			third := w.open(t, channels.Channel{Name: "Mail C", Protocol: channels.EMAIL, Active: true, Pool: "post"})
			second := w.open(t, channels.Channel{Name: "Mail D", Protocol: channels.EMAIL, Active: true, Pool: "marketing", Weight: 100})
			o := w.waiting(t, 40)
			first.Active = false
			w.saveChannel(t, first)
			other.Active, other.Pool = false, ""
			w.saveChannel(t, other)
			held := w.claim(t, other, "w", 3, lease)
			require.Len(t, held, 3)
			back := func(j deliveries.Job) string {
				w.record(t, "w", deliveries.Outcome{ID: j.ID, State: deliveries.Pending, Next: time.Now(), To: first.ID, Why: channels.Deactivated})
				return w.delivery(t, o, j.ID).Channel
			}
			assert.Equal(t, deliveries.ChannelInactive, held[0].Gates.Closed())
			assert.Equal(t, first.ID, held[0].Assigned)
			assert.Equal(t, "Mail", back(held[0]))
			assert.Equal(t, 1, w.divert(t, w.mine.org.ID, first, 10))
			jobs := w.claim(t, third, "w", 1, lease)
			require.Len(t, jobs, 1)
			assert.Empty(t, jobs[0].Gates.Closed())

			third.Active = false
			w.saveChannel(t, third)
			assert.Equal(t, "Mail B", back(held[1]), "no member of the pool sends now")
			assert.Zero(t, w.claim(t, other, "w", 1, lease)[0].Assigned)
			other.Active, other.Pool = true, "marketing"
			w.saveChannel(t, other)
			assert.Zero(t, w.divert(t, w.mine.org.ID, other, 10))
			assert.Zero(t, w.relieve(t, w.mine.org.ID, other, second, 10, 0))
			require.Equal(t, map[string]int{"Mail B": 39, "Mail C": 1}, w.through(t, o))
			third.Active = true
			w.saveChannel(t, third)
			assert.Equal(t, 10, w.divert(t, w.mine.org.ID, other, 10))
			assert.Zero(t, w.relieve(t, w.mine.org.ID, other, second, 10, 0))
			assert.Equal(t, map[string]int{"Mail": 20, "Mail B": 19, "Mail C": 1}, w.through(t, o))
		},
	}
}

func eventPoolCases() cases {
	return cases{
		"AnEventKeepsAPoolThatLostItsLastMember": func(t *testing.T, w *world) {
			all := w.pooled(t, 100)
			limited := w.mine.order
			limited.Pools = []events.Pool{{Name: "post", Protocol: channels.EMAIL}}
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			all[0].Pool = "other" // as an earlier release may do it, which does not ask
			w.saveChannel(t, all[0])
			limited.Name = "Another name"
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			assert.Equal(t, limited, w.event(t, w.mine.web, "order"))
			limited.Pools = []events.Pool{{Name: "other", Protocol: channels.EMAIL}}
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			assert.Equal(t, limited, w.event(t, w.mine.web, "order"))
			limited.Pools = []events.Pool{{Name: "post", Protocol: channels.EMAIL}}
			refused(t, w, channels.ErrNotFound, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
		},
		"EventNamesOnlyExistingPools": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			w.open(t, channels.Channel{Name: "D", Project: w.mine.annex.ID, Protocol: channels.EMAIL, Pool: "annex"})
			for _, p := range []events.Pool{{Name: "nope", Protocol: channels.EMAIL}, {Name: "post", Protocol: channels.SMS}, {Protocol: channels.SMS}, {Name: "annex", Protocol: channels.EMAIL}} {
				limited := w.mine.order
				limited.Pools = []events.Pool{p}
				refused(t, w, channels.ErrNotFound, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			}
		},
	}
}
