package walls_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/httpapi"
)

// TestForeignIDs asks every route of the API and of the console for objects of the other
// organization, by their ids: the answers are those to an id that does not exist. All other parts
// of the request are the organization's own.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	for _, database := range []string{sqlite, postgres} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			ctx, dir := t.Context(), t.TempDir()
			quiet, loud := enter(ctx, t, alone, database, dir), enter(ctx, t, crowded, database, dir)
			us, also := arrive(ctx, t, quiet, ours), arrive(ctx, t, loud, ours)
			same(t, "at the beginning", us.look(ctx), also.look(ctx))
			asked := 0
			compare := func(route asking, foreign string) {
				for k := range 2 {
					what := fmt.Sprintf("%s %s with a foreign %s", route.method, route.path, foreign)
					want := us.askFor(ctx, route, foreign, k)
					same(t, what, want, also.askFor(ctx, route, foreign, k))
					assert.NotContains(t, strings.Join(want, ""), "→ 429", what)
					asked++
					quiet.clock.Advance(tick)
					loud.clock.Advance(tick)
				}
			}
			for _, route := range tried() {
				for _, p := range parameter.FindAllString(route.path, -1) {
					if tableOf(route.path, p) != "" {
						compare(route, p)
					}
				}
			}
			for _, route := range tried() { // Last, because requests with foreign ids in fields change the organization's own objects.
				if route.method != http.MethodGet && strings.Contains(route.path, "{org}") && !ends.MatchString(route.path) {
					for _, field := range slices.Sorted(maps.Keys(fields)) {
						compare(route, field)
					}
				}
			}
			assert.NotEmpty(t, also.browsers["eva"].token(ctx), "she is signed in")
			assert.Greater(t, asked, 500)
		})
	}
}

// asking is a route of the API or of the console.
type asking struct {
	method, path string
	api          bool
}

func tried() (all []asking) {
	for _, r := range httpapi.Routes() {
		all = append(all, asking{r.Method, r.Path, true})
	}
	for _, r := range console.Routes() {
		if !apart.MatchString(r.Path) {
			all = append(all, asking{r.Method, r.Path, false})
		}
	}
	return all
}

// ends are the routes that leave nothing to continue with.
var ends = regexp.MustCompile(`/(delete|remove|clear|unregister)/|/k/\{key\}/(rotate|revoke)/|/r/\{username\}/$`)

// fields are the fields of bodies and forms that contain ids, with the table of the ids.
var fields = map[string]string{"member": "members", "group": "member_groups", "assignment": "assignments", "channel": "channels", "application": "applications"}

// askFor requests a foreign object, with a form or body that has fields for every route.
func (c *client) askFor(ctx context.Context, a asking, foreign string, k int) []string {
	path := c.expandWith(a.path, func(path, p string) string {
		if p == foreign {
			return c.names.id(tableOf(path, p), firstForeign+k)
		}
		return c.first(path, p)
	})
	if strings.Contains(path, "{") {
		return nil // Something that is not there at the beginning, and not foreign.
	}
	ids := map[string]string{}
	for field, table := range fields {
		if field == foreign {
			ids[field] = c.names.id(table, firstForeign+k)
		} else if seen := c.names.ids[table]; len(seen) > 0 {
			ids[field] = seen[0]
		}
	}
	if a.api {
		body := ""
		switch {
		case strings.HasSuffix(a.path, "/add/"):
			body = `["ada@example.org"]`
		case a.method != http.MethodGet:
			body = fmt.Sprintf(`{"name": "new", "value": "room 5", "assignment": %s, "application": %s, "first_name": "New"}`, ids["assignment"], ids["application"])
		}
		return []string{c.call(ctx, keyText(c.party, "all"), a.method, path, body).text}
	}
	b := c.browsers["eva"]
	if a.method == http.MethodGet {
		return b.send(ctx, a.method, path, "", http.NoBody)
	}
	if fmt.Sprint(b.cookies) != b.bound {
		b.formToken, b.bound = b.token(ctx), fmt.Sprint(b.cookies)
	}
	form := url.Values{"form_token": {b.formToken}, "on": {"true"}, "active": {"true"}, "validated": {"true"}, "name": {"new"}, "role": {"viewer"}, "overlap": {"1h"},
		"emails": {"ada@example.org"}, "custom_fields": {"{}"}, "first_name": {"New"}, "value": {"room 5"}, "to": {"ada@example.org"}, "only": {"1"}}
	for field, id := range ids {
		form.Set(field, id)
	}
	return b.send(ctx, a.method, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// token returns the token of the forms of a browser.
func (b *browser) token(ctx context.Context) string {
	b.send(ctx, http.MethodGet, "/console/", "", http.NoBody)
	for _, f := range b.forms {
		for _, c := range f.controls {
			if c.name == "form_token" {
				return c.values[0]
			}
		}
	}
	return ""
}
