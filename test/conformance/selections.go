package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// selectionCases are about sets of members.
func selectionCases() cases {
	return cases{
		"ThoseOfTheOrganizationAreFoundByID": func(t *testing.T, w *world) {
			those := func(ids ...users.MemberID) []users.Member {
				return look(t, w, func(tx ports.Tx) ([]users.Member, error) { return tx.Users().ByIDs(t.Context(), w.mine.org.ID, ids, 0) })
			}
			w.link(t, w.mine.staff, w.mine.bob.ID)
			assert.Equal(t, []users.Member{w.member(t, "ada@example.org"), w.member(t, "bob@example.org")}, those(w.mine.bob.ID, w.theirs.ada.ID, w.mine.ada.ID, 1<<40, w.mine.bob.ID))
			assert.Empty(t, those())
		},
		"AreReadUpToAMaximumOfMemory": func(t *testing.T, w *world) {
			ada, bob := w.mine.ada, w.mine.bob
			fields := metadata.Map{"a": strings.Repeat("x", 10_000)}
			for _, m := range []users.Member{ada, bob, w.theirs.ada} {
				m.CustomFields = fields
				act(t, w, func(tx ports.Tx) error { return tx.Users().SaveFields(t.Context(), m) })
			}
			w.settle(t)
			one := users.Memory(10_100, fields)
			look(t, w, func(tx ports.Tx) (int, error) {
				for name, read := range map[string]func(maxBytes int, of ...users.Member) (int, error){
					"Matches": func(maxBytes int, of ...users.Member) (int, error) {
						var keys []string
						for _, m := range of {
							keys = append(keys, m.User.Username)
						}
						found, err := tx.Users().Matches(t.Context(), w.mine.org.ID, keys, maxBytes)
						return len(found), err
					},
					"ByIDs": func(maxBytes int, of ...users.Member) (int, error) {
						var ids []users.MemberID
						for _, m := range of {
							ids = append(ids, m.ID)
						}
						found, err := tx.Users().ByIDs(t.Context(), w.mine.org.ID, ids, maxBytes)
						return len(found), err
					},
				} {
					_, err := read(one, ada, bob)
					require.ErrorIs(t, err, users.ErrTooLarge, name)
					for maxBytes, of := range map[int][]users.Member{1: {ada}, 0: {ada, bob}, 2 * one: {ada, bob}} {
						n, err := read(maxBytes, of...) // The unit of work goes on.
						require.NoError(t, err, name)
						assert.Len(t, of, n, name)
					}
				}
				n, err := tx.Users().ByIDs(t.Context(), w.mine.org.ID, []users.MemberID{ada.ID, w.theirs.ada.ID}, one)
				assert.Len(t, n, 1, "members of another organization do not count")
				return 0, err
			})
		},
		"AreLockedTogetherOrNotAtAll": func(t *testing.T, w *world) {
			eve := w.ensure(t, w.mine, person{Username: "eve"})
			w.lockMember(t, eve, true)
			ada, bob := w.mine.ada, w.mine.bob
			ada.Locked, bob.Locked, eve.Locked = true, true, false
			act(t, w, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context(), ada, eve, bob) })
			assert.True(t, w.member(t, "ada@example.org").Locked)
			assert.True(t, w.member(t, "bob@example.org").Locked)
			assert.False(t, w.member(t, "eve").Locked)
			stranger := w.theirs.ada
			stranger.Organization = w.mine.org.ID
			refused(t, w, users.ErrNotFound, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context(), w.mine.ada, stranger) })
			assert.True(t, w.member(t, "ada@example.org").Locked)
			act(t, w, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context()) })
		},
		"AreRemovedTogetherOrNotAtAll": func(t *testing.T, w *world) {
			eve := w.ensure(t, w.mine, person{Username: "eve"})
			before := w.picture(t, w.mine)
			stranger := w.theirs.ada
			stranger.Organization = w.mine.org.ID
			refused(t, w, users.ErrNotFound, func(tx ports.Tx) error { return tx.Users().Remove(t.Context(), w.mine.ada, stranger) })
			w.unchanged(t, w.mine, before, "a part was removed")
			act(t, w, func(tx ports.Tx) error { return tx.Users().Remove(t.Context()) })
			act(t, w, func(tx ports.Tx) error { return tx.Users().Remove(t.Context(), w.mine.ada, eve) })
			assert.Equal(t, []users.Member{w.mine.bob}, look(t, w, func(tx ports.Tx) ([]users.Member, error) {
				return tx.Users().List(t.Context(), w.mine.org.ID, 0, 10)
			}))
			assert.Empty(t, w.recipients(t, w.mine.news))
			act(t, w, func(tx ports.Tx) error {
				u, created, err := ensureUser(t.Context(), tx, users.User{Username: "ada@example.org"})
				assert.False(t, created, "the other organization has her still")
				assert.Equal(t, w.theirs.ada.User, u)
				return err
			})
			refused(t, w, errStop, func(tx ports.Tx) error {
				_, created, err := ensureUser(t.Context(), tx, users.User{Username: "eve"})
				assert.True(t, created)
				assert.NoError(t, err)
				return errStop
			})
		},
		"AddressesOfMembers": func(t *testing.T, w *world) {
			of := func(kind users.AddressType, ms ...users.MemberID) []users.Address {
				return look(t, w, func(tx ports.Tx) ([]users.Address, error) {
					return tx.Addresses().OfMembers(t.Context(), w.mine.org.ID, ms, kind, 10)
				})
			}
			assert.Equal(t, []users.Address{w.mine.adaMail, w.mine.bobMail}, of(users.Email, w.mine.bob.ID, w.mine.ada.ID, w.theirs.ada.ID))
			assert.Equal(t, []users.Address{w.mine.adaPhone}, of(users.Phone, w.mine.bob.ID, w.mine.ada.ID))
			assert.Empty(t, of(users.Email))
			first := look(t, w, func(tx ports.Tx) ([]users.Address, error) {
				return tx.Addresses().OfMembers(t.Context(), w.mine.org.ID, []users.MemberID{w.mine.bob.ID, w.mine.ada.ID}, "", 1)
			})
			assert.Equal(t, []users.Address{w.mine.adaMail}, first, "at most the limit")
		},
		"AnAddressIsFoundWithItsMemberOnly": func(t *testing.T, w *world) {
			byID := func(org orgs.ID, m users.MemberID, id users.AddressID) func(tx ports.Tx) (users.Address, error) {
				return func(tx ports.Tx) (users.Address, error) { return tx.Addresses().ByID(t.Context(), org, m, id) }
			}
			assert.Equal(t, w.mine.adaPhone, look(t, w, byID(w.mine.org.ID, w.mine.ada.ID, w.mine.adaPhone.ID)))
			missing(t, w, users.ErrAddressNotFound, byID(w.mine.org.ID, w.mine.bob.ID, w.mine.adaPhone.ID))
			missing(t, w, users.ErrAddressNotFound, byID(w.theirs.org.ID, w.mine.ada.ID, w.mine.adaPhone.ID))
			missing(t, w, users.ErrAddressNotFound, byID(w.mine.org.ID, w.theirs.ada.ID, w.theirs.adaPhone.ID))
		},
		"AnAssignmentIsFoundSavedAndRemovedWithItsMemberOnly": func(t *testing.T, w *world) {
			found := func(org orgs.ID, m users.MemberID, id channels.AssignmentID) func(tx ports.Tx) (channels.Assignment, error) {
				return func(tx ports.Tx) (channels.Assignment, error) {
					return tx.Assignments().OfMemberByID(t.Context(), org, m, id)
				}
			}
			a := look(t, w, found(w.mine.org.ID, w.mine.ada.ID, w.mine.adaByMail.ID))
			assert.Equal(t, w.mine.adaByMail, a)
			missing(t, w, channels.ErrAssignmentNotFound, found(w.mine.org.ID, w.mine.bob.ID, a.ID))
			missing(t, w, channels.ErrAssignmentNotFound, found(w.theirs.org.ID, w.mine.ada.ID, a.ID))
			for _, flags := range [][2]bool{{false, true}, {true, false}, {false, false}, {true, true}} {
				a.Active, a.Validated = flags[0], flags[1]
				act(t, w, func(tx ports.Tx) error { return tx.Assignments().Save(t.Context(), w.mine.org.ID, a) })
				assert.Equal(t, a, look(t, w, found(w.mine.org.ID, w.mine.ada.ID, a.ID)))
			}
			refused(t, w, channels.ErrAssignmentNotFound, func(tx ports.Tx) error { return tx.Assignments().Save(t.Context(), w.mine.org.ID, w.theirs.adaByMail) })
			refused(t, w, channels.ErrAssignmentNotFound, func(tx ports.Tx) error {
				return tx.Assignments().Remove(t.Context(), w.mine.org.ID, w.theirs.adaByMail)
			})
			act(t, w, func(tx ports.Tx) error { return tx.Assignments().Remove(t.Context(), w.mine.org.ID, a) })
			missing(t, w, channels.ErrAssignmentNotFound, found(w.mine.org.ID, w.mine.ada.ID, a.ID))
			assert.Empty(t, w.recipients(t, w.mine.news), "its entries went with it")
			assert.Empty(t, w.subscriptionsOf(t, w.mine.org.ID, w.mine.ada.ID, 10), "and its subscriptions")
			assert.ElementsMatch(t, []users.Address{w.mine.adaMail, w.mine.adaPhone}, w.addresses(t, w.mine.ada), "the address stayed")
		},
		"DeliveriesOfRemovedAssignmentAreSkipped": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 100)
			act(t, w, func(tx ports.Tx) error { return tx.Assignments().Remove(t.Context(), w.mine.org.ID, w.mine.adaByMail) })
			assert.Equal(t, []string{"Shipped: ada@example.org by Mail, skipped: the address was removed", "Shipped: bob@example.org by Mail, pending"}, w.outcomes(t, o))
		},
		"ChannelsListsAndApplicationsOfTheOrganization": func(t *testing.T, w *world) {
			o := w.mine
			paged(t, w, func(c channels.Channel) channels.ID { return c.ID }, unset(o.mail, o.text, o.shopMail, o.annexMail),
				func(tx ports.Tx, after channels.ID, limit int) ([]channels.Channel, error) {
					return tx.Channels().OfOrganization(t.Context(), o.org.ID, after, limit)
				})
			paged(t, w, func(l lists.List) lists.ID { return l.ID }, []lists.List{o.news, o.annexNews, o.pinned},
				func(tx ports.Tx, after lists.ID, limit int) ([]lists.List, error) {
					return tx.Lists().OfOrganization(t.Context(), o.org.ID, after, limit)
				})
			paged(t, w, func(a applications.Application) applications.ID { return a.ID }, []applications.Application{o.web, o.desk, o.annexWeb},
				func(tx ports.Tx, after applications.ID, limit int) ([]applications.Application, error) {
					return tx.Applications().OfOrganization(t.Context(), o.org.ID, after, limit)
				})
		},
		"SubscriptionsOfAMember": func(t *testing.T, w *world) {
			w.subscribe(t, w.mine.shipped, w.mine.adaByText, false)
			all := w.subscriptionsOf(t, w.mine.org.ID, w.mine.ada.ID, 10)
			require.Len(t, all, 2)
			assert.Equal(t, subscriptions.MemberSubscription{Subscription: subscriptions.Subscription{ID: all[0].Subscription.ID, Notification: w.mine.shipped.ID, Assignment: w.mine.adaByMail.ID, Active: true},
				Notification: w.mine.shipped, Application: w.mine.web, Assignment: w.mine.adaByMail}, all[0])
			assert.Equal(t, w.mine.adaByText, all[1].Assignment)
			assert.False(t, all[1].Subscription.Active)
			assert.Equal(t, all[:1], w.subscriptionsOf(t, w.mine.org.ID, w.mine.ada.ID, 1))
			assert.Empty(t, w.subscriptionsOf(t, w.mine.org.ID, w.theirs.ada.ID, 10))
			assert.Empty(t, w.subscriptionsOf(t, w.theirs.org.ID, w.mine.ada.ID, 10))
		},
		"OptOutsOfAMember": func(t *testing.T, w *world) {
			of := func(org orgs.ID, m users.MemberID, limit int) []deliveries.ListedOptOut {
				return look(t, w, func(tx ports.Tx) ([]deliveries.ListedOptOut, error) {
					return tx.Deliveries().OptOuts(t.Context(), org, m, limit)
				})
			}
			other := w.notify(t, w.mine.order, "Other")
			for _, n := range []subscriptions.NotificationID{other.ID, w.mine.shipped.ID} {
				w.optOut(t, deliveries.OptOut{Member: w.mine.ada.ID, AddressKey: w.mine.adaMail.Key(), Notification: n}, true)
			}
			all := of(w.mine.org.ID, w.mine.ada.ID, 10)
			require.Len(t, all, 2)
			assert.False(t, all[0].Since.IsZero())
			assert.Equal(t, deliveries.ListedOptOut{OptOut: deliveries.OptOut{Member: w.mine.ada.ID, AddressKey: w.mine.adaMail.Key(), Notification: w.mine.shipped.ID},
				Notification: w.mine.shipped, Application: w.mine.web, Since: all[0].Since}, all[0])
			assert.Equal(t, other.ID, all[1].Notification.ID)
			assert.Equal(t, all[:1], of(w.mine.org.ID, w.mine.ada.ID, 1))
			assert.Empty(t, of(w.theirs.org.ID, w.mine.ada.ID, 10))
			assert.Empty(t, of(w.mine.org.ID, w.mine.bob.ID, 10))
		},
		"DeliveriesToAMemberNewestFirst": func(t *testing.T, w *world) {
			w.ready(t)
			var newestFirst []deliveries.ID
			for range 3 {
				o := w.trigger(t, w.mine.occurrence(nil, nil))
				w.expand(t, 100)
				for _, d := range w.made(t, o) {
					if d.Username == "ada@example.org" {
						newestFirst = append([]deliveries.ID{d.ID}, newestFirst...)
					}
				}
			}
			to := func(q deliveries.MemberQuery) []deliveries.Recent {
				return look(t, w, func(tx ports.Tx) ([]deliveries.Recent, error) { return tx.Deliveries().ToMember(t.Context(), q) })
			}
			mine := deliveries.MemberQuery{Organization: w.mine.org.ID, Member: w.mine.ada.ID, Limit: 10}
			all := to(mine)
			for _, d := range all {
				assert.Equal(t, w.mine.web, d.Application)
				assert.Equal(t, []string{"Shipped", "Mail", "ada@example.org", "ada@example.org"}, []string{d.Notification, d.Channel, d.Address, d.Username})
				o := look(t, w, func(tx ports.Tx) (events.Occurrence, error) {
					return tx.Deliveries().Occurrence(t.Context(), w.mine.web, d.Occurrence)
				})
				assert.True(t, o.Created.Equal(d.Triggered), d.Triggered)
			}
			assert.Equal(t, newestFirst, recentIDs(all))
			require.Len(t, newestFirst, 3)

			for i, d := range all {
				older, newer := mine, mine
				older.From, newer.From, newer.Newer = d.Cursor(), d.Cursor(), true
				assert.Equal(t, newestFirst[i+1:], recentIDs(to(older)), "behind it")
				backwards := slices.Clone(newestFirst[:i+1])
				slices.Reverse(backwards)
				assert.Equal(t, backwards, recentIDs(to(newer)), "from it on")
			}
			few := mine
			few.Limit = 2
			assert.Equal(t, newestFirst[:2], recentIDs(to(few)))
			failed := mine
			failed.Failed = true
			assert.Empty(t, to(failed))

			theirs, stranger := mine, mine
			theirs.Organization, stranger.Member = w.theirs.org.ID, w.theirs.ada.ID
			assert.Empty(t, to(theirs))
			assert.Empty(t, to(stranger))
		},
	}
}

func recentIDs(all []deliveries.Recent) []deliveries.ID {
	ids := make([]deliveries.ID, len(all))
	for i, d := range all {
		ids[i] = d.ID
	}
	return ids
}

// subscriptionsOf returns the subscriptions of a member.
func (w *world) subscriptionsOf(t *testing.T, org orgs.ID, m users.MemberID, limit int) []subscriptions.MemberSubscription {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]subscriptions.MemberSubscription, error) {
		return tx.Subscriptions().OfMember(t.Context(), org, m, limit)
	})
}

// unset returns channels without their settings.
func unset(cs ...channels.Channel) []channels.Channel {
	for i := range cs {
		cs[i].Settings = nil
	}
	return cs
}
