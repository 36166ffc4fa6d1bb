package conformance

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// account creates an account of an identity.
func (w *world) account(t *testing.T, a operators.Account) operators.Account {
	t.Helper()
	a.ID = do(t, w, func(tx ports.Tx) (operators.AccountID, error) { return tx.Operators().Save(t.Context(), a) })
	return w.held(t, a.ID).Account
}

// held returns an account with its places.
func (w *world) held(t *testing.T, id operators.AccountID) operators.AccountAccess {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (operators.AccountAccess, error) { return tx.Operators().Account(t.Context(), id) })
}

// accountsOf returns the accounts of a user.
func (w *world) accountsOf(t *testing.T, username string) []operators.AccountAccess {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]operators.AccountAccess, error) {
		return tx.Operators().Accounts(t.Context(), username)
	})
}

// accepts has a member accept with an account.
func (w *world) accepts(t *testing.T, m users.Member, a operators.Account, at time.Time) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error { return tx.Operators().Accept(t.Context(), m.ID, a.ID, at) })
}

// acceptance returns the account that a member has accepted with.
func (w *world) acceptance(t *testing.T, m users.Member) operators.Acceptance {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (operators.Acceptance, error) { return tx.Operators().Acceptance(t.Context(), m.ID) })
}

// begin begins a session of an account.
func (w *world) begin(t *testing.T, a operators.Account, at time.Time) operators.Session {
	t.Helper()
	s, _ := operators.NewSession(a.ID, operators.ByPassword, operators.Digest{7}, "192.0.2.1", at)
	act(t, w, func(tx ports.Tx) error { return tx.Operators().Begin(t.Context(), s) })
	return s
}

// session returns a stored session, and whether there is one.
func (w *world) session(t *testing.T, d operators.Digest) (found operators.Session, a operators.AccountAccess, there bool) {
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
			ada := w.mine.ada.User
			a := operators.Account{User: ada, Hash: "h1", Administrator: true, Organization: w.mine.org.ID, Changed: noon, Language: "de"}
			kept := w.account(t, a)
			a.ID = kept.ID
			assert.Equal(t, a, kept)
			assert.Equal(t, []operators.AccountAccess{{Account: a}}, w.accountsOf(t, "ADA@Example.org"), "without regard to case")
			a = operators.Account{ID: a.ID, User: ada, Changed: noon.Add(time.Hour)}
			assert.Equal(t, a, w.account(t, a), "every part of it, zero values too")
			refused(t, w, operators.ErrNotFound, func(tx ports.Tx) error {
				_, err := tx.Operators().Save(t.Context(), operators.Account{ID: 1 << 40, User: ada, Changed: noon})
				return err
			})
		},
		"SeveralAccountsPerUser": func(t *testing.T, w *world) {
			first := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h1", Changed: noon})
			second := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h2", Changed: noon})
			assert.Empty(t, w.acceptance(t, w.mine.ada))
			w.accepts(t, w.mine.ada, first, noon)
			w.accepts(t, w.theirs.ada, second, noon.Add(time.Minute))
			mine, theirs := operators.OrganizationAccess{Organization: w.mine.org, Role: users.RoleMember}, operators.OrganizationAccess{Organization: w.theirs.org, Role: users.RoleMember}
			assert.Equal(t, []operators.AccountAccess{{Account: first, Organizations: []operators.OrganizationAccess{mine}}, {Account: second, Organizations: []operators.OrganizationAccess{theirs}}},
				w.accountsOf(t, "ada@example.org"))
			assert.Equal(t, operators.Acceptance{Account: second.ID, At: noon.Add(time.Minute)}, w.acceptance(t, w.theirs.ada))

			w.accepts(t, w.mine.ada, second, noon.Add(time.Hour))
			assert.Empty(t, w.held(t, first.ID).Organizations, "one account opens an organization, the last")
			assert.Equal(t, []operators.OrganizationAccess{mine, theirs}, w.held(t, second.ID).Organizations, "by the organizations' ids")
			act(t, w, func(tx ports.Tx) error { return tx.Operators().DeleteAccount(t.Context(), second.ID) })
			assert.Empty(t, w.acceptance(t, w.mine.ada))
			assert.Equal(t, []operators.AccountAccess{{Account: first}}, w.accountsOf(t, "ada@example.org"))
			w.accepts(t, w.mine.ada, first, noon)
			w.remove(t, w.mine.ada)
			assert.Empty(t, w.held(t, first.ID).Organizations, "it ends with the membership")
		},
		"AppointmentsOfOneOrganization": func(t *testing.T, w *world) {
			list := func(tx ports.Tx, after users.MemberID, limit int) ([]operators.GrantedRole, error) {
				return tx.Operators().GrantedRoles(t.Context(), w.mine.org.ID, after, limit)
			}
			all := func() []operators.GrantedRole {
				return look(t, w, func(tx ports.Tx) ([]operators.GrantedRole, error) { return everything(tx, list) })
			}
			assert.Empty(t, all())
			mine, theirs := w.mine.ada, w.theirs.ada
			mine.Role, theirs.Role = users.RoleViewer, users.RoleAdministrator
			require.NoError(t, w.Update(t.Context(), func(tx ports.Tx) error {
				return errors.Join(tx.Users().SetRole(t.Context(), mine), tx.Users().SetRole(t.Context(), theirs))
			}))
			want := operators.GrantedRole{Member: mine.ID, Username: mine.User.Username, Role: users.RoleViewer}
			assert.Equal(t, []operators.GrantedRole{want}, all())
			account := w.account(t, operators.Account{User: mine.User, Hash: "h", Changed: noon})
			w.accepts(t, mine, account, noon)
			w.accepts(t, theirs, account, noon)
			want.Accepted, want.Methods.Password = noon, true
			assert.Equal(t, []operators.GrantedRole{want}, all())
			visited := func(org orgs.ID, at time.Time) {
				act(t, w, func(tx ports.Tx) error { return tx.Operators().RecordVisit(t.Context(), account.ID, org, at) })
			}
			visited(w.theirs.org.ID, noon.Add(time.Hour))
			assert.Equal(t, []operators.GrantedRole{want}, all(), "it was elsewhere")
			visited(w.mine.org.ID, noon.Add(time.Minute))
			visited(w.mine.org.ID, noon)
			want.Seen = noon.Add(time.Minute)
			act(t, w, func(tx ports.Tx) error {
				return errors.Join(tx.Factors().SaveTOTP(t.Context(), factors.TOTP{Account: account.ID, Secret: factors.NewSecret(), Created: noon}),
					tx.SignOn().SaveLink(t.Context(), signon.Link{Account: account.ID, Subject: signon.Subject{Issuer: "i", ID: "s"}, Linked: noon}))
			})
			want.Methods.Codes, want.Methods.SignOn = true, true
			assert.Equal(t, []operators.GrantedRole{want}, all())
			places := w.held(t, account.ID).Organizations
			assert.Equal(t, []time.Time{noon.Add(time.Minute), noon.Add(time.Hour)}, []time.Time{places[0].Seen, places[1].Seen})
			paged(t, w, func(a operators.GrantedRole) users.MemberID { return a.Member }, all(), list)
			w.accepts(t, mine, account, noon)
			assert.Equal(t, want.Seen, all()[0].Seen, "accepting again changes nothing")
			w.accepts(t, mine, w.account(t, operators.Account{User: w.mine.bob.User, Hash: "h", Changed: noon}), noon)
			assert.Zero(t, all()[0].Seen, "who accepts by another account was not seen")
			theirs.Role = users.RoleMember // As it was.
			require.NoError(t, w.Update(t.Context(), func(tx ports.Tx) error { return tx.Users().SetRole(t.Context(), theirs) }))
		},
		"SessionsAreListedAndEndedButOne": func(t *testing.T, w *world) {
			ada := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon})
			bob := w.account(t, operators.Account{User: w.mine.bob.User, Hash: "h", Changed: noon})
			first, second, theirs := w.begin(t, ada, noon), w.begin(t, ada, noon.Add(time.Minute)), w.begin(t, bob, noon)
			of := func(a operators.AccountID, limit int) []operators.Session {
				return look(t, w, func(tx ports.Tx) ([]operators.Session, error) { return tx.Operators().Sessions(t.Context(), a, limit) })
			}
			assert.Equal(t, []operators.Session{second, first}, of(ada.ID, 10))
			assert.Equal(t, []operators.Session{second}, of(ada.ID, 1))
			assert.Equal(t, 1, do(t, w, func(tx ports.Tx) (int, error) {
				return tx.Operators().EndOthers(t.Context(), ada.ID, first.Digest)
			}))
			assert.Equal(t, []operators.Session{first}, of(ada.ID, 10))
			assert.Equal(t, []operators.Session{theirs}, of(bob.ID, 10))
		},
		"InvitationsAreKeptOneForEachMember": func(t *testing.T, w *world) {
			invite := func(m users.Member, installation bool, at time.Time) operators.Invitation {
				i, _ := operators.NewInvitation(m, installation, at)
				i.Resets = installation
				act(t, w, func(tx ports.Tx) error { return tx.Operators().Invite(t.Context(), i) })
				return i
			}
			find := func(i operators.Invitation) (found operators.Invited, there bool) {
				there = w.finds(t, operators.ErrInvitation, func(tx ports.Tx) (err error) {
					found, err = tx.Operators().Invitation(t.Context(), i.Digest)
					return err
				})
				return found, there
			}
			first, theirs, bob := invite(w.mine.ada, true, noon), invite(w.theirs.ada, false, noon.Add(time.Hour)), invite(w.mine.bob, false, noon.Add(time.Hour))
			found, there := find(first)
			assert.True(t, there)
			assert.Equal(t, operators.Invited{Invitation: first, User: w.mine.ada.User, Access: operators.OrganizationAccess{Organization: w.mine.org, Role: users.RoleMember}}, found)
			second := invite(w.mine.ada, false, noon)
			_, there = find(first)
			assert.False(t, there, "a later one takes the place of an earlier one")
			_, there = find(theirs)
			assert.True(t, there, "but not of another organization's")

			act(t, w, func(tx ports.Tx) error { return tx.Operators().Sweep(t.Context(), second.Expires) })
			_, there = find(second)
			assert.False(t, there)
			_, there = find(theirs)
			assert.True(t, there)
			third := invite(w.mine.ada, false, noon.Add(time.Hour))
			act(t, w, func(tx ports.Tx) error { return tx.Operators().EndInvitations(t.Context(), w.mine.ada.User.ID, nil) })
			act(t, w, func(tx ports.Tx) error {
				return tx.Operators().EndInvitations(t.Context(), w.mine.ada.User.ID, []orgs.ID{w.mine.org.ID})
			})
			_, there = find(third)
			assert.False(t, there)
			for _, i := range []operators.Invitation{theirs, bob} {
				_, there = find(i)
				assert.True(t, there, "nobody else's, and to nowhere else")
			}
			solo := w.ensure(t, w.mine, person{Username: "solo"})
			gone := invite(solo, false, noon)
			act(t, w, func(tx ports.Tx) error { return tx.Users().Remove(t.Context(), solo) })
			_, there = find(gone)
			assert.False(t, there, "it goes with the membership")
		},
		"NoAccountWithoutASignIn": func(t *testing.T, w *world) {
			w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon})
			for _, name := range []string{"bob@example.org", "nobody", ""} {
				assert.Empty(t, w.accountsOf(t, name))
			}
			missing(t, w, operators.ErrNotFound, func(tx ports.Tx) (operators.AccountAccess, error) { return tx.Operators().Account(t.Context(), 1<<40) })
			refused(t, w, users.ErrNotFound, func(tx ports.Tx) error {
				_, err := tx.Operators().Save(t.Context(), operators.Account{User: users.User{ID: 1 << 40}, Hash: "h", Changed: noon})
				return err
			})
		},
		"AnIdentityThatCanSignInOutlivesItsLastMembership": func(t *testing.T, w *world) {
			eve := w.ensure(t, w.mine, person{Username: "eve"})
			a := w.account(t, operators.Account{User: eve.User, Hash: "h", Changed: noon})
			w.remove(t, eve)
			assert.Equal(t, a, w.held(t, a.ID).Account)
		},
		"AcceptedPlacesWithPresentRoles": func(t *testing.T, w *world) {
			a := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon})
			w.accepts(t, w.mine.ada, a, noon)
			act(t, w, func(tx ports.Tx) error {
				promoted := w.mine.ada
				promoted.Role, promoted.Locked = users.RoleOperator, true
				if err := tx.Users().SetRole(t.Context(), promoted); err != nil {
					return err
				}
				return tx.Users().SetLocked(t.Context(), promoted)
			})
			assert.Equal(t, []operators.OrganizationAccess{{Organization: w.mine.org, Role: users.RoleOperator, Locked: true}}, w.held(t, a.ID).Organizations)
		},
		"DevicesAreKnownOfTheAccountsThatWereSignedInTo": func(t *testing.T, w *world) {
			ada := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon})
			bob := w.account(t, operators.Account{User: w.mine.bob.User, Hash: "h", Changed: noon})
			remember := func(d byte, a operators.Account, at time.Time) {
				act(t, w, func(tx ports.Tx) error {
					return tx.Operators().Remember(t.Context(), operators.Device{Digest: operators.Digest{d}, Account: a.ID, Seen: at})
				})
			}
			known := func(d byte, at time.Time) []operators.AccountID {
				return look(t, w, func(tx ports.Tx) ([]operators.AccountID, error) {
					return tx.Operators().Device(t.Context(), operators.Digest{d}, at)
				})
			}
			remember(1, ada, noon)
			remember(1, bob, noon.Add(time.Hour))
			assert.Equal(t, []operators.AccountID{ada.ID, bob.ID}, known(1, noon))
			assert.Empty(t, known(2, noon))
			assert.Equal(t, []operators.AccountID{bob.ID}, known(1, noon.Add(operators.DeviceLife)), "for so long")
			act(t, w, func(tx ports.Tx) error { return tx.Operators().Sweep(t.Context(), noon.Add(operators.DeviceLife)) })
			assert.Equal(t, []operators.AccountID{bob.ID}, known(1, noon))
			remember(1, ada, noon.Add(time.Minute))
			for i := range operators.MaxDevices {
				remember(byte(i+2), ada, noon.Add(time.Duration(i+2)*time.Minute))
			}
			assert.Equal(t, []operators.AccountID{bob.ID}, known(1, noon), "so many, the last")
			assert.Equal(t, []operators.AccountID{ada.ID}, known(2, noon))
			act(t, w, func(tx ports.Tx) error { return tx.Operators().ForgetDevices(t.Context(), ada.ID, operators.Digest{3}) })
			assert.Empty(t, known(2, noon))
			assert.Equal(t, []operators.AccountID{ada.ID}, known(3, noon))
			assert.Equal(t, []operators.AccountID{bob.ID}, known(1, noon))
		},
		"AttemptsAreCountedAndForgotten": func(t *testing.T, w *world) {
			count := func(d byte, g operators.Attempts, now time.Time) {
				act(t, w, func(tx ports.Tx) error { return tx.Operators().SaveAttempts(t.Context(), operators.Digest{d}, g, now) })
			}
			counted := func(d byte) operators.Attempts {
				return look(t, w, func(tx ports.Tx) (operators.Attempts, error) {
					return tx.Operators().Attempts(t.Context(), operators.Digest{d})
				})
			}
			assert.Zero(t, counted(1))
			g := operators.Attempts{Failures: 7, Until: noon.Add(1_234_567 * time.Microsecond), Refused: true}
			count(1, g, noon)
			assert.Equal(t, g, counted(1))
			g = operators.Attempts{Failures: 8, Until: noon}
			count(1, g, noon)
			assert.Equal(t, g, counted(1), "every part of it")
			count(2, operators.Attempts{Failures: 1, Until: noon}, noon)
			act(t, w, func(tx ports.Tx) error { return tx.Operators().ForgetAttempts(t.Context(), operators.Digest{2}) })
			assert.Zero(t, counted(2))
			count(3, operators.Attempts{Failures: 1, Until: noon.Add(time.Minute)}, g.Expires().Add(-1*time.Microsecond))
			assert.Equal(t, g, counted(1))
			count(3, operators.Attempts{Failures: 1, Until: noon.Add(time.Minute)}, g.Expires())
			assert.Zero(t, counted(1), "what counts no more is deleted by and by")
			assert.NotZero(t, counted(3))
		},
		"ConcurrentAttemptsAreCounted": func(t *testing.T, w *world) {
			const many = 20
			for _, err := range together(many, func(int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					g, err := tx.Operators().Attempts(t.Context(), operators.Digest{1})
					if err != nil {
						return err
					}
					return tx.Operators().SaveAttempts(t.Context(), operators.Digest{1}, operators.Attempts{Failures: g.Failures + 1, Until: noon}, noon)
				})
			}) {
				require.NoError(t, err)
			}
			found := look(t, w, func(tx ports.Tx) (operators.Attempts, error) {
				return tx.Operators().Attempts(t.Context(), operators.Digest{1})
			})
			assert.Equal(t, many, found.Failures)
		},
		"SessionRecordsConfirmation": func(t *testing.T, w *world) {
			a := w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon})
			s, other := w.begin(t, a, noon), w.begin(t, a, noon)
			act(t, w, func(tx ports.Tx) error {
				return tx.Operators().Authenticated(t.Context(), s.Digest, "key", noon.Add(time.Hour))
			})
			s.Authenticated, s.Method = noon.Add(time.Hour), "key"
			for _, want := range []operators.Session{s, other} {
				found, _, _ := w.session(t, want.Digest)
				assert.Equal(t, want, found)
			}
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
			assert.Equal(t, operators.AccountAccess{Account: a}, of)
			_, _, there = w.session(t, operators.Digest{1})
			assert.False(t, there)
		},
		"SessionUseIsMonotonic": func(t *testing.T, w *world) {
			s := w.begin(t, w.account(t, operators.Account{User: w.mine.ada.User, Hash: "h", Changed: noon}), noon)
			for _, at := range []time.Time{noon.Add(time.Hour), noon.Add(time.Minute), noon.Add(-time.Hour)} {
				act(t, w, func(tx ports.Tx) error { return tx.Operators().Touch(t.Context(), s.Digest, at) })
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
				assert.Equal(t, want, do(t, w, func(tx ports.Tx) (int, error) { return tx.Operators().EndAll(t.Context(), ada.ID) }))
			}
			there(false, second, third)
			there(true, other)
		},
		"ExpiredIsSwept": func(t *testing.T, w *world) {
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
