package console_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/users"
)

var (
	placeLinks = regexp.MustCompile(`<li><a href="([^"]*)"( aria-current="page")?>`)
	places     = regexp.MustCompile(`(?s)<nav class="places".*?</nav>`)
)

// navigation is the links of a page's navigation and the one that is marked as current.
func (a answer) navigation() (all []string, current string) {
	for _, found := range placeLinks.FindAllStringSubmatch(places.FindString(a.body), -1) {
		all = append(all, found[1])
		if found[2] != "" {
			current = found[1]
		}
	}
	return all, current
}

func TestNavigation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.person("acme", "ada", users.RoleMember, false)
	root, viewer := f.as(f.account("root", true)), f.as(f.operator("vera", users.RoleViewer))
	t.Run("TheNearestPlaceIsCurrent", func(t *testing.T) {
		for path, want := range map[string]string{
			"/console/": "/console/", "/console/o/acme/": "/console/o/acme/", "/console/o/acme/u/": "/console/o/acme/u/", "/console/o/acme/u": "/console/o/acme/u/",
			memberPath(ada): "/console/o/acme/u/", "/console/o/acme/p/shop/a/web/": "/console/o/acme/p/shop/a/web/",
		} {
			_, current := root.get(path).is(t, http.StatusOK).navigation()
			assert.Equal(t, want, current, path)
		}
	})
	t.Run("ShowsWhatOneMaySee", func(t *testing.T) {
		all, _ := root.get("/console/o/acme/p/shop/a/web/").navigation()
		assert.Subset(t, all, []string{"/console/o/acme/keys/", "/console/o/acme/audit/", "/console/system/", "/console/o/acme/p/shop/d/", "/console/o/acme/p/shop/a/web/e/"})
		all, _ = viewer.get("/console/o/acme/u/").navigation()
		assert.Contains(t, all, "/console/o/acme/u/")
		for _, hidden := range []string{"/console/o/acme/keys/", "/console/o/acme/audit/", "/console/system/", "/console/audit/"} {
			assert.NotContains(t, all, hidden)
		}
		all, _ = viewer.get("/console/o/globex/").is(t, http.StatusNotFound).navigation()
		assert.Equal(t, []string{"/console/"}, all, "nothing of a place that one may not see")
		all, _ = f.nobody().get("/console/sign-in/").navigation()
		assert.Empty(t, all)
	})
}

func TestAScriptWhoseSessionIsOverIsSentToSignIn(t *testing.T) {
	t.Parallel()
	b := newFixture(t).nobody()
	b.header.Set("HX-Request", "true")
	got := b.get("/console/o/acme/u/").is(t, http.StatusUnauthorized)
	require.Equal(t, "/console/sign-in/?next=%2Fconsole%2Fo%2Facme%2Fu%2F", got.Header.Get("HX-Redirect"))
}
