package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/access"
)

// open is the rule of a route that needs no key.
const open = "nobody is asked"

// rules returns the grant that each route needs, by contract 5 and decisions 1 and 6. A route
// without a rule fails the tests.
func rules() map[string]string {
	const org, prj, app = "/api/o/{org}/", "/api/o/{org}/p/{prj}/", "/api/o/{org}/p/{prj}/a/{app}/"
	all := map[string]string{
		"GET " + prj + "d/":                                "distributionlist:read",
		"GET " + prj + "d/{pk}/":                           "distributionlist:read",
		"GET " + prj + "d/{pk}/m/":                         "distributionlist:read",
		"POST " + prj + "d/":                               "distributionlist:write",
		"POST " + prj + "d/{pk}/add/":                      "distributionlist:write",
		"GET " + prj + "a/":                                "organization:read",
		"GET " + app:                                       "organization:read",
		"POST " + app + "unsubscribe/{username}/":          "manage_application_users",
		"POST " + app + "register/":                        "manage_application_users",
		"POST " + app + "unregister/{username}/":           "manage_application_users",
		"POST " + app + "occurrences/{id}/cancel/":         "event:trigger",
		"POST " + app + "n/{notification_pk}/subscribe/":   "manage_application_users",
		"DELETE " + app + "n/{notification_pk}/subscribe/": "manage_application_users",
		"GET " + app + "n/":                                "organization:read",
		"GET " + app + "e/":                                "event:list",
		"POST " + app + "e/{evt}/trigger/":                 "event:trigger",
		"GET " + app + "occurrences/":                      "delivery:read",
		"GET " + app + "occurrences/{id}/":                 "delivery:read",
		"GET " + app + "occurrences/{id}/deliveries/":      "delivery:read",
		"GET " + app + "occurrences/{id}/explain/":         "delivery:read",
		"GET " + org:                                       "organization:read",
		"GET " + org + "c/":                                "organization:read",
		"GET " + org + "p/":                                "organization:read",
		"GET " + prj:                                       "organization:read",
		"GET " + prj + "c/":                                "organization:read",
		"GET /api/o/":                                      "organization:read",
		"POST /api/o/":                                     "organization:write",
		"PATCH " + org:                                     "organization:write",
		"GET " + org + "g/":                                "organization:read",
		"POST " + org + "g/":                               "group:write",
		"GET " + org + "g/{group}/":                        "organization:read",
		"PATCH " + org + "g/{group}/":                      "group:write",
		"DELETE " + org + "g/{group}/":                     "group:write",
		"POST " + org + "g/{group}/add/":                   "group:write",
		"POST " + org + "g/{group}/remove/":                "group:write",
		"POST " + org + "p/":                               "project:write",
		"PATCH " + prj:                                     "project:write",
		"PATCH " + prj + "d/{pk}/":                         "distributionlist:write",
		"DELETE " + prj + "d/{pk}/":                        "distributionlist:write",
		"POST " + prj + "d/{pk}/remove/":                   "distributionlist:write",
		"POST " + prj + "a/":                               "application:write",
		"PATCH " + app:                                     "application:write",
		"DELETE " + app:                                    "application:write",
		"POST " + app + "e/":                               "event:write",
		"GET " + app + "e/{evt}/":                          "event:list",
		"PATCH " + app + "e/{evt}/":                        "event:write",
		"DELETE " + app + "e/{evt}/":                       "event:write",
		"POST " + app + "e/{evt}/n/":                       "event:write",
		"GET " + app + "e/{evt}/n/{notification_pk}/":      "organization:read",
		"PATCH " + app + "e/{evt}/n/{notification_pk}/":    "event:write",
		"DELETE " + app + "e/{evt}/n/{notification_pk}/":   "event:write",
		"GET " + org + "k/":                                "key:read",
		"POST " + org + "k/":                               "key:write",
		"GET " + org + "k/{key}/":                          "key:read",
		"PATCH " + org + "k/{key}/":                        "key:write",
		"POST " + org + "k/{key}/rotate/":                  "key:write",
		"POST " + org + "k/{key}/revoke/":                  "key:write",
		"GET " + org + "r/":                                "role:read",
		"GET " + org + "r/{username}/":                     "role:read",
		"PUT " + org + "r/{username}/":                     "role:write",
		"DELETE " + org + "r/{username}/":                  "role:write",
		"POST " + org + "r/{username}/invite/":             "role:write",
		"GET " + org + "m/{username}/":                     "membership:read",
		"PATCH " + org + "m/{username}/":                   "membership:write",
		"GET " + app + "m/":                                "membership:read",
		"GET " + app + "m/{username}/":                     "membership:read",
		"PATCH " + app + "m/{username}/":                   "membership:write",
		"POST " + app + "occurrences/{id}/retry/":          "delivery:write",
		"GET " + org + "audit/":                            "audit:read",
		"PUT " + org + "blueprint/":                        "blueprint:apply",
		"GET /api/system/ping/":                            "system:ping",
		"GET /api/openapi.json":                            open,
		"GET /api/docs/":                                   open,
		"GET /healthz":                                     open,
		"GET /readyz":                                      open,
	}
	for _, channels := range []string{org + "c/", prj + "c/"} {
		maps.Copy(all, map[string]string{
			"POST " + channels:                     "channel:write",
			"GET " + channels + "{channel}/":       "channel:read",
			"PATCH " + channels + "{channel}/":     "channel:write",
			"DELETE " + channels + "{channel}/":    "channel:write",
			"POST " + channels + "{channel}/test/": "channel:write",
		})
	}
	for _, owner := range []string{app + "e/{evt}/", app + "e/{evt}/n/{notification_pk}/"} {
		template := owner + "t/{channel}/"
		maps.Copy(all, map[string]string{
			"GET " + owner + "t/":                              "template:read",
			"GET " + template:                                  "template:read",
			"PUT " + template:                                  "template:write",
			"DELETE " + template:                               "template:write",
			"GET " + template + "versions/":                    "template:read",
			"GET " + template + "versions/{version}/":          "template:read",
			"POST " + template + "versions/{version}/restore/": "template:write",
		})
	}
	partial := org + "partials/{name}/"
	maps.Copy(all, map[string]string{
		"GET " + org + "partials/":                        "template:read",
		"GET " + partial:                                  "template:read",
		"PUT " + partial:                                  "template:write",
		"DELETE " + partial:                               "template:write",
		"GET " + partial + "versions/":                    "template:read",
		"GET " + partial + "versions/{version}/":          "template:read",
		"POST " + partial + "versions/{version}/restore/": "template:write",
	})
	for _, users := range []string{"/api/v1/user/{org}/", org + "u/"} {
		maps.Copy(all, map[string]string{
			"GET " + users:                                 "user:read",
			"POST " + users:                                "user:write",
			"POST " + users + "bulk/":                      "user:write",
			"GET " + users + "{username}/":                 "user:read",
			"PATCH " + users + "{username}/":               "user:write",
			"DELETE " + users + "{username}/":              "user:write",
			"GET " + users + "{username}/address/":         "user:read",
			"POST " + users + "{username}/address/":        "user:write",
			"DELETE " + users + "{username}/address/{id}/": "user:write",
		})
	}
	return all
}

func TestAccessRules(t *testing.T) {
	t.Parallel()

	t.Run("EveryRouteHasOneAndNeedsItsGrant", both(func(w *world) {
		needed := map[string]string{}
		for _, r := range httpapi.Routes() {
			needed[r.Method+" "+r.Path] = string(r.Grant)
			if r.Grant == "" {
				needed[r.Method+" "+r.Path] = open
			}
		}
		assert.Equal(w, rules(), needed)
		documented := map[string]string{}
		w.doc.operations(func(method, path string, o *openapi3.Operation) { documented[method+" "+path] = grantOf(o) })
		for route, grant := range documented {
			assert.Equal(w, strings.TrimPrefix(rules()[route], open), grant, route)
		}
	}))

	// This checks every scope with every grant at every route, and keys that lack a single grant.
	t.Run("HoldForEveryScopeAndGrant", both(func(w *world) {
		w.http = &http.Client{Transport: inProcess{w.api}}
		for _, s := range scopes {
			for _, g := range access.Grants() {
				w.allowed(w.as(w.issue(scope(s), g)), s, g)
				if g != access.FullAccess && s == "acme" {
					others := slices.DeleteFunc(access.Grants(), func(other access.Grant) bool { return other == g || other == access.FullAccess })
					w.allowed(w.as(w.issue(scope(s), others...)), s, others...)
				}
			}
		}
	}))
}

// inProcess passes requests to a handler. Without the network, tens of thousands of them take half
// of the time.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	got, arrived := httptest.NewRecorder(), r.Clone(r.Context())
	arrived.RequestURI, arrived.Host, arrived.Body = r.URL.RequestURI(), r.URL.Host, http.NoBody
	p.handler.ServeHTTP(got, arrived)
	return got.Result(), nil
}

// managing reports whether a grant is for managing an organization. full_access does not include
// these grants.
func managing(grant string) bool {
	return !slices.Contains([]string{"organization:read", "distributionlist:read", "distributionlist:write", "manage_application_users", "user:read", "user:write",
		"event:list", "event:trigger", "delivery:read", "system:ping"}, grant)
}

// allowed checks that a key with this scope and these grants is accepted by exactly the routes
// whose rule it meets. A refused request does not reach the database. So, on Postgres, only one
// route is called of those that need the same grant at the same levels: it shows how the key is
// stored.
func (w *world) allowed(c client, scope string, grants ...access.Grant) {
	w.Helper()
	refused := map[string]bool{}
	for route, needed := range rules() {
		method, path, _ := strings.Cut(route, " ")
		if needed == open {
			continue
		}
		meets := reaches(scope, path) && (slices.Contains(grants, access.Grant(needed)) || slices.Contains(grants, access.FullAccess) && !managing(needed))
		if like := fmt.Sprint(needed, levels(path)); !meets && w.database == postgres && refused[like] {
			continue
		} else if !meets {
			refused[like] = true
		}
		status := c.do(method, w.expand(path), nil).status
		if meets == (status == http.StatusForbidden) || status == http.StatusUnauthorized {
			assert.Fail(w, fmt.Sprintf("a key of %q with %v got %d at %s", scope, grants, status, route))
		}
	}
}

// levels returns the levels of the tenancy that a path names.
func levels(path string) (named []string) {
	for _, level := range []string{"{org}", "{prj}", "{app}"} {
		if strings.Contains(path, level) {
			named = append(named, level)
		}
	}
	return named
}
