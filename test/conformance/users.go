package conformance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// member finds a member of the case's organization.
func (w *world) member(t *testing.T, username string) users.Member {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (users.Member, error) {
		return tx.Users().ByUsername(t.Context(), w.mine.org.ID, username)
	})
}

// byEmail finds members of an organization by their e-mail.
func (w *world) byEmail(t *testing.T, o tenant, email string) []users.Member {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]users.Member, error) {
		return tx.Users().ByEmail(t.Context(), o.org.ID, email, 100)
	})
}

// ensure makes a user a member of an organization.
func (w *world) ensure(t *testing.T, o tenant, p person) users.Member {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (users.Member, error) {
		m, err := ensurePerson(t.Context(), tx, o.org.ID, p)
		return m, err
	})
}

func userCases() cases {
	return cases{
		"AnIdentityIsAUsername": func(t *testing.T, w *world) {
			act(t, w, func(tx ports.Tx) error {
				u, created, err := ensureUser(t.Context(), tx, users.User{Username: "Ñandú/1"})
				assert.True(t, created)
				assert.Positive(t, u.ID)
				assert.Equal(t, users.User{ID: u.ID, Username: "Ñandú/1"}, u)
				return err
			})
		},
		"AnExistingIdentityIsNeverUpdated": func(t *testing.T, w *world) {
			first := do(t, w, func(tx ports.Tx) (users.User, error) {
				u, _, err := ensureUser(t.Context(), tx, users.User{Username: "Eve"})
				return u, err
			})
			act(t, w, func(tx ports.Tx) error {
				u, created, err := ensureUser(t.Context(), tx, users.User{Username: "EVE"})
				assert.False(t, created)
				assert.Equal(t, first, u)
				return err
			})
		},
		"UsernamesAreUniqueWithoutRegardToCase": func(t *testing.T, w *world) {
			bySpelling(t, func(name string) bool {
				return do(t, w, func(tx ports.Tx) (bool, error) {
					u, created, err := ensureUser(t.Context(), tx, users.User{Username: name})
					if err == nil {
						_, _, err = ensureMember(t.Context(), tx, w.mine.org.ID, users.Member{User: u})
					}
					return created, err
				})
			}, func(name string) bool {
				return w.finds(t, users.ErrNotFound, func(tx ports.Tx) error {
					_, err := tx.Users().ByUsername(t.Context(), w.mine.org.ID, name)
					return err
				})
			})
		},
		"EmailsAreNotUnique": func(t *testing.T, w *world) {
			first := w.ensure(t, w.mine, person{Username: "one", Email: "shared@example.org"})
			second := w.ensure(t, w.mine, person{Username: "two", Email: "shared@example.org"})
			assert.NotEqual(t, first.User.ID, second.User.ID)
		},
		"LongNamesAreKept": func(t *testing.T, w *world) {
			long := person{Username: distinctRunes(254), Email: distinctRunes(242) + "@example.org", FirstName: strings.Repeat("𝔸", 200), LastName: strings.Repeat("𝔹", 200)}
			m := w.ensure(t, w.mine, long)
			assert.Equal(t, long.Username, m.User.Username)
			assert.Equal(t, long.details(), m.Details)
			assert.Equal(t, m, w.member(t, long.Username))
			assert.Equal(t, []users.Member{m}, w.byEmail(t, w.mine, long.Email))
		},

		"SetsAreAnsweredInTheirOrder": func(t *testing.T, w *world) {
			zoe := w.ensure(t, w.mine, person{Username: "Zoe"})
			act(t, w, func(tx ports.Tx) error {
				found, created, err := tx.Users().Ensure(t.Context(), []users.User{{Username: "max"}, {Username: "ZOE"}, {Username: "eve"}, w.mine.ada.User})
				if !assert.NoError(t, err) {
					return err
				}
				assert.Equal(t, []bool{true, false, true, false}, created)
				assert.Equal(t, []users.User{{ID: found[0].ID, Username: "max"}, zoe.User, {ID: found[2].ID, Username: "eve"}, w.mine.ada.User}, found)
				slices.Reverse(found)
				var wanted []users.Member
				for _, u := range found {
					wanted = append(wanted, users.Member{User: u, Details: users.Details{Email: u.Username + "@example.org"}})
				}
				ms, created, err := tx.Users().EnsureMembers(t.Context(), w.mine.org.ID, wanted)
				if !assert.NoError(t, err) {
					return err
				}
				assert.Equal(t, []bool{false, true, false, true}, created)
				assert.Equal(t, w.mine.ada, ms[0])
				assert.Equal(t, zoe, ms[2])
				assert.Equal(t, []users.User{found[1], found[3]}, []users.User{ms[1].User, ms[3].User})
				return nil
			})
			assert.Equal(t, "max@example.org", w.member(t, "MAX").Email)
			act(t, w, func(tx ports.Tx) error { // Nothing is a set, too.
				found, _, err := tx.Users().Ensure(t.Context(), nil)
				assert.NoError(t, err)
				ms, _, err := tx.Users().EnsureMembers(t.Context(), w.mine.org.ID, nil)
				assert.Empty(t, found)
				assert.Empty(t, ms)
				return err
			})
		},

		"MembershipIsCreatedOnceFromTheInput": func(t *testing.T, w *world) {
			u := do(t, w, func(tx ports.Tx) (users.User, error) {
				u, _, err := ensureUser(t.Context(), tx, users.User{Username: "eve"})
				return u, err
			})
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.mine.org.ID, "eve")
			})
			act(t, w, func(tx ports.Tx) error {
				eve := users.Member{User: users.User{ID: u.ID, Username: "Eve"}, Details: users.Details{Email: "Eve@example.org", FirstName: "Eve", LastName: "Doe"},
					CustomFields: metadata.Map{"a": "b"}}
				m, created, err := ensureMember(t.Context(), tx, w.mine.org.ID, eve)
				assert.True(t, created)
				assert.Positive(t, m.ID)
				eve.ID, eve.Organization, eve.Role, eve.Groups = m.ID, w.mine.org.ID, users.RoleMember, m.Groups
				assert.Equal(t, eve, m)
				assert.Empty(t, m.Groups, "groups are not linked")
				return err
			})
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.theirs.org.ID, "eve")
			})
		},
		"AnExistingMembershipIsReturnedAsItIs": func(t *testing.T, w *world) {
			m := only(w.enroll(t, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "eve@example.org"}, CustomFields: metadata.Map{"a": "b"}}}})).Member
			act(t, w, func(tx ports.Tx) error {
				other := users.Member{User: users.User{ID: m.User.ID, Username: "EVE@example.org"}, Details: users.Details{Email: "other@example.org", FirstName: "Other"}}
				found, created, err := ensureMember(t.Context(), tx, w.mine.org.ID, other)
				assert.False(t, created)
				assert.Equal(t, m, found)
				return err
			})
		},

		"AreFoundByUsername": func(t *testing.T, w *world) {
			m := w.ensure(t, w.mine, person{Username: "É.ve", Email: "eve@example.org"})
			for _, asked := range []string{"É.ve", "e\u0301.VE"} {
				assert.Equal(t, m, w.member(t, asked), asked)
			}
			for _, asked := range []string{"", "é.v", "é.ve ", "%", "_.ve", "e.ve", "eve@example.org"} {
				missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) {
					return tx.Users().ByUsername(t.Context(), w.mine.org.ID, asked)
				})
			}
		},
		"AreFoundByEmailUnlessItIsTheUsername": func(t *testing.T, w *world) {
			var want []users.Member
			for _, username := range []string{"zz", "aa", "mm"} {
				want = append(want, w.ensure(t, w.mine, person{Username: username, Email: "É.ve@example.org"}))
			}
			w.ensure(t, w.mine, person{Username: "é.ve@example.org", Email: "É.ve@example.org"})
			w.ensure(t, w.mine, person{Username: "nobody"})
			w.ensure(t, w.theirs, person{Username: "there", Email: "É.ve@example.org"})
			w.settle(t)
			for _, asked := range []string{"É.ve@example.org", "e\u0301.VE@Example.ORG"} {
				assert.Equal(t, want, w.byEmail(t, w.mine, asked), "by id")
			}
			assert.Equal(t, want[:2], look(t, w, func(tx ports.Tx) ([]users.Member, error) {
				return tx.Users().ByEmail(t.Context(), w.mine.org.ID, "é.ve@example.org", 2)
			}))
			for _, asked := range []string{"", "zz", "ada@example.org", "e.ve@example.org"} {
				assert.Empty(t, w.byEmail(t, w.mine, asked), asked)
			}
		},
		"AUsernameOfAnotherOrganizationDoesNotHideAnEmail": func(t *testing.T, w *world) {
			w.ensure(t, w.theirs, person{Username: "eve@example.org"})
			w.settle(t)
			mine := w.ensure(t, w.mine, person{Username: "first", Email: "eve@example.org"})
			assert.Equal(t, []users.Member{mine}, w.byEmail(t, w.mine, "eve@example.org"))
		},
		"MembersOfOneOrganizationDoNotExistInAnother": func(t *testing.T, w *world) {
			w.ensure(t, w.mine, person{Username: "eve", Email: "eve@example.org"})
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.theirs.org.ID, "eve")
			})
			assert.Empty(t, w.byEmail(t, w.theirs, "eve@example.org"))
			assert.NotEqual(t, w.mine.ada.ID, w.theirs.ada.ID)
			assert.Equal(t, w.mine.ada.User, w.theirs.ada.User, "the identity is shared")
		},
		"AreListedByIDWithTheirGroups": func(t *testing.T, w *world) {
			want := []users.Member{w.mine.ada, w.mine.bob}
			for _, batch := range []users.Batch{
				{Enrollments: []users.Enrollment{{Details: users.Details{Email: "z@example.org", FirstName: "Z"}, CustomFields: metadata.Map{"a": []any{nil}}}}, Group: w.mine.staff.ID},
				{Enrollments: []users.Enrollment{{Details: users.Details{Email: "a@example.org"}}}},
			} {
				want = append(want, only(w.enroll(t, batch)).Member)
			}
			assert.Equal(t, []string{"Default", "Staff"}, want[2].Groups)
			paged(t, w, func(m users.Member) users.MemberID { return m.ID }, want, func(tx ports.Tx, after users.MemberID, limit int) ([]users.Member, error) {
				return tx.Users().List(t.Context(), w.mine.org.ID, after, limit)
			})
		},
		"GroupsAreOrderedByName": func(t *testing.T, w *world) {
			for _, name := range []string{"zoo", "Alpha", "émigrés"} {
				g := do(t, w, func(tx ports.Tx) (users.Batch, error) {
					g, _, err := tx.Orgs().EnsureGroup(t.Context(), w.mine.org.ID, name)
					return users.Batch{Group: g.ID, Enrollments: []users.Enrollment{{Details: users.Details{Email: "eve@example.org"}}}}, err
				})
				w.enroll(t, g)
			}
			assert.Equal(t, []string{"Alpha", "Default", "zoo", "émigrés"}, w.member(t, "eve@example.org").Groups)
		},
		"DataOfAnOrganizationIsNotInAnother": func(t *testing.T, w *world) {
			mine := w.ensure(t, w.mine, person{Username: "Eve", Email: "eve@example.org", FirstName: "Eve", LastName: "Doe"})
			theirs := w.ensure(t, w.theirs, person{Username: "EVE", Email: "other@example.org", FirstName: "Other"})
			w.settle(t)
			assert.Equal(t, mine.User.ID, theirs.User.ID, "it is one identity")
			assert.Equal(t, "EVE", theirs.User.Username, "spelled as each of them sent it")
			assert.Equal(t, users.Details{Email: "other@example.org", FirstName: "Other"}, theirs.Details)
			mine.Details = users.Details{Email: "Eva@example.org", FirstName: "Eva"}
			act(t, w, func(tx ports.Tx) error { return tx.Users().SaveDetails(t.Context(), mine) })
			w.settle(t)
			assert.Equal(t, mine, w.member(t, "eve"), "what is blank is taken back")
			assert.Equal(t, theirs, look(t, w, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.theirs.org.ID, "eve")
			}))
			assert.Empty(t, w.byEmail(t, w.mine, "eve@example.org"))
			assert.Equal(t, []users.Member{mine}, w.byEmail(t, w.mine, "EVA@example.org"))
			assert.Equal(t, w.mine.bob, w.member(t, "bob@example.org"))
		},
		"SavingDetailsTouchesNothingElse": func(t *testing.T, w *world) {
			changed := w.mine.ada
			changed.User.Username, changed.Role, changed.Locked, changed.CustomFields = "changed", users.RoleAdministrator, true, metadata.Map{"a": "b"}
			act(t, w, func(tx ports.Tx) error { return tx.Users().SaveDetails(t.Context(), changed) })
			assert.Equal(t, w.mine.ada, w.member(t, "ada@example.org"))
			stranger := w.theirs.ada
			stranger.Organization = w.mine.org.ID
			refused(t, w, users.ErrNotFound, func(tx ports.Tx) error { return tx.Users().SaveDetails(t.Context(), stranger) })
		},
		"FieldsComeBackAsTheyWereSaved": func(t *testing.T, w *world) {
			m := w.mine.ada
			for _, text := range []string{
				`{"n":[1.50,-0,1E+3,12345678901234567890123,1e308,0.1000]}`, `{"t":["","é😀","<b>&amp;</b>","\u2028\\\"\n\t'' $1 ? %s {}"]}`,
				`{"":{"":[{},[],null,true,false]}}`, `{"z":1,"a":{"z":2,"a":3},"A":4}`, `{}`, `{"long":"` + strings.Repeat("x", metadata.MaxBytes-20) + `"}`,
			} {
				fields, err := metadata.Parse([]byte(text))
				require.NoError(t, err)
				m.CustomFields = fields
				act(t, w, func(tx ports.Tx) error { return tx.Users().SaveFields(t.Context(), m) })
				assert.Equal(t, m, w.member(t, "ada@example.org"))
			}
			assert.Equal(t, w.mine.bob, w.member(t, "bob@example.org"))
		},
		"SavingFieldsTouchesNothingElse": func(t *testing.T, w *world) {
			changed := w.mine.ada
			changed.Role, changed.Locked, changed.FirstName = users.RoleAdministrator, true, "Changed"
			changed.CustomFields = metadata.Map{"n": json.Number("1")}
			act(t, w, func(tx ports.Tx) error { return tx.Users().SaveFields(t.Context(), changed) })
			want := w.mine.ada
			want.CustomFields = changed.CustomFields
			assert.Equal(t, want, w.member(t, "ada@example.org"))
		},
		"AreLockedAndUnlocked": func(t *testing.T, w *world) {
			for _, locked := range []bool{true, true, false} {
				m := w.mine.ada
				m.Locked, m.CustomFields = locked, metadata.Map{"not": "saved"}
				act(t, w, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context(), m) })
				want := w.mine.ada
				want.Locked = locked
				assert.Equal(t, want, w.member(t, "ada@example.org"))
			}
			assert.Equal(t, w.mine.bob, w.member(t, "bob@example.org"))
		},
	}
}

// distinctRunes returns a text of n different characters of four bytes, which no index can
// compress.
func distinctRunes(n int) string {
	runes := make([]rune, n)
	for i := range runes {
		runes[i] = rune(0x20000 + 37*i)
	}
	return string(runes)
}
