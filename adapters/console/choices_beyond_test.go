package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// onlyFirst is what a form says when it offers only some of the choices.
const onlyFirst = "Only the first ones are shown. For the others, use tocsin apply."

// TestManyApplications has a project with more applications than forms offer.
func TestManyApplications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	lists, list := shop+"d/", shop+"d/"+f.listNamed("acme", "all")+"/"
	assert.NotContains(t, b.get(lists).text()+b.get(list).text(), onlyFirst)
	var last applications.Application
	f.update(func(tx ports.Tx) error {
		a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
		for i := 0; i < 1_000 && err == nil; i++ {
			last, err = tx.Applications().Create(f.Context(), applications.Application{Organization: a.Organization, Project: a.Project, Slug: fmt.Sprintf("app-%d", i), Name: fmt.Sprintf("App %d", i), Active: true})
		}
		return err
	})

	// A list stays pinned to an application that is not among the first ones.
	assert.Contains(t, b.get(lists).text(), onlyFirst)
	assert.NotContains(t, b.get(lists).body, last.Name)
	pinned := b.post(lists, "name", "pinned", "application", idText(last.ID)).is(t, http.StatusSeeOther).Header.Get("Location")
	assert.Contains(t, b.get(lists).body, "<td><bdi>"+last.Name+"</bdi></td>")
	page := b.get(pinned).is(t, http.StatusOK)
	assert.Contains(t, page.text(), onlyFirst)
	assert.Contains(t, page.body, `<option value="`+idText(last.ID)+`" selected>`+last.Name)
	assert.Contains(t, page.text(), "Pinned to "+last.Name)

	// An event is copied to an application by its slugs.
	form := b.get(web+"e/tick/copy/").is(t, http.StatusOK)
	assert.Contains(t, form.body, `name="application" type="text" value="shop/web"`)
	for sent, want := range map[string]string{"shop/" + last.Slug: "", "shop/nowhere": "choose an application of the organization", "nowhere/web": "choose an application of the organization"} {
		got := b.post(web+"e/tick/copy/", "application", sent, "slug", "copied", "name", "Copied")
		if want == "" {
			assert.Equal(t, shop+"a/"+last.Slug+"/e/copied/?done=copied", got.is(t, http.StatusSeeOther).Header.Get("Location"))
			continue
		}
		assert.Contains(t, got.is(t, http.StatusBadRequest).text(), want, sent)
		assert.Contains(t, got.body, `name="application" type="text" value="`+sent+`"`, "the sent value stays")
	}
}

// TestManyGroups imports into a group that is not among the first 1,000.
func TestManyGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleOperator))
	to := "/console/o/acme/imports/"
	assert.Contains(t, b.get(to).body, `<select id="group"`)
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), "acme")
		for i := 0; i < 1_001 && err == nil; i++ {
			_, _, err = tx.Orgs().EnsureGroup(f.Context(), o.ID, fmt.Sprintf("Team %d", i))
		}
		return err
	})
	page := b.get(to).is(t, http.StatusOK)
	assert.Contains(t, page.body, `<input id="group" name="group" type="text"`)
	file := "email\neve@example.org\n"
	refused := b.upload(to, b.token(), "people.csv", file, "group", "Team 1001").is(t, http.StatusBadRequest)
	assert.Contains(t, refused.text(), "does not exist in this organization")
	assert.Contains(t, refused.body, `name="group" type="text" value="Team 1001"`)
	id := b.upload(to, b.token(), "people.csv", file, "group", "Team 1000").uploaded(t)
	assert.Contains(t, b.get(importPath(id)).text(), "Team 1000")
}

// TestManyListsAndChannels is about notifications and addresses.
func TestManyListsAndChannels(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	eve := f.person("acme", "eve", users.RoleMember, false)
	b.post(memberPath(eve)+"addresses/new/", "value", "eve@example.org").is(t, http.StatusSeeOther)
	p := f.profile(eve)
	require.NotEmpty(t, p.Addresses)
	pages := map[string]string{web + "e/tick/audience/": onlyFirst, web + "e/tick/n/" + f.notification("acme") + "/": onlyFirst,
		fmt.Sprintf("%saddresses/%d/", memberPath(eve), p.Addresses[0].ID): "Only the first channels are shown."}
	for path, more := range pages {
		assert.NotContains(t, b.get(path).is(t, http.StatusOK).text(), more, path)
	}
	f.addLists(501)
	f.addChannels(app.MaxShown)
	for path, more := range pages {
		assert.Contains(t, b.get(path).is(t, http.StatusOK).text(), more, path)
	}
}
