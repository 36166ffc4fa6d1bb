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

// TestEveryPage looks at every page that links lead to: as everybody sees it in an organization
// with a few people, and as the administrator does in one with 10,000 and in one with nothing in
// it. Each is looked at in light and in dark, on a desk and on a phone.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	t.Run("few", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.populate(greeted)
		w.added("added.csv", "email,custom__team\nadded@example.org,Blue\nnobody,\n")
		r := w.administrator()
		w.checkPages("administrator", operators.Installation, r, r.invited(person(0).email, "operator"))
		w.checkPages("operator", operators.Operator, r.hired(person(1).email, "operator"))
		w.checkPages("viewer", operators.Viewer, r.hired(person(2).email, "viewer"))
	})
	t.Run("crowd", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.populate(10_000)
		w.added("added.csv", "email,custom__team\nadded@example.org,Blue\nnobody,\n")
		r := w.administrator()
		w.checkPages("administrator", operators.Installation, r, r.invited(person(0).email, "operator"))
	})
}

// checkPages checks every page that a reader finds. These must be exactly the pages that the user's
// rights allow.
func (w *world) checkPages(who string, may operators.AccessLevel, r *reader, given ...string) {
	w.Helper()
	v := r.crawl(given...)
	for _, r := range routes() {
		switch {
		case strings.HasSuffix(r.path, "/progress/"): // A piece that a page asks for while something happens.
		case strings.HasPrefix(r.path, "/console/sign-in/"): // Nothing leads there for those who are signed in.
		case r.path == "/console/welcome/{token}/": // Only what is given away does.
			assert.Equal(w, len(given) > 0, v.routes[r.path])
		case r.needs <= may:
			assert.True(w, v.routes[r.path], "no page leads the %s to %s, or there is nothing in this test that it could show", who, r.path)
		default:
			assert.False(w, v.routes[r.path], "a page leads the %s to %s", who, r.path)
		}
	}
	for some := range slices.Chunk(v.pages, perTab) {
		w.Run(who+some[0], func(t *testing.T) {
			t.Parallel()
			p := newTab(t, w.base)
			if len(given) > 0 {
				p.look("/console/sign-in/")
			}
			p.remember(r.session())
			for _, path := range some {
				t.Run(strings.TrimPrefix(path, "/console"), func(t *testing.T) { continuedTab(t, p).look(path) })
			}
		})
	}
}

// perTab is how many pages are looked at in one tab, so that several tabs look at all of them.
const perTab = 20

// continuedTab returns the tab for another test.
func continuedTab(t *testing.T, from *tab) *tab {
	t.Helper()
	own := *from
	own.T = t
	return &own
}

// look judges a page on a desk and on a phone, and whether it fits there.
func (t *tab) look(path string) {
	t.Helper()
	require.EqualValues(t, http.StatusOK, t.open(path))
	t.judge()
	t.judgeAt(phone)
	assert.Empty(t, t.overflow(), "on a phone")
	t.resize(desk)
	t.settle(t.T)
}
