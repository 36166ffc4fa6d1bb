package console_test

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/users"
)

func TestApplications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	b.post(shop+"a/", "slug", "desk", "name", "Desk").is(t, http.StatusSeeOther)
	assert.Equal(t, "eve application.create acme/p/shop/a/desk map[] map[active:true name:Desk]", f.latest())
	assert.Contains(t, b.get(shop+"a/").text(), "Web web Desk desk")
	for fields, said := range map[[4]string]string{{"slug", "desk", "name", "x"}: "this slug is taken", {"slug", "A b", "name", "x"}: "must consist of lower-case letters", {"slug", "", "name", ""}: "is required"} {
		assert.Contains(t, b.post(shop+"a/", fields[:]...).is(t, http.StatusBadRequest).text(), said)
	}
	desk := shop + "a/desk/"
	b.post(desk+"settings/", "name", "Help desk").is(t, http.StatusSeeOther)
	assert.Equal(t, "eve application.update acme/p/shop/a/desk map[active:true name:Desk] map[active:false name:Help desk]", f.latest())
	assert.Contains(t, b.get(shop+"a/").text(), "Help desk desk inactive")
	assert.Contains(t, b.post(desk+"settings/", "name", " ").is(t, http.StatusBadRequest).text(), "is required")
	page := b.get(desk+"settings/").is(t, http.StatusOK)
	assert.Contains(t, page.body, `value="Help desk"`)
	assert.NotContains(t, page.body, "checked")
	assert.Contains(t, b.post(web+"delete/").is(t, http.StatusBadRequest).text(), `The application "web" is used by event web/tick`)
	b.post(desk+"delete/").is(t, http.StatusSeeOther)
	assert.Equal(t, "eve application.delete acme/p/shop/a/desk map[active:false name:Help desk] map[]", f.latest())
	b.get(desk+"settings/").is(t, http.StatusNotFound)
}

func TestMemberships(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		assert.Contains(f, b.get(web+"m/").text(), "No users registered yet.")
		b.post(web+"m/", "username", "ada", "email", "ada@example.org", "first_name", "Ada", "active", "true", "address", "ada@example.org",
			"assign_to_preferred_channel", "true", "distribution_list", "ALL", "custom_fields", `{"plan": "free"}`).is(f.T, http.StatusSeeOther)
		page := b.get(web + "m/").text()
		assert.Contains(f, page, `ada Ada active not locked Lock (ada) enabled Disable (ada) Show the metadata of ada { "plan": "free" } Unregister ada`)
		assert.Contains(f, b.get(shop+"d/"+f.listNamed("acme", "all")+"/").text(), "ada@example.org ada mail active")

		got := b.post(web+"m/", "username", "", "email", "x", "address", "a\x01b", "custom_fields", "[1]", "distribution_list", "all").is(f.T, http.StatusBadRequest)
		for _, said := range []string{"Username is required", "Metadata optional [1] A JSON object, merged into what the application records. must be a JSON object", "contains a control character"} {
			assert.Contains(f, got.text(), said)
		}
		assert.Contains(f, b.post(web+"m/", "username", "bob", "distribution_list", "none").is(f.T, http.StatusBadRequest).text(), "there is no distribution list with this name in the project")

		one := web + "m/" + f.id("ada") + "/"
		for _, step := range []struct{ path, on, entry string }{
			{"locked/", "true", "olga membership.lock acme/p/shop/a/web/u/ada map[locked:false] map[locked:true]"},
			{"notifications/", "false", "olga membership.enable_notifications acme/p/shop/a/web/u/ada map[enable_notifications:true] map[enable_notifications:false]"},
		} {
			to := b.post(one+step.path+"?q=ad&after=", "on", step.on).is(f.T, http.StatusSeeOther).Header.Get("Location")
			assert.Equal(f, step.entry, f.latest())
			assert.Contains(f, b.get(to).is(f.T, http.StatusOK).body, `value="ad"`, "it leads back to where one was")
		}
		assert.Contains(f, b.get(web+"m/?q=AD").text(), "active locked Unlock (ada) disabled Enable (ada)")
		assert.Contains(f, b.get(web+"m/?q=b").text(), "No users found.")
		b.post(one+"unregister/").is(f.T, http.StatusSeeOther)
		assert.Contains(f, f.latest(), "olga membership.unregister acme/p/shop/a/web/u/ada")
		before := len(f.entries("acme"))
		b.post(one+"unregister/").is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), before)
		viewer := f.as(f.operator("vera", users.RoleViewer)).get(web + "m/")
		assert.NotContains(f, viewer.body, "Register a member by hand")

		for i := range 60 {
			b.post(web+"m/", "username", fmt.Sprintf("user%02d", i), "active", "true").is(f.T, http.StatusSeeOther)
		}
		first := b.get(web + "m/")
		assert.Equal(f, 50, strings.Count(first.body, `<th scope="row">`))
		more := further.FindStringSubmatch(first.body)
		require.NotNil(f, more)
		assert.Equal(f, 10, strings.Count(b.get(html.UnescapeString(more[1])).body, `<th scope="row">`))
	})
}
