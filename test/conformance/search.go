package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// hits returns the usernames that a query finds, read in batches.
func (w *world) hits(t *testing.T, q users.Query) []string {
	t.Helper()
	found := []string{}
	for range 1_000 {
		f := look(t, w, func(tx ports.Tx) (users.Found, error) { return tx.Users().Search(t.Context(), w.mine.org.ID, q) })
		require.LessOrEqual(t, len(f.Members), q.Limit)
		for _, m := range f.Members {
			assert.Equal(t, w.mine.org.ID, m.Organization)
			found = append(found, m.User.Username)
		}
		if !f.More {
			return found
		}
		require.NotEqual(t, q.After, f.Next, "a search that goes on gets on")
		q.After = f.Next
	}
	t.Fatal("the search never ends")
	return nil
}

func searchCases() cases {
	return cases{
		"WithoutATextAllAreFoundByID": func(t *testing.T, w *world) {
			for limit := 1; limit <= 3; limit++ {
				assert.Equal(t, []string{"ada@example.org", "bob@example.org"}, w.hits(t, users.Query{Limit: limit}))
			}
		},
		"FindsWholeNamesTimesAndUnlocked": func(t *testing.T, w *world) {
			zoe := w.ensure(t, w.mine, person{Username: "zoe", Email: "Ann@example.org"})
			w.ensure(t, w.mine, person{Username: "ann@example.org", Email: "ann@example.org"})
			w.ensure(t, w.mine, person{Username: "anna", Email: "ann@example.org"})
			w.ensure(t, w.mine, person{Username: "nomail"})
			w.ensure(t, w.theirs, person{Username: "annette", Email: "ann@example.org"})
			zoe.Locked = true
			act(t, w, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context(), zoe) })
			w.settle(t)
			others := []string{"ada@example.org", "bob@example.org"}
			all := append(slices.Clone(others), "zoe", "ann@example.org", "anna", "nomail")
			past, future := time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour)
			for _, c := range []struct {
				q    users.Query
				want []string
			}{
				{users.Query{}, all}, {users.Query{Username: "ZOE"}, []string{"zoe"}}, {users.Query{Username: "zo"}, nil}, {users.Query{Username: "annette"}, nil},
				{users.Query{Email: "ANN@example.org"}, []string{"zoe", "ann@example.org", "anna"}}, {users.Query{Email: "ann"}, nil},
				{users.Query{Email: "ann@example.org", Active: true}, []string{"ann@example.org", "anna"}},
				{users.Query{Email: "ann@example.org", Locked: true}, []string{"zoe"}}, {users.Query{Username: "zoe", Active: true}, nil},
				{users.Query{Active: true}, append(slices.Clone(others), "ann@example.org", "anna", "nomail")},
				{users.Query{From: past, Before: future}, all}, {users.Query{From: future}, nil}, {users.Query{Before: past}, nil},
			} {
				for limit := 1; limit <= 7; limit++ {
					c.q.Limit = limit
					assert.ElementsMatch(t, c.want, w.hits(t, c.q), "%+v", c.q)
					n, more := 0, false
					act(t, w, func(tx ports.Tx) (err error) {
						n, more, err = tx.Users().Count(t.Context(), w.mine.org.ID, c.q, limit)
						return err
					})
					assert.Equal(t, min(len(c.want), limit), n, "%+v", c.q)
					assert.Equal(t, len(c.want) > limit, more, "%+v", c.q)
				}
			}
		},
		"FindsTheLockedOnly": func(t *testing.T, w *world) {
			for i := range 9 {
				m := w.ensure(t, w.mine, person{Username: fmt.Sprintf("u%d", i)})
				m.Locked = i%3 == 1
				act(t, w, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context(), m) })
			}
			for limit := 1; limit <= 4; limit++ {
				assert.Equal(t, []string{"u1", "u4", "u7"}, w.hits(t, users.Query{Locked: true, Limit: limit}))
				assert.Equal(t, []string{"u1", "u4", "u7"}, w.hits(t, users.Query{Text: "u", Locked: true, Limit: limit}))
			}
			assert.Equal(t, []string{"u4"}, w.hits(t, users.Query{Text: "u4", Locked: true, Limit: 4}))
			assert.Empty(t, w.hits(t, users.Query{Text: "u3", Locked: true, Limit: 4}))
		},
		"NeverReturnsAnotherOrganization": func(t *testing.T, w *world) {
			var crowd []users.Enrollment
			for i := range 300 {
				crowd = append(crowd, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("crowd%05d@example.org", i)}})
			}
			_, err := w.enrolling(t.Context(), w.theirs.org.Slug, users.Batch{Enrollments: crowd, Group: w.theirs.staff.ID})
			require.NoError(t, err)
			w.indexAll(t)
			act(t, w, func(tx ports.Tx) error {
				m, err := tx.Users().ByUsername(t.Context(), w.theirs.org.ID, "crowd00000@example.org")
				if err != nil {
					return err
				}
				_, err = registrationOf(t.Context(), tx, w.theirs.web, m.ID)
				return err
			})
			mine := []users.Member{w.ensure(t, w.mine, person{Username: "crowd00250@example.org"}), w.ensure(t, w.mine, person{Username: "crowd3"})}
			w.settle(t)
			find := func(q users.Query) users.Found {
				return look(t, w, func(tx ports.Tx) (users.Found, error) { return tx.Users().Search(t.Context(), w.mine.org.ID, q) })
			}
			all := find(users.Query{Text: "crowd", Limit: 50})
			assert.Equal(t, users.Found{Members: mine, Added: all.Added, Next: users.Cursor{Order: users.ByWord, Term: "crowd", ID: int64(mine[1].ID), Key: "crowd3 "}}, all)
			for name, q := range map[string]users.Query{"Group": {Group: w.theirs.staff.ID}, "List": {List: int64(w.theirs.news.ID)}, "Application": {Application: int64(w.theirs.web.ID)}} {
				q.Limit = 50
				assert.Equal(t, int64(0), find(q).Next.ID, name)
				assert.False(t, find(q).More, name)
			}
		},
	}
}

// profileCases are about the look-ups for the page of a member.
func profileCases() cases {
	return cases{
		"AMemberIsFoundByIDInTheOrganizationOnly": func(t *testing.T, w *world) {
			assert.Equal(t, w.member(t, "ada@example.org"), look(t, w, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByID(t.Context(), w.mine.org.ID, w.mine.ada.ID)
			}))
			for _, id := range []users.MemberID{w.theirs.ada.ID, 1 << 40, 0} {
				missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) { return tx.Users().ByID(t.Context(), w.mine.org.ID, id) })
			}
		},
		"OrganizationsAreListedWithoutTheReservedOne": func(t *testing.T, w *world) {
			paged(t, w, func(o orgs.Organization) orgs.ID { return o.ID }, []orgs.Organization{w.mine.org, w.theirs.org},
				func(tx ports.Tx, after orgs.ID, limit int) ([]orgs.Organization, error) {
					return tx.Orgs().List(t.Context(), after, limit)
				})
		},
		"AssignmentsOfAMember": func(t *testing.T, w *world) {
			of := func(org orgs.ID, m users.MemberID, limit int) []channels.Assignment {
				return look(t, w, func(tx ports.Tx) ([]channels.Assignment, error) {
					return tx.Assignments().OfMember(t.Context(), org, m, limit)
				})
			}
			assert.Equal(t, []channels.Assignment{w.mine.adaByMail, w.mine.adaByText}, of(w.mine.org.ID, w.mine.ada.ID, 10))
			assert.Equal(t, []channels.Assignment{w.mine.adaByMail}, of(w.mine.org.ID, w.mine.ada.ID, 1))
			assert.Empty(t, of(w.mine.org.ID, w.theirs.ada.ID, 10))
			assert.Empty(t, of(w.theirs.org.ID, w.mine.ada.ID, 10))
		},
		"ListsOfAMember": func(t *testing.T, w *world) {
			of := func(org orgs.ID, m users.MemberID, limit int) []lists.List {
				return look(t, w, func(tx ports.Tx) ([]lists.List, error) { return tx.Lists().OfMember(t.Context(), org, m, limit) })
			}
			assert.Equal(t, []lists.List{w.mine.news, w.mine.pinned}, of(w.mine.org.ID, w.mine.ada.ID, 10))
			assert.Equal(t, []lists.List{w.mine.news}, of(w.mine.org.ID, w.mine.ada.ID, 1))
			assert.Empty(t, of(w.mine.org.ID, w.mine.bob.ID, 10))
			assert.Empty(t, of(w.mine.org.ID, w.theirs.ada.ID, 10))
			assert.Empty(t, of(w.theirs.org.ID, w.mine.ada.ID, 10))
		},
		"RegistrationsOfAMember": func(t *testing.T, w *world) {
			of := func(org orgs.ID, m users.MemberID, limit int) []applications.Registration {
				return look(t, w, func(tx ports.Tx) ([]applications.Registration, error) {
					return tx.Applications().OfMember(t.Context(), org, m, limit)
				})
			}
			registered := w.registration(t, w.mine.ada).Membership
			web := applications.Registration{Application: w.mine.web, Membership: registered, Registered: true}
			assert.Equal(t, []applications.Registration{web}, of(w.mine.org.ID, w.mine.ada.ID, 10))
			act(t, w, func(tx ports.Tx) error {
				return tx.Applications().SetLocked(t.Context(), w.mine.desk, w.mine.ada.ID, true)
			})
			w.lock(t, w.mine.ada, true)
			web.Membership.Locked = true
			desk := applications.Registration{Application: w.mine.desk, Membership: applications.NewMembership(w.mine.desk.ID, w.mine.ada.ID, true)}
			assert.Equal(t, []applications.Registration{web, desk}, of(w.mine.org.ID, w.mine.ada.ID, 10), "what is left of one is a lock")
			assert.Equal(t, []applications.Registration{web}, of(w.mine.org.ID, w.mine.ada.ID, 1))
			assert.Empty(t, of(w.mine.org.ID, w.mine.bob.ID, 10))
			assert.Empty(t, of(w.mine.org.ID, w.theirs.ada.ID, 10))
			assert.Empty(t, of(w.theirs.org.ID, w.mine.ada.ID, 10))
		},
		"OccurrencesNewestFirst": func(t *testing.T, w *world) {
			var ids []events.OccurrenceID
			for range 3 {
				ids = append([]events.OccurrenceID{w.trigger(t, w.mine.occurrence(nil, nil)).ID}, ids...)
			}
			w.trigger(t, w.theirs.occurrence(nil, nil))
			of := func(a applications.Application, before events.OccurrenceID, limit int) []events.OccurrenceID {
				found := look(t, w, func(tx ports.Tx) ([]events.Occurrence, error) {
					return tx.Deliveries().Occurrences(t.Context(), a, before, limit)
				})
				got := []events.OccurrenceID{}
				for _, o := range found {
					assert.Equal(t, w.mine.order.ID, o.Event)
					got = append(got, o.ID)
				}
				return got
			}
			assert.Equal(t, ids, of(w.mine.web, 0, 10))
			assert.Equal(t, ids[:2], of(w.mine.web, 0, 2))
			assert.Equal(t, ids[2:], of(w.mine.web, ids[1], 2))
			assert.Empty(t, of(w.mine.desk, 0, 10))
			spy := w.theirs.web
			spy.Organization = w.mine.org.ID
			assert.Empty(t, of(spy, 0, 10))
		},
		"OccurrencesByIDWithoutLargeFields": func(t *testing.T, w *world) {
			want := make([]events.Occurrence, 3)
			for i := range want {
				o := w.mine.occurrence([]string{"ada@example.org"}, []string{"mail"})
				o.Context, o.CorrelationID = events.Context(`{"order":1}`), "order"
				want[i] = w.trigger(t, o)
				want[i].Context, want[i].Options.LimitTo, want[i].Options.Channels = events.Context(""), []string{}, []string{}
			}
			w.trigger(t, w.theirs.occurrence(nil, nil))
			of := func(a applications.Application, after events.OccurrenceID, limit int) []events.Occurrence {
				return look(t, w, func(tx ports.Tx) ([]events.Occurrence, error) {
					return tx.Deliveries().OccurrencesAfter(t.Context(), a, after, limit)
				})
			}
			require.NoError(t, w.Update(t.Context(), func(tx ports.Tx) error {
				_, err := tx.Deliveries().Cancel(t.Context(), want[1])
				return err
			}))
			found := of(w.mine.web, 0, 10)
			require.Len(t, found, 3)
			assert.NotZero(t, found[1].Cancelled)
			want[1].Cancelled = found[1].Cancelled
			assert.Equal(t, want, found)
			assert.Equal(t, want[:2], of(w.mine.web, 0, 2))
			assert.Equal(t, want[2:], of(w.mine.web, want[1].ID, 2))
			assert.Empty(t, of(w.mine.desk, 0, 10))
			spy := w.theirs.web
			spy.Organization = w.mine.org.ID
			assert.Empty(t, of(spy, 0, 10))
		},
	}
}
