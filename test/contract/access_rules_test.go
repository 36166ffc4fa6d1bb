package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/access"
)

// open is the rule of a route that asks for no key.
const open = "nobody is asked"

// rules says of every route which grant it needs, as contract 5 and decisions 1 and 6 say. A route without a rule fails the tests.
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
		"GET " + app + "occurrences/{id}/":                 "delivery:read",
		"GET " + app + "occurrences/{id}/deliveries/":      "delivery:read",
		"GET " + app + "occurrences/{id}/explain/":         "delivery:read",
		"GET " + org:                                       "organization:read",
		"GET " + org + "c/":                                "organization:read",
		"GET " + org + "p/":                                "organization:read",
		"GET " + prj:                                       "organization:read",
		"GET " + prj + "c/":                                "organization:read",
		"GET /api/system/ping/":                            "system:ping",
		"GET /api/openapi.json":                            open,
		"GET /api/docs/":                                   open,
		"GET /api/docs/reference.css":                      open,
		"GET /healthz":                                     open,
		"GET /readyz":                                      open,
	}
	for _, users := range []string{"/api/v1/user/{org}/", org + "u/"} {
		maps.Copy(all, map[string]string{
			"GET " + users:                                 "user:read",
			"POST " + users:                                "user:write",
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

	// The whole table: every scope with every grant at every route, and keys that lack a single grant.
	t.Run("HoldForEveryScopeAndGrant", both(func(w *world) {
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

// allowed demands that a key of a scope with these grants gets past the checks of exactly those routes whose rule it meets.
func (w *world) allowed(c client, scope string, grants ...access.Grant) {
	w.Helper()
	for route, needed := range rules() {
		method, path, _ := strings.Cut(route, " ")
		if needed == open {
			continue
		}
		status := c.do(method, w.expand(path), nil).status
		meets := reaches(scope, path) && (slices.Contains(grants, access.Grant(needed)) || slices.Contains(grants, access.FullAccess))
		if meets == (status == http.StatusForbidden) || status == http.StatusUnauthorized {
			assert.Fail(w, fmt.Sprintf("a key of %q with %v got %d at %s", scope, grants, status, route))
		}
	}
}
