package console_test

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
)

const ofPartial = atAcme + "partials/"

func TestPartials(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		assert.Contains(f, b.get(ofPartial).is(f.T, http.StatusOK).text(), "No partial yet.")
		made := b.post(ofPartial, "name", " footer ", "description", "Below", "text", "-- \r\n{{organization.name}}", "html", "<hr>").is(f.T, http.StatusSeeOther)
		assert.Equal(f, ofPartial+"footer/?done=created-partial", made.Header.Get("Location"))
		assert.Contains(f, b.get(ofPartial).text(), "footer Below yes yes 1")
		page := b.get(ofPartial+"footer/").is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "In a template {{> footer}} Version 1")
		assert.Contains(f, page.body, ">\n-- \n{{organization.name}}</textarea>")
		assert.Contains(f, page.text(), "Not used anywhere.")

		b.post(ofPartial+"footer/", "text", "Bye\n<b>", "base", "1").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(ofPartial).text(), "footer yes none 2")
		assert.Regexp(f, `2 current .* UTC ada 1 .* UTC ada`, b.get(ofPartial+"footer/versions/").is(f.T, http.StatusOK).text())
		old := b.get(ofPartial+"footer/versions/1/").is(f.T, http.StatusOK)
		assert.Contains(f, old.body, `<ins><span class="hidden">added: </span>+ Bye</ins>`)
		assert.Contains(f, old.body, "&lt;hr&gt;</pre>")
		assert.Contains(f, b.post(ofPartial+"footer/versions/1/", "base", "1").Header.Get("Location"), "?done=outdated-partial")
		b.post(ofPartial+"footer/versions/1/", "base", "2").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(ofPartial).text(), "footer Below yes yes 3")
		b.post(ofPartial+"footer/versions/9/", "base", "3").is(f.T, http.StatusNotFound)
		assert.Contains(f, b.get(atAcme+"audit/").body, `href="`+ofPartial+`footer/"`)

		assert.Contains(f, b.post(ofPartial+"footer/delete/", "base", "2").Header.Get("Location"), "?done=outdated-partial")
		b.post(ofPartial+"footer/delete/", "base", "3").is(f.T, http.StatusSeeOther)
		b.get(ofPartial+"footer/").is(f.T, http.StatusNotFound)
		b.post(ofPartial+"footer/", "text", "x", "base", "0").is(f.T, http.StatusNotFound)
		assert.Equal(f, []string{"partial.delete acme/partials/footer", "partial.update acme/partials/footer", "partial.update acme/partials/footer", "partial.create acme/partials/footer"}, f.actions(4))
	})
}

func TestPartialFormErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	b.post(ofPartial, "name", "footer", "text", "x").is(t, http.StatusSeeOther)
	for name, c := range map[string]struct{ field, text, html, said string }{
		"Syntax":   {"text", "typed\n{{#a}}", "<hr>", `line 2: section "a" is never closed`},
		"HTML":     {"html", "typed", "{{/a}}", `line 1: section "a" is closed but was not opened`},
		"Unknown":  {"text", "typed {{> foter2}}", "", `line 1: there is no partial "foter2"`},
		"Empty":    {"text", "", "", "a partial needs a text, HTML or both"},
		"TooLarge": {"html", "typed", strings.Repeat("é", events.MaxPartialBody/2+1), "is longer than 64 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			for to, named := range map[string]string{ofPartial: "new", ofPartial + "footer/": ""} {
				got := b.post(to, "name", named, "description", "kept", "text", c.text, "html", c.html, "base", "1").is(t, http.StatusBadRequest)
				assert.Contains(t, got.text(), c.said, to)
				assert.Contains(t, got.body, `id="`+c.field+`-faults"`, to)
				assert.Contains(t, got.body, ">\n"+html.EscapeString(c.text)+"</textarea>")
				assert.Contains(t, got.body, `value="kept"`)
			}
		})
	}
	for name, said := range map[string]string{"footer": "the organization has a partial of this name", "Foot er": "must consist of lower-case letters", "": "is required"} {
		got := b.post(ofPartial, "name", name, "text", "typed").is(t, http.StatusBadRequest)
		assert.Contains(t, got.text(), said)
		assert.Contains(t, got.body, `id="name-faults"`)
		assert.Contains(t, got.body, ">\ntyped</textarea>")
	}
	assert.Len(t, f.entries("acme"), 1, "nothing of it was stored")
}

func TestPartialInUse(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		b.post(ofPartial, "name", "footer", "text", "we").is(f.T, http.StatusSeeOther)
		b.post(ofPartial+"footer/", "text", "{{$who}}we{{/who}}", "base", "1").is(f.T, http.StatusSeeOther)
		b.post(ofPartial, "name", "frame", "text", "{{> footer}}").is(f.T, http.StatusSeeOther)
		b.post(f.editor(), "text", "{{<footer}}{{$who}}they{{/who}}{{/footer}}", "base", "1").is(f.T, http.StatusSeeOther)

		got := b.post(ofPartial+"footer/", "text", "typed", "base", "2").is(f.T, http.StatusBadRequest)
		const broken = `Templates that use the partial could not be rendered any more: event web/tick, channel mail: text: line 1: partial "footer" has no block "who"`
		assert.Contains(f, got.text(), broken)
		assert.Contains(f, b.post(ofPartial+"footer/versions/1/", "base", "2").is(f.T, http.StatusBadRequest).text(), broken)
		assert.Contains(f, got.body, ">\ntyped</textarea>")

		refused := b.post(ofPartial+"footer/delete/", "base", "2").is(f.T, http.StatusBadRequest)
		assert.Contains(f, refused.text(), `The partial "footer" is used by`)
		for _, page := range []answer{refused, b.get(ofPartial + "footer/")} {
			assert.Contains(f, page.body, `event <a href="`+ofEvent+`tick/"><bdi>`)
			assert.Contains(f, page.body, `partial <a href="`+ofPartial+`frame/"><bdi>frame</bdi></a>`)
		}
		assert.Contains(f, b.get(ofEvent+"tick/").body, `<a href="`+ofPartial+`">partial</a>`)
		b.header.Set("Accept-Language", "de")
		assert.Contains(f, b.post(ofPartial+"footer/", "text", "typed", "base", "2").text(), "ließe sich keine Nachricht mehr erzeugen: Ereignis web/tick")
	})
}

// TestPreviewPartial previews a partial with a sample recipient and with a member. The preview has
// the included partials, leaves blocks unchanged, and stores nothing.
func TestPreviewPartial(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		f.person("acme", "eve", users.RoleMember, false)
		b.post(ofPartial, "name", "inner", "text", "of {{organization.name}}", "html", "<i>inner</i>").is(f.T, http.StatusSeeOther)
		b.post(ofPartial, "name", "footer", "text", "Dear {{user.username}}, {{> inner}}", "html", "<b>{{$content}}nothing yet{{/content}}</b>{{> inner}}").is(f.T, http.StatusSeeOther)
		page := b.get(ofPartial+"footer/").is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "For a sample recipient, ada@example.org")
		assert.Contains(f, page.text(), "Dear ada@example.org, of Company")
		assert.Contains(f, page.body, ` src="`+ofPartial+`footer/html/"`)
		assert.Equal(f, "<b>nothing yet</b><i>inner</i>", b.get(ofPartial+"footer/html/").is(f.T, http.StatusOK).body)

		draft := []string{"description", "kept", "text", "{{context.order}} for {{user.username}}, {{context.none}}", "html", "<u>{{context.order}}</u>", "user", "EVE", "example", `{"order": 7}`, "base", "1"}
		typed := b.post(ofPartial+"footer/preview/", draft...).is(f.T, http.StatusOK)
		assert.Contains(f, typed.text(), "7 for eve,")
		assert.Contains(f, typed.text(), "Variables without a value here: context.none (text, line 1)")
		assert.Contains(f, typed.body, `value="kept"`)
		assert.Equal(f, "<u>7</u>", b.post(ofPartial+"footer/html/", draft...).is(f.T, http.StatusOK).body)
		b.header.Set("HX-Request", "true")
		piece := b.post(ofPartial+"footer/preview/", draft...).is(f.T, http.StatusOK)
		assert.True(f, strings.HasPrefix(piece.body, `<section id="preview"`), piece.body)
		wrong := b.post(ofPartial+"footer/preview/", "text", "a\n{{#b}}", "html", "{{> nothing}}").is(f.T, http.StatusOK)
		assert.Contains(f, wrong.text(), "Cannot preview:")
		assert.Contains(f, wrong.body, `<div id="text-now" hx-swap-oob="true"><ul class="faults">`)
		b.header.Del("HX-Request")
		missing := b.post(ofPartial+"footer/preview/", "html", "{{> nothing}}").is(f.T, http.StatusBadRequest)
		assert.Contains(f, missing.text(), `there is no partial "nothing"`)
		b.post(ofPartial+"other/preview/", draft...).is(f.T, http.StatusNotFound)
		b.post(ofPartial+"other/html/", draft...).is(f.T, http.StatusNotFound)
		assert.Contains(f, b.get(ofPartial).text(), "footer yes yes 1", "nothing was saved")
	})
}

// TestPreviewNewPartial checks that what is typed for a partial that is not there yet is shown
// as somebody would get it, kept, and not stored.
func TestPreviewNewPartial(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		const draft = atAcme + "new-partial/"
		f.person("acme", "eve", users.RoleMember, false)
		b.post(ofPartial, "name", "inner", "text", "of {{organization.name}}", "html", "<i>inner</i>").is(f.T, http.StatusSeeOther)
		page := b.get(ofPartial).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "Nothing to preview yet.")
		assert.NotContains(f, page.text(), "Cannot preview", "nothing is wrong with what is not begun")

		typed := []string{"name", "Not a name", "description", "kept", "text", "{{context.order}} for {{user.username}}, {{> inner}}", "html", "<u>{{context.order}}</u>{{> inner}}",
			"user", "eve", "example", `{"order": 7}`}
		page = b.post(draft+"preview/", typed...).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "7 for eve, of Company")
		assert.Contains(f, page.body, `value="Not a name"`)
		assert.Contains(f, page.body, `value="kept"`)
		assert.Contains(f, page.body, `hx-post="`+draft+`preview/"`)
		assert.Equal(f, "<u>7</u><i>inner</i>", b.post(draft+"html/", typed...).is(f.T, http.StatusOK).body)
		refused := b.post(ofPartial, typed...).is(f.T, http.StatusBadRequest)
		assert.Contains(f, refused.text(), "7 for eve, of Company", "the preview stays when the name is refused")
		assert.Contains(f, b.post(draft+"preview/", "text", "{{#b}}").is(f.T, http.StatusBadRequest).body, `id="text-faults"`)

		b.header.Set("HX-Request", "true")
		piece := b.post(draft+"preview/", typed...).is(f.T, http.StatusOK)
		assert.True(f, strings.HasPrefix(piece.body, `<section id="preview"`), piece.body)
		wrong := b.post(draft+"preview/", "text", "a\n{{#b}}").is(f.T, http.StatusOK)
		assert.Contains(f, wrong.body, `<div id="text-now" hx-swap-oob="true"><ul class="faults">`)
		_, kept, err := f.use.Templates.Partials(f.Context(), "acme")
		require.NoError(f, err)
		assert.Len(f, kept, 1, "nothing was saved")
	})
}

func TestPartialConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada, bob := f.as(f.operator("ada", users.RoleAdministrator)), f.as(f.operator("bob", users.RoleAdministrator))
	ada.post(ofPartial, "name", "footer", "text", "one").is(t, http.StatusSeeOther)
	bob.post(ofPartial+"footer/", "text", "of bob", "base", "1").is(t, http.StatusSeeOther)
	for _, base := range []string{"", "x", "0", "-9223372036854775808", "1", "3"} {
		got := ada.post(ofPartial+"footer/", "text", "of ada", "base", base).is(t, http.StatusConflict)
		assert.Contains(t, got.text(), "bob saved this partial in the meantime. Yours is below and not saved.")
		assert.Contains(t, got.body, `<del><span class="hidden">removed: </span>- of bob</del><ins><span class="hidden">added: </span>+ of ada</ins>`)
		assert.Contains(t, got.body, ">\nof ada</textarea>")
		assert.Contains(t, got.body, `name="base" value="2"`)
	}
	ada.post(ofPartial+"footer/", "text", "of ada", "base", "2").is(t, http.StatusSeeOther)
}

func TestPartialRights(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root, viewer := f.as(f.account("root", true)), f.as(f.operator("vera", users.RoleViewer))
	root.post(ofPartial, "name", "footer", "description", "Below", "text", "<of acme>").is(t, http.StatusSeeOther)
	page := viewer.get(ofPartial+"footer/").is(t, http.StatusOK)
	assert.Contains(t, page.text(), "<of acme>")
	assert.NotContains(t, page.body, `name="save"`)
	assert.NotContains(t, page.body, `footer/delete/`)
	assert.Contains(t, viewer.post(ofPartial+"footer/preview/", "text", "typed by {{organization.name}}").is(t, http.StatusOK).text(), "typed by Company", "as of a template")
	assert.Equal(t, "<b>x</b>", viewer.post(ofPartial+"footer/html/", "html", "<b>x</b>").is(t, http.StatusOK).body)
	for _, to := range []string{ofPartial, ofPartial + "footer/", ofPartial + "footer/versions/", ofPartial + "footer/versions/1/"} {
		if got := viewer.get(to).is(t, http.StatusOK).body; to != ofPartial+"footer/" {
			assert.NotContains(t, got, `method="post" action="`+ofPartial, to)
		}
		root.get(strings.Replace(to, "acme", "globex", 1)).is(t, map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[to == ofPartial])
	}
	theirs := strings.Replace(ofPartial, "acme", "globex", 1) + "footer/"
	for _, to := range []string{theirs, theirs + "delete/", theirs + "versions/1/"} {
		root.post(to, "text", "x", "base", "1").is(t, http.StatusNotFound)
	}
	_, kept, err := f.use.Templates.Partials(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, kept, 1)
	assert.Empty(t, f.entries("globex"))
	assert.Equal(t, []any{"footer", "<of acme>", 1}, []any{kept[0].Name, kept[0].Text, kept[0].Version})
}

func TestDeliveryShowsTheSentPartials(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		b := f.as(f.operator("bob", users.RoleAdministrator))
		b.post(ofPartial, "name", "inner", "text", "inner of then").is(f.T, http.StatusSeeOther)
		b.post(ofPartial, "name", "outer", "text", "outer: {{> inner}}").is(f.T, http.StatusSeeOther)
		b.post(f.editor(), "subject", "s", "text", "{{> outer}}", "base", "1").is(f.T, http.StatusSeeOther)
		id := f.newOccurrence()
		one := fmt.Sprintf("%sd/%d/", occurrencePath(id), f.delivery(id))
		f.fails(id)
		assert.Contains(f, b.get(one).text(), "The template has not changed since.")

		f.clock.Advance(time.Minute)
		b.post(ofPartial+"inner/", "text", "inner of now", "base", "1").is(f.T, http.StatusSeeOther)
		page := b.get(one)
		assert.Contains(f, page.text(), "outer: inner of then")
		assert.Contains(f, page.text(), "Partials that have changed since are shown as they were then: inner .")
		assert.NotContains(f, page.text(), "has not changed since")
		assert.Contains(f, page.body, `<a href="`+ofPartial+`inner/">`)

		for n := range events.MaxVersions {
			b.post(ofPartial+"inner/", "text", fmt.Sprintf("number %d", n), "base", strconv.Itoa(n+2)).is(f.T, http.StatusSeeOther)
		}
		page = b.get(one)
		assert.Contains(f, page.text(), "are shown in their oldest version: inner .")
		assert.Contains(f, page.text(), "outer: number 0")
		assert.NotContains(f, page.text(), "has not changed since")
	})
}
