package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// byAddress returns the addresses of the deliveries that a prefix finds, read in pages.
func (w *world) byAddress(t *testing.T, o events.Occurrence, prefix string, size int) (found []string) {
	t.Helper()
	var after deliveries.Cursor
	seen := map[deliveries.ID]bool{}
	for {
		var page []deliveries.Delivery
		require.NoError(t, w.View(t.Context(), func(tx ports.Tx) (err error) {
			page, after, err = tx.Deliveries().ByAddress(t.Context(), o, prefix, after, size)
			return err
		}))
		require.LessOrEqual(t, len(page), size)
		for _, d := range page {
			assert.False(t, seen[d.ID], "twice")
			seen[d.ID] = true
			found = append(found, d.Address)
		}
		if len(page) < size {
			return found
		}
	}
}

func (w *world) skipped(t *testing.T, o events.Occurrence, why deliveries.Reason) []deliveries.Delivery {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]deliveries.Delivery, error) {
		return tx.Deliveries().Skipped(t.Context(), o, why, 0, 100)
	})
}

func findCases() cases {
	return cases{
		"ByTheBeginningOfTheAddress": func(t *testing.T, w *world) {
			w.write(t, w.mine.mail, w.mine.text)
			w.hear(t)
			second := w.mine.shipped
			second.Name, second.List = "Also", w.mine.news.ID
			do(t, w, func(tx ports.Tx) (subscriptions.Notification, error) {
				return tx.Subscriptions().Create(t.Context(), second)
			})
			w.add(t, w.mine.news, w.mine.adaByText.ID)
			as := w.spread(t, 12, w.mine.mail) // bob+0@example.org to bob+11@example.org
			w.add(t, w.mine.news, idsOf(as)...)
			act(t, w, func(tx ports.Tx) error { // one of them is left out
				_, err := tx.Deliveries().SetOptOut(t.Context(), deliveries.OptOut{Member: w.mine.bob.ID, AddressKey: "bob+1@example.org", Notification: w.mine.shipped.ID}, true)
				return err
			})
			w.trigger(t, w.mine.occurrence(nil, nil)) // another occurrence's stay out
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 100)
			twice := func(all ...string) (each []string) {
				for _, a := range all {
					each = append(each, a, a)
				}
				return each
			}
			for _, size := range []int{1, 2, 3, 100} {
				assert.Equal(t, twice("bob+10@example.org", "bob+11@example.org", "bob+1@example.org"), w.byAddress(t, o, "BOB+1", size), "in the order of bytes")
				assert.Equal(t, twice("+14155552671"), w.byAddress(t, o, "+1415", size))
				assert.Equal(t, twice("ada@example.org"), w.byAddress(t, o, "ada@example.org", size))
				assert.Empty(t, w.byAddress(t, o, "da", size))
				assert.Empty(t, w.byAddress(t, o, "bob_", size), "no pattern")
				assert.Len(t, w.byAddress(t, o, "", size), 2*(12+2))
			}
			spy := o
			spy.Organization = w.theirs.org.ID
			assert.Empty(t, w.byAddress(t, spy, "bob", 10))
		},
		"ByWhyTheyWereSkipped": func(t *testing.T, w *world) {
			w.waiting(t, 3)
			locked := w.mine.bob
			locked.Locked = true
			act(t, w, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context(), locked) })
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 100)
			found := w.skipped(t, o, deliveries.MemberLocked)
			require.Len(t, found, 2)
			assert.Equal(t, []deliveries.Delivery{found[1]}, look(t, w, func(tx ports.Tx) ([]deliveries.Delivery, error) {
				return tx.Deliveries().Skipped(t.Context(), o, deliveries.MemberLocked, found[0].ID, 100)
			}))
			assert.Empty(t, w.skipped(t, o, deliveries.OptedOut))
			spy := o
			spy.Application = w.mine.desk.ID
			assert.Empty(t, w.skipped(t, spy, deliveries.MemberLocked))
		},
		"OneWithItsJob": func(t *testing.T, w *world) {
			o := w.waiting(t, 2)
			other := w.trigger(t, w.mine.occurrence(nil, nil))
			d := w.made(t, o)[0]
			assert.Equal(t, d, look(t, w, func(tx ports.Tx) (deliveries.Delivery, error) { return tx.Deliveries().Delivery(t.Context(), o, d.ID) }))
			job := look(t, w, func(tx ports.Tx) (deliveries.Job, error) { return tx.Deliveries().Job(t.Context(), o, d.ID) })
			claimed := w.claim(t, w.mine.mail, "one", 10, lease)
			assert.Equal(t, o.ID, claimed[0].Of.ID)
			claimed[0].Of = nil // Claims alone load it.
			assert.Equal(t, claimed[0], job, "what a worker is given")
			spy := o
			spy.Organization = w.theirs.org.ID
			for _, o := range []events.Occurrence{other, spy} {
				missing(t, w, deliveries.ErrNotFound, func(tx ports.Tx) (deliveries.Delivery, error) { return tx.Deliveries().Delivery(t.Context(), o, d.ID) })
				missing(t, w, deliveries.ErrNotFound, func(tx ports.Tx) (deliveries.Job, error) { return tx.Deliveries().Job(t.Context(), o, d.ID) })
			}
		},
		"RequeueGoesOnAfterAPage": func(t *testing.T, w *world) {
			o := w.waiting(t, 3)
			jobs := w.claim(t, w.mine.mail, "one", 3, lease)
			w.record(t, "one", ended(jobs, deliveries.Failed)...)
			ids := idsOfJobs(jobs)
			page := func(after deliveries.ID) []deliveries.ID {
				return do(t, w, func(tx ports.Tx) ([]deliveries.ID, error) { return tx.Deliveries().Requeue(t.Context(), o, after, 2) })
			}
			assert.Equal(t, ids[:2], page(0))
			w.record(t, "two", ended(w.claim(t, w.mine.mail, "two", 10, lease), deliveries.Failed)...)
			assert.Equal(t, ids[2:], page(ids[1]), "what failed again comes before")
			w.counted(t, o)
		},
		"TheseAreRequeued": func(t *testing.T, w *world) {
			o := w.waiting(t, 3)
			jobs := w.claim(t, w.mine.mail, "one", 10, lease)
			w.record(t, "one", ended(jobs, deliveries.Failed, deliveries.Failed, deliveries.Sent)...)
			these := func(o events.Occurrence, ids ...deliveries.ID) int {
				return len(do(t, w, func(tx ports.Tx) ([]deliveries.ID, error) { return tx.Deliveries().RequeueByIDs(t.Context(), o, ids) }))
			}
			spy := o
			spy.Organization = w.theirs.org.ID
			assert.Zero(t, these(spy, jobs[0].ID))
			assert.Zero(t, these(o))
			assert.Equal(t, 1, these(o, jobs[0].ID, jobs[2].ID), "the other one was sent")
			assert.Zero(t, these(o, jobs[0].ID), "it has not failed any more")
			assert.Equal(t, map[deliveries.State]int{deliveries.Pending: 1, deliveries.Failed: 1, deliveries.Sent: 1}, w.counts(t, o))
			assert.Equal(t, jobs[0].ID, only(w.claim(t, w.mine.mail, "two", 10, lease)).ID)
		},
	}
}
