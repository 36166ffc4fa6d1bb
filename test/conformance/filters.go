package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// face is a member whose properties are computed from a number.
type face struct {
	users.Member

	number int
}

func (p face) locked() bool     { return p.number%5 == 1 }
func (p face) operator() bool   { return p.number%7 == 2 }
func (p face) unreached() bool  { return p.number%4 == 3 }
func (p face) staff() bool      { return p.number%3 == 0 }
func (p face) registered() bool { return p.number%2 == 0 }
func (p face) listed() bool     { return p.number%6 < 3 && !p.unreached() }
func (p face) paying() bool     { return p.number%3 == 1 }

// gather creates n members of an organization.
func (w *world) gather(t *testing.T, o tenant, n int) []face {
	t.Helper()
	return do(t, w, func(tx ports.Tx) ([]face, error) {
		var all []face
		for i := range n {
			p, err := newFace(t, tx, o, i)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		return all, nil
	})
}

func newFace(t *testing.T, tx ports.Tx, o tenant, number int) (face, error) {
	ctx := t.Context()
	p := face{number: number}
	var err error
	p.Member, err = ensurePerson(ctx, tx, o.org.ID, person{Username: fmt.Sprintf("p%02d", number), Email: fmt.Sprintf("mail%02d@example.org", number)})
	if err != nil {
		return p, err
	}
	steps := []func() error{}
	when := func(so bool, step func() error) {
		if so {
			steps = append(steps, step)
		}
	}
	when(p.locked(), func() error {
		p.Locked = true
		return tx.Users().SetLocked(ctx, p.Member)
	})
	when(p.operator(), func() error {
		p.Role = users.RoleOperator
		return tx.Users().SetRole(ctx, p.Member)
	})
	when(p.paying(), func() error {
		p.CustomFields = metadata.Map{"plan": map[string]any{"name": "\"pro\" <é>"}, "tags": []any{"a", "b"}}
		return tx.Users().SaveFields(ctx, p.Member)
	})
	when(p.staff(), func() error {
		_, err := tx.Users().Link(ctx, o.staff, []users.MemberID{p.ID})
		return err
	})
	when(p.registered(), func() error {
		return saveMembership(ctx, tx, o.web, applications.NewMembership(o.web.ID, p.ID, false))
	})
	when(!p.unreached(), func() error {
		as, _, err := ensureAddresses(ctx, tx, o.org.ID, p.ID, []users.Address{users.NewEmailAddress(p.Email), {Value: "+1415555" + fmt.Sprintf("%04d", number), Name: "phone", Type: users.Phone}})
		if err != nil || !p.listed() {
			return err
		}
		made, _, err := tx.Assignments().Ensure(ctx, o.org.ID, []channels.Assignment{channels.Assign(as[0], o.mail), channels.Assign(as[1], o.text), channels.Assign(as[0], o.shopMail)})
		if err != nil {
			return err
		}
		_, err = tx.Lists().Add(ctx, o.news, []channels.AssignmentID{made[0].ID, made[1].ID, made[2].ID})
		return err
	})
	for _, step := range steps {
		if err := step(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// filter is a condition of a query, and a function that reports who meets it.
type filter struct {
	name string
	ask  func(q *users.Query)
	is   func(p face) bool
}

func filters(o tenant) []filter {
	return []filter{
		{"locked", func(q *users.Query) { q.Locked = true }, face.locked},
		{"role", func(q *users.Query) { q.Role = users.RoleOperator }, face.operator},
		{"unreached", func(q *users.Query) { q.WithoutAddress = true }, face.unreached},
		{"group", func(q *users.Query) { q.Group = o.staff.ID }, face.staff},
		{"application", func(q *users.Query) { q.Application = int64(o.web.ID) }, face.registered},
		{"list", func(q *users.Query) { q.List = int64(o.news.ID) }, face.listed},
		{"metadata", func(q *users.Query) {
			q.Metadata = metadata.Condition{Path: "plan.name", Text: "\"pro\" <é>"}
		}, face.paying},
		{"text", func(q *users.Query) { q.Text = "P1" }, func(p face) bool { return p.number/10 == 1 }},
	}
}

func filterCases() cases {
	return cases{
		"EveryCombinationMatchesAllConditions": func(t *testing.T, w *world) {
			all := w.gather(t, w.mine, 60)
			w.gather(t, w.theirs, 60)
			w.indexAll(t)
			w.settle(t)
			known := filters(w.mine)
			for set := 1; set < 1<<len(known); set++ {
				q, want, name := users.Query{}, map[string]bool{}, ""
				for _, p := range all {
					want[p.User.Username] = true
				}
				for i, f := range known {
					if set&(1<<i) == 0 {
						continue
					}
					f.ask(&q)
					name += " " + f.name
					for _, p := range all {
						want[p.User.Username] = want[p.User.Username] && f.is(p)
					}
				}
				var meant []string
				for _, p := range all {
					if want[p.User.Username] {
						meant = append(meant, p.User.Username)
					}
				}
				for _, limit := range []int{1 + set%4, 50} {
					q.Limit = limit
					// Ada, who is in every world, is registered and on the list.
					require.ElementsMatch(t, meant, without(w.hits(t, q), "ada@example.org"), "%s in batches of %d", name, limit)
				}
			}
		},
		"TheRoleMemberIsARoleToo": func(t *testing.T, w *world) {
			all := w.gather(t, w.mine, 15)
			w.indexAll(t)
			found := w.hits(t, users.Query{Role: users.RoleMember, Text: "p", Limit: 4})
			for _, p := range all {
				assert.Equal(t, !p.operator(), contains(found, p.User.Username), p.User.Username)
			}
			assert.Empty(t, w.hits(t, users.Query{Role: users.RoleAdministrator, Limit: 4}))
		},
		"ForeignIDsFindNobody": func(t *testing.T, w *world) {
			w.gather(t, w.mine, 12)
			w.gather(t, w.theirs, 12)
			w.settle(t)
			for _, f := range filters(w.theirs) {
				q := users.Query{Limit: 5}
				if f.ask(&q); q.Group != 0 || q.List != 0 || q.Application != 0 {
					assert.Empty(t, w.hits(t, q), f.name)
				}
			}
		},
		"MetadataMatchesValuesAndElements": func(t *testing.T, w *world) {
			fields := map[string]metadata.Map{"a": {"k": "v"}, "b": {"k": "V"}, "c": {"k": []any{"u", "v"}}, "d": {"K": "v"}, "e": {"l": "k\":\"v"}, "f": {"k": ""}}
			for name, m := range fields {
				p := w.ensure(t, w.mine, person{Username: name})
				p.CustomFields = m
				act(t, w, func(tx ports.Tx) error { return tx.Users().SaveFields(t.Context(), p) })
			}
			assert.ElementsMatch(t, []string{"a", "c"}, w.hits(t, users.Query{Metadata: metadata.Condition{Path: "k", Text: "v"}, Limit: 1}))
			assert.ElementsMatch(t, []string{"a", "b", "c", "f"}, w.hits(t, users.Query{Metadata: metadata.Condition{Path: "k"}, Limit: 2}))
			assert.ElementsMatch(t, []string{"e"}, w.hits(t, users.Query{Metadata: metadata.Condition{Path: "l", Text: "k\":\"v"}, Limit: 2}))
			assert.Empty(t, w.hits(t, users.Query{Metadata: metadata.Condition{Path: "k.v"}, Limit: 2}))
		},
		"AListIsGoneThroughInItsOrder": func(t *testing.T, w *world) {
			w.gather(t, w.mine, 9)
			first := look(t, w, func(tx ports.Tx) (users.Found, error) {
				return tx.Users().Search(t.Context(), w.mine.org.ID, users.Query{List: int64(w.mine.news.ID), Limit: 2})
			})
			require.Len(t, first.Members, 2)
			assert.Equal(t, []string{"ada@example.org", "p00"}, []string{first.Members[0].User.Username, first.Members[1].User.Username})
			assert.Equal(t, users.ByEntry, first.Next.Order)
			second := look(t, w, func(tx ports.Tx) (users.Found, error) {
				return tx.Users().Search(t.Context(), w.mine.org.ID, users.Query{List: int64(w.mine.news.ID), Limit: 2, After: first.Next})
			})
			assert.Equal(t, "p01", second.Members[0].User.Username, "who is on the list three times comes once")
		},
		"MembersAreSortedAsAsked": func(t *testing.T, w *world) {
			var many []users.Enrollment
			for _, name := range [][2]string{{"Zoe", "adams"}, {"", ""}, {"Ada", "Byron"}, {"Bea", "Adams"}, {"Émile", "Zola"}} {
				many = append(many, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("s%d@example.org", 9-len(many)), FirstName: name[0], LastName: name[1]}})
				_, err := w.enrolling(t.Context(), w.mine.org.Slug, users.Batch{Enrollments: many, Group: w.mine.staff.ID})
				require.NoError(t, err)
			}
			w.indexAll(t)
			const ada, bob = "ada@example.org", "bob@example.org" // without names
			const s9, s8, s7, s6, s5 = "s9@example.org", "s8@example.org", "s7@example.org", "s6@example.org", "s5@example.org"
			orders := map[users.Sort][]string{
				users.ByName: {ada, bob, s8, s6, s9, s7, s5}, users.ByUsername: {ada, bob, s5, s6, s7, s8, s9}, users.ByAdded: {ada, bob, s9, s8, s7, s6, s5},
			}
			for sort, all := range orders {
				for q, want := range map[users.Query][]string{{}: all, {Text: "s"}: all[2:], {Group: w.mine.staff.ID}: all[2:], {Text: "s9"}: {s9}, {Text: "nobody"}: nil} {
					for limit := 1; limit < 9; limit++ {
						q.Limit, q.Sort = limit, sort
						assert.Equal(t, want, w.inOrder(t, q), q)
						q.Sort = "-" + sort
						backwards := slices.Clone(want)
						slices.Reverse(backwards)
						assert.Equal(t, backwards, w.inOrder(t, q), q)
					}
				}
			}
			found := look(t, w, func(tx ports.Tx) (users.Found, error) {
				return tx.Users().Search(t.Context(), w.mine.org.ID, users.Query{Limit: 9})
			})
			for _, m := range found.Members {
				assert.False(t, found.Added[m.ID].IsZero(), m.User.Username)
			}
		},
		"ManyAreSortedAlongAnIndex": func(t *testing.T, w *world) {
			var many []users.Enrollment
			for i := range 1_200 {
				many = append(many, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("many%04d@example.org", i), LastName: fmt.Sprintf("N%03d", (i*7)%1_200/2)}})
			}
			_, err := w.enrolling(t.Context(), w.mine.org.Slug, users.Batch{Enrollments: many, Group: w.mine.staff.ID})
			require.NoError(t, err)
			w.indexAll(t)
			for _, q := range []users.Query{{Group: w.mine.staff.ID}, {Text: "many"}} {
				q.Limit = 400
				for _, sort := range users.Sorts() {
					q.Sort = sort
					found := w.inOrder(t, q)
					assert.Len(t, found, 1_200, q)
					backwards := q
					backwards.Sort = "-" + sort
					if !sort.Backwards() {
						reversed := w.inOrder(t, backwards)
						slices.Reverse(reversed)
						assert.Equal(t, found, reversed, q)
					}
				}
			}
		},
		"CursorOfAnotherQueryStartsOver": func(t *testing.T, w *world) {
			for _, c := range []users.Cursor{{Order: users.ByWord, ID: 1 << 40, Key: "z", Term: "z"}, {Order: users.ByEntry, ID: 1 << 40}} {
				assert.Equal(t, []string{"ada@example.org", "bob@example.org"}, w.hits(t, users.Query{After: c, Limit: 5}), c)
			}
		},
		"FruitlessSearchContinues": func(t *testing.T, w *world) {
			var many []users.Enrollment
			for i := range 12_000 {
				many = append(many, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("many%05d@example.org", i)}})
			}
			_, err := w.enrolling(t.Context(), w.mine.org.Slug, users.Batch{Enrollments: many, Group: w.mine.staff.ID})
			require.NoError(t, err)
			w.indexAll(t)
			for name, q := range map[string]users.Query{
				"metadata": {Metadata: metadata.Condition{Path: "k", Text: "v"}}, "unreached": {WithoutAddress: true}, "group": {Group: w.mine.staff.ID, WithoutAddress: true},
				"text": {Text: "many", WithoutAddress: true},
			} {
				q.Limit = 50
				first := look(t, w, func(tx ports.Tx) (users.Found, error) { return tx.Users().Search(t.Context(), w.mine.org.ID, q) })
				assert.Empty(t, first.Members, name)
				assert.True(t, first.More, "%s: it stops before it has read everybody, and says so", name)
				assert.Empty(t, w.hits(t, q), name)
			}
		},
	}
}

// inOrder returns the members that a query finds, from all batches, in the order in which they are
// found.
func (w *world) inOrder(t *testing.T, q users.Query) (usernames []string) {
	t.Helper()
	for {
		found := look(t, w, func(tx ports.Tx) (users.Found, error) { return tx.Users().Search(t.Context(), w.mine.org.ID, q) })
		for _, m := range found.Members {
			usernames = append(usernames, m.User.Username)
		}
		if q.After = found.Next; !found.More {
			return usernames
		}
	}
}

func without(names []string, name string) []string {
	kept := []string{}
	for _, n := range names {
		if n != name {
			kept = append(kept, n)
		}
	}
	return kept
}

func contains(names []string, name string) bool { return len(without(names, name)) < len(names) }
