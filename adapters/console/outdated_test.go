package console_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/users"
)

// TestOutdatedForms is about forms of objects that somebody else changes before they are sent.
func TestOutdatedForms(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		ada, bob := f.as(f.operator("ada", users.RoleAdministrator)), f.as(f.operator("bob", users.RoleAdministrator))
		notice, mail := idText(f.notificationOf("tick").ID), idText(f.channel(app.Path{Organization: "acme"}, "mail").ID)
		channel := []string{"settings.host", "h", "weight", "100"}
		for path, c := range map[string]struct {
			ofAda, ofBob  []string
			typed, stored string // what the form of Ada shows again, and of Bob's change
		}{
			created(ada, atAcme, append(channel, "name", "second", "active", "true")...): {append(channel, "active", "true", "pool", "of-ada"), channel, `value="of-ada"`, "Active Stored now: no Messages go"},
			ofEvent + "tick/":                              {[]string{"name", "Tick of Ada"}, []string{"name", "Tick", "description", "of Bob"}, `value="Tick of Ada"`, "Description optional Stored now: of Bob"},
			ofEvent + "tick/channels/":                     {[]string{"priority", "bulk"}, []string{"priority", "normal", "channels", mail}, `value="bulk" selected`, "Stored now: mail (EMAIL, of the organization)"},
			ofEvent + "tick/n/" + notice + "/":             {[]string{"name", "Ticks of Ada", "active", "true"}, []string{"name", "Ticks"}, `value="Ticks of Ada"`, "Stored now: Ticks"},
			web + "settings/":                              {[]string{"name", "Web of Ada", "active", "true"}, []string{"name", "Web"}, `value="Web of Ada"`, "Active Stored now: no"},
			shop + "d/" + f.listNamed("acme", "all") + "/": {[]string{"name", "of Ada"}, []string{"name", "of Bob"}, `value="of Ada"`, "Stored now: of Bob"},
		} {
			send := func(b *browser, shown string, fields []string) answer {
				return b.post(path, append([]string{"shown", shown}, fields...)...)
			}
			digest := func(page answer) string {
				found := hiddenDigest.FindStringSubmatch(page.body)
				require.NotNil(f, found, path)
				return found[1]
			}
			first := digest(ada.get(path).is(f.T, http.StatusOK))
			send(bob, digest(bob.get(path)), c.ofBob).is(f.T, http.StatusSeeOther)
			before := len(f.entries("acme"))

			late := send(ada, first, c.ofAda).is(f.T, http.StatusBadRequest)
			assert.Contains(f, late.text(), "It was changed in the meantime: nothing was saved; save again to replace that change.", path)
			assert.Contains(f, late.body, c.typed, path)
			assert.Contains(f, late.text(), c.stored, path)
			assert.Len(f, f.entries("acme"), before, "%s: nothing is written", path)
			send(ada, digest(late), c.ofAda).is(f.T, http.StatusSeeOther)
			assert.Len(f, f.entries("acme"), before+1, "%s: who was told may replace it", path)
			send(ada, first, c.ofAda).is(f.T, http.StatusSeeOther)
			assert.Len(f, f.entries("acme"), before+1, "%s: what changes nothing is no conflict", path)
		}
	})
}
