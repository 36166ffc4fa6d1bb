package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// subscribe subscribes an assignment and reports whether the subscription is new.
func (w *world) subscribe(t *testing.T, n subscriptions.Notification, a channels.Assignment, active bool) (subscriptions.Subscription, bool) {
	t.Helper()
	var created bool
	s := do(t, w, func(tx ports.Tx) (s subscriptions.Subscription, err error) {
		s, created, err = tx.Subscriptions().Subscribe(t.Context(), n, a.ID, active)
		return s, err
	})
	return s, created
}

// unsubscribe ends a subscription.
func (w *world) unsubscribe(t *testing.T, n subscriptions.Notification, a channels.Assignment) subscriptions.Subscription {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (subscriptions.Subscription, error) {
		return tx.Subscriptions().Unsubscribe(t.Context(), n, a.ID)
	})
}

func subscriptionCases() cases {
	return cases{
		"AreCreatedOnceAndThenSet": func(t *testing.T, w *world) {
			for _, a := range []channels.Assignment{w.mine.bobByMail, w.mine.adaByText} {
				first, created := w.subscribe(t, w.mine.shipped, a, a == w.mine.bobByMail) // one begins active, one does not
				assert.True(t, created)
				assert.Positive(t, first.ID)
				assert.Equal(t, subscriptions.Subscription{ID: first.ID, Notification: w.mine.shipped.ID, Assignment: a.ID, Active: a == w.mine.bobByMail}, first)
				for _, active := range []bool{false, false, true, true, false} {
					s, created := w.subscribe(t, w.mine.shipped, a, active)
					assert.False(t, created)
					first.Active = active
					assert.Equal(t, first, s)
				}
			}
		},
		"UnsubscribingAlwaysClearsTheFlag": func(t *testing.T, w *world) {
			s, created := w.subscribe(t, w.mine.shipped, w.mine.bobByMail, true)
			assert.True(t, created)
			s.Active = false
			assert.Equal(t, s, w.unsubscribe(t, w.mine.shipped, w.mine.bobByMail))
			assert.Equal(t, s, w.unsubscribe(t, w.mine.shipped, w.mine.bobByMail))
			again, created := w.subscribe(t, w.mine.shipped, w.mine.bobByMail, true)
			assert.False(t, created, "an inactive one is still there")
			assert.Equal(t, s.ID, again.ID)
		},
		"NeverSubscribedIsNotFound": func(t *testing.T, w *world) {
			other := w.notify(t, w.mine.order, "Other")
			for _, c := range []struct {
				n subscriptions.Notification
				a channels.AssignmentID
			}{{w.mine.shipped, w.mine.bobByMail.ID}, {other, w.mine.adaByMail.ID}, {w.mine.shipped, w.theirs.adaByMail.ID}, {w.mine.shipped, 0}, {w.mine.shipped, 1 << 40}} {
				refused(t, w, subscriptions.ErrNotFound, func(tx ports.Tx) error {
					_, err := tx.Subscriptions().Unsubscribe(t.Context(), c.n, c.a)
					return err
				})
			}
		},
		"AreApartPerNotificationAndAssignment": func(t *testing.T, w *world) {
			other := w.notify(t, w.mine.order, "Other")
			first, _ := w.subscribe(t, w.mine.shipped, w.mine.bobByMail, true)
			second, created := w.subscribe(t, other, w.mine.bobByMail, true)
			assert.True(t, created)
			third, created := w.subscribe(t, other, w.mine.adaByMail, true)
			assert.True(t, created)
			w.unsubscribe(t, other, w.mine.bobByMail)
			for s, n := range map[subscriptions.Subscription]subscriptions.Notification{first: w.mine.shipped, third: other} {
				again, created := w.subscribe(t, n, channels.Assignment{ID: s.Assignment}, true)
				assert.False(t, created)
				assert.Equal(t, s, again)
			}
			assert.Len(t, map[subscriptions.ID]bool{first.ID: true, second.ID: true, third.ID: true}, 3)
		},
		"ForeignOnesAreNotKept": func(t *testing.T, w *world) {
			spy := w.theirs.shipped
			spy.Application, spy.Event = w.mine.web.ID, w.mine.order.ID
			for name, c := range map[string]struct {
				n subscriptions.Notification
				a channels.Assignment
			}{"their assignment": {w.mine.shipped, w.theirs.bobByMail}, "their notification": {spy, w.mine.bobByMail}} {
				err := w.Update(t.Context(), func(tx ports.Tx) error {
					_, _, err := tx.Subscriptions().Subscribe(t.Context(), c.n, c.a.ID, true)
					return err
				})
				assert.Error(t, err, name)
			}
		},
	}
}
