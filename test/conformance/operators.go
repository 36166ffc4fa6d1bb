package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// account lets an identity sign in.
func (w *world) account(t *testing.T, a operators.Account) operators.Account {
	t.Helper()
	act(t, w, func(tx ports.Tx) error { return tx.Operators().Save(t.Context(), a) })
	return w.accountOf(t, a.User.Username)
}

func (w *world) accountOf(t *testing.T, username string) operators.Account {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (operators.Account, error) { return tx.Operators().Account(t.Context(), username) })
}

// begin begins a session of an account.
func (w *world) begin(t *testing.T, a operators.Account, at time.Time) operators.Session {
	t.Helper()
	s, _ := operators.NewSession(a.User.ID, "192.0.2.1", at)
	act(t, w, func(tx ports.Tx) error { return tx.Operators().Begin(t.Context(), s) })
	return s
}

// session is a session as it is stored, and whether it is.
func (w *world) session(t *testing.T, d operators.Digest) (found operators.Session, a operators.Account, there bool) {
	t.Helper()
	there = w.finds(t, operators.ErrNoSession, func(tx ports.Tx) (err error) {
		found, a, err = tx.Operators().Session(t.Context(), d)
		return err
	})
	return found, a, there
}

func operatorCases() cases {
	return cases{
		"AnAccountIsKeptAsGivenAndChanged": func(t *testing.T, w *world) {
			a := operators.Account{User: w.mine.ada.User, Hash: "h1", Administrator: true, Failures: 3, LockedUntil: noon.Add(1_234_567 * time.Microsecond), Changed: noon}
			assert.Equal(t, a, w.account(t, a))
			assert.Equal(t, a, w.accountOf(t, "ADA@Example.org"), "without regard to case")
			a = operators.Account{User: w.mine.ada.User, Hash: "h2", Changed: noon.Add(time.Hour)}
			assert.Equal(t, a, w.account(t, a), "every part of it, zero values too")
		},
		"AnAccountKnowsWhoMadeIt": func(t *testing.T, w *world) {
			a := operators.Account{User: w.mine.ada.User, Hash: "h", Organization: w.mine.org.ID, Changed: noon}
			assert.Equal(t, a, w.account(t, a))
			a.Organization = 0
			assert.Equal(t, a, w.account(t, a))
		},
		"SessionsAreListedAndEndedButOne": func(t *testing.T, w *world) {
			ada := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon})
			bob := w.account(t, operators.Account{User: w.mine.bob.User, Hash: "h", Changed: noon})
			first, second, theirs := w.begin(t, ada, noon), w.begin(t, ada, noon.Add(time.Minute)), w.begin(t, bob, noon)
			of := func(u users.ID, limit int) []operators.Session {
				return look(t, w, func(tx ports.Tx) ([]operators.Session, error) { return tx.Operators().Sessions(t.Context(), u, limit) })
			}
			assert.Equal(t, []operators.Session{second, first}, of(ada.User.ID, 10))
			assert.Equal(t, []operators.Session{second}, of(ada.User.ID, 1))
			assert.Equal(t, 1, do(t, w, func(tx ports.Tx) (int, error) {
				return tx.Operators().EndOthers(t.Context(), ada.User.ID, first.Digest)
			}))
			assert.Equal(t, []operators.Session{first}, of(ada.User.ID, 10))
			assert.Equal(t, []operators.Session{theirs}, of(bob.User.ID, 10))
		},
		"InvitationsAreKeptOneForEachUser": func(t *testing.T, w *world) {
			invite := func(m users.Member, installation bool, at time.Time) operators.Invitation {
				i, _ := operators.NewInvitation(m, installation, at)
				act(t, w, func(tx ports.Tx) error { return tx.Operators().Invite(t.Context(), i) })
				return i
			}
			find := func(d operators.Digest) (found operators.Invitation, a operators.Account, there bool) {
				there = w.finds(t, operators.ErrInvitation, func(tx ports.Tx) (err error) {
					found, a, err = tx.Operators().Invitation(t.Context(), d)
					return err
				})
				return found, a, there
			}
			first, theirs := invite(w.mine.ada, true, noon), invite(w.mine.bob, false, noon.Add(time.Hour))
			found, account, there := find(first.Digest)
			assert.True(t, there)
			assert.Equal(t, first, found)
			assert.Equal(t, operators.Account{User: w.mine.ada.User}, account, "the identity of whom there is no account for yet")
			second := invite(w.mine.ada, false, noon)
			_, _, there = find(first.Digest)
			assert.False(t, there, "a later one takes the place of an earlier one")
			ada := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Organization: w.mine.org.ID, Changed: noon})
			_, account, _ = find(second.Digest)
			assert.Equal(t, ada, account)

			act(t, w, func(tx ports.Tx) error { return tx.Operators().Sweep(t.Context(), second.Expires) })
			_, _, there = find(second.Digest)
			assert.False(t, there)
			_, _, there = find(theirs.Digest)
			assert.True(t, there)
			act(t, w, func(tx ports.Tx) error { return tx.Operators().EndInvitations(t.Context(), w.mine.bob.User.ID) })
			_, _, there = find(theirs.Digest)
			assert.False(t, there)
			solo := w.ensure(t, w.mine, users.User{Username: "solo"})
			gone := invite(solo, false, noon)
			act(t, w, func(tx ports.Tx) error { return tx.Users().Remove(t.Context(), solo) })
			_, _, there = find(gone.Digest)
			assert.False(t, there, "it goes with the identity")
		},
		"WhoCannotSignInHasNoAccount": func(t *testing.T, w *world) {
			w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon})
			for _, name := range []string{"bob@example.org", "nobody", ""} {
				missing(t, w, operators.ErrNotFound, func(tx ports.Tx) (operators.Account, error) { return tx.Operators().Account(t.Context(), name) })
			}
			refused(t, w, users.ErrNotFound, func(tx ports.Tx) error {
				return tx.Operators().Save(t.Context(), operators.Account{User: users.User{ID: 1 << 40}, Hash: "h", Changed: noon})
			})
		},
		"AnIdentityThatCanSignInOutlivesItsLastMembership": func(t *testing.T, w *world) {
			eve := w.ensure(t, w.mine, users.User{Username: "eve"})
			a := w.account(t, operators.Account{User: eve.User, Hash: "h", Changed: noon})
			w.remove(t, eve)
			assert.Equal(t, a, w.accountOf(t, "eve"))
		},
		"PlacesAreTheMembershipsWithTheirRoles": func(t *testing.T, w *world) {
			places := func(u users.User) []operators.Place {
				return look(t, w, func(tx ports.Tx) ([]operators.Place, error) { return tx.Operators().Places(t.Context(), u.ID) })
			}
			eve := w.ensure(t, w.mine, users.User{Username: "eve"})
			act(t, w, func(tx ports.Tx) error {
				promoted := w.mine.ada
				promoted.Role, promoted.Locked = users.RoleOperator, true
				if err := tx.Users().SetRole(t.Context(), promoted); err != nil {
					return err
				}
				return tx.Users().SetLocked(t.Context(), promoted)
			})
			assert.Equal(t, []operators.Place{{Organization: w.mine.org, Role: users.RoleOperator, Locked: true},
				{Organization: w.theirs.org, Role: users.RoleMember}}, places(w.mine.ada.User))
			assert.Equal(t, []operators.Place{{Organization: w.mine.org, Role: users.RoleMember}}, places(eve.User))
			assert.Empty(t, places(users.User{ID: 1 << 40}))
		},
		"ARoleInAnotherOrganizationStays": func(t *testing.T, w *world) {
			attempt(t, w, func(tx ports.Tx) error {
				return tx.Users().SetRole(t.Context(), users.Member{ID: w.theirs.ada.ID, Organization: w.mine.org.ID, Role: users.RoleAdministrator})
			})
		},
		"ASessionIsFoundWithItsAccount": func(t *testing.T, w *world) {
			a := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Administrator: true, Changed: noon})
			s := w.begin(t, a, noon)
			found, of, there := w.session(t, s.Digest)
			require.True(t, there)
			assert.Equal(t, s, found)
			assert.Equal(t, a, of)
			_, _, there = w.session(t, operators.Digest{1})
			assert.False(t, there)
		},
		"UseOfASessionNeverGoesBack": func(t *testing.T, w *world) {
			s := w.begin(t, w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon}), noon)
			for _, at := range []time.Time{noon.Add(time.Hour), noon.Add(time.Minute), noon.Add(-time.Hour)} {
				act(t, w, func(tx ports.Tx) error { return tx.Operators().Saw(t.Context(), s.Digest, at) })
				found, _, _ := w.session(t, s.Digest)
				assert.Equal(t, noon.Add(time.Hour), found.Seen)
			}
		},
		"SessionsEndOneByOneOrAllOfAUser": func(t *testing.T, w *world) {
			ada := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon})
			bob := w.account(t, operators.Account{User: w.mine.bob.User, Hash: "h", Changed: noon})
			first, second, third, other := w.begin(t, ada, noon), w.begin(t, ada, noon), w.begin(t, ada, noon), w.begin(t, bob, noon)
			there := func(want bool, ss ...operators.Session) {
				t.Helper()
				for _, s := range ss {
					_, _, is := w.session(t, s.Digest)
					assert.Equal(t, want, is)
				}
			}
			for range 2 { // Ending what has ended is no fault.
				act(t, w, func(tx ports.Tx) error { return tx.Operators().End(t.Context(), first.Digest) })
			}
			there(false, first)
			there(true, second, third, other)
			for _, want := range []int{2, 0} {
				assert.Equal(t, want, do(t, w, func(tx ports.Tx) (int, error) { return tx.Operators().EndAll(t.Context(), ada.User.ID) }))
			}
			there(false, second, third)
			there(true, other)
		},
		"WhatHasExpiredIsSwept": func(t *testing.T, w *world) {
			a := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon})
			old, young := w.begin(t, a, noon.Add(-time.Second)), w.begin(t, a, noon.Add(time.Second))
			act(t, w, func(tx ports.Tx) error { return tx.Operators().Sweep(t.Context(), noon.Add(operators.SessionLife)) })
			_, _, there := w.session(t, old.Digest)
			assert.False(t, there)
			_, _, there = w.session(t, young.Digest)
			assert.True(t, there)
		},
	}
}
