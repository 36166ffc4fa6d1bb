package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/users"
)

var (
	placeLinks = regexp.MustCompile(`<li><a href="([^"]*)"( aria-current="page")?>`)
	places     = regexp.MustCompile(`(?s)<nav class="places".*?</nav>`)
)

// navigation returns the links of a page's navigation and the one that is marked as current.
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
			memberPath(ada): "/console/o/acme/u/", "/console/o/acme/groups/": "/console/o/acme/groups/", web: web, web + "e/": web + "e/", shop: shop, shop + "d/": shop + "d/",
			web + "n/" + f.notification("acme") + "/subscriptions/": web + "e/", "/console/o/acme/keys/": "/console/o/acme/keys/", "/console/system/": "/console/system/",
		} {
			_, current := root.get(path).is(t, http.StatusOK).navigation()
			assert.Equal(t, want, current, path)
		}
	})
	t.Run("ShowsThePermitted", func(t *testing.T) {
		all, _ := root.get("/console/o/acme/settings/").navigation()
		assert.Subset(t, all, []string{"/console/o/acme/u/", web, web + "e/", shop + "d/", "/console/o/acme/team/", "/console/o/acme/keys/", "/console/o/acme/audit/", "/console/system/"})
		all, _ = root.get("/console/o/acme/u/").navigation()
		assert.NotContains(t, all, "/console/o/acme/keys/", "what is below another entry is folded away")
		seen := viewer.get("/console/o/acme/settings/")
		all, _ = seen.navigation()
		assert.Contains(t, all, "/console/o/acme/u/")
		for _, hidden := range []string{"/console/o/acme/team/", "/console/o/acme/keys/", "/console/o/acme/audit/", "/console/system/", "/console/audit/"} {
			assert.NotContains(t, seen.body, hidden)
		}
		got := viewer.get("/console/o/globex/").is(t, http.StatusNotFound)
		all, _ = got.navigation()
		assert.Equal(t, []string{"/console/"}, all, "nothing of a place that one may not see")
		assert.NotContains(t, got.body, "globex")
		all, _ = f.nobody().get("/console/sign-in/").navigation()
		assert.Empty(t, all)
	})
	t.Run("LinksToTheFormOfTheMissing", func(t *testing.T) {
		root.post("/console/organizations/", "slug", "fresh", "name", "Fresh").is(t, http.StatusSeeOther)
		all, _ := root.get("/console/o/fresh/u/").is(t, http.StatusOK).navigation()
		assert.Contains(t, all, "/console/o/fresh/projects/")
		root.post("/console/o/fresh/projects/", "slug", "one", "name", "One").is(t, http.StatusSeeOther)
		all, _ = root.get("/console/o/fresh/u/").is(t, http.StatusOK).navigation()
		assert.Subset(t, all, []string{"/console/o/fresh/p/one/d/", "/console/o/fresh/p/one/a/"})
	})
}

// pickers returns the lists in the top bar of a page.
func (a answer) pickers() string {
	return regexp.MustCompile(`(?s)<nav class="pickers".*?</nav>`).FindString(a.body)
}

func TestPickers(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		root, viewer := f.as(f.account("root", true)), f.as(f.operator("vera", users.RoleViewer))
		root.post(shop+"a/", "slug", "office", "name", "Back office").is(f.T, http.StatusSeeOther)
		assert.Contains(f, viewer.get(web+"e/").pickers(), `<a href="`+shop+`a/office/e/"><bdi>Back office</bdi></a>`, "one stays on the page")
		assert.NotContains(f, viewer.get("/console/o/acme/").pickers(), "globex", "others' organizations are not named")
		assert.Contains(f, root.get("/console/o/acme/").pickers(), "/console/o/globex/")

		t := f.T
		all, _ := viewer.get("/console/o/acme/u/").navigation()
		assert.Contains(t, all, web+"e/", "the application of the last page")
		viewer.get(shop+"a/office/").is(t, http.StatusOK)
		all, _ = viewer.get("/console/o/acme/u/").navigation()
		assert.Contains(t, all, shop+"a/office/e/", "the application of the last page")
		all, _ = root.get("/console/o/globex/u/").navigation()
		assert.Contains(t, all, "/console/o/globex/p/shop/a/web/e/", "another organization has a place of its own")
		viewer.cookies["tocsin_place"] = "acme/shop/%00<script>"
		all, _ = viewer.get("/console/o/acme/u/").is(t, http.StatusOK).navigation()
		assert.Contains(t, all, web+"e/", "what there is not is the first that there is")
		viewer.cookies["tocsin_place"] = "globex/shop/web"
		assert.NotContains(t, viewer.get("/console/account/").is(t, http.StatusOK).body, "globex")

		for n := range 21 {
			root.post(shop+"a/", "slug", fmt.Sprintf("app%d", n), "name", fmt.Sprintf("Number %d", n)).is(t, http.StatusSeeOther)
			root.post("/console/organizations/", "slug", fmt.Sprintf("org%d", n), "name", fmt.Sprintf("Company %d", n)).is(t, http.StatusSeeOther)
		}
		many := root.get(web).pickers()
		assert.Equal(t, 20, strings.Count(many, `<li><a href="`+shop+"a/"))
		assert.Equal(t, 2, strings.Count(many, `role="search"`), "what is not shown is searched for")
		assert.Contains(t, root.get("/console/o/acme/search/?kind=applications&q=number+20").text(), "Number 20")
		assert.Contains(t, root.get("/console/o/acme/search/?kind=projects&q=shop").body, `<li><a href="`+shop+`"><bdi>Shop`)
		found := root.get("/console/?q=company+20").is(t, http.StatusOK).text()
		assert.Contains(t, found, "org20")
		assert.NotContains(t, found, "org19 ·")
		assert.Contains(t, viewer.get("/console/?q=globex").text(), "No organization matches")
		assert.Contains(t, viewer.get("/console/?q=company").text(), "Company acme · viewer")
	})
}

func TestFragmentWithoutSession(t *testing.T) {
	t.Parallel()
	b := newFixture(t).nobody()
	b.header.Set("HX-Request", "true")
	got := b.get("/console/o/acme/u/").is(t, http.StatusUnauthorized)
	require.Equal(t, "/console/sign-in/?next=%2Fconsole%2Fo%2Facme%2Fu%2F", got.Header.Get("HX-Redirect"))
}
