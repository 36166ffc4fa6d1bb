package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// registration returns the membership of a member in web.
func (w *world) registration(t *testing.T, m users.Member) registration {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (registration, error) { return registrationOf(t.Context(), tx, w.mine.web, m.ID) })
}

// lock sets the lock of a member in web.
func (w *world) lock(t *testing.T, m users.Member, locked bool) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error { return tx.Applications().SetLocked(t.Context(), w.mine.web, m.ID, locked) })
}

// register stores a membership in web.
func (w *world) register(t *testing.T, ms applications.Membership) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error { return saveMembership(t.Context(), tx, w.mine.web, ms) })
}

// unregister ends a membership in web and reports whether there was one.
func (w *world) unregister(t *testing.T, m users.Member) bool {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (bool, error) { return tx.Applications().Unregister(t.Context(), w.mine.web, m.ID) })
}

func membershipCases() cases {
	return cases{
		"WithoutOneThereIsANewOne": func(t *testing.T, w *world) {
			want := registration{Membership: applications.NewMembership(w.mine.web.ID, w.mine.bob.ID, false)}
			assert.Equal(t, want, w.registration(t, w.mine.bob))
			assert.Equal(t, want, w.registration(t, w.mine.bob), "looking creates nothing")
		},
		"FieldsAndFlagsAreSaved": func(t *testing.T, w *world) {
			ms := applications.NewMembership(w.mine.web.ID, w.mine.bob.ID, false)
			for _, flags := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}, {false, false}} {
				ms.Active, ms.EnableNotifications = flags[0], flags[1]
				ms.CustomFields = metadata.Map{"active": flags[0], "deep": map[string]any{"é": []any{nil, "<&>"}}}
				w.register(t, ms)
				assert.Equal(t, registration{Membership: ms, Exists: true}, w.registration(t, w.mine.bob))
			}
		},
		"SetsAreAnsweredInTheirOrder": func(t *testing.T, w *world) {
			w.lock(t, w.mine.bob, true)
			members := []users.MemberID{w.mine.bob.ID, w.mine.ada.ID}
			act(t, w, func(tx ports.Tx) error {
				ms, exist, err := tx.Applications().Memberships(t.Context(), w.mine.web, members)
				assert.NoError(t, err)
				assert.Equal(t, []bool{false, true}, exist)
				assert.Equal(t, applications.NewMembership(w.mine.web.ID, w.mine.bob.ID, true), ms[0])
				assert.Equal(t, metadata.Map{"plan": "free"}, ms[1].CustomFields)
				ms[0].CustomFields, ms[1].CustomFields = metadata.Map{"of": "bob"}, metadata.Map{"of": "ada"}
				return tx.Applications().SaveMemberships(t.Context(), w.mine.web, ms)
			})
			assert.Equal(t, metadata.Map{"of": "bob"}, w.registration(t, w.mine.bob).CustomFields)
			assert.Equal(t, metadata.Map{"of": "ada"}, w.registration(t, w.mine.ada).CustomFields)
			act(t, w, func(tx ports.Tx) error { // Nothing is a set, too.
				ms, _, err := tx.Applications().Memberships(t.Context(), w.mine.web, nil)
				assert.NoError(t, err)
				assert.Empty(t, ms)
				return tx.Applications().SaveMemberships(t.Context(), w.mine.web, nil)
			})
		},
		"ForeignOneRefusesTheSet": func(t *testing.T, w *world) {
			before := w.registration(t, w.mine.ada)
			require.ErrorIs(t, w.Update(t.Context(), func(tx ports.Tx) error {
				return tx.Applications().SaveMemberships(t.Context(), w.mine.web, []applications.Membership{
					applications.NewMembership(w.mine.web.ID, w.mine.ada.ID, false), applications.NewMembership(w.mine.web.ID, w.theirs.bob.ID, false)})
			}), users.ErrNotFound)
			assert.Equal(t, before, w.registration(t, w.mine.ada))
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) ([]applications.Membership, error) {
				ms, _, err := tx.Applications().Memberships(t.Context(), w.mine.web, []users.MemberID{w.mine.ada.ID, w.theirs.bob.ID})
				return ms, err
			})
		},
		"AreIndependentPerApplication": func(t *testing.T, w *world) {
			ms := applications.NewMembership(w.mine.desk.ID, w.mine.ada.ID, false)
			ms.CustomFields, ms.Active = metadata.Map{"desk": true}, false
			before := w.registration(t, w.mine.ada)
			act(t, w, func(tx ports.Tx) error { return saveMembership(t.Context(), tx, w.mine.desk, ms) })
			assert.Equal(t, before, w.registration(t, w.mine.ada))
			assert.Equal(t, metadata.Map{"plan": "free"}, before.CustomFields)
			found := look(t, w, func(tx ports.Tx) (registration, error) {
				return registrationOf(t.Context(), tx, w.mine.desk, w.mine.ada.ID)
			})
			assert.Equal(t, registration{Membership: ms, Exists: true}, found)
			assert.True(t, w.unregister(t, w.mine.ada))
			found = look(t, w, func(tx ports.Tx) (registration, error) {
				return registrationOf(t.Context(), tx, w.mine.desk, w.mine.ada.ID)
			})
			assert.Equal(t, registration{Membership: ms, Exists: true}, found, "unregistering from one leaves the other")
		},
		"SavingNeverMovesTheLock": func(t *testing.T, w *world) {
			for _, m := range []users.Member{w.mine.ada, w.mine.bob} { // one registered, one not
				for _, locked := range []bool{true, false} {
					w.lock(t, m, locked)
					w.register(t, applications.NewMembership(w.mine.web.ID, m.ID, !locked))
					assert.Equal(t, locked, w.registration(t, m).Locked)
				}
			}
		},
		"ALockNeedsNoMembership": func(t *testing.T, w *world) {
			for _, locked := range []bool{true, true, false, false, true} {
				w.lock(t, w.mine.bob, locked)
				found := w.registration(t, w.mine.bob)
				assert.Equal(t, locked, found.Locked)
				assert.False(t, found.Exists)
			}
		},
		"ALockTouchesNothingElse": func(t *testing.T, w *world) {
			want := w.registration(t, w.mine.ada)
			w.lock(t, w.mine.ada, true)
			want.Locked = true
			assert.Equal(t, want, w.registration(t, w.mine.ada))
			found := look(t, w, func(tx ports.Tx) (registration, error) {
				return registrationOf(t.Context(), tx, w.mine.desk, w.mine.ada.ID)
			})
			assert.False(t, found.Locked, "another application")
			assert.False(t, w.registration(t, w.mine.bob).Locked, "another member")
			assert.Equal(t, w.mine.ada, w.member(t, "ada@example.org"), "the member's own lock is another")
		},
		"ALockOutlivesUnregisterAndRegister": func(t *testing.T, w *world) {
			w.lock(t, w.mine.ada, true)
			assert.True(t, w.unregister(t, w.mine.ada))
			assert.Equal(t, registration{Membership: applications.NewMembership(w.mine.web.ID, w.mine.ada.ID, true)}, w.registration(t, w.mine.ada))
			w.register(t, applications.NewMembership(w.mine.web.ID, w.mine.ada.ID, false))
			assert.True(t, w.registration(t, w.mine.ada).Locked)
			w.lock(t, w.mine.ada, false)
			assert.False(t, w.registration(t, w.mine.ada).Locked)
		},
		"UnregisterReportsWhetherOneExisted": func(t *testing.T, w *world) {
			assert.True(t, w.unregister(t, w.mine.ada))
			assert.False(t, w.unregister(t, w.mine.ada))
			assert.False(t, w.unregister(t, w.mine.bob))
			assert.Equal(t, registration{Membership: applications.NewMembership(w.mine.web.ID, w.mine.ada.ID, false)}, w.registration(t, w.mine.ada), "its fields are forgotten")
		},
		"UnregisterLeavesListsAndSubscriptions": func(t *testing.T, w *world) {
			o := w.mine
			assert.True(t, w.unregister(t, o.ada))
			assert.Len(t, w.recipients(t, o.news), 1)
			assert.Len(t, w.recipients(t, o.pinned), 1)
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Subscriptions().Unsubscribe(t.Context(), o.shipped, o.adaByMail.ID)
				return err
			})
		},
		"NotForForeignMember": func(t *testing.T, w *world) {
			m := w.theirs.ada.ID
			assert.Error(t, w.Update(t.Context(), func(tx ports.Tx) error {
				return saveMembership(t.Context(), tx, w.mine.web, applications.NewMembership(w.mine.web.ID, m, false))
			}))
			assert.Error(t, w.Update(t.Context(), func(tx ports.Tx) error { return tx.Applications().SetLocked(t.Context(), w.mine.web, m, true) }))
			_ = w.View(t.Context(), func(tx ports.Tx) error { // A member who is none here may as well be refused.
				found, err := registrationOf(t.Context(), tx, w.mine.web, m)
				assert.False(t, found.Exists || found.Locked)
				return err
			})
		},
		"NotInForeignApplication": func(t *testing.T, w *world) {
			spy := w.theirs.desk
			spy.Organization, spy.Project = w.mine.org.ID, w.mine.shop.ID
			attempt(t, w, func(tx ports.Tx) error {
				return saveMembership(t.Context(), tx, spy, applications.NewMembership(spy.ID, w.theirs.bob.ID, false))
			})
			attempt(t, w, func(tx ports.Tx) error { return tx.Applications().SetLocked(t.Context(), spy, w.theirs.bob.ID, true) })
			attempt(t, w, func(tx ports.Tx) error {
				web := w.theirs.web
				web.Organization, web.Project = w.mine.org.ID, w.mine.shop.ID
				_, err := tx.Applications().Unregister(t.Context(), web, w.theirs.ada.ID)
				return err
			})
		},
	}
}
