package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/users"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.as(s.accounts["administrator"])
	search := "/console/o/acme/search/"
	ask := func(b *browser, text string) answer {
		return b.get(search+"?"+url.Values{"q": {text}}.Encode()).is(t, http.StatusOK)
	}
	link := strings.NewReplacer("{member}", s.params["{member}"], "{id}", s.params["{id}"], "{list}", s.listNamed("acme", "all"))
	for text, path := range map[string]string{
		"ada": "/console/o/acme/u/{member}/", "ALL": shop + "d/{list}/", "web": web, "tick": web + "e/tick/", "new us": "/console/o/acme/u/new/",
		"audit": "/console/o/acme/audit/", s.params["{id}"]: web + "occurrences/{id}/",
	} {
		assert.Contains(t, ask(b, text).body, `<li><a href="`+link.Replace(path)+`">`, text)
	}
	assert.Contains(t, ask(b, "nothing like this").text(), "No matches for “ nothing like this ”.")
	assert.NotContains(t, ask(b, "  ").text(), "No matches")
	assert.NotContains(t, ask(b, "\x00").text(), "No matches")
	viewer := s.as(s.accounts["viewer"])
	assert.NotContains(t, ask(viewer, "new user").text(), "Pages and actions", "what one may not do is not found")
	assert.Contains(t, b.get("/console/o/acme/").body, `action="`+search+`"`)
	assert.NotContains(t, b.get("/console/").body, `role="search"`, "where no organization is, nothing is searched")
	assert.NotContains(t, s.as(s.accounts["alien"]).get("/console/account/").body, `role="search"`)
}

func TestSearchLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	for _, n := range "abcdefghijkl" {
		f.person("acme", "crowd-"+string(n), users.RoleMember, false)
		b.post(shop+"d/", "name", "Crowd "+string(n)).is(t, http.StatusSeeOther)
	}
	page := b.get("/console/o/acme/search/?q=crowd").is(t, http.StatusOK)
	assert.Equal(t, 20, strings.Count(page.body, "<li><a href=\"/console/o/acme/u/")+strings.Count(page.body, "<li><a href=\""+shop+"d/")-strings.Count(page.body, "<li><a href=\""+shop+"d/\">")-strings.Count(page.body, "<li><a href=\"/console/o/acme/u/\">"))
	assert.Contains(t, page.body, `href="/console/o/acme/u/?q=crowd"`)
	all := b.get("/console/o/acme/search/?q=crowd&kind=lists").is(t, http.StatusOK)
	assert.Contains(t, all.text(), "Crowd l")
	assert.NotContains(t, all.body, `id="found-people"`)
}

// TestSearchBeyond2000 is about an organization with more objects than a search reads.
func TestSearchBeyond2000(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleOperator))
	const path, said = "/console/o/acme/search/?q=list", "Of events, lists, channels and applications, only the first 2,000 of each are searched."
	f.addLists(1999) // There is one already.
	assert.NotContains(t, b.get(path).is(t, http.StatusOK).text(), said)
	b.post(shop+"d/", "name", "last").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get(path).is(t, http.StatusOK).text(), said)
}

func TestIndexingNotice(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		f.person("acme", "ada", users.RoleMember, false)
		list := shop + "d/" + f.listNamed("acme", "all") + "/"
		pages := []string{"/console/o/acme/search/?q=zoe", "/console/o/acme/u/?q=zoe", web + "?person=zoe", web + "m/?q=zoe", list + "?q=zoe", list + "?people=zoe"}
		const said = "Indexing people: "
		for _, page := range pages {
			assert.NotContains(f, b.get(page).is(f.T, http.StatusOK).text(), said, page)
		}
		b.post("/console/o/acme/searchable/", "searchable_metadata", "plan").is(f.T, http.StatusSeeOther)
		for _, page := range pages {
			assert.Equal(f, 1, strings.Count(b.get(page).is(f.T, http.StatusOK).text(), said), page)
		}
		for _, page := range []string{"/console/o/acme/u/", web, web + "m/", list} {
			assert.NotContains(f, b.get(page).is(f.T, http.StatusOK).text(), said, "%s: nobody is searched", page)
		}
	})
}
