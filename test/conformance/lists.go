package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// list creates a list of the shop.
func (w *world) list(t *testing.T, name string, pin applications.ID) lists.List {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (lists.List, error) {
		return tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: name, Application: pin})
	})
}

// listNow returns a stored list.
func (w *world) listNow(t *testing.T, l lists.List) lists.List {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (lists.List, error) {
		return tx.Lists().ByID(t.Context(), l.Organization, l.Project, l.ID)
	})
}

// use makes a notification of an application's event use a list.
func (w *world) use(t *testing.T, a applications.Application, l lists.List, name string) subscriptions.Notification {
	t.Helper()
	e := w.announce(t, a, "event-"+name)
	return do(t, w, func(tx ports.Tx) (subscriptions.Notification, error) {
		return tx.Subscriptions().Create(t.Context(), subscriptions.Notification{Application: a.ID, Event: e.ID, Name: name, List: l.ID, Active: true})
	})
}

func listCases() cases {
	return cases{
		"AreFoundInTheirProject": func(t *testing.T, w *world) {
			o := w.mine
			for _, want := range []lists.List{o.news, o.pinned, o.annexNews, w.theirs.news} {
				assert.Equal(t, want, w.listNow(t, want))
				found := look(t, w, func(tx ports.Tx) (lists.List, error) {
					return tx.Lists().ByName(t.Context(), want.Organization, want.Project, want.Name)
				})
				assert.Equal(t, want, found)
			}
			for _, c := range []struct {
				org     orgs.ID
				project orgs.ProjectID
				id      lists.ID
			}{
				{o.org.ID, o.annex.ID, o.news.ID}, {o.org.ID, o.shop.ID, w.theirs.news.ID}, {o.org.ID, w.theirs.shop.ID, w.theirs.news.ID},
				{w.theirs.org.ID, o.shop.ID, o.news.ID}, {o.org.ID, o.shop.ID, 0}, {o.org.ID, o.shop.ID, 1 << 40},
			} {
				missing(t, w, lists.ErrNotFound, func(tx ports.Tx) (lists.List, error) { return tx.Lists().ByID(t.Context(), c.org, c.project, c.id) })
			}
			w.list(t, "Secret", 0)
			for _, c := range [][2]int64{{int64(o.org.ID), int64(o.annex.ID)}, {int64(w.theirs.org.ID), int64(w.theirs.shop.ID)}, {int64(w.theirs.org.ID), int64(o.shop.ID)}} {
				missing(t, w, lists.ErrNotFound, func(tx ports.Tx) (lists.List, error) {
					return tx.Lists().ByName(t.Context(), orgs.ID(c[0]), orgs.ProjectID(c[1]), "Secret")
				})
			}
		},
		"AreNamedWithoutRegardToCase": func(t *testing.T, w *world) {
			bySpelling(t, func(name string) bool {
				return w.creates(t, lists.ErrNameTaken, func(tx ports.Tx) error {
					_, err := tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: name})
					return err
				})
			}, func(name string) bool {
				return w.finds(t, lists.ErrNotFound, func(tx ports.Tx) error {
					_, err := tx.Lists().ByName(t.Context(), w.mine.org.ID, w.mine.shop.ID, name)
					return err
				})
			})
		},
		"ANameIsTakenOnceInItsProject": func(t *testing.T, w *world) {
			refused(t, w, lists.ErrNameTaken, func(tx ports.Tx) error {
				_, err := tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "NEWS"})
				return err
			})
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.mine.annex.ID, Name: "Web users"})
				return err
			})
		},
		"AreListedByID": func(t *testing.T, w *world) {
			want := []lists.List{w.mine.news, w.mine.pinned, w.list(t, "Z", 0), w.list(t, "A", w.mine.desk.ID)}
			paged(t, w, func(l lists.List) lists.ID { return l.ID }, want, func(tx ports.Tx, after lists.ID, limit int) ([]lists.List, error) {
				return tx.Lists().List(t.Context(), w.mine.org.ID, w.mine.shop.ID, after, limit)
			})
			found := look(t, w, func(tx ports.Tx) ([]lists.List, error) {
				return tx.Lists().List(t.Context(), w.mine.org.ID, w.theirs.shop.ID, 0, 10)
			})
			assert.Empty(t, found)
		},
		"SpellingAndPinAreSaved": func(t *testing.T, w *world) {
			l := w.mine.news
			for _, c := range []struct {
				name string
				pin  applications.ID
			}{{"NEWS", w.mine.web.ID}, {"NEWS", w.mine.desk.ID}, {"news", 0}, {"Other", 0}} {
				l.Name, l.Application = c.name, c.pin
				act(t, w, func(tx ports.Tx) error { return tx.Lists().Save(t.Context(), l) })
				assert.Equal(t, l, w.listNow(t, l))
			}
			assert.Len(t, w.recipients(t, l), 1, "its members stay")
			found := look(t, w, func(tx ports.Tx) (lists.List, error) {
				return tx.Lists().ByName(t.Context(), l.Organization, l.Project, "OTHER")
			})
			assert.Equal(t, l, found)
			missing(t, w, lists.ErrNotFound, func(tx ports.Tx) (lists.List, error) {
				return tx.Lists().ByName(t.Context(), l.Organization, l.Project, "news")
			})
		},
		"SavingATakenNameIsRefused": func(t *testing.T, w *world) {
			l := w.mine.news
			l.Name = "WEB users"
			refused(t, w, lists.ErrNameTaken, func(tx ports.Tx) error { return tx.Lists().Save(t.Context(), l) })
			assert.Equal(t, w.mine.news, w.listNow(t, l))
		},
		"PinStaysInItsProject": func(t *testing.T, w *world) {
			for _, pin := range []applications.ID{w.mine.annexWeb.ID, w.theirs.web.ID} {
				l := w.mine.news
				l.Application = pin
				attempt(t, w, func(tx ports.Tx) error { return tx.Lists().Save(t.Context(), l) })
				attempt(t, w, func(tx ports.Tx) error {
					_, err := tx.Lists().Create(t.Context(), lists.List{Organization: l.Organization, Project: l.Project, Name: "Spy", Application: pin})
					return err
				})
			}
		},
		"UsedByNotificationsOfOtherApplications": func(t *testing.T, w *world) {
			l := w.list(t, "Used", 0)
			w.use(t, w.mine.web, l, "of-web")
			w.use(t, w.mine.desk, l, "of-desk")
			w.use(t, w.mine.web, w.mine.news, "of-another-list")
			for app, want := range map[applications.ID][]string{0: {"of-web", "of-desk"}, w.mine.web.ID: {"of-desk"}, w.mine.desk.ID: {"of-web"}, w.mine.annexWeb.ID: {"of-web", "of-desk"}} {
				found := look(t, w, func(tx ports.Tx) ([]string, error) { return tx.Lists().Users(t.Context(), l, app) })
				assert.Len(t, found, len(want))
				for _, name := range want {
					assert.Contains(t, fmt.Sprint(found), name)
				}
			}
			found := look(t, w, func(tx ports.Tx) ([]string, error) { return tx.Lists().Users(t.Context(), w.mine.pinned, 0) })
			assert.Empty(t, found)
		},
		"AtMostTenUsersAreNamed": func(t *testing.T, w *world) {
			l := w.list(t, "Used", 0)
			for i := range 12 {
				w.use(t, w.mine.web, l, fmt.Sprintf("number-%d", i))
			}
			found := look(t, w, func(tx ports.Tx) ([]string, error) { return tx.Lists().Users(t.Context(), l, 0) })
			assert.Len(t, found, 10)
		},
		"OneWithMembersIsDeleted": func(t *testing.T, w *world) {
			o := w.mine
			act(t, w, func(tx ports.Tx) error { return tx.Lists().Delete(t.Context(), o.news) })
			missing(t, w, lists.ErrNotFound, func(tx ports.Tx) (lists.List, error) {
				return tx.Lists().ByID(t.Context(), o.org.ID, o.shop.ID, o.news.ID)
			})
			assert.Empty(t, w.recipients(t, o.news))
			assert.Len(t, w.recipients(t, o.pinned), 1, "another list's entries stay")
			assert.Equal(t, o.annexNews, w.listNow(t, o.annexNews))
		},
		"UsedOneIsNotDeleted": func(t *testing.T, w *world) {
			n := w.use(t, w.mine.web, w.mine.news, "weekly")
			err := refusal(t, w, lists.ErrInUse, func(tx ports.Tx) error { return tx.Lists().Delete(t.Context(), w.mine.news) })
			assert.ErrorContains(t, err, "weekly", "the notification is named")
			assert.Len(t, w.recipients(t, w.mine.news), 1)
			n.List = 0
			act(t, w, func(tx ports.Tx) error { return tx.Subscriptions().Save(t.Context(), n) })
			act(t, w, func(tx ports.Tx) error { return tx.Lists().Delete(t.Context(), w.mine.news) })
		},
		"ForeignOnesAreNotSavedOrDeleted": func(t *testing.T, w *world) {
			for _, l := range []lists.List{
				{ID: w.theirs.news.ID, Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "Stolen"},
				{ID: w.mine.annexNews.ID, Organization: w.mine.org.ID, Project: w.mine.shop.ID, Name: "Stolen"},
				{ID: w.mine.news.ID, Organization: w.theirs.org.ID, Project: w.theirs.shop.ID, Name: "Stolen"},
			} {
				attempt(t, w, func(tx ports.Tx) error { return tx.Lists().Save(t.Context(), l) })
				attempt(t, w, func(tx ports.Tx) error { return tx.Lists().Delete(t.Context(), l) })
			}
		},
		"NotCreatedInForeignProject": func(t *testing.T, w *world) {
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Lists().Create(t.Context(), lists.List{Organization: w.mine.org.ID, Project: w.theirs.shop.ID, Name: "Spy"})
				return err
			})
		},
	}
}
