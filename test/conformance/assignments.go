package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// assign stores assignments and returns them as stored.
func (w *world) assign(t *testing.T, as ...channels.Assignment) []channels.Assignment {
	t.Helper()
	stored := do(t, w, func(tx ports.Tx) ([]channels.Assignment, error) {
		stored, _, err := tx.Assignments().Ensure(t.Context(), w.mine.org.ID, as)
		return stored, err
	})
	require.Len(t, stored, len(as))
	return stored
}

func assignmentCases() cases {
	return cases{
		"AreKeptAsGivenInTheOrderGiven": func(t *testing.T, w *world) {
			o := w.mine
			sent := []channels.Assignment{channels.Assign(o.bobMail, o.annexMail), channels.Assign(o.adaMail, o.shopMail), channels.Assign(o.bobMail, o.shopMail)}
			sent[1].Active, sent[1].Validated = false, false
			sent[2].Validated = false
			stored := w.assign(t, sent...)
			for i, a := range stored {
				assert.Positive(t, a.ID)
				sent[i].ID = a.ID
				assert.Equal(t, sent[i], a)
				found := look(t, w, func(tx ports.Tx) (channels.Assignment, error) {
					return tx.Assignments().Find(t.Context(), o.org.ID, a.Project, a.ID)
				})
				assert.Equal(t, a, found)
			}
		},
		"AnExistingOneIsLeftAsItIs": func(t *testing.T, w *world) {
			o := w.mine
			inactive := channels.Assign(o.bobMail, o.shopMail)
			inactive.Active, inactive.Validated = false, false
			first := w.assign(t, inactive)[0]
			stored := w.assign(t, channels.Assign(o.adaMail, o.shopMail), channels.Assign(o.bobMail, o.shopMail), channels.Assign(o.bobMail, o.mail))
			assert.Equal(t, []channels.Assignment{first, o.bobByMail}, stored[1:])
			assert.Greater(t, stored[0].ID, first.ID)
		},
		"NoneIsFine": func(t *testing.T, w *world) { assert.Empty(t, w.assign(t)) },
		"ManyAtOnce": func(t *testing.T, w *world) {
			const n = 2_000
			sent := make([]users.Address, n)
			for i := range sent {
				sent[i] = users.NewEmailAddress(fmt.Sprintf("bob+%d@example.org", i))
			}
			held, _ := w.hold(t, w.mine.bob, sent...)
			wanted := make([]channels.Assignment, n)
			ids := make([]users.AddressID, n)
			for i, a := range held {
				wanted[i], ids[i] = channels.Assign(a, w.mine.shopMail), a.ID
			}
			stored := w.assign(t, wanted...)
			assert.Equal(t, stored, w.assign(t, wanted...))
			found := look(t, w, func(tx ports.Tx) ([]channels.Assignment, error) {
				return tx.Assignments().OfAddresses(t.Context(), w.mine.org.ID, w.mine.shop.ID, channels.EMAIL, ids)
			})
			assert.ElementsMatch(t, stored, found)
		},
		"NeverLinkTwoOrganizations": func(t *testing.T, w *world) {
			for name, a := range map[string]channels.Assignment{
				"their address": channels.Assign(w.theirs.adaMail, w.mine.shopMail), "their channel": channels.Assign(w.mine.adaMail, w.theirs.shopMail),
				"both theirs": channels.Assign(w.theirs.adaMail, w.theirs.shopMail)} {
				err := w.Update(t.Context(), func(tx ports.Tx) error {
					stored, _, err := tx.Assignments().Ensure(t.Context(), w.mine.org.ID, []channels.Assignment{a})
					for _, s := range stored {
						assert.Zero(t, s.ID, name)
					}
					return err
				})
				assert.Error(t, err, name)
			}
		},

		"AreFoundThroughChannelsOfTheProjectOrTheOrganization": func(t *testing.T, w *world) {
			o := w.mine
			ofShop := w.assign(t, channels.Assign(o.adaMail, o.shopMail))[0]
			find := func(org orgs.ID, project orgs.ProjectID, id channels.AssignmentID) bool {
				return w.finds(t, channels.ErrAssignmentNotFound, func(tx ports.Tx) error {
					a, err := tx.Assignments().Find(t.Context(), org, project, id)
					assert.Equal(t, err == nil, a.ID == id && id != 0)
					return err
				})
			}
			assert.True(t, find(o.org.ID, o.shop.ID, ofShop.ID))
			assert.False(t, find(o.org.ID, o.annex.ID, ofShop.ID), "a channel of another project")
			assert.True(t, find(o.org.ID, o.shop.ID, o.adaByMail.ID), "a channel of the organization")
			assert.True(t, find(o.org.ID, o.annex.ID, o.adaByMail.ID))
			assert.False(t, find(w.theirs.org.ID, w.theirs.shop.ID, ofShop.ID))
			assert.False(t, find(w.theirs.org.ID, o.shop.ID, ofShop.ID))
			assert.False(t, find(o.org.ID, o.shop.ID, w.theirs.adaByMail.ID))
			assert.False(t, find(o.org.ID, o.shop.ID, 1<<40))
			assert.False(t, find(o.org.ID, o.shop.ID, 0))
		},
		"FilteredByProtocolAndPlace": func(t *testing.T, w *world) {
			o := w.mine
			mixed := w.open(t, channels.Channel{Name: "Mixed", Project: o.shop.ID, Protocol: channels.SLACK})
			inactive := channels.Assign(o.bobMail, o.shopMail)
			inactive.Active = false
			own := w.assign(t, inactive, channels.Assign(o.adaMail, o.shopMail), channels.Assign(o.adaMail, o.annexMail), channels.Assign(o.adaMail, mixed))
			of := func(org orgs.ID, project orgs.ProjectID, p channels.Protocol, as ...users.AddressID) []channels.Assignment {
				return look(t, w, func(tx ports.Tx) ([]channels.Assignment, error) {
					return tx.Assignments().OfAddresses(t.Context(), org, project, p, as)
				})
			}
			all := []users.AddressID{o.bobMail.ID, o.adaMail.ID, o.adaPhone.ID, w.theirs.adaMail.ID}
			assert.Equal(t, []channels.Assignment{o.adaByMail, o.bobByMail, own[0], own[1]}, of(o.org.ID, o.shop.ID, channels.EMAIL, all...))
			assert.Equal(t, []channels.Assignment{o.adaByMail, own[1]}, of(o.org.ID, o.shop.ID, channels.EMAIL, o.adaMail.ID))
			assert.Equal(t, []channels.Assignment{o.adaByMail, own[2]}, of(o.org.ID, o.annex.ID, channels.EMAIL, o.adaMail.ID))
			assert.Equal(t, []channels.Assignment{o.adaByText}, of(o.org.ID, o.shop.ID, channels.SMS, all...))
			assert.Equal(t, []channels.Assignment{own[3]}, of(o.org.ID, o.shop.ID, channels.SLACK, all...))
			assert.Empty(t, of(o.org.ID, o.shop.ID, channels.WEBHOOK, all...))
			assert.Empty(t, of(o.org.ID, o.shop.ID, channels.EMAIL))
			assert.Empty(t, of(o.org.ID, o.shop.ID, channels.EMAIL, w.theirs.adaMail.ID))
			assert.Empty(t, of(w.theirs.org.ID, w.theirs.shop.ID, channels.EMAIL, o.adaMail.ID))
		},
		"TakesManyAddresses": func(t *testing.T, w *world) {
			ids := []users.AddressID{w.mine.adaMail.ID}
			for i := range 10_000 {
				ids = append(ids, users.AddressID(1_000_000+i))
			}
			found := look(t, w, func(tx ports.Tx) ([]channels.Assignment, error) {
				return tx.Assignments().OfAddresses(t.Context(), w.mine.org.ID, w.mine.shop.ID, channels.EMAIL, ids)
			})
			assert.Equal(t, []channels.Assignment{w.mine.adaByMail}, found)
		},
	}
}
