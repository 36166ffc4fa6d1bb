package browser_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/operators"
)

// TestEveryPage checks every page that links lead to: as an administrator, an operator and a viewer
// see it in an organization with a few people, and as the administrator sees it with 10,000 people
// and with none. Each is checked in light and dark, on a desktop and on a phone.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	t.Run("few", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.populate(customers)
		w.finishedImport("added.csv", "email,custom__team\nadded@example.org,Blue\nnobody,\n")
		r := w.administrator()
		w.checkPages("administrator", operators.Installation, r, r.invite(person(0).email, "operator"))
		w.checkPages("operator", operators.Operator, r.signedInMember(person(1).email, "operator"))
		w.checkPages("viewer", operators.Viewer, r.signedInMember(person(2).email, "viewer"))
	})
	t.Run("crowd", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.populate(10_000)
		w.finishedImport("added.csv", "email,custom__team\nadded@example.org,Blue\nnobody,\n")
		r := w.administrator()
		w.checkPages("administrator", operators.Installation, r, r.invite(person(0).email, "operator"))
	})
}

// checkPages checks every page that links lead to. These must be exactly the pages that the user's
// rights allow.
func (w *world) checkPages(who string, may operators.AccessLevel, r *pageClient, given ...string) {
	w.Helper()
	v := r.crawl(given...)
	for _, r := range routes() {
		switch {
		case strings.HasSuffix(r.path, "/progress/"): // Pages load this part while something runs.
		case strings.HasPrefix(r.path, "/console/sign-in/"): // No link leads there after signing in.
		case r.path == "/console/welcome/{token}/": // Only an invitation leads there.
			assert.Equal(w, len(given) > 0, v.routes[r.path])
		case r.needs <= may:
			assert.True(w, v.routes[r.path], "no page leads the %s to %s, or there is nothing in this test that it could show", who, r.path)
		default:
			assert.False(w, v.routes[r.path], "a page leads the %s to %s", who, r.path)
		}
	}
	for some := range slices.Chunk(v.pages, pagesPerTab) {
		w.Run(who+some[0], func(t *testing.T) {
			t.Parallel()
			p := newTab(t, w.base)
			if len(given) > 0 {
				p.checkSizes("/console/sign-in/")
			}
			p.setCookie(r.session())
			for _, path := range some {
				t.Run(strings.TrimPrefix(path, "/console"), func(t *testing.T) { continuedTab(t, p).checkSizes(path) })
			}
		})
	}
}

// pagesPerTab is how many pages are checked in one tab, so that several tabs work in parallel.
const pagesPerTab = 20

// continuedTab returns the tab for a subtest.
func continuedTab(t *testing.T, from *tab) *tab {
	t.Helper()
	own := *from
	own.T = t
	return &own
}

// checkSizes checks a page on a desktop and on a phone, where it must fit.
func (t *tab) checkSizes(path string) {
	t.Helper()
	require.EqualValues(t, http.StatusOK, t.open(path))
	t.checkAccessibility()
	t.checkAccessibilityAt(phone)
	assert.Empty(t, t.overflow(), "on a phone")
	t.resize(desk)
	t.checkComplaints(t.T)
}
