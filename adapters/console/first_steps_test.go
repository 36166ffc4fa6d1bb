package console_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/users"
)

// stepLinks returns the links of the steps of an organization's home page, in their order.
func stepLinks(page answer) (links []string) {
	_, list, _ := strings.Cut(page.body, `<ol class="steps">`)
	list, _, _ = strings.Cut(list, "</ol>")
	for _, found := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(list, -1) {
		links = append(links, found[1])
	}
	return links
}

func TestFirstSteps(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		root := f.as(f.account("root", true))
		root.post("/console/organizations/", "slug", "fresh", "name", "Fresh").is(f.T, http.StatusSeeOther)
		const home = "/console/o/fresh/"
		// look checks which steps are done, and that each leads to a page.
		look := func(states string, leads ...string) {
			f.Helper()
			page := root.get(home).is(f.T, http.StatusOK)
			said := ""
			for _, state := range regexp.MustCompile(`<li><span class="state ?(done)?">`).FindAllStringSubmatch(page.body, -1) {
				said += map[string]string{"": "-", "done": "x"}[state[1]]
			}
			assert.Equal(f, states, said)
			links := stepLinks(page)
			assert.Equal(f, leads, links)
			for _, to := range links {
				to, anchor, _ := strings.Cut(to, "#")
				assert.Contains(f, root.get(to).is(f.T, http.StatusOK).body, `id="`+anchor)
			}
		}
		look("-----", home+"channels/new/", home+"channels/new/", home+"imports/", home+"projects/", home+"projects/")

		channel := created(root, home, "name", "mail", "active", "true", "settings.host", "h")
		look("x----", home+"channels/", channel+"#test", home+"imports/", home+"projects/", home+"projects/")
		f.post.answer = errors.New("connection refused")
		root.post(channel+"test/", "to", "eve@example.org").is(f.T, http.StatusOK)
		look("x----", home+"channels/", channel+"#test", home+"imports/", home+"projects/", home+"projects/")
		f.post.answer = nil
		root.post(channel+"test/", "to", "eve@example.org").is(f.T, http.StatusOK)
		f.person("fresh", "boss", users.RoleAdministrator, false)
		look("xx---", home+"channels/", channel+"#test", home+"imports/", home+"projects/", home+"projects/")
		f.person("fresh", "ada", users.RoleMember, false)
		root.post(home+"projects/", "slug", "shop", "name", "Shop").is(f.T, http.StatusSeeOther)
		look("xxx--", home+"channels/", channel+"#test", home+"imports/", home+"p/shop/a/", home+"p/shop/a/")
		root.post(home+"p/shop/a/", "slug", "web", "name", "Web").is(f.T, http.StatusSeeOther)
		const web = home + "p/shop/a/web/"
		look("xxx--", home+"channels/", channel+"#test", home+"imports/", web+"e/", web+"e/")
		root.post(web+"e/", "slug", "tick", "name", "Tick", "active", "true").is(f.T, http.StatusSeeOther)
		look("xxxx-", home+"channels/", channel+"#test", home+"imports/", web+"e/", web+"e/tick/live/")
	})
}

func TestNoFirstStepsAfterTheFirstMessage(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const home = "/console/o/acme/"
		bob := f.as(f.operator("bob", users.RoleViewer))
		begun := bob.get(home).is(f.T, http.StatusOK)
		assert.Contains(f, begun.text(), "Your first message")
		assert.Empty(f, stepLinks(begun), "a viewer does none of it")
		eve := f.as(f.operator("eve", users.RoleOperator))
		assert.Equal(f, []string{home + "imports/"}, stepLinks(eve.get(home)), "an operator imports")

		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		f.fails(f.newOccurrence())
		assert.Contains(f, bob.get(home).text(), "Your first message", "it has failed")
		f.newOccurrence()
		f.fails(0)
		assert.NotContains(f, bob.get(home).text(), "Your first message")
	})
}
