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
	return look(t, w, func(tx ports.Tx) (users.Member, error) { return tx.Users().Find(t.Context(), w.mine.org.ID, username) })
}

// ensure makes a user a member of an organization.
func (w *world) ensure(t *testing.T, o tenant, u users.User) users.Member {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (users.Member, error) {
		stored, _, err := ensureUser(t.Context(), tx, u)
		if err != nil {
			return users.Member{}, err
		}
		m, _, err := ensureMember(t.Context(), tx, o.org.ID, stored)
		return m, err
	})
}

func userCases() cases {
	return cases{
		"AnIdentityIsCreatedFromWhatIsGiven": func(t *testing.T, w *world) {
			sent := users.User{Username: "Ñandú/1", Email: "Nandu@Example.org", FirstName: "Ñ", LastName: "A"}
			act(t, w, func(tx ports.Tx) error {
				u, created, err := ensureUser(t.Context(), tx, sent)
				assert.True(t, created)
				assert.Positive(t, u.ID)
				sent.ID = u.ID
				assert.Equal(t, sent, u)
				return err
			})
		},
		"AnExistingIdentityIsNeverUpdated": func(t *testing.T, w *world) {
			first := do(t, w, func(tx ports.Tx) (users.User, error) {
				u, _, err := ensureUser(t.Context(), tx, users.User{Username: "Eve", Email: "eve@example.org", FirstName: "Eve"})
				return u, err
			})
			act(t, w, func(tx ports.Tx) error {
				u, created, err := ensureUser(t.Context(), tx, users.User{Username: "EVE", Email: "other@example.org", FirstName: "Other", LastName: "Other"})
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
						_, _, err = ensureMember(t.Context(), tx, w.mine.org.ID, u)
					}
					return created, err
				})
			}, func(name string) bool {
				return w.finds(t, users.ErrNotFound, func(tx ports.Tx) error {
					_, err := tx.Users().Find(t.Context(), w.mine.org.ID, name)
					return err
				})
			})
		},
		"EmailsAreNotUnique": func(t *testing.T, w *world) {
			first := w.ensure(t, w.mine, users.User{Username: "one", Email: "shared@example.org"})
			second := w.ensure(t, w.mine, users.User{Username: "two", Email: "shared@example.org"})
			assert.NotEqual(t, first.User.ID, second.User.ID)
		},
		"LongNamesAreKept": func(t *testing.T, w *world) {
			long := users.User{Username: distinctRunes(254), Email: distinctRunes(242) + "@example.org", FirstName: strings.Repeat("𝔸", 200), LastName: strings.Repeat("𝔹", 200)}
			m := w.ensure(t, w.mine, long)
			long.ID = m.User.ID
			assert.Equal(t, long, m.User)
			assert.Equal(t, m, w.member(t, long.Username))
			assert.Equal(t, m, w.member(t, long.Email))
		},

		"SetsAreAnsweredInTheirOrder": func(t *testing.T, w *world) {
			zoe := w.ensure(t, w.mine, users.User{Username: "Zoe"})
			act(t, w, func(tx ports.Tx) error {
				found, created, err := tx.Users().Ensure(t.Context(), []users.User{{Username: "max", Email: "max@example.org"}, {Username: "ZOE"}, {Username: "eve"}, w.mine.ada.User})
				if !assert.NoError(t, err) {
					return err
				}
				assert.Equal(t, []bool{true, false, true, false}, created)
				assert.Equal(t, []users.User{{ID: found[0].ID, Username: "max", Email: "max@example.org"}, zoe.User, {ID: found[2].ID, Username: "eve"}, w.mine.ada.User}, found)
				slices.Reverse(found)
				ms, created, err := tx.Users().EnsureMembers(t.Context(), w.mine.org.ID, found)
				if !assert.NoError(t, err) {
					return err
				}
				assert.Equal(t, []bool{false, true, false, true}, created)
				assert.Equal(t, w.mine.ada, ms[0])
				assert.Equal(t, zoe, ms[2])
				assert.Equal(t, []users.User{found[1], found[3]}, []users.User{ms[1].User, ms[3].User})
				return nil
			})
			assert.Equal(t, "max@example.org", w.member(t, "MAX").User.Email)
			act(t, w, func(tx ports.Tx) error { // Nothing is a set, too.
				found, _, err := tx.Users().Ensure(t.Context(), nil)
				assert.NoError(t, err)
				ms, _, err := tx.Users().EnsureMembers(t.Context(), w.mine.org.ID, nil)
				assert.Empty(t, found)
				assert.Empty(t, ms)
				return err
			})
		},

		"AMembershipIsCreatedOnceAndBlank": func(t *testing.T, w *world) {
			u := do(t, w, func(tx ports.Tx) (users.User, error) {
				u, _, err := ensureUser(t.Context(), tx, users.User{Username: "eve"})
				return u, err
			})
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) { return tx.Users().Find(t.Context(), w.mine.org.ID, "eve") })
			act(t, w, func(tx ports.Tx) error {
				m, created, err := ensureMember(t.Context(), tx, w.mine.org.ID, u)
				assert.True(t, created)
				assert.Positive(t, m.ID)
				assert.Equal(t, users.Member{ID: m.ID, Organization: w.mine.org.ID, User: u, Role: users.RoleMember, CustomFields: metadata.Map{}, Groups: m.Groups}, m)
				assert.Empty(t, m.Groups, "groups are not linked")
				return err
			})
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) { return tx.Users().Find(t.Context(), w.theirs.org.ID, "eve") })
		},
		"AnExistingMembershipIsReturnedAsItIs": func(t *testing.T, w *world) {
			m := only(w.enroll(t, users.Batch{Enrollments: []users.Enrollment{{Email: "eve@example.org", CustomFields: metadata.Map{"a": "b"}}}})).Member
			act(t, w, func(tx ports.Tx) error {
				found, created, err := ensureMember(t.Context(), tx, w.mine.org.ID, m.User)
				assert.False(t, created)
				assert.Equal(t, m, found)
				return err
			})
		},

		"AreFoundByUsernameElseByEmail": func(t *testing.T, w *world) {
			m := w.ensure(t, w.mine, users.User{Username: "eve", Email: "É.ve@example.org"})
			for _, asked := range []string{"eve", "EVE", "É.ve@example.org", "e\u0301.VE@Example.ORG"} {
				assert.Equal(t, m, w.member(t, asked), asked)
			}
			for _, asked := range []string{"", "ev", "eve ", "%", "_ve", "e.ve@example.org"} {
				missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) { return tx.Users().Find(t.Context(), w.mine.org.ID, asked) })
			}
		},
		"TheUsernameGoesBeforeTheEmail": func(t *testing.T, w *world) {
			w.ensure(t, w.mine, users.User{Username: "first", Email: "eve@example.org"})
			eve := w.ensure(t, w.mine, users.User{Username: "Eve@example.org", Email: "other@example.org"})
			assert.Equal(t, eve, w.member(t, "eve@EXAMPLE.org"))
		},
		"AUsernameOfAnotherOrganizationDoesNotHideAnEmail": func(t *testing.T, w *world) {
			w.ensure(t, w.theirs, users.User{Username: "eve@example.org"})
			w.settle(t)
			mine := w.ensure(t, w.mine, users.User{Username: "first", Email: "eve@example.org"})
			assert.Equal(t, mine, w.member(t, "eve@example.org"))
		},
		"OfSeveralWithOneEmailTheLowestID": func(t *testing.T, w *world) {
			first := w.ensure(t, w.mine, users.User{Username: "zz", Email: "Shared@example.org"})
			for _, username := range []string{"aa", "mm"} {
				w.ensure(t, w.mine, users.User{Username: username, Email: "shared@EXAMPLE.org"})
			}
			assert.Equal(t, first, w.member(t, "shared@example.org"))
		},
		"MembersOfOneOrganizationDoNotExistInAnother": func(t *testing.T, w *world) {
			w.ensure(t, w.mine, users.User{Username: "eve", Email: "eve@example.org"})
			for _, asked := range []string{"eve", "eve@example.org"} {
				missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) { return tx.Users().Find(t.Context(), w.theirs.org.ID, asked) })
			}
			assert.NotEqual(t, w.mine.ada.ID, w.theirs.ada.ID)
			assert.Equal(t, w.mine.ada.User, w.theirs.ada.User, "the identity is shared")
		},
		"AreListedByIDWithTheirGroups": func(t *testing.T, w *world) {
			want := []users.Member{w.mine.ada, w.mine.bob}
			for _, batch := range []users.Batch{
				{Enrollments: []users.Enrollment{{Email: "z@example.org", FirstName: "Z", CustomFields: metadata.Map{"a": []any{nil}}}}, Group: w.mine.staff.ID},
				{Enrollments: []users.Enrollment{{Email: "a@example.org"}}},
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
					return users.Batch{Group: g.ID, Enrollments: []users.Enrollment{{Email: "eve@example.org"}}}, err
				})
				w.enroll(t, g)
			}
			assert.Equal(t, []string{"Alpha", "Default", "zoo", "émigrés"}, w.member(t, "eve@example.org").Groups)
		},
		"KnowWhetherTheirIdentityBelongsElsewhere": func(t *testing.T, w *world) {
			belongs := func(m users.Member) bool {
				return look(t, w, func(tx ports.Tx) (bool, error) { return tx.Users().BelongsElsewhere(t.Context(), m) })
			}
			assert.True(t, belongs(w.mine.ada))
			eve := w.ensure(t, w.mine, users.User{Username: "eve"})
			assert.False(t, belongs(eve))
			w.ensure(t, w.theirs, users.User{Username: "eve"})
			w.settle(t)
			assert.True(t, belongs(eve))
		},
		"ARenamedIdentityShowsEverywhere": func(t *testing.T, w *world) {
			renamed := w.mine.ada.User
			renamed.FirstName, renamed.LastName = "Augusta", "King"
			act(t, w, func(tx ports.Tx) error { return tx.Users().Rename(t.Context(), renamed) })
			w.settle(t)
			assert.Equal(t, renamed, w.member(t, "ada@example.org").User)
			there := look(t, w, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().Find(t.Context(), w.theirs.org.ID, "ada@example.org")
			})
			assert.Equal(t, renamed, there.User)
			assert.Equal(t, w.mine.bob, w.member(t, "bob@example.org"))
		},
		"ANameCanBeTakenBack": func(t *testing.T, w *world) {
			eve := w.ensure(t, w.mine, users.User{Username: "eve", FirstName: "Eve", LastName: "Doe"})
			eve.User.LastName = ""
			act(t, w, func(tx ports.Tx) error { return tx.Users().Rename(t.Context(), eve.User) })
			assert.Equal(t, eve, w.member(t, "eve"))
		},
		"UsernameAndEmailNeverChange": func(t *testing.T, w *world) {
			changed := w.mine.ada.User
			changed.Username, changed.Email = "changed", "changed@example.org"
			act(t, w, func(tx ports.Tx) error { return tx.Users().Rename(t.Context(), changed) })
			assert.Equal(t, w.mine.ada, w.member(t, "ada@example.org"))
		},
		"FieldsComeBackAsTheyWereSaved": func(t *testing.T, w *world) {
			m := w.mine.ada
			for _, text := range []string{
				`{"n":[1.50,-0,1E+3,12345678901234567890123,1e999,0.1000]}`, `{"t":["","é😀","<b>&amp;</b>","\u2028\\\"\n\t'' $1 ? %s {}"]}`,
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
			changed.Role, changed.Locked, changed.User.FirstName = users.RoleAdministrator, true, "Changed"
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

// distinctRunes is a text of so many different characters of four bytes, which no index can compress.
func distinctRunes(n int) string {
	runes := make([]rune, n)
	for i := range runes {
		runes[i] = rune(0x20000 + 37*i)
	}
	return string(runes)
}
