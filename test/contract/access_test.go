package contract_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/access"
)

// guarded returns the routes that need a key.
func guarded() []httpapi.Route {
	var all []httpapi.Route
	for _, r := range httpapi.Routes() {
		if r.Grant != "" {
			all = append(all, r)
		}
	}
	return all
}

// expand fills in the parameters of a path. The values are existing objects of acme, except for the
// pairs of others.
func (w *world) expand(path string, others ...string) string {
	w.Helper()
	expanded := strings.NewReplacer(append(others,
		"{org}", "acme", "{prj}", "shop", "{app}", "web", "{evt}", "shipped", "{username}", "anna@example.org",
		"{pk}", "1", "{notification_pk}", "1", "{id}", "1", "{group}", "2", "{key}", "1", "{channel}", "1", "{version}", "1", "{name}", "footer")...).Replace(path)
	require.NotContains(w, expanded, "{", "a new parameter needs a value")
	return expanded
}

// locate is expand for a route, with the query that it needs.
func (w *world) locate(r httpapi.Route, others ...string) string {
	w.Helper()
	query := url.Values{}
	for _, p := range w.doc.Paths.Value(documented(r.Path)).GetOperation(r.Method).Parameters {
		if p.Value.In == openapi3.ParameterInQuery && p.Value.Required {
			query.Set(p.Value.Name, "anna@example.org")
		}
	}
	if len(query) == 0 {
		return w.expand(r.Path, others...)
	}
	return w.expand(r.Path, others...) + "?" + query.Encode()
}

// scopes are scopes of every level, some inside of acme and some outside.
var scopes = []string{"", "acme", "acme/shop", "acme/shop/web", "acme/shop/office", "acme/blog", "acme/blog/web", "globex", "globex/shop",
	"globex/shop/web", "bare/shop/web"}

// reaches is the rule of decisions 1: the path has every level that the key names, with the same
// value.
func reaches(key, path string) bool {
	if path == "/api/o/" {
		return key == "" // It is about the installation.
	}
	names := []string{"{org}", "{prj}", "{app}"}
	for i, level := range strings.Split(key, "/") {
		acme := []string{"acme", "shop", "web"}
		if level != "" && (!strings.Contains(path, names[i]) || level != acme[i]) && strings.Contains(path, "{org}") {
			return false
		}
	}
	return true
}

func TestScope(t *testing.T) {
	t.Parallel()

	t.Run("MatchesWhenEveryLevelThatTheKeyNamesIsInTheURLAndEqual", both(func(w *world) {
		for _, s := range scopes {
			c := w.as(w.issue(scope(s), access.Grants()...))
			for _, r := range guarded() {
				a := c.do(r.Method, w.expand(r.Path), nil)
				if reaches(s, r.Path) {
					assert.NotContains(w, []int{http.StatusUnauthorized, http.StatusForbidden}, a.status, "key of %q: %s", s, a)
				} else {
					assert.Equal(w, http.StatusForbidden, a.status, "key of %q: %s", s, a)
				}
			}
		}
	}))

	t.Run("403WhetherItExistsOrNot", both(func(w *world) {
		narrow := w.as(w.issue(scope("acme/shop/web"), access.FullAccess)).with("X-Request-ID", "same")
		foreign := w.as(w.issue(scope("globex"), access.FullAccess)).with("X-Request-ID", "same")
		for _, r := range guarded() {
			if !strings.Contains(r.Path, "{org}") {
				continue
			}
			there := foreign.do(r.Method, w.expand(r.Path), nil).is(http.StatusForbidden)
			nowhere := foreign.do(r.Method, w.expand(r.Path, "{org}", "nowhere"), nil).is(http.StatusForbidden)
			assert.Equal(w, string(there.body), string(nowhere.body))
			if !strings.Contains(r.Path, "{app}") {
				continue
			}
			there = narrow.do(r.Method, w.expand(r.Path, "{app}", "office"), nil).is(http.StatusForbidden)
			nowhere = narrow.do(r.Method, w.expand(r.Path, "{app}", "nowhere"), nil).is(http.StatusForbidden)
			assert.Equal(w, string(there.body), string(nowhere.body))
		}
	}))

	t.Run("ApplicationKeyNeverReachesListsOrUsers", both(func(w *world) {
		c := w.as(w.issue(scope("acme/shop/web"), access.FullAccess))
		c.get(listsPath).is(http.StatusForbidden)
		c.get(usersPath).is(http.StatusForbidden)
		c.get("/api/o/acme/u/").is(http.StatusForbidden)
		c.get(shopPath + "a/").is(http.StatusForbidden)
		c.get(webPath).is(http.StatusOK)
	}))
}

func TestGrant(t *testing.T) {
	t.Parallel()

	t.Run("EveryRouteNeedsItsOwnAndFullAccessIsAllButManaging", both(func(w *world) {
		for _, g := range access.Grants() {
			c := w.as(w.issue(access.Scope{}, g))
			for _, r := range guarded() {
				a := c.do(r.Method, w.expand(r.Path), nil)
				if g == r.Grant || g == access.FullAccess && !managing(string(r.Grant)) {
					assert.NotContains(w, []int{http.StatusUnauthorized, http.StatusForbidden}, a.status, "%s: %s", g, a)
				} else {
					assert.Equal(w, http.StatusForbidden, a.status, "%s: %s", g, a)
				}
			}
		}
	}))

	t.Run("FullAccessIsNeverMoreThanTheScope", both(func(w *world) {
		c := w.as(w.issue(scope("acme"), access.FullAccess))
		c.get("/api/o/acme/").is(http.StatusOK)
		c.get("/api/o/globex/").is(http.StatusForbidden)
	}))
}

func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	bodies := map[string]struct {
		contentType string
		body        raw
	}{
		"good":        {"application/json", `{"email": "a@example.org"}`},
		"malformed":   {"application/json", `{`},
		"tooLarge":    {"application/json", raw(strings.Repeat(" ", 1<<20+1))},
		"unsupported": {"text/plain", `hello`},
	}

	t.Run("AuthenticationBeforeScopeAndGrant", both(func(w *world) {
		unknown := w.as(access.Prefix + strings.Repeat("f", 64))
		for _, r := range guarded() {
			unknown.do(r.Method, w.expand(r.Path, "{org}", "nowhere"), nil).is(http.StatusUnauthorized)
		}
	}))

	t.Run("ScopeComesBeforeGrant", both(func(w *world) {
		c := w.as(w.issue(scope("globex"), access.SystemPing))
		outOfScope := read[problem](c.get("/api/o/acme/").is(http.StatusForbidden))
		notGranted := read[problem](c.get("/api/o/globex/").is(http.StatusForbidden))
		require.NotEqual(w, outOfScope.Detail, notGranted.Detail)
		require.Contains(w, notGranted.Detail, "organization:read")
	}))

	t.Run("BothComeBeforeTheBodyIsRead", both(func(w *world) {
		outside := w.as(w.issue(scope("globex"), access.FullAccess))
		ungranted := w.as(w.issue(scope("acme"), access.SystemPing))
		for _, r := range guarded() {
			if !strings.Contains(r.Path, "{org}") {
				continue
			}
			for name, b := range bodies {
				for want, c := range map[int]client{http.StatusUnauthorized: w.nobody(), http.StatusForbidden: outside} {
					a := c.with("Content-Type", b.contentType).with("Expect", "100-continue").do(r.Method, w.expand(r.Path), b.body)
					assert.Equal(w, want, a.status, "%s: %.300s", name, a)
				}
				a := ungranted.with("Content-Type", b.contentType).with("Expect", "100-continue").do(r.Method, w.expand(r.Path), b.body)
				assert.Equal(w, http.StatusForbidden, a.status, "%s: %.300s", name, a)
			}
		}
	}))

	t.Run("BothComeBeforeAnythingIsLookedUp", both(func(w *world) {
		ungranted := w.as(w.issue(scope("acme"), access.SystemPing))
		for _, r := range guarded() {
			if strings.Contains(r.Path, "{prj}") {
				ungranted.do(r.Method, w.expand(r.Path, "{prj}", "nowhere"), nil).is(http.StatusForbidden)
			}
			if strings.Contains(r.Path, "{username}") {
				ungranted.do(r.Method, w.expand(r.Path, "{username}", "nobody"), nil).is(http.StatusForbidden)
			}
		}
	}))

	t.Run("MissingInsideTheScopeIs404", both(func(w *world) {
		c := w.as(w.issue(scope("acme"), access.FullAccess))
		c.get("/api/o/acme/p/nowhere/").is(http.StatusNotFound)
		c.get(userPath("nobody@example.org")).is(http.StatusNotFound)
	}))
}
