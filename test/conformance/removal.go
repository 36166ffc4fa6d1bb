package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// remove ends a membership.
func (w *world) remove(t *testing.T, m users.Member) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error { return tx.Users().Remove(t.Context(), m) })
}

// recipients returns the members of a list.
func (w *world) recipients(t *testing.T, l lists.List) []lists.Recipient {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]lists.Recipient, error) {
		return everything(tx, func(tx ports.Tx, after channels.AssignmentID, limit int) ([]lists.Recipient, error) {
			return tx.Lists().Recipients(t.Context(), l, after, limit)
		})
	})
}

func removalCases() cases {
	return cases{
		"EndsTheMembershipHere": func(t *testing.T, w *world) {
			w.remove(t, w.mine.ada)
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.mine.org.ID, "ada@example.org")
			})
			assert.Equal(t, w.mine.bob, w.member(t, "bob@example.org"))
		},
		"TakesEverythingThatHangsOnIt": func(t *testing.T, w *world) {
			o := w.mine
			w.remove(t, o.ada)
			assert.Empty(t, w.recipients(t, o.news))
			assert.Empty(t, w.recipients(t, o.pinned))
			for _, a := range []channels.AssignmentID{o.adaByMail.ID, o.adaByText.ID} {
				missing(t, w, channels.ErrAssignmentNotFound, func(tx ports.Tx) (channels.Assignment, error) {
					return tx.Assignments().Find(t.Context(), o.org.ID, o.shop.ID, a)
				})
			}
			held := look(t, w, func(tx ports.Tx) ([]users.Address, error) {
				return tx.Addresses().Holders(t.Context(), o.org.ID, []string{o.adaMail.Key()}, 10)
			})
			assert.Empty(t, held)
			refused(t, w, subscriptions.ErrNotFound, func(tx ports.Tx) error {
				_, err := tx.Subscriptions().Unsubscribe(t.Context(), o.shipped, o.adaByMail.ID)
				return err
			})
		},
		"LeavesNothingForASecondMembership": func(t *testing.T, w *world) {
			o := w.mine
			act(t, w, func(tx ports.Tx) error {
				if err := tx.Applications().SetLocked(t.Context(), o.web, o.ada.ID, true); err != nil {
					return err
				}
				return tx.Users().SaveFields(t.Context(), users.Member{ID: o.ada.ID, Organization: o.org.ID, CustomFields: metadata.Map{"a": "b"}})
			})
			w.enroll(t, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "ada@example.org"}}}, Group: o.staff.ID})
			w.remove(t, w.member(t, "ada@example.org"))

			e := only(w.enroll(t, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "ada@example.org"}}}}))
			assert.False(t, e.Created, "the other organization still has the identity")
			assert.True(t, e.Enrolled)
			assert.NotEqual(t, o.ada.ID, e.Member.ID, "an id is not used again")
			assert.Equal(t, users.Member{ID: e.Member.ID, Organization: o.org.ID, User: o.ada.User, Details: o.ada.Details, Role: users.RoleMember, CustomFields: metadata.Map{},
				Groups: []string{orgs.DefaultGroup}}, e.Member)
			again := look(t, w, func(tx ports.Tx) (registration, error) { return registrationOf(t.Context(), tx, o.web, e.Member.ID) })
			assert.False(t, again.Exists)
			assert.False(t, again.Locked, "application locks went with the membership")
		},
		"LeavesTheIdentityWhileItBelongsElsewhere": func(t *testing.T, w *world) {
			w.remove(t, w.mine.ada)
			act(t, w, func(tx ports.Tx) error {
				u, created, err := ensureUser(t.Context(), tx, users.User{Username: "ada@example.org"})
				assert.False(t, created)
				assert.Equal(t, w.mine.ada.User, u)
				return err
			})
		},
		"TheLastMembershipTakesTheIdentity": func(t *testing.T, w *world) {
			eve := w.ensure(t, w.mine, person{Username: "eve", Email: "eve@example.org", FirstName: "Eve"})
			w.remove(t, eve)
			act(t, w, func(tx ports.Tx) error {
				u, created, err := ensureUser(t.Context(), tx, users.User{Username: "EVE"})
				assert.True(t, created, "the username is free again")
				assert.NotEqual(t, eve.User.ID, u.ID)
				assert.Equal(t, users.User{ID: u.ID, Username: "EVE"}, u)
				return err
			})
		},
		"BothOrganizationsEndIt": func(t *testing.T, w *world) {
			mine, theirs := w.ensure(t, w.mine, person{Username: "eve"}), w.ensure(t, w.theirs, person{Username: "eve"})
			w.remove(t, mine)
			assert.Equal(t, mine.User, look(t, w, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.theirs.org.ID, "eve")
			}).User)
			w.remove(t, theirs)
			act(t, w, func(tx ports.Tx) error {
				_, created, err := ensureUser(t.Context(), tx, users.User{Username: "eve"})
				assert.True(t, created)
				return err
			})
		},
		"BothOrganizationsMayEndItAtOnce": func(t *testing.T, w *world) {
			for range 5 {
				eves := []users.Member{w.ensure(t, w.mine, person{Username: "eve"}), w.ensure(t, w.theirs, person{Username: "eve"})}
				for _, err := range together(2, func(i int) error {
					return w.Update(t.Context(), func(tx ports.Tx) error { return tx.Users().Remove(t.Context(), eves[i]) })
				}) {
					require.NoError(t, err)
				}
				refused(t, w, errStop, func(tx ports.Tx) error {
					_, created, err := ensureUser(t.Context(), tx, users.User{Username: "eve"})
					assert.True(t, created, "nobody was left to keep the identity")
					assert.NoError(t, err)
					return errStop
				})
			}
		},
		"AddressWithItsDependents": func(t *testing.T, w *world) {
			o := w.mine
			act(t, w, func(tx ports.Tx) error { return tx.Addresses().Remove(t.Context(), o.org.ID, o.ada.ID, o.adaMail.ID) })
			assert.Empty(t, w.recipients(t, o.news))
			assert.Empty(t, w.recipients(t, o.pinned))
			missing(t, w, channels.ErrAssignmentNotFound, func(tx ports.Tx) (channels.Assignment, error) {
				return tx.Assignments().Find(t.Context(), o.org.ID, o.shop.ID, o.adaByMail.ID)
			})
			refused(t, w, subscriptions.ErrNotFound, func(tx ports.Tx) error {
				_, err := tx.Subscriptions().Unsubscribe(t.Context(), o.shipped, o.adaByMail.ID)
				return err
			})
			assert.Equal(t, o.ada, w.member(t, "ada@example.org"))
			assert.Equal(t, []users.Address{o.adaPhone}, w.addresses(t, o.ada), "the other address stays")
			look(t, w, func(tx ports.Tx) (channels.Assignment, error) {
				return tx.Assignments().Find(t.Context(), o.org.ID, o.shop.ID, o.adaByText.ID)
			})
			assert.True(t, look(t, w, func(tx ports.Tx) (registration, error) { return registrationOf(t.Context(), tx, o.web, o.ada.ID) }).Exists)
		},
		"AnAddressOfAnotherMemberOrOrganizationIsNotFound": func(t *testing.T, w *world) {
			for _, c := range []struct {
				org     orgs.ID
				member  users.MemberID
				address users.AddressID
			}{
				{w.mine.org.ID, w.mine.bob.ID, w.mine.adaMail.ID},
				{w.mine.org.ID, w.mine.ada.ID, w.theirs.adaMail.ID},
				{w.mine.org.ID, w.theirs.ada.ID, w.theirs.adaMail.ID},
				{w.theirs.org.ID, w.mine.ada.ID, w.mine.adaMail.ID},
				{w.mine.org.ID, w.mine.ada.ID, 1 << 40},
				{w.mine.org.ID, w.mine.ada.ID, 0},
			} {
				refused(t, w, users.ErrAddressNotFound, func(tx ports.Tx) error { return tx.Addresses().Remove(t.Context(), c.org, c.member, c.address) })
			}
			assert.Len(t, w.addresses(t, w.mine.ada), 2)
		},
		"AMemberOfAnotherOrganizationStays": func(t *testing.T, w *world) {
			attempt(t, w, func(tx ports.Tx) error {
				return tx.Users().Remove(t.Context(), users.Member{ID: w.theirs.ada.ID, Organization: w.mine.org.ID, User: w.theirs.ada.User})
			})
			attempt(t, w, func(tx ports.Tx) error {
				return tx.Users().SaveFields(t.Context(), users.Member{ID: w.theirs.ada.ID, Organization: w.mine.org.ID, CustomFields: metadata.Map{"a": "b"}})
			})
			attempt(t, w, func(tx ports.Tx) error {
				return tx.Users().SetLocked(t.Context(), users.Member{ID: w.theirs.ada.ID, Organization: w.mine.org.ID, Locked: true})
			})
		},
	}
}
