package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// build creates an application of the shop.
func (w *world) build(t *testing.T, slug string) applications.Application {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (applications.Application, error) {
		return tx.Applications().Create(t.Context(), applications.Application{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Slug: slug, Name: "Ñame " + slug, Active: true})
	})
}

// application finds an application of the shop.
func (w *world) application(t *testing.T, slug string) applications.Application {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (applications.Application, error) {
		return tx.Applications().BySlug(t.Context(), "acme", "shop", slug)
	})
}

func applicationCases() cases {
	return cases{
		"AreFoundByTheSlugsOfAPath": func(t *testing.T, w *world) {
			for _, o := range []tenant{w.mine, w.theirs} {
				for _, want := range []applications.Application{o.web, o.annexWeb} {
					project := map[orgs.ProjectID]string{o.shop.ID: "shop", o.annex.ID: "annex"}[want.Project]
					found := look(t, w, func(tx ports.Tx) (applications.Application, error) {
						return tx.Applications().BySlug(t.Context(), o.org.Slug, project, "web")
					})
					assert.Equal(t, want, found)
				}
			}
			for path, want := range map[[3]string]error{
				{"other", "shop", "web"}: orgs.ErrNotFound, {"system", "shop", "web"}: orgs.ErrNotFound, {"acme", "other", "web"}: orgs.ErrProjectNotFound,
				{"acme", "shop", "other"}: applications.ErrNotFound, {"acme", "annex", "desk"}: applications.ErrNotFound, {"acme", "shop", "WEB"}: applications.ErrNotFound,
				{"other", "other", "other"}: orgs.ErrNotFound, {"acme", "other", "other"}: orgs.ErrProjectNotFound,
			} {
				missing(t, w, want, func(tx ports.Tx) (applications.Application, error) {
					return tx.Applications().BySlug(t.Context(), path[0], path[1], path[2])
				})
			}
		},
		"AreFoundByIDInTheirProject": func(t *testing.T, w *world) {
			o := w.mine
			byID := func(org orgs.ID, project orgs.ProjectID, id applications.ID) func(tx ports.Tx) (applications.Application, error) {
				return func(tx ports.Tx) (applications.Application, error) {
					return tx.Applications().ByID(t.Context(), org, project, id)
				}
			}
			assert.Equal(t, o.web, look(t, w, byID(o.org.ID, o.shop.ID, o.web.ID)))
			missing(t, w, applications.ErrNotFound, byID(o.org.ID, o.annex.ID, o.web.ID))
			missing(t, w, applications.ErrNotFound, byID(o.org.ID, o.shop.ID, w.theirs.web.ID))
			missing(t, w, applications.ErrNotFound, byID(o.org.ID, w.theirs.shop.ID, w.theirs.web.ID))
			missing(t, w, applications.ErrNotFound, byID(w.theirs.org.ID, o.shop.ID, o.web.ID))
			missing(t, w, applications.ErrNotFound, byID(o.org.ID, o.shop.ID, 0))
		},
		"AreListedByID": func(t *testing.T, w *world) {
			want := []applications.Application{w.mine.web, w.mine.desk, w.build(t, "z"), w.build(t, "a")}
			paged(t, w, func(a applications.Application) applications.ID { return a.ID }, want, func(tx ports.Tx, after applications.ID, limit int) ([]applications.Application, error) {
				return tx.Applications().List(t.Context(), w.mine.org.ID, w.mine.shop.ID, after, limit)
			})
			found := look(t, w, func(tx ports.Tx) ([]applications.Application, error) {
				return tx.Applications().List(t.Context(), w.mine.org.ID, w.theirs.shop.ID, 0, 10)
			})
			assert.Empty(t, found)
		},
		"AreKeptAsGiven": func(t *testing.T, w *world) {
			for _, active := range []bool{true, false} {
				a := applications.Application{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Slug: map[bool]string{true: "on", false: "off"}[active], Name: "Ñ", Active: active}
				stored := do(t, w, func(tx ports.Tx) (applications.Application, error) { return tx.Applications().Create(t.Context(), a) })
				assert.Positive(t, stored.ID)
				a.ID = stored.ID
				assert.Equal(t, a, stored)
				assert.Equal(t, a, w.application(t, a.Slug))
			}
		},
		"ASlugIsTakenOnceInItsProject": func(t *testing.T, w *world) {
			refused(t, w, applications.ErrSlugTaken, func(tx ports.Tx) error {
				_, err := tx.Applications().Create(t.Context(), applications.Application{Organization: w.mine.org.ID, Project: w.mine.shop.ID, Slug: "desk", Name: "Second"})
				return err
			})
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Applications().Create(t.Context(), applications.Application{Organization: w.mine.org.ID, Project: w.mine.annex.ID, Slug: "desk", Name: "Other"})
				return err
			})
		},
		"NameAndActiveAreSaved": func(t *testing.T, w *world) {
			a := w.mine.web
			for _, active := range []bool{false, true, false} {
				a.Name, a.Active = map[bool]string{true: "On", false: "Off"}[active], active
				changed := a
				changed.Slug = "changed"
				act(t, w, func(tx ports.Tx) error { return tx.Applications().Save(t.Context(), changed) })
				assert.Equal(t, a, w.application(t, "web"))
			}
			assert.Equal(t, w.mine.desk, w.application(t, "desk"))
		},
		"AnUnusedOneIsDeleted": func(t *testing.T, w *world) {
			act(t, w, func(tx ports.Tx) error {
				return tx.Applications().SetLocked(t.Context(), w.mine.desk, w.mine.ada.ID, true)
			})
			act(t, w, func(tx ports.Tx) error { return tx.Applications().Delete(t.Context(), w.mine.desk) })
			missing(t, w, applications.ErrNotFound, func(tx ports.Tx) (applications.Application, error) {
				return tx.Applications().BySlug(t.Context(), "acme", "shop", "desk")
			})
			assert.Equal(t, w.mine.web, w.application(t, "web"))
		},
		"UsedOneIsNotDeleted": func(t *testing.T, w *world) {
			o := w.mine
			for name, use := range map[string]struct {
				make, undo func(tx ports.Tx, a applications.Application) error
				named      string
			}{
				"list": {func(tx ports.Tx, a applications.Application) error {
					return tx.Lists().Save(t.Context(), lists.List{ID: o.news.ID, Organization: o.org.ID, Project: o.shop.ID, Name: "News", Application: a.ID})
				}, func(tx ports.Tx, _ applications.Application) error { return tx.Lists().Save(t.Context(), o.news) }, "News"},
				"member": {func(tx ports.Tx, a applications.Application) error {
					return saveMembership(t.Context(), tx, a, applications.NewMembership(a.ID, o.ada.ID, false))
				}, func(tx ports.Tx, a applications.Application) error {
					_, err := tx.Applications().Unregister(t.Context(), a, o.ada.ID)
					return err
				}, "ada@example.org"},
			} {
				a := w.build(t, "app-"+name)
				act(t, w, func(tx ports.Tx) error { return use.make(tx, a) })
				err := refusal(t, w, applications.ErrInUse, func(tx ports.Tx) error { return tx.Applications().Delete(t.Context(), a) })
				assert.ErrorContains(t, err, use.named, name)
				assert.Equal(t, a, w.application(t, a.Slug))
				act(t, w, func(tx ports.Tx) error { return use.undo(tx, a) })
				act(t, w, func(tx ports.Tx) error { return tx.Applications().Delete(t.Context(), a) })
			}
		},
		"OneWithEventsIsNotDeleted": func(t *testing.T, w *world) {
			a := w.build(t, "eventful")
			e := w.announce(t, a, "boom")
			err := refusal(t, w, applications.ErrInUse, func(tx ports.Tx) error { return tx.Applications().Delete(t.Context(), a) })
			assert.ErrorContains(t, err, "boom")
			act(t, w, func(tx ports.Tx) error { return tx.Events().Delete(t.Context(), e) })
			act(t, w, func(tx ports.Tx) error { return tx.Applications().Delete(t.Context(), a) })
		},
		"OneWithKeysIsNotDeleted": func(t *testing.T, w *world) {
			a := w.build(t, "keyed")
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Keys().Create(t.Context(), access.Key{Name: "robot", Digest: access.Digest{7}, Created: noon, Grants: []access.Grant{access.FullAccess},
					Scope: access.Scope{Organization: "acme", Project: "shop", Application: "keyed"}})
				return err
			})
			err := refusal(t, w, applications.ErrInUse, func(tx ports.Tx) error { return tx.Applications().Delete(t.Context(), a) })
			assert.ErrorContains(t, err, "robot")

			act(t, w, func(tx ports.Tx) error {
				return tx.Keys().Revoke(t.Context(), access.Key{Name: "robot", Scope: access.Scope{Organization: "acme", Project: "shop", Application: "keyed"}},
					noon.Add(time.Hour))
			})
			if err := w.Update(t.Context(), func(tx ports.Tx) error { return tx.Applications().Delete(t.Context(), a) }); err != nil {
				assert.ErrorIs(t, err, applications.ErrInUse, "whether a revoked key still counts or not, this is no fault of ours")
				assert.Equal(t, fault.Invalid, fault.KindOf(err))
			}
		},
		"ForeignOnesAreNotSavedOrDeleted": func(t *testing.T, w *world) {
			for _, a := range []applications.Application{
				{ID: w.theirs.desk.ID, Organization: w.mine.org.ID, Project: w.mine.shop.ID, Slug: "desk", Name: "Stolen"},
				{ID: w.mine.annexWeb.ID, Organization: w.mine.org.ID, Project: w.mine.shop.ID, Slug: "web", Name: "Stolen"},
				{ID: w.mine.desk.ID, Organization: w.theirs.org.ID, Project: w.theirs.shop.ID, Slug: "desk", Name: "Stolen"},
			} {
				attempt(t, w, func(tx ports.Tx) error { return tx.Applications().Save(t.Context(), a) })
				attempt(t, w, func(tx ports.Tx) error { return tx.Applications().Delete(t.Context(), a) })
			}
		},
		"NotCreatedInForeignProject": func(t *testing.T, w *world) {
			attempt(t, w, func(tx ports.Tx) error {
				_, err := tx.Applications().Create(t.Context(), applications.Application{Organization: w.mine.org.ID, Project: w.theirs.shop.ID, Slug: "spy", Name: "Spy"})
				return err
			})
		},
	}
}
