package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/quotas"
)

// counted is a kind of object that a quota limits: how to create one, and how a blueprint describes
// it.
type counted struct {
	quota quotas.Name
	make  func(w *world, limits quotas.Limits, at app.Path, name string) error
	apply func(o *app.BlueprintOrganization)
}

// slugOf returns a slug for a name.
func slugOf(name string) string { return strings.ReplaceAll(name, " ", "-") }

// limitedObjects returns the kinds of objects that quotas limit.
func limitedObjects() map[string]counted {
	one := app.BlueprintEvent{Slug: "one-more", Name: "One more", Active: true}
	return map[string]counted{
		"Projects": {quotas.Projects, func(w *world, limits quotas.Limits, at app.Path, name string) error {
			_, err := w.assemble(limits).Console.Orgs.CreateProject(w.Context(), audit.Actor{}, at, slugOf(name), name)
			return err
		}, func(o *app.BlueprintOrganization) {
			o.Projects = []app.BlueprintProject{{Slug: "one-more", Name: "One more"}}
		}},
		"Applications": {quotas.Applications, func(w *world, limits quotas.Limits, at app.Path, name string) error {
			at.Project = "shop"
			_, err := w.assemble(limits).Console.Applications.Create(w.Context(), audit.Actor{}, at, applications.Application{Slug: slugOf(name), Name: name})
			return err
		}, func(o *app.BlueprintOrganization) {
			o.Projects = []app.BlueprintProject{{Slug: "shop", Name: "Shop", Applications: []app.BlueprintApplication{{Slug: "one-more", Name: "One more"}}}}
		}},
		"Events": {quotas.Events, func(w *world, limits quotas.Limits, at app.Path, name string) error {
			at.Project, at.Application = "shop", "web"
			_, err := w.assemble(limits).Console.Events.Create(w.Context(), audit.Actor{}, at, app.EventForm{Slug: slugOf(name), Name: name})
			return err
		}, func(o *app.BlueprintOrganization) {
			web := app.BlueprintApplication{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{one}}
			o.Projects = []app.BlueprintProject{{Slug: "shop", Name: "Shop", Applications: []app.BlueprintApplication{web}}}
		}},
	}
}

// TestQuotasOfWhatKeysMake checks that the API answers for all kinds as it does for lists.
func TestQuotasOfWhatKeysMake(t *testing.T) {
	t.Parallel()
	for quota, path := range map[quotas.Name]string{quotas.Projects: "/api/o/acme/p/", quotas.Applications: shopPath + "a/", quotas.Events: webPath + "e/"} {
		t.Run(string(quota), both(func(w *world) {
			m := w.manager()
			w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "ACME", Quotas: quotas.Limits{quota: float64(w.count(quota) + 1)}}}})
			m.post(path, object{"slug": "last", "name": "Last"}).is(http.StatusCreated)
			w.unchanged(func() {
				a := m.post(path, object{"slug": "more", "name": "More"}).exceeds(http.StatusTooManyRequests, quota)
				require.Equal(w, "3600", a.header.Get("Retry-After"))
			})
		}))
	}
}
