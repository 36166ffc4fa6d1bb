package browser_test

import (
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
			v := w.crawl(w.invited())
			for _, r := range routes() {
				if strings.HasSuffix(r.path, "/progress/") { // A piece that a page asks for while something happens.
					continue
				}
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
