package console_test

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/users"
)

func TestLists(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		to := b.post(shop+"d/", "name", " News ").is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Contains(f, b.get(to).text(), "List created.")
		assert.Equal(f, "olga list.create acme/p/shop/d/News map[] map[application: name:News]", f.latest())
		to, _, _ = strings.Cut(to, "?")

		b.post(to, "name", "Offers", "application", f.application("acme")).is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga list.update acme/p/shop/d/News map[application: name:News] map[application:web name:Offers]", f.latest())
		page := b.get(to).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "Pinned to Web")
		assert.Contains(f, page.text(), "No notification uses the list.")
		assert.Contains(f, b.get(shop+"d/").text(), "Offers Web")
		before := len(f.entries("acme"))
		b.post(to, "name", "Offers", "application", f.application("acme")).is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), before, "nothing has changed, and nothing is recorded")
		b.post(to, "name", "Offers").is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga list.update acme/p/shop/d/Offers map[application:web] map[application:]", f.latest())

		for form, said := range map[[4]string]string{
			{"name", "", "application", ""}:                       "Is required",
			{"name", "ALL", "application", ""}:                    "a distribution list with this name exists already",
			{"name", "x", "application", "0"}:                     "there is no application with this id in the project",
			{"name", "x", "application", f.application("globex")}: "there is no application with this id in the project",
			{"name", strings.Repeat("x", 201), "application", ""}: "is longer than 200 characters",
			{"name", "<b>ALL</b>\x01", "application", ""}:         "contains a control character",
		} {
			for _, path := range []string{shop + "d/", to} {
				got := b.post(path, form[:]...).is(f.T, http.StatusBadRequest)
				assert.Contains(f, strings.ToLower(got.text()), strings.ToLower(said), path)
				assert.Contains(f, got.body, `aria-invalid="true"`)
				assert.Contains(f, got.body, `value="`+html.EscapeString(form[1])+`"`, "what was typed stays")
			}
		}
		b.post(to+"delete/").is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga list.delete acme/p/shop/d/Offers map[application: name:Offers] map[]", f.latest())
		b.get(to).is(f.T, http.StatusNotFound)
		assert.Contains(f, b.get(shop+"d/?done=deleted-list").text(), "List deleted.")
	})
}

// application returns the id of the application web of an organization.
func (f *fixture) application(org string) string {
	f.Helper()
	a, err := f.use.Applications.Show(f.Context(), app.Path{Organization: org, Project: "shop", Application: "web"})
	require.NoError(f, err)
	return strconv.FormatInt(int64(a.ID), 10)
}

func TestListInUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	to := shop + "d/" + f.listNamed("acme", "all") + "/"
	page := b.get(to).is(t, http.StatusOK)
	assert.Contains(t, page.text(), "Ticks Tick Web active")
	assert.Contains(t, page.body, fmt.Sprintf(`<a href="%se/tick/n/%s/">`, web, f.notification("acme")))
	got := b.post(to+"delete/").is(t, http.StatusBadRequest)
	assert.Contains(t, got.text(), `The distribution list "all" is used by notification "Ticks" of event web/tick.`)

	b.post(shop+"a/", "slug", "desk", "name", "Desk").is(t, http.StatusSeeOther)
	desk, err := f.use.Applications.Show(t.Context(), app.Path{Organization: "acme", Project: "shop", Application: "desk"})
	require.NoError(t, err)
	got = b.post(to, "name", "all", "application", strconv.FormatInt(int64(desk.ID), 10)).is(t, http.StatusBadRequest)
	assert.Contains(t, got.text(), `the list cannot be pinned to this application: it is used by notification "Ticks" of event web/tick`)
	assert.Contains(t, got.body, `aria-describedby="application-hint application-faults" aria-invalid="true"`)
	b.post(to, "name", "all", "application", f.application("acme")).is(t, http.StatusSeeOther)
}
