package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// optOut sets an opt-out and reports whether that changed anything.
func (w *world) optOut(t *testing.T, o deliveries.OptOut, out bool) bool {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (bool, error) { return tx.Deliveries().SetOptOut(t.Context(), o, out) })
}

// unsubscription returns what an unsubscribe link shows.
func (w *world) unsubscription(t *testing.T, o deliveries.OptOut) deliveries.Unsubscription {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (deliveries.Unsubscription, error) {
		return tx.Deliveries().Unsubscription(t.Context(), o)
	})
}

// lockMember sets the lock of a member in the organization.
func (w *world) lockMember(t *testing.T, m users.Member, locked bool) {
	t.Helper()
	m.Locked = locked
	act(t, w, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context(), m) })
}

func optOutCases() cases {
	const out = "Shipped: ada@example.org by Mail, skipped: the recipient unsubscribed this address from the notification"
	const ada, bob = "Shipped: ada@example.org by Mail, pending", "Shipped: bob@example.org by Mail, pending"
	ofAda := func(w *world) deliveries.OptOut {
		return deliveries.OptOut{Member: w.mine.ada.ID, AddressKey: w.mine.adaMail.Key(), Notification: w.mine.shipped.ID}
	}
	return cases{
		"AppliesUntilUndone": func(t *testing.T, w *world) {
			w.ready(t)
			assert.True(t, w.optOut(t, ofAda(w), true))
			assert.False(t, w.optOut(t, ofAda(w), true))
			assert.Equal(t, []string{out, bob}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
			assert.True(t, w.optOut(t, ofAda(w), false))
			assert.False(t, w.optOut(t, ofAda(w), false))
			assert.Equal(t, []string{ada, bob}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
		},
		"IsOfOneAddressAndOneNotification": func(t *testing.T, w *world) {
			w.ready(t)
			w.add(t, w.mine.news, w.mine.adaByText.ID)
			other := w.notify(t, w.mine.order, "Other")
			w.subscribe(t, other, w.mine.adaByMail, true)
			w.optOut(t, ofAda(w), true)
			assert.Equal(t, []string{"Other: ada@example.org by Mail, pending", "Shipped: +14155552671 by Text, pending", out, bob},
				w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
		},
		"IsOfTheAddressOnEveryChannel": func(t *testing.T, w *world) {
			w.ready(t)
			w.add(t, w.mine.news, w.assign(t, channels.Assign(w.mine.adaMail, w.mine.shopMail))[0].ID)
			w.optOut(t, ofAda(w), true)
			assert.Equal(t, []string{out, "Shipped: ada@example.org by Shop mail, skipped: the recipient unsubscribed this address from the notification", bob},
				w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))
		},
		"SurvivesSubscribingAndBeingAddedAgain": func(t *testing.T, w *world) {
			w.ready(t)
			w.optOut(t, ofAda(w), true)
			w.unsubscribe(t, w.mine.shipped, w.mine.adaByMail)
			w.subscribe(t, w.mine.shipped, w.mine.adaByMail, true)
			w.takeOff(t, w.mine.web, w.mine.ada)
			w.add(t, w.mine.pinned, w.mine.adaByMail.ID)
			assert.Equal(t, []string{out, bob}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)))

			act(t, w, func(tx ports.Tx) error {
				return tx.Addresses().Remove(t.Context(), w.mine.org.ID, w.mine.ada.ID, w.mine.adaMail.ID)
			})
			held, _ := w.hold(t, w.mine.ada, users.NewEmailAddress("ada@example.org"))
			w.add(t, w.mine.news, w.assign(t, channels.Assign(held[0], w.mine.mail))[0].ID)
			assert.Equal(t, []string{out, bob}, w.expandedDeliveries(t, w.mine.occurrence(nil, nil)), "the address is the same, however often it is added")
		},
		"IsSeenWhenADeliveryIsClaimed": func(t *testing.T, w *world) {
			w.ready(t)
			w.expandedDeliveries(t, w.mine.occurrence([]string{"ada@example.org"}, nil))
			w.optOut(t, ofAda(w), true)
			assert.Equal(t, deliveries.OptedOut, only(w.claim(t, w.mine.mail, "one", 10, lease)).Gates.Closed())
		},
		"LinkShowsItsSubject": func(t *testing.T, w *world) {
			want := deliveries.Unsubscription{OptOut: ofAda(w), Organization: w.mine.org.Name, Application: w.mine.web.Name, Notification: "Shipped",
				OrganizationID: w.mine.org.ID, Username: w.mine.ada.User.Username,
				Place: access.Scope{Organization: w.mine.org.Slug, Project: w.mine.shop.Slug, Application: w.mine.web.Slug}}
			assert.Equal(t, want, w.unsubscription(t, ofAda(w)))
			w.optOut(t, ofAda(w), true)
			want.Out = true
			assert.Equal(t, want, w.unsubscription(t, ofAda(w)))
			elsewhere := ofAda(w)
			elsewhere.AddressKey = "other@example.org"
			assert.False(t, w.unsubscription(t, elsewhere).Out)
		},
		"NoOptOutsAcrossOrganizations": func(t *testing.T, w *world) {
			mixed := ofAda(w)
			mixed.Member = w.theirs.ada.ID
			gone := ofAda(w)
			gone.Notification = 1 << 40
			for _, o := range []deliveries.OptOut{mixed, gone} {
				assert.False(t, w.optOut(t, o, true))
				missing(t, w, deliveries.ErrLinkOutdated, func(tx ports.Tx) (deliveries.Unsubscription, error) {
					return tx.Deliveries().Unsubscription(t.Context(), o)
				})
			}
		},
		"IsDeletedWithTheMember": func(t *testing.T, w *world) {
			w.optOut(t, ofAda(w), true)
			w.remove(t, w.mine.ada)
			assert.False(t, w.optOut(t, ofAda(w), true))
			missing(t, w, deliveries.ErrLinkOutdated, func(tx ports.Tx) (deliveries.Unsubscription, error) {
				return tx.Deliveries().Unsubscription(t.Context(), ofAda(w))
			})
		},
	}
}
