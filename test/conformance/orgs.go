package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

func orgCases() cases {
	return cases{
		"AreFoundBySlug": func(t *testing.T, w *world) {
			for _, o := range []tenant{w.mine, w.theirs} {
				found := look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(t.Context(), o.org.Slug) })
				assert.Equal(t, o.org, found)
				assert.Positive(t, found.ID)
			}
			for _, slug := range []string{"", "other", "ACME", "acm_", "%"} {
				missing(t, w, orgs.ErrNotFound, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(t.Context(), slug) })
			}
		},
		"AndTheirProjectsAreFoundByID": func(t *testing.T, w *world) {
			for _, o := range []tenant{w.mine, w.theirs} {
				assert.Equal(t, o.org, look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().ByID(t.Context(), o.org.ID) }))
				assert.Equal(t, o.shop, look(t, w, func(tx ports.Tx) (orgs.Project, error) {
					return tx.Orgs().ProjectByID(t.Context(), o.org.ID, o.shop.ID)
				}))
			}
			for _, id := range []orgs.ProjectID{0, 1 << 40, w.theirs.shop.ID} {
				missing(t, w, orgs.ErrProjectNotFound, func(tx ports.Tx) (orgs.Project, error) { return tx.Orgs().ProjectByID(t.Context(), w.mine.org.ID, id) })
			}
		},
		"HaveQuotasOfTheirOwn": func(t *testing.T, w *world) {
			ask := func(id orgs.ID) quotas.Limits {
				return look(t, w, func(tx ports.Tx) (quotas.Limits, error) { return tx.Orgs().Quotas(t.Context(), id) })
			}
			k, other := w.issue(t, access.Key{Name: "k", Scope: access.Scope{Organization: "acme", Project: "shop"}}), w.issue(t, access.Key{Name: "k", Scope: access.Scope{Organization: "zeta"}})
			assert.Empty(t, ask(w.mine.org.ID))
			for _, own := range []quotas.Limits{{quotas.Requests: 0.5, quotas.OrganizationRequests: 0}, {quotas.Requests: 1 << 50}, {}} {
				act(t, w, func(tx ports.Tx) error { return tx.Orgs().SetQuotas(t.Context(), w.mine.org.ID, own) })
				assert.Len(t, ask(w.mine.org.ID), len(own))
				for n, limit := range own {
					assert.InDelta(t, limit, ask(w.mine.org.ID)[n], 0)
				}
				assert.Equal(t, ask(w.mine.org.ID), w.key(t, k.Digest).Quotas)
				assert.Empty(t, ask(w.theirs.org.ID))
				assert.Empty(t, w.key(t, other.Digest).Quotas)
			}
			missing(t, w, orgs.ErrNotFound, func(tx ports.Tx) (quotas.Limits, error) { return tx.Orgs().Quotas(t.Context(), 1<<40) })
			refused(t, w, orgs.ErrNotFound, func(tx ports.Tx) error { return tx.Orgs().SetQuotas(t.Context(), 1<<40, nil) })
		},
		"TheSystemOrganizationDoesNotExist": func(t *testing.T, w *world) {
			for id := range w.theirs.org.ID + 10 { // Wherever it is.
				there := w.finds(t, orgs.ErrNotFound, func(tx ports.Tx) error {
					_, err := tx.Orgs().ByID(t.Context(), id)
					return err
				})
				assert.Equal(t, id == w.mine.org.ID || id == w.theirs.org.ID, there, id)
			}
			missing(t, w, orgs.ErrNotFound, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(t.Context(), orgs.SystemSlug) })
			missing(t, w, orgs.ErrNotFound, func(tx ports.Tx) (orgs.Project, error) {
				return tx.Orgs().Project(t.Context(), orgs.SystemSlug, "shop")
			})
		},
		"TheSystemSlugIsNotFree": func(t *testing.T, w *world) {
			err := w.Update(t.Context(), func(tx ports.Tx) error {
				_, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: orgs.SystemSlug, Name: "Mine"})
				return err
			})
			require.Error(t, err)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		},
		"TheFirstHasTheLowestID": func(t *testing.T, w *world) {
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "aaa", Name: "First by name, not by id"})
				return err
			})
			assert.Equal(t, w.mine.org, look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().First(t.Context()) }))
		},
		"NoneOfSeveralIsTheOnlyOne": func(t *testing.T, w *world) {
			missing(t, w, orgs.ErrSeveral, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().Only(t.Context()) })
		},
		"ASlugIsTakenOnce": func(t *testing.T, w *world) {
			refused(t, w, orgs.ErrSlugTaken, func(tx ports.Tx) error {
				_, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: w.theirs.org.Slug, Name: "Mine"})
				return err
			})
		},
		"AreCreatedWithTheirDefaultGroup": func(t *testing.T, w *world) {
			created := do(t, w, func(tx ports.Tx) (orgs.Organization, error) {
				return tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "new", Name: "Ñew"})
			})
			assert.Equal(t, orgs.Organization{ID: created.ID, Slug: "new", Name: "Ñew"}, created)
			group := look(t, w, func(tx ports.Tx) (orgs.Group, error) { return tx.Orgs().Group(t.Context(), created.ID, "default") })
			assert.Equal(t, orgs.Group{ID: group.ID, Organization: created.ID, Name: orgs.DefaultGroup}, group)
		},
		"AreRenamed": func(t *testing.T, w *world) {
			renamed := w.mine.org
			renamed.Name = "Other"
			act(t, w, func(tx ports.Tx) error { return tx.Orgs().Rename(t.Context(), renamed) })
			assert.Equal(t, renamed, look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(t.Context(), "acme") }))
		},
		"HaveARegionOfPhoneNumbers": func(t *testing.T, w *world) {
			for _, region := range []string{"DE", ""} {
				act(t, w, func(tx ports.Tx) error { return tx.Orgs().SetRegion(t.Context(), w.mine.org.ID, region) })
				mine := w.mine.org
				mine.Region = region
				assert.Equal(t, mine, look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(t.Context(), "acme") }))
				assert.Equal(t, w.theirs.org, look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().ByID(t.Context(), w.theirs.org.ID) }))
				assert.Equal(t, mine, look(t, w, func(tx ports.Tx) (orgs.Organization, error) {
					o, _, err := tx.Orgs().WithGroups(t.Context(), "acme", 0)
					return o, err
				}))
			}
			refused(t, w, orgs.ErrNotFound, func(tx ports.Tx) error { return tx.Orgs().SetRegion(t.Context(), 1<<40, "DE") })
		},
		"RequireASecondFactor": func(t *testing.T, w *world) {
			ada := w.signs(t, w.mine.ada)
			act(t, w, func(tx ports.Tx) error { return tx.Operators().Accept(t.Context(), w.mine.ada.ID, ada.ID, noon) })
			for _, on := range []bool{true, false} {
				act(t, w, func(tx ports.Tx) error { return tx.Orgs().RequireFactor(t.Context(), w.mine.org.ID, on) })
				mine := w.mine.org
				mine.RequiresFactor = on
				assert.Equal(t, mine, look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(t.Context(), "acme") }))
				assert.Equal(t, w.theirs.org, look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().ByID(t.Context(), w.theirs.org.ID) }))
				held := look(t, w, func(tx ports.Tx) (operators.AccountAccess, error) { return tx.Operators().Account(t.Context(), ada.ID) })
				require.Len(t, held.Organizations, 1)
				assert.Equal(t, mine, held.Organizations[0].Organization)
			}
			refused(t, w, orgs.ErrNotFound, func(tx ports.Tx) error { return tx.Orgs().RequireFactor(t.Context(), 1<<40, true) })
		},
		"TheSlugNeverChanges": func(t *testing.T, w *world) {
			act(t, w, func(tx ports.Tx) error {
				return tx.Orgs().Rename(t.Context(), orgs.Organization{ID: w.mine.org.ID, Slug: "elsewhere", Name: "Other"})
			})
			found := look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(t.Context(), "acme") })
			assert.Equal(t, "Other", found.Name)
		},
		"RevisingChangesNothingThatShows": func(t *testing.T, w *world) {
			before := w.picture(t, w.mine)
			act(t, w, func(tx ports.Tx) error { return tx.Orgs().Revise(t.Context(), w.mine.org.ID) })
			w.unchanged(t, w.mine, before, "it shows")
		},
		"RevisionsAreCounted": func(t *testing.T, w *world) {
			revision := func(of tenant) int64 {
				return look(t, w, func(tx ports.Tx) (int64, error) { return tx.Orgs().Revision(t.Context(), of.org.ID) })
			}
			mine, theirs := revision(w.mine), revision(w.theirs)
			within := do(t, w, func(tx ports.Tx) (int64, error) {
				if err := tx.Orgs().Revise(t.Context(), w.mine.org.ID); err != nil {
					return 0, err
				}
				return tx.Orgs().Revision(t.Context(), w.mine.org.ID)
			})
			assert.Equal(t, []int64{mine + 1, mine + 1, theirs}, []int64{within, revision(w.mine), revision(w.theirs)})
			missing(t, w, orgs.ErrNotFound, func(tx ports.Tx) (int64, error) { return tx.Orgs().Revision(t.Context(), 1<<40) })
		},

		"ProjectsAreFoundByTheSlugsOfAPath": func(t *testing.T, w *world) {
			for _, o := range []tenant{w.mine, w.theirs} {
				found := look(t, w, func(tx ports.Tx) (orgs.Project, error) { return tx.Orgs().Project(t.Context(), o.org.Slug, "shop") })
				assert.Equal(t, o.shop, found)
			}
			missing(t, w, orgs.ErrNotFound, func(tx ports.Tx) (orgs.Project, error) { return tx.Orgs().Project(t.Context(), "other", "shop") })
			missing(t, w, orgs.ErrProjectNotFound, func(tx ports.Tx) (orgs.Project, error) { return tx.Orgs().Project(t.Context(), "acme", "other") })
		},
		"ProjectsAreNotVisibleToAnotherOrganization": func(t *testing.T, w *world) {
			act(t, w, func(tx ports.Tx) error {
				_, err := tx.Orgs().CreateProject(t.Context(), orgs.Project{Organization: w.mine.org.ID, Slug: "secret", Name: "Secret"})
				return err
			})
			missing(t, w, orgs.ErrProjectNotFound, func(tx ports.Tx) (orgs.Project, error) { return tx.Orgs().Project(t.Context(), "zeta", "secret") })
		},
		"ProjectsAreListedByID": func(t *testing.T, w *world) {
			want := []orgs.Project{w.mine.shop, w.mine.annex}
			for _, slug := range []string{"c", "a", "b"} {
				want = append(want, do(t, w, func(tx ports.Tx) (orgs.Project, error) {
					return tx.Orgs().CreateProject(t.Context(), orgs.Project{Organization: w.mine.org.ID, Slug: slug, Name: slug})
				}))
			}
			paged(t, w, func(p orgs.Project) orgs.ProjectID { return p.ID }, want, func(tx ports.Tx, after orgs.ProjectID, limit int) ([]orgs.Project, error) {
				return tx.Orgs().Projects(t.Context(), w.mine.org.ID, after, limit)
			})
		},
		"AProjectsSlugIsTakenOnceInItsOrganization": func(t *testing.T, w *world) {
			err := refusal(t, w, orgs.ErrSlugTaken, func(tx ports.Tx) error {
				_, err := tx.Orgs().CreateProject(t.Context(), orgs.Project{Organization: w.mine.org.ID, Slug: "annex", Name: "Second"})
				return err
			})
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		},
		"ProjectsAreRenamed": func(t *testing.T, w *world) {
			renamed := w.mine.shop
			renamed.Name = "Other"
			act(t, w, func(tx ports.Tx) error { return tx.Orgs().RenameProject(t.Context(), renamed) })
			assert.Equal(t, renamed, look(t, w, func(tx ports.Tx) (orgs.Project, error) { return tx.Orgs().Project(t.Context(), "acme", "shop") }))
			assert.Equal(t, w.mine.annex, look(t, w, func(tx ports.Tx) (orgs.Project, error) { return tx.Orgs().Project(t.Context(), "acme", "annex") }))
		},
		"AProjectIsNotRenamedFromAnotherOrganization": func(t *testing.T, w *world) {
			attempt(t, w, func(tx ports.Tx) error {
				return tx.Orgs().RenameProject(t.Context(), orgs.Project{ID: w.theirs.shop.ID, Organization: w.mine.org.ID, Slug: "shop", Name: "Stolen"})
			})
		},

		"GroupsAreNamedWithoutRegardToCase": func(t *testing.T, w *world) {
			bySpelling(t, func(name string) bool {
				return do(t, w, func(tx ports.Tx) (bool, error) {
					g, created, err := tx.Orgs().EnsureGroup(t.Context(), w.mine.org.ID, name)
					assert.Equal(t, !created, g.Name != name, "an existing group keeps its spelling")
					return created, err
				})
			}, func(name string) bool {
				return w.finds(t, orgs.ErrGroupNotFound, func(tx ports.Tx) error {
					_, err := tx.Orgs().Group(t.Context(), w.mine.org.ID, name)
					return err
				})
			})
		},
		"GroupsAreCreatedOnce": func(t *testing.T, w *world) {
			for _, name := range []string{"Staff", "STAFF", orgs.DefaultGroup} {
				act(t, w, func(tx ports.Tx) error {
					_, created, err := tx.Orgs().EnsureGroup(t.Context(), w.mine.org.ID, name)
					assert.False(t, created)
					return err
				})
			}
			assert.Equal(t, w.mine.staff, look(t, w, func(tx ports.Tx) (orgs.Group, error) { return tx.Orgs().Group(t.Context(), w.mine.org.ID, "sTAFF") }))
			assert.NotEqual(t, w.mine.staff.ID, w.theirs.staff.ID)
		},
		"GroupsAreNotVisibleToAnotherOrganization": func(t *testing.T, w *world) {
			act(t, w, func(tx ports.Tx) error {
				_, _, err := tx.Orgs().EnsureGroup(t.Context(), w.mine.org.ID, "Board")
				return err
			})
			missing(t, w, orgs.ErrGroupNotFound, func(tx ports.Tx) (orgs.Group, error) { return tx.Orgs().Group(t.Context(), w.theirs.org.ID, "Board") })
		},
	}
}

// attempt makes a write that names an object of the other organization. The store may refuse it or
// change nothing. The picture of the other organization shows whether anything was stored.
func attempt(t *testing.T, w *world, fn func(tx ports.Tx) error) {
	t.Helper()
	before := w.picture(t, w.mine)
	_ = w.Update(t.Context(), fn) // Both answers are fine.
	w.unchanged(t, w.mine, before, "the organization of the caller was changed")
}

// finds reports whether a look-up finds something. Any fault except want fails the test.
func (w *world) finds(t *testing.T, want error, fn func(tx ports.Tx) error) bool {
	t.Helper()
	err := w.View(t.Context(), fn)
	if err != nil {
		require.ErrorIs(t, err, want)
	}
	return err == nil
}

// creates reports whether an Update was committed. Any fault except want fails the test.
func (w *world) creates(t *testing.T, want error, fn func(tx ports.Tx) error) bool {
	t.Helper()
	err := w.Update(t.Context(), fn)
	if err != nil {
		require.ErrorIs(t, err, want)
	}
	return err == nil
}
