package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/users"
)

func TestOrganizations(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		root := f.as(f.account("root", true))
		root.post("/console/organizations/", "slug", "initech", "name", " Initech ").is(f.T, http.StatusSeeOther)
		assert.Contains(f, root.get("/console/organizations/").text(), "Initech initech")
		for _, c := range []struct{ slug, name, says string }{
			{"acme", "Another", "this slug is taken"}, {"system", "S", "the slug system is reserved"}, {"Upper Case", "U", "must consist of lower-case letters"}, {"x", "", "is required"},
		} {
			page := root.post("/console/organizations/", "slug", c.slug, "name", c.name).is(f.T, http.StatusBadRequest)
			assert.Contains(f, page.text(), c.says)
			assert.Contains(f, page.body, `value="`+c.slug+`"`, "what was typed stays")
		}
		e := f.entries("initech")
		assert.Len(f, e, 1)
		assert.Equal(f, audit.OrganizationCreated, e[0].Action)
		assert.Equal(f, "initech", e[0].Object)
		assert.Equal(f, audit.State{"name": "Initech"}, e[0].After)

		// It is whole: its first project, and users in its Default group.
		root.post("/console/o/initech/projects/", "slug", "tps", "name", "TPS").is(f.T, http.StatusSeeOther)
		root.get("/console/o/initech/p/tps/").is(f.T, http.StatusOK)
		assert.Contains(f, root.get("/console/o/initech/groups/").text(), "Default")
	})
}

func TestSearchableMetadata(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		eva := f.as(f.operator("eva", users.RoleAdministrator))
		eva.post("/console/o/acme/searchable/", "searchable_metadata", " department\r\n\r\naddress.city\r\n").is(f.T, http.StatusSeeOther)
		assert.Contains(f, eva.get("/console/o/acme/projects/").body, "\ndepartment\naddress.city</textarea>")
		e := f.entries("acme")
		assert.Equal(f, audit.State{"searchable_metadata": []any{"department", "address.city"}}, e[0].After)
		wrong := eva.post("/console/o/acme/searchable/", "searchable_metadata", strings.Repeat("x", 201)).is(f.T, http.StatusBadRequest)
		assert.Contains(f, wrong.text(), "has a name longer than 200 characters")
		assert.Contains(f, wrong.body, strings.Repeat("x", 201), "what was typed stays")
		eva.post("/console/o/acme/searchable/", "searchable_metadata", strings.Repeat("x\n", 9)+"a\nb\nc\nd\ne\nf\ng\nh\ni\nj").is(f.T, http.StatusBadRequest)
		eva.post("/console/o/globex/searchable/", "searchable_metadata", "").is(f.T, http.StatusNotFound)
		eva.post("/console/o/acme/searchable/", "searchable_metadata", "").is(f.T, http.StatusSeeOther)
		assert.NotContains(f, eva.get("/console/o/acme/projects/").body, "address.city</textarea>")
	})
}

func TestProjects(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		eva := f.as(f.operator("eva", users.RoleAdministrator))
		made := eva.post("/console/o/acme/projects/", "slug", "blog", "name", "Blog").is(f.T, http.StatusSeeOther)
		assert.Equal(f, "/console/o/acme/p/blog/?done=created-project", made.Header.Get("Location"))
		taken := eva.post("/console/o/acme/projects/", "slug", "blog", "name", "B").is(f.T, http.StatusBadRequest)
		assert.Contains(f, taken.text(), "this slug is taken")
		assert.Contains(f, taken.body, `id="organization" name="organization" type="text" value="Company"`, "the other form shows what is")
		eva.post("/console/o/globex/projects/", "slug", "x", "name", "X").is(f.T, http.StatusNotFound)

		eva.post("/console/o/acme/p/blog/name/", "name", "Weblog").is(f.T, http.StatusSeeOther)
		eva.post("/console/o/acme/p/blog/name/", "name", "Weblog").is(f.T, http.StatusSeeOther)
		eva.post("/console/o/acme/p/blog/name/", "name", " ").is(f.T, http.StatusBadRequest)
		eva.post("/console/o/acme/p/none/name/", "name", "N").is(f.T, http.StatusNotFound)
		eva.post("/console/o/acme/name/", "organization", "Acme Inc.").is(f.T, http.StatusSeeOther)
		wrong := eva.post("/console/o/acme/name/", "organization", strings.Repeat("x", 300)).is(f.T, http.StatusBadRequest)
		assert.Contains(f, wrong.text(), "is longer than 200 characters")
		page := eva.get("/console/o/acme/projects/").is(f.T, http.StatusOK).text()
		assert.Contains(f, page, "Weblog blog")
		assert.Contains(f, eva.get("/console/o/acme/projects/").body, `value="Acme Inc."`)

		var said []string
		for _, e := range f.entries("acme") {
			said = append(said, string(e.Action)+" "+e.Object)
		}
		assert.Equal(f, []string{"organization.update acme", "project.update acme/p/blog", "project.create acme/p/blog"}, said, "repeating changes nothing")

		viewer := f.as(f.operator("bob", users.RoleViewer))
		assert.NotContains(f, viewer.get("/console/o/acme/projects/").is(f.T, http.StatusOK).text(), "New project")
		shop := viewer.get("/console/o/acme/p/shop/").is(f.T, http.StatusOK).text()
		assert.Contains(f, shop, "Web web")
		assert.Contains(f, shop, "all")
		assert.Contains(f, shop, "The organization's channels are used")
		assert.NotContains(f, shop, "Save")
	})
}
