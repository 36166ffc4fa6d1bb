package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryPage looks at every page that links lead to: of an organization with a few people, of one with 10,000, and of one with nothing in
// it. Each is looked at in light and in dark, on a desk and on a phone.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	for name, people := range map[string]int{"few": 12, "crowd": 10_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.populate(people)
			v := w.crawl()
			for _, r := range routes() {
				assert.True(t, v.routes[r.path] || r.path == "/console/sign-in/", "no page links to %s, or there is nothing in this test that it could show", r.path)
			}
			p := newTab(t, w.base)
			p.prefer(dark)
			p.look("/console/sign-in/")
			p.remember(v.cookie.Name, v.cookie.Value)
			for _, path := range v.pages {
				t.Run(strings.TrimPrefix(path, "/console"), func(t *testing.T) { handed(t, p).look(path) })
			}
		})
	}
}

// handed is a tab that another test goes on with.
func handed(t *testing.T, from *tab) *tab {
	t.Helper()
	own := *from
	own.T = t
	return &own
}

// look judges a page in dark, then in light, then on a phone, and leaves the tab dark, as it was.
func (t *tab) look(path string) {
	t.Helper()
	require.EqualValues(t, http.StatusOK, t.open(path))
	assert.Empty(t, t.violations(), "in dark")
	t.prefer(light)
	assert.Empty(t, t.violations(), "in light")
	t.resize(phone)
	assert.Empty(t, t.overflow(), "on a phone")
	t.resize(desk)
	t.prefer(dark)
	t.settle(t.T)
}

// populate fills acme with so many people, who are on a list, registered with the web shop, and have been told something.
func (w *world) populate(people int) {
	w.Helper()
	w.run(`{organizations: [{slug: fresh, name: A fresh start}]}`, "apply", "-f", "-")
	var file strings.Builder
	emails := make([]string, people)
	file.WriteString("email,first_name,last_name,custom__team\n")
	for i := range people {
		p := person(i)
		emails[i] = p.email
		fmt.Fprintf(&file, "%s,%s,%s,%s\n", p.email, p.first, p.last, p.team)
	}
	w.run("", "import", "users", w.file("people.csv", file.String()), "--org", "acme", "--group", "Staff")
	var lists []struct {
		ID   int64
		Name string
	}
	w.call(http.MethodGet, "o/acme/p/shop/d/", nil, &lists)
	require.Equal(w, "customers", lists[0].Name)
	for i := 0; i < len(emails); i += 10_000 {
		w.call(http.MethodPost, fmt.Sprintf("o/acme/p/shop/d/%d/add/", lists[0].ID), emails[i:min(i+10_000, len(emails))], nil)
	}
	for _, email := range emails[:12] {
		w.call(http.MethodPost, "o/acme/p/shop/a/web/register/", object{"username": email, "custom_fields": object{"tier": "gold"}, "distribution_list": "web-users",
			"addresses": []object{{"value": email, "assign_to_preferred_channel": true}, {"value": "+442079460958", "name": "office"}}}, nil)
	}
	w.settled(w.trigger("newsletter", object{"title": "New in the shop", "body": "Have a look at the winter collection."}))
	w.settled(w.trigger("order-shipped", object{"order": "A-1017", "carrier": "DHL", "tracking_url": "https://track.example/A-1017", "items": []object{{"quantity": 1, "name": "Bell"}}}))
}
