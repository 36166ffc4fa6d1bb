package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// found returns the addresses and channels that a search of a list finds, read in batches of a
// size.
func (w *world) found(t *testing.T, l lists.List, text string, size int) []string {
	t.Helper()
	all := []string{}
	q := lists.Query{Text: text, Limit: size, Recipients: 100}
	for range 1_000 {
		f := look(t, w, func(tx ports.Tx) (lists.Found, error) { return tx.Lists().Search(t.Context(), l, q) })
		for _, r := range f.Recipients {
			all = append(all, r.Address+" "+r.Channel)
		}
		if !f.More {
			return all
		}
		require.NotEqual(t, q.After, f.Next, "a search that goes on gets on")
		q.After = f.Next
	}
	t.Fatal("the search never ends")
	return nil
}

// listedPeople adds people with addresses of several kinds to the list news.
func (w *world) listedPeople(t *testing.T) {
	t.Helper()
	generic := w.open(t, channels.Channel{Organization: w.mine.org.ID, Name: "Slack", Protocol: channels.SLACK})
	for username, values := range map[string][]string{
		"annika": {"Ann@example.org", "zed@example.org"}, "Bertha": {"annex@example.org", "+14155552672"}, "anton": {"Anvil", "anvil"},
	} {
		m := w.ensure(t, w.mine, person{Username: username})
		for _, value := range values {
			a, err := users.NewAddress(value, "")
			require.NoError(t, err)
			held, _ := w.hold(t, m, a)
			c := map[users.AddressType]channels.Channel{users.Email: w.mine.mail, users.Phone: w.mine.text, users.Generic: generic}[a.Type]
			w.add(t, w.mine.news, idsOf(w.assign(t, channels.Assign(held[0], c)))...)
			if value == "Ann@example.org" {
				w.add(t, w.mine.news, idsOf(w.assign(t, channels.Assign(held[0], w.mine.shopMail)))...)
			}
		}
	}
}

func recipientSearchCases() cases {
	return cases{
		"FindsAllEntriesOfTheFoundMember": func(t *testing.T, w *world) {
			w.listedPeople(t)
			annika := []string{"Ann@example.org Mail", "Ann@example.org Shop mail", "zed@example.org Mail"}
			bertha, anton := []string{"annex@example.org Mail", "+14155552672 Text"}, []string{"Anvil Slack", "anvil Slack"}
			for text, want := range map[string][]string{
				"ann": append(slices.Clone(annika), bertha...), "ANN@": annika, "annik": annika, "zed": annika, "annika zed": annika, "annika annex": {}, "nnika": {},
				"bert": bertha, "+14155552672": bertha, "(415) 555-2672": bertha, "Anvil": anton, "anvil": anton, "ant": anton,
				"ada": {"ada@example.org Mail"}, "bob": {}, "a%": {}, "_": {}, "\U0010FFFF": {}, "zz": {},
			} {
				for size := 1; size <= 4; size++ {
					assert.ElementsMatch(t, want, w.found(t, w.mine.news, text, size), "%q in stretches of %d", text, size)
				}
			}
		},
		"FindsOnlyTheList": func(t *testing.T, w *world) {
			w.listedPeople(t)
			assert.Equal(t, []string{"ada@example.org Mail"}, w.found(t, w.mine.pinned, "a", 10))
			assert.Empty(t, w.found(t, w.mine.annexNews, "a", 10))
			for _, spy := range []lists.List{
				{ID: w.theirs.news.ID, Organization: w.mine.org.ID, Project: w.mine.shop.ID}, {ID: w.mine.news.ID, Organization: w.mine.org.ID, Project: w.mine.annex.ID},
				{ID: w.mine.news.ID, Organization: w.theirs.org.ID, Project: w.theirs.shop.ID}, {ID: 1 << 40, Organization: w.mine.org.ID, Project: w.mine.shop.ID},
			} {
				missing(t, w, lists.ErrNotFound, func(tx ports.Tx) (lists.Found, error) {
					return tx.Lists().Search(t.Context(), spy, lists.Query{Text: "a", Limit: 10, Recipients: 100})
				})
			}
		},
		"FindsFewAmongMany": func(t *testing.T, w *world) {
			var crowd []users.Enrollment
			for i := range 12_000 {
				crowd = append(crowd, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("crowd%05d@example.org", i)}})
			}
			_, err := w.enrolling(t.Context(), w.mine.org.Slug, users.Batch{Enrollments: crowd})
			require.NoError(t, err)
			w.indexAll(t)
			last := w.member(t, "crowd11500@example.org")
			w.add(t, w.mine.news, idsOf(w.assign(t, channels.Assign(w.addresses(t, last)[0], w.mine.mail)))...)
			assert.Equal(t, []string{"crowd11500@example.org Mail"}, w.found(t, w.mine.news, "crowd", 50))
			first := look(t, w, func(tx ports.Tx) (lists.Found, error) {
				return tx.Lists().Search(t.Context(), w.mine.news, lists.Query{Text: "crowd", Limit: 50, Recipients: 100})
			})
			assert.Len(t, first.Recipients, 1, "it goes through the list, which is short")
		},
		"FindsNoMoreRecipientsThanWanted": func(t *testing.T, w *world) {
			w.listedPeople(t)
			found := look(t, w, func(tx ports.Tx) (lists.Found, error) {
				return tx.Lists().Search(t.Context(), w.mine.news, lists.Query{Text: "a", Limit: 10, Recipients: 1})
			})
			var of []string
			for _, r := range found.Recipients {
				assert.NotContains(t, of, r.Username)
				of = append(of, r.Username)
			}
			assert.Greater(t, len(of), 1, "of each one")
		},
		"NeverReadsAnotherOrganization": func(t *testing.T, w *world) {
			var crowd []users.Enrollment
			for i := range 300 {
				crowd = append(crowd, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("crowd%05d@example.org", i)}})
			}
			_, err := w.enrolling(t.Context(), w.theirs.org.Slug, users.Batch{Enrollments: crowd})
			require.NoError(t, err)
			w.indexAll(t)
			w.settle(t)
			found := look(t, w, func(tx ports.Tx) (lists.Found, error) {
				return tx.Lists().Search(t.Context(), w.mine.news, lists.Query{Text: "crowd", Limit: 50, Recipients: 100})
			})
			assert.Empty(t, found.Recipients)
			assert.False(t, found.More)
			assert.Zero(t, found.Next.ID, "nobody was looked at")
		},
		"AreRemoved": func(t *testing.T, w *world) {
			o := w.mine
			w.add(t, o.news, o.bobByMail.ID, o.adaByText.ID)
			remove := func(l lists.List, ids ...channels.AssignmentID) []lists.Recipient {
				return do(t, w, func(tx ports.Tx) ([]lists.Recipient, error) { return tx.Lists().Remove(t.Context(), l, ids) })
			}
			assert.Empty(t, remove(o.news))
			assert.Empty(t, remove(o.news, 1<<40, w.theirs.adaByMail.ID))
			assert.Empty(t, remove(o.annexNews, o.bobByMail.ID))
			spy := w.theirs.news
			spy.Organization, spy.Project = o.org.ID, o.shop.ID
			assert.Empty(t, remove(spy, w.theirs.adaByMail.ID))
			text := lists.Recipient{ID: o.adaByText.ID, Address: "+14155552671", Username: "ada@example.org", Channel: "Text", Active: true}
			bob := lists.Recipient{ID: o.bobByMail.ID, Address: "bob@example.org", Username: "bob@example.org", Channel: "Mail", Active: true}
			assert.ElementsMatch(t, []lists.Recipient{text, bob}, remove(o.news, o.bobByMail.ID, o.adaByText.ID, o.bobByMail.ID))
			assert.Equal(t, []channels.AssignmentID{o.adaByMail.ID}, w.listed(t, o.news))
			assert.Equal(t, []channels.AssignmentID{o.adaByMail.ID}, w.listed(t, o.pinned), "another list")
			assert.Empty(t, remove(o.news, o.bobByMail.ID))
		},
		"ListShowsItsUses": func(t *testing.T, w *world) {
			l := w.list(t, "Used", 0)
			want := []subscriptions.Use{}
			for _, a := range []applications.Application{w.mine.web, w.mine.desk} {
				n := w.use(t, a, l, "of-"+a.Slug)
				want = append(want, subscriptions.Use{Notification: n, EventSlug: "event-of-" + a.Slug, EventName: w.event(t, a, "event-of-"+a.Slug).Name,
					ApplicationSlug: a.Slug, ApplicationName: a.Name})
			}
			w.use(t, w.mine.web, w.mine.news, "of-another-list")
			paged(t, w, func(u subscriptions.Use) subscriptions.NotificationID { return u.Notification.ID }, want,
				func(tx ports.Tx, after subscriptions.NotificationID, limit int) ([]subscriptions.Use, error) {
					return tx.Subscriptions().OfList(t.Context(), l, after, limit)
				})
			l.Organization = w.theirs.org.ID
			assert.Empty(t, look(t, w, func(tx ports.Tx) ([]subscriptions.Use, error) {
				return tx.Subscriptions().OfList(t.Context(), l, 0, 10)
			}))
		},
	}
}

func subscriberCases() cases {
	return cases{
		"AreListedByTheirAssignment": func(t *testing.T, w *world) {
			o := w.mine
			row := func(a channels.Assignment, m users.Member, active bool) subscriptions.Subscriber {
				s, _ := w.subscribe(t, o.shipped, a, active)
				return subscriptions.Subscriber{Subscription: s, Member: m.ID, Username: m.User.Username, Address: a.Value, Channel: a.Name}
			}
			text, bob, ada := row(o.adaByText, o.ada, false), row(o.bobByMail, o.bob, true), row(o.adaByMail, o.ada, true)
			want := []subscriptions.Subscriber{text, bob, ada}
			slices.SortFunc(want, func(a, b subscriptions.Subscriber) int { return int(a.Assignment - b.Assignment) })
			paged(t, w, func(s subscriptions.Subscriber) channels.AssignmentID { return s.Assignment }, want,
				func(tx ports.Tx, after channels.AssignmentID, limit int) ([]subscriptions.Subscriber, error) {
					return tx.Subscriptions().Subscribers(t.Context(), o.shipped, after, limit)
				})
			spy := o.shipped
			spy.Application = o.desk.ID
			assert.Empty(t, look(t, w, func(tx ports.Tx) ([]subscriptions.Subscriber, error) {
				return tx.Subscriptions().Subscribers(t.Context(), spy, 0, 10)
			}))
		},
		"OptOutsAreListedByMemberAndAddress": func(t *testing.T, w *world) {
			o := w.mine
			other := w.notify(t, o.order, "Other")
			want := []deliveries.Unsubscriber{}
			for _, m := range []users.Member{o.ada, o.bob} {
				for _, key := range []string{"+1", "a@example.org", "z"} {
					out := deliveries.OptOut{Member: m.ID, AddressKey: key, Notification: o.shipped.ID}
					w.optOut(t, out, true)
					want = append(want, deliveries.Unsubscriber{OptOut: out, Username: m.User.Username})
				}
			}
			w.optOut(t, deliveries.OptOut{Member: o.ada.ID, AddressKey: "x", Notification: other.ID}, true)
			read := func(n subscriptions.Notification, size int) []deliveries.Unsubscriber {
				all := []deliveries.Unsubscriber{}
				for after := (deliveries.OptOut{}); ; {
					page := look(t, w, func(tx ports.Tx) ([]deliveries.Unsubscriber, error) {
						return tx.Deliveries().Unsubscribers(t.Context(), n, after, size)
					})
					require.LessOrEqual(t, len(page), size)
					for _, u := range page {
						assert.False(t, u.Since.IsZero())
						after, u.Since = u.OptOut, time.Time{}
						all = append(all, u)
					}
					if len(page) < size {
						return all
					}
				}
			}
			for size := 1; size <= 7; size++ {
				assert.Equal(t, want, read(o.shipped, size))
			}
			spy := o.shipped
			spy.Application = o.desk.ID
			assert.Empty(t, read(spy, 10))
		},
	}
}

func rotationCases() cases {
	return cases{
		"AreFoundByIDInTheirOrganization": func(t *testing.T, w *world) {
			wide, mine, below := w.issue(t, access.Key{Name: "wide"}), w.issue(t, access.Key{Name: "mine", Scope: access.Scope{Organization: "acme"}}),
				w.issue(t, access.Key{Name: "below", Scope: access.Scope{Organization: "acme", Project: "shop", Application: "web"}})
			theirs := w.issue(t, access.Key{Name: "theirs", Scope: access.Scope{Organization: "zeta"}})
			for _, k := range []access.Key{wide, mine, below, theirs} {
				sameKey(t, k, look(t, w, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByID(t.Context(), 0, k.ID) }))
				sameKey(t, k, look(t, w, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByName(t.Context(), k.Scope, k.Name) }))
			}
			sameKey(t, below, look(t, w, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByID(t.Context(), w.mine.org.ID, below.ID) }))
			for _, id := range []access.ID{wide.ID, theirs.ID, 0, 1 << 40} {
				missing(t, w, access.ErrKeyNotFound, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByID(t.Context(), w.mine.org.ID, id) })
			}
			latest := func(org tenant, before access.ID, limit int) []string {
				found := look(t, w, func(tx ports.Tx) ([]access.Key, error) {
					return tx.Keys().Latest(t.Context(), org.org.ID, before, limit)
				})
				all := []string{}
				for _, k := range found {
					all = append(all, k.Name)
				}
				return all
			}
			assert.Equal(t, []string{"below", "mine"}, latest(w.mine, 0, 10))
			assert.Equal(t, []string{"below"}, latest(w.mine, 0, 1))
			assert.Equal(t, []string{"mine"}, latest(w.mine, below.ID, 10))
			assert.Equal(t, []string{"theirs"}, latest(w.theirs, 0, 10))
			assert.Equal(t, []string{"theirs", "below", "mine", "wide"}, latest(tenant{}, 0, 10))
			assert.Equal(t, []string{"mine", "wide"}, latest(tenant{}, below.ID, 10))
		},
		"AReplacedNameIsFreeAndRevokedWithItsSuccessor": func(t *testing.T, w *world) {
			old := w.issue(t, access.Key{Name: "robot"})
			old.Replaced, old.Expires = noon, noon.Add(time.Hour)
			act(t, w, func(tx ports.Tx) error { return tx.Keys().Save(t.Context(), old) })
			sameKey(t, old, w.key(t, old.Digest))
			sameKey(t, old, look(t, w, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByName(t.Context(), access.Scope{}, "robot") }))
			current := w.issue(t, access.Key{Name: "ROBOT"})
			sameKey(t, current, look(t, w, func(tx ports.Tx) (access.Key, error) { return tx.Keys().ByName(t.Context(), access.Scope{}, "Robot") }))
			refused(t, w, access.ErrNameTaken, func(tx ports.Tx) error {
				_, err := tx.Keys().Create(t.Context(), access.Key{Name: "robot", Digest: access.Digest{1}, Created: noon, Grants: []access.Grant{access.UserRead}})
				return err
			})
			at := noon.Add(time.Minute)
			old.Revoked, current.Revoked = at, at
			assert.Equal(t, []access.ID{current.ID}, w.namesakes(t, "robot", 10), "the newest one")
			w.revoke(t, current, at)
			sameKey(t, current, w.key(t, current.Digest))
			sameKey(t, old, w.key(t, old.Digest))
		},
		"OnlyOneIsRevoked": func(t *testing.T, w *world) {
			k, bystander := w.issue(t, access.Key{Name: "a"}), w.issue(t, access.Key{Name: "b"})
			k.Revoked = noon
			act(t, w, func(tx ports.Tx) error { return tx.Keys().Save(t.Context(), k) })
			sameKey(t, k, w.key(t, k.Digest))
			sameKey(t, bystander, w.key(t, bystander.Digest))
			refused(t, w, access.ErrKeyNotFound, func(tx ports.Tx) error { return tx.Keys().Save(t.Context(), access.Key{ID: 1 << 40}) })
		},
		"AFormOfTheConsoleTriggersOnce": func(t *testing.T, w *world) {
			first := w.ask(t, w.mine.occurrence(nil, nil), &requests.Request{IdempotencyKey: "a form"})
			require.NoError(t, first.err)
			assert.False(t, first.repeated)
			again := w.ask(t, w.mine.occurrence(nil, nil), &requests.Request{IdempotencyKey: "a form"})
			require.NoError(t, again.err)
			assert.True(t, again.repeated)
			assert.Equal(t, first.id, again.id)
		},
	}
}
