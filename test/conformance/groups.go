package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// link adds members to a group and returns those who were not in it.
func (w *world) link(t *testing.T, g orgs.Group, ms ...users.MemberID) []users.MemberID {
	t.Helper()
	return do(t, w, func(tx ports.Tx) ([]users.MemberID, error) { return tx.Users().Link(t.Context(), g, ms) })
}

// unlink removes members from a group and returns those who were in it.
func (w *world) unlink(t *testing.T, g orgs.Group, ms ...users.MemberID) []users.MemberID {
	t.Helper()
	return do(t, w, func(tx ports.Tx) ([]users.MemberID, error) { return tx.Users().Unlink(t.Context(), g, ms) })
}

func groupCases() cases {
	return cases{
		"AreListedByID": func(t *testing.T, w *world) {
			board := do(t, w, func(tx ports.Tx) (orgs.Group, error) {
				g, _, err := tx.Orgs().EnsureGroup(t.Context(), w.mine.org.ID, "Board")
				return g, err
			})
			standard := look(t, w, func(tx ports.Tx) (orgs.Group, error) {
				return tx.Orgs().Group(t.Context(), w.mine.org.ID, orgs.DefaultGroup)
			})
			assert.True(t, standard.IsDefault())
			paged(t, w, func(g orgs.Group) orgs.GroupID { return g.ID }, []orgs.Group{standard, w.mine.staff, board},
				func(tx ports.Tx, after orgs.GroupID, limit int) ([]orgs.Group, error) {
					return tx.Orgs().Groups(t.Context(), w.mine.org.ID, after, limit)
				})
		},
		"AreFoundByIDInTheOrganizationOnly": func(t *testing.T, w *world) {
			byID := func(id orgs.GroupID) func(tx ports.Tx) (orgs.Group, error) {
				return func(tx ports.Tx) (orgs.Group, error) { return tx.Orgs().GroupByID(t.Context(), w.mine.org.ID, id) }
			}
			assert.Equal(t, w.mine.staff, look(t, w, byID(w.mine.staff.ID)))
			for _, id := range []orgs.GroupID{w.theirs.staff.ID, 0, 1 << 40} {
				missing(t, w, orgs.ErrGroupNotFound, byID(id))
			}
		},
		"AreRenamedUnlessTheNameIsTaken": func(t *testing.T, w *world) {
			for _, name := range []string{"STAFF", "Büro"} {
				g := w.mine.staff
				g.Name = name
				act(t, w, func(tx ports.Tx) error { return tx.Orgs().RenameGroup(t.Context(), g) })
				assert.Equal(t, g, look(t, w, func(tx ports.Tx) (orgs.Group, error) { return tx.Orgs().Group(t.Context(), w.mine.org.ID, name) }))
			}
			taken := w.mine.staff
			taken.Name = "dEFAULT"
			refused(t, w, orgs.ErrGroupTaken, func(tx ports.Tx) error { return tx.Orgs().RenameGroup(t.Context(), taken) })
			spy := w.theirs.staff
			spy.Organization = w.mine.org.ID
			refused(t, w, orgs.ErrGroupNotFound, func(tx ports.Tx) error { return tx.Orgs().RenameGroup(t.Context(), spy) })
		},
		"AreDeletedWhenEmpty": func(t *testing.T, w *world) {
			w.link(t, w.mine.staff, w.mine.ada.ID)
			refused(t, w, orgs.ErrGroupInUse, func(tx ports.Tx) error { return tx.Orgs().DeleteGroup(t.Context(), w.mine.staff) })
			w.unlink(t, w.mine.staff, w.mine.ada.ID)
			spy := w.theirs.staff
			spy.Organization = w.mine.org.ID
			refused(t, w, orgs.ErrGroupNotFound, func(tx ports.Tx) error { return tx.Orgs().DeleteGroup(t.Context(), spy) })
			act(t, w, func(tx ports.Tx) error { return tx.Orgs().DeleteGroup(t.Context(), w.mine.staff) })
			missing(t, w, orgs.ErrGroupNotFound, func(tx ports.Tx) (orgs.Group, error) { return tx.Orgs().Group(t.Context(), w.mine.org.ID, "Staff") })
			refused(t, w, orgs.ErrGroupNotFound, func(tx ports.Tx) error { return tx.Orgs().DeleteGroup(t.Context(), w.mine.staff) })
		},
		"MembersAreLinkedOnceAndUnlinked": func(t *testing.T, w *world) {
			both := []users.MemberID{w.mine.bob.ID, w.mine.ada.ID}
			assert.Equal(t, []users.MemberID{w.mine.bob.ID}, w.link(t, w.mine.staff, w.mine.bob.ID))
			assert.Equal(t, []users.MemberID{w.mine.ada.ID}, w.link(t, w.mine.staff, both...))
			assert.Empty(t, w.link(t, w.mine.staff, both...))
			assert.Equal(t, []string{"Staff"}, w.member(t, "ada@example.org").Groups)
			assert.Equal(t, []users.MemberID{w.mine.ada.ID, w.mine.bob.ID}, w.unlink(t, w.mine.staff, append(both, 1<<40)...))
			assert.Empty(t, w.unlink(t, w.mine.staff, both...))
			assert.Empty(t, w.member(t, "ada@example.org").Groups)
			assert.Empty(t, w.link(t, w.mine.staff))
			assert.Empty(t, w.unlink(t, w.mine.staff))
		},
		"NoLinksAcrossOrganizations": func(t *testing.T, w *world) {
			assert.Empty(t, w.link(t, w.mine.staff, w.theirs.ada.ID))
			spy := w.theirs.staff
			spy.Organization = w.mine.org.ID
			assert.Empty(t, w.link(t, spy, w.mine.ada.ID, w.theirs.ada.ID))
			assert.Empty(t, w.member(t, "ada@example.org").Groups)
			w.link(t, w.theirs.staff, w.theirs.ada.ID)
			w.settle(t)
			assert.Empty(t, w.unlink(t, spy, w.theirs.ada.ID))
			assert.Empty(t, w.unlink(t, w.mine.staff, w.theirs.ada.ID))
		},
	}
}
