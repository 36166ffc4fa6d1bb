package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// add adds assignments to a list and returns those that were not on it.
func (w *world) add(t *testing.T, l lists.List, as ...channels.AssignmentID) []channels.AssignmentID {
	t.Helper()
	return do(t, w, func(tx ports.Tx) ([]channels.AssignmentID, error) { return tx.Lists().Add(t.Context(), l, as) })
}

// listed returns the ids of a list's members.
func (w *world) listed(t *testing.T, l lists.List) []channels.AssignmentID {
	t.Helper()
	ids := []channels.AssignmentID{}
	for _, r := range w.recipients(t, l) {
		ids = append(ids, r.ID)
	}
	return ids
}

// takeOff removes a member from the lists pinned to an application and returns the number of
// entries.
func (w *world) takeOff(t *testing.T, a applications.Application, m users.Member) int {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (int, error) { return tx.Lists().RemoveFromPinned(t.Context(), a, m.ID) })
}

// spread assigns n new addresses of Bob to channels, one after the other.
func (w *world) spread(t *testing.T, n int, to ...channels.Channel) []channels.Assignment {
	t.Helper()
	as := make([]users.Address, n)
	for i := range as {
		as[i] = users.NewEmailAddress(fmt.Sprintf("bob+%d@example.org", i))
	}
	held, _ := w.hold(t, w.mine.bob, as...)
	wanted := make([]channels.Assignment, n)
	for i, a := range held {
		wanted[i] = channels.Assign(a, to[i%len(to)])
	}
	return w.assign(t, wanted...)
}

// idsOf returns the ids of assignments.
func idsOf(as []channels.Assignment) []channels.AssignmentID {
	ids := make([]channels.AssignmentID, len(as))
	for i, a := range as {
		ids[i] = a.ID
	}
	return ids
}

func recipientCases() cases {
	return cases{
		"ShowTheirAssignment": func(t *testing.T, w *world) {
			inactive := channels.Assign(w.mine.bobMail, w.mine.shopMail)
			inactive.Active = false
			off := w.assign(t, inactive)[0]
			w.add(t, w.mine.news, off.ID)
			assert.Equal(t, []lists.Recipient{
				{ID: w.mine.adaByMail.ID, Address: "ada@example.org", Username: "ada@example.org", Channel: "Mail", Active: true},
				{ID: off.ID, Address: "bob@example.org", Username: "bob@example.org", Channel: "Shop mail", Active: false},
			}, w.recipients(t, w.mine.news))
		},
		"AreListedByID": func(t *testing.T, w *world) {
			as := w.spread(t, 4, w.mine.annexMail)
			for _, i := range []int{3, 0, 2, 1} {
				w.add(t, w.mine.annexNews, as[i].ID)
			}
			want := w.recipients(t, w.mine.annexNews)
			assert.Equal(t, idsOf(as), w.listed(t, w.mine.annexNews))
			paged(t, w, func(r lists.Recipient) channels.AssignmentID { return r.ID }, want, func(tx ports.Tx, after channels.AssignmentID, limit int) ([]lists.Recipient, error) {
				return tx.Lists().Recipients(t.Context(), w.mine.annexNews, after, limit)
			})
		},
		"AreAddedOnce": func(t *testing.T, w *world) {
			o := w.mine
			assert.ElementsMatch(t, []channels.AssignmentID{o.bobByMail.ID, o.adaByText.ID}, w.add(t, o.news, o.bobByMail.ID, o.adaByMail.ID, o.adaByText.ID))
			assert.Empty(t, w.add(t, o.news, o.adaByMail.ID, o.bobByMail.ID))
			assert.Empty(t, w.add(t, o.news))
			assert.Len(t, w.recipients(t, o.news), 3)
			assert.Len(t, w.recipients(t, o.pinned), 1, "another list")
			assert.Empty(t, w.recipients(t, o.annexNews), "another project's list of this name")
		},
		"AreAddedByManyAtOnce": func(t *testing.T, w *world) {
			ids := idsOf(w.spread(t, 20, w.mine.annexMail))
			added := 0
			for _, n := range together(8, func(i int) int {
				var fresh []channels.AssignmentID
				mine := append(append([]channels.AssignmentID{}, ids[i:]...), ids[:i]...) // each in another order
				assert.NoError(t, w.Update(t.Context(), func(tx ports.Tx) (err error) {
					fresh, err = tx.Lists().Add(t.Context(), w.mine.annexNews, mine)
					return err
				}))
				return len(fresh)
			}) {
				added += n
			}
			assert.Equal(t, len(ids), added, "each is new for one of them")
			assert.Equal(t, ids, w.listed(t, w.mine.annexNews))
		},
		"AreAddedByThousands": func(t *testing.T, w *world) {
			ids := idsOf(w.spread(t, 2_000, w.mine.annexMail))
			assert.Len(t, w.add(t, w.mine.annexNews, ids[500:]...), 1_500)
			assert.ElementsMatch(t, ids[:500], w.add(t, w.mine.annexNews, ids...))
			page := look(t, w, func(tx ports.Tx) ([]lists.Recipient, error) {
				return tx.Lists().Recipients(t.Context(), w.mine.annexNews, ids[998], 1_000)
			})
			assert.Len(t, page, 1_000)
			assert.Equal(t, ids[999], page[0].ID)
		},
		"ForeignOnesAreNotAdded": func(t *testing.T, w *world) {
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Lists().Add(t.Context(), w.mine.news, []channels.AssignmentID{w.theirs.bobByMail.ID})
				return err
			})
			spy := w.theirs.news
			spy.Organization, spy.Project = w.mine.org.ID, w.mine.shop.ID
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Lists().Add(t.Context(), spy, []channels.AssignmentID{w.mine.bobByMail.ID})
				return err
			})
			found := look(t, w, func(tx ports.Tx) ([]lists.Recipient, error) { return tx.Lists().Recipients(t.Context(), spy, 0, 10) })
			assert.Empty(t, found, "nor shown")
		},
		"ForeignChannelsAreNotAdded": func(t *testing.T, w *world) {
			elsewhere := w.assign(t, channels.Assign(w.mine.bobMail, w.mine.annexMail))[0]
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Lists().Add(t.Context(), w.mine.news, []channels.AssignmentID{elsewhere.ID})
				return err
			})
		},
		"TheNameOfTheChannelShows": func(t *testing.T, w *world) {
			own := w.open(t, channels.Channel{Name: "Ñ", Project: w.mine.annex.ID, Protocol: channels.EMAIL})
			w.add(t, w.mine.annexNews, w.assign(t, channels.Assign(w.mine.bobMail, own))[0].ID)
			assert.Equal(t, "Ñ", only(w.recipients(t, w.mine.annexNews)).Channel)
		},

		"RemovedFromEveryPinnedList": func(t *testing.T, w *world) {
			o := w.mine
			second := w.list(t, "Second", o.web.ID)
			w.add(t, second, o.adaByMail.ID, o.adaByText.ID, o.bobByMail.ID)
			w.add(t, o.pinned, o.bobByMail.ID)
			ofDesk := w.list(t, "Of desk", o.desk.ID)
			w.add(t, ofDesk, o.adaByMail.ID)

			assert.Equal(t, 3, w.takeOff(t, o.web, o.ada))
			assert.Equal(t, []channels.AssignmentID{o.bobByMail.ID}, w.listed(t, o.pinned))
			assert.Equal(t, []channels.AssignmentID{o.bobByMail.ID}, w.listed(t, second))
			assert.Equal(t, []channels.AssignmentID{o.adaByMail.ID}, w.listed(t, ofDesk), "pinned to another application")
			assert.Equal(t, []channels.AssignmentID{o.adaByMail.ID}, w.listed(t, o.news), "not pinned")
			assert.True(t, w.registration(t, o.ada).Exists, "the application membership is untouched")
			assert.Zero(t, w.takeOff(t, o.web, o.ada))
			assert.Len(t, w.addresses(t, o.ada), 2)
		},
		"ForeignOnesAreNotRemoved": func(t *testing.T, w *world) {
			assert.Zero(t, w.takeOff(t, w.mine.web, w.theirs.ada))
			spy := w.theirs.web
			spy.Organization, spy.Project = w.mine.org.ID, w.mine.shop.ID
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Lists().RemoveFromPinned(t.Context(), spy, w.theirs.ada.ID)
				return err
			})
		},
	}
}
