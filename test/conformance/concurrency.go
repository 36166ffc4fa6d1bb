package conformance

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// count returns the number in a field that a test increments.
func count(m metadata.Map, key string) int {
	n, _ := m[key].(json.Number)
	i, _ := strconv.Atoi(n.String())
	return i
}

// counted returns fields with that number incremented.
func counted(m metadata.Map, key string) metadata.Map {
	c := m.Clone()
	c[key] = json.Number(strconv.Itoa(count(m, key) + 1))
	return c
}

func concurrencyCases() cases {
	return cases{
		"NoUpdateOfOneRowIsLost": func(t *testing.T, w *world) {
			const n = 100
			for _, err := range together(n, func(int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					m, err := tx.Users().ByUsername(t.Context(), w.mine.org.ID, "ada@example.org")
					if err != nil {
						return err
					}
					m.CustomFields = counted(m.CustomFields, "n")
					return tx.Users().SaveFields(t.Context(), m)
				})
			}) {
				require.NoError(t, err)
			}
			assert.Equal(t, n, count(w.member(t, "ada@example.org").CustomFields, "n"))
		},
		"NoRegistrationIsLost": func(t *testing.T, w *world) {
			const n = 32 // Bob has no membership yet: the first one creates the row that the others must merge into.
			for _, err := range together(n, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					m, err := registrationOf(t.Context(), tx, w.mine.web, w.mine.bob.ID)
					if err != nil {
						return err
					}
					ms, err := m.Register(counted(metadata.Map{}, fmt.Sprint(i)), true)
					if err != nil {
						return err
					}
					return saveMembership(t.Context(), tx, w.mine.web, ms)
				})
			}) {
				require.NoError(t, err)
			}
			found := look(t, w, func(tx ports.Tx) (registration, error) {
				return registrationOf(t.Context(), tx, w.mine.web, w.mine.bob.ID)
			})
			assert.Len(t, found.CustomFields, n)
		},
		"UnitsOnDifferentRowsAllSurvive": func(t *testing.T, w *world) {
			const n = 64
			members := w.enroll(t, users.Batch{Enrollments: people(n)})
			for _, err := range together(n, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					m, err := tx.Users().ByUsername(t.Context(), w.mine.org.ID, members[i].Member.User.Username)
					if err != nil {
						return err
					}
					m.CustomFields = metadata.Map{"mine": json.Number(strconv.Itoa(i))}
					return tx.Users().SaveFields(t.Context(), m)
				})
			}) {
				require.NoError(t, err)
			}
			for i, e := range members {
				assert.Equal(t, i, count(w.member(t, e.Member.User.Username).CustomFields, "mine"))
			}
		},
		"UnitsInOppositeOrderBothEnd": func(t *testing.T, w *world) {
			const n = 20
			order := [2][]string{{"ada@example.org", "bob@example.org"}, {"bob@example.org", "ada@example.org"}}
			for _, err := range together(n, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					for _, username := range order[i%2] {
						m, err := tx.Users().ByUsername(t.Context(), w.mine.org.ID, username)
						if err != nil {
							return err
						}
						m.CustomFields = counted(m.CustomFields, "n")
						if err := tx.Users().SaveFields(t.Context(), m); err != nil {
							return err
						}
					}
					return nil
				})
			}) {
				require.NoError(t, err)
			}
			for _, username := range order[0] {
				assert.Equal(t, n, count(w.member(t, username).CustomFields, "n"))
			}
		},
		"RevisionsOfAnOrganizationAreSerialized": func(t *testing.T, w *world) {
			const n = 16
			for _, err := range together(n, func(int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					if err := tx.Orgs().Revise(t.Context(), w.mine.org.ID); err != nil {
						return err
					}
					before, err := tx.Lists().List(t.Context(), w.mine.org.ID, w.mine.annex.ID, 0, 100)
					if err != nil {
						return err
					}
					_, err = tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.annex.ID, Name: fmt.Sprintf("list %d", len(before))})
					return err
				})
			}) {
				require.NoError(t, err)
			}
			for i := range n {
				look(t, w, func(tx ports.Tx) (lists.List, error) {
					return tx.Lists().ByName(t.Context(), w.mine.org.ID, w.mine.annex.ID, fmt.Sprintf("list %d", i+1))
				})
			}
		},
		"DecisionsAboutAUserAreSerialized": func(t *testing.T, w *world) {
			for i := range 30 {
				m := w.ensure(t, w.mine, person{Username: fmt.Sprint("user", i)})
				for _, err := range together(2, func(n int) error {
					return w.Update(t.Context(), func(tx ports.Tx) error {
						if err := tx.Operators().LockUser(t.Context(), m.User.ID); err != nil {
							return err
						}
						of, err := tx.Operators().Accounts(t.Context(), m.User.Username)
						if err != nil {
							return err
						}
						known := len(of) > 0
						is, err := tx.Users().ByID(t.Context(), w.mine.org.ID, m.ID)
						switch {
						case err != nil:
							return err
						case n == 0 && !known:
							is.Role = users.RoleViewer
							return tx.Users().SetRole(t.Context(), is)
						case n == 1 && is.Role == users.RoleMember:
							_, err := tx.Operators().Save(t.Context(), operators.Account{User: m.User, Hash: "h", Changed: noon})
							return err
						}
						return nil
					})
				}) {
					require.NoError(t, err)
				}
				known := len(w.accountsOf(t, m.User.Username)) > 0
				assert.NotEqual(t, known, w.member(t, m.User.Username).Role == users.RoleViewer, "either gets a role or can sign in, as each looked for the other")
			}
			refused(t, w, users.ErrNotFound, func(tx ports.Tx) error { return tx.Operators().LockUser(t.Context(), 1<<40) })
		},
		"OneOfManyCreatesTheName": func(t *testing.T, w *world) {
			created := 0
			for _, err := range together(16, func(int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					_, err := tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "Race"})
					return err
				})
			}) {
				if err == nil {
					created++
					continue
				}
				require.ErrorIs(t, err, lists.ErrNameTaken)
			}
			assert.Equal(t, 1, created)
		},
		"ConcurrentEnsureCreatesOne": func(t *testing.T, w *world) {
			type ensured struct {
				user, member, group, address, subscription bool
				ids                                        [6]int64
				err                                        error
			}
			answers := together(16, func(int) (e ensured) {
				e.err = w.Update(t.Context(), func(tx ports.Tx) error {
					e = ensured{}
					u, fresh, err := ensureUser(t.Context(), tx, users.User{Username: "Race"})
					if err != nil {
						return err
					}
					e.user, e.ids[0] = fresh, int64(u.ID)
					m, fresh, err := ensureMember(t.Context(), tx, w.mine.org.ID, users.Member{User: u})
					if err != nil {
						return err
					}
					e.member, e.ids[1] = fresh, int64(m.ID)
					g, fresh, err := tx.Orgs().EnsureGroup(t.Context(), w.mine.org.ID, "Race")
					if err != nil {
						return err
					}
					e.group, e.ids[2] = fresh, int64(g.ID)
					as, created, err := ensureAddresses(t.Context(), tx, w.mine.org.ID, m.ID, []users.Address{users.NewEmailAddress("race@example.org")})
					if err != nil {
						return err
					}
					e.address, e.ids[3] = created[0], int64(as[0].ID)
					assigned, _, err := tx.Assignments().Ensure(t.Context(), w.mine.org.ID, []channels.Assignment{channels.Assign(as[0], w.mine.mail)})
					if err != nil {
						return err
					}
					e.ids[4] = int64(assigned[0].ID)
					s, fresh, err := tx.Subscriptions().Subscribe(t.Context(), w.mine.shipped, assigned[0].ID, true)
					e.subscription, e.ids[5] = fresh, int64(s.ID)
					return err
				})
				return e
			})
			created := ensured{}
			for _, e := range answers {
				require.NoError(t, e.err)
				require.Equal(t, answers[0].ids, e.ids, "all of them mean the same rows")
				require.False(t, created.user && e.user || created.member && e.member || created.group && e.group ||
					created.address && e.address || created.subscription && e.subscription, "two of them created the same row")
				created = ensured{created.user || e.user, created.member || e.member, created.group || e.group, created.address || e.address,
					created.subscription || e.subscription, e.ids, nil}
			}
			assert.True(t, created.user && created.member && created.group && created.address && created.subscription)
		},
	}
}
