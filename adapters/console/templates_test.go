package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// editor returns the path of the template of acme's event for its channel mail.
func (f *fixture) editor() string {
	f.Helper()
	return ofEvent + "tick/t/" + idText(f.channel(app.Path{Organization: "acme"}, "mail").ID) + "/"
}

// stranger checks the headers of an answer with a document of others: browsers run no scripts, load
// nothing, and isolate it from our pages.
func (a answer) stranger(t *testing.T) answer {
	t.Helper()
	a.is(t, http.StatusOK)
	assert.Equal(t, "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
		a.Header.Get("Content-Security-Policy"))
	assert.Equal(t, "SAMEORIGIN", a.Header.Get("X-Frame-Options"))
	assert.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"))
	assert.Equal(t, "text/html; charset=UTF-8", a.Header.Get("Content-Type"))
	assert.Equal(t, "no-store", a.Header.Get("Cache-Control"))
	return a
}

// dangerous is HTML that does all that a message must not do in the console.
const dangerous = `<style>@import "https://evil.example/a.css"; body { background: url(https://evil.example/b) }</style><script>alert(1)</script><img src=x onerror=alert(2)>
<a href="javascript:alert(3)" target="_top">x</a><meta http-equiv="refresh" content="0;url=https://evil.example/"><form action="/console/account/sessions/end/" method="post"><button>x</button></form>
<base href="https://evil.example/"><iframe src="/console/"></iframe><svg onload=alert(4)></svg><link rel=stylesheet href="https://evil.example/c.css">`

func TestSaveTemplate(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		path := f.editor()
		page := b.get(path).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "Version 1")
		b.post(path, "subject", "Hello", "text", "a\r\nb\r\n", "html", "<p>{{user.first_name}}", "base", "1").is(f.T, http.StatusSeeOther)
		stored := f.storedTemplate()
		assert.Equal(f, []any{2, "Hello", "a\nb\n", "<p>{{user.first_name}}"}, []any{stored.Version, stored.Subject, stored.Text, stored.HTML})
		e := f.entries("acme")[0]
		assert.Equal(f, "template.update acme/p/shop/a/web/e/tick/t/mail", fmt.Sprintf("%s %s", e.Action, e.Object))
		assert.NotContains(f, fmt.Sprint(e), "first_name", "a text is not told, only that it is another")
		b.post(path, "subject", "Hello", "text", "a\nb\n", "html", "<p>{{user.first_name}}", "base", "2").is(f.T, http.StatusSeeOther)
		assert.Equal(f, 2, f.storedTemplate().Version, "again it changes nothing")

		own := ofEvent + "tick/n/" + idText(f.notificationOf("tick").ID) + "/t/" + regexp.MustCompile(`\d+/$`).FindString(path)
		assert.Contains(f, b.get(own).text(), "none of its own; the event's is used")
		b.post(own, "text", "own", "base", "0").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(own).text(), "Version 1")
		assert.Equal(f, []string{"template.create acme/p/shop/a/web/e/tick/n/Ticks/t/mail"}, f.actions(1))
		assert.Contains(f, b.get(ofEvent+"tick/n/"+idText(f.notificationOf("tick").ID)+"/").text(), "mail EMAIL version 1")
		b.post(own+"delete/", "base", "1").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(ofEvent+"tick/n/"+idText(f.notificationOf("tick").ID)+"/").text(), "mail EMAIL of the event Hello")
		assert.Equal(f, []string{"template.delete acme/p/shop/a/web/e/tick/n/Ticks/t/mail"}, f.actions(1))
		b.post(own+"delete/", "base", "0").is(f.T, http.StatusNotFound)
	})
}

func TestTemplateConflict(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		ada, bob := f.as(f.operator("ada", users.RoleAdministrator)), f.as(f.operator("bob", users.RoleAdministrator))
		path := f.editor()
		bob.post(path, "subject", "s", "text", "one\ntwo of bob\nthree", "base", "1").is(f.T, http.StatusSeeOther)
		got := ada.post(path, "subject", "s", "text", "one\ntwo of ada\nthree", "base", "1").is(f.T, http.StatusConflict)
		assert.Contains(f, got.text(), "bob saved this template in the meantime. Yours is below and not saved.")
		assert.Contains(f, got.body, "<del><span class=\"hidden\">removed: </span>- two of bob</del><ins><span class=\"hidden\">added: </span>+ two of ada</ins>")
		assert.Contains(f, got.body, ">\none\ntwo of ada\nthree</textarea>")
		assert.Contains(f, got.body, `name="base" value="2"`)
		assert.Contains(f, f.storedTemplate().Text, "bob")
		ada.post(path, "subject", "s", "text", "one\ntwo of ada\nthree", "base", "2").is(f.T, http.StatusSeeOther)
		assert.Contains(f, f.storedTemplate().Text, "ada")

		for _, base := range []string{"", "x", "-1", "-9223372036854775808", "0", "2", "4"} {
			ada.post(path, "text", "lost", "base", base).is(f.T, http.StatusConflict)
			assert.Contains(f, ada.post(path+"delete/", "base", base).Header.Get("Location"), "?done=outdated")
			assert.Contains(f, ada.post(path+"versions/1/", "base", base).Header.Get("Location"), "?done=outdated")
		}
		assert.Equal(f, 3, f.storedTemplate().Version)
	})
}

func TestTemplateVersions(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		path := f.editor()
		b.post(path, "subject", "s", "text", "second\n<b>", "base", "1").is(f.T, http.StatusSeeOther)
		f.apply(app.BlueprintOrganization{Projects: []app.BlueprintProject{{Slug: "shop", Name: "Shop", Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true,
			Events: []app.BlueprintEvent{{Slug: "tick", Name: "Tick", Active: true, Templates: []app.BlueprintTemplate{{Channel: "mail", Subject: "s", Text: "applied"}}}}}}}}})
		assert.Regexp(f, `3 current .* UTC eva 2 .* UTC ada 1 .* UTC`, b.get(path+"versions/").text())
		page := b.get(path+"versions/2/").is(f.T, http.StatusOK)
		assert.Contains(f, page.body, "- second</del><del><span class=\"hidden\">removed: </span>- &lt;b&gt;</del><ins><span class=\"hidden\">added: </span>+ applied</ins>")
		assert.Contains(f, page.text(), "by ada")
		viewer := f.as(f.operator("bob", users.RoleViewer))
		assert.NotContains(f, viewer.get(path+"versions/2/").is(f.T, http.StatusOK).body, "Restore this version")
		b.post(path+"versions/2/", "base", "3").is(f.T, http.StatusSeeOther)
		stored := f.storedTemplate()
		assert.Equal(f, []any{4, "second\n<b>"}, []any{stored.Version, stored.Text})
		assert.Equal(f, []string{"template.update acme/p/shop/a/web/e/tick/t/mail"}, f.actions(1))
		b.post(path+"versions/9/", "base", "4").is(f.T, http.StatusNotFound)
	})
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		path := f.editor()
		draft := []string{"subject", "Hello", "markdown", "# Hello {{context.name}}\r\n\r\n- [open](https://example.org)\r\n", "example", `{"name": "<b>[x](y)"}`}
		p := b.post(path+"preview/", draft...).is(f.T, http.StatusOK)
		assert.Contains(f, p.text(), "Hello <b>[x](y) - open (https://example.org)", "the text is made from it")
		const rendered = "<h1>Hello &lt;b&gt;[x](y)</h1>\n<ul>\n<li><a href=\"https://example.org\">open</a></li>\n</ul>\n"
		assert.Equal(f, rendered, b.post(path+"html/", draft...).stranger(f.T).body)
		b.post(path, append(draft, "base", "1")...).is(f.T, http.StatusSeeOther)
		stored := f.storedTemplate()
		assert.Equal(f, []any{2, "", "", "# Hello {{context.name}}\n\n- [open](https://example.org)\n"}, []any{stored.Version, stored.Text, stored.HTML, stored.Markdown})
		assert.Contains(f, b.get(path).body, "# Hello {{context.name}}")
		assert.Contains(f, b.get(path+"html/").stranger(f.T).body, "<h1>Hello ")
		b.post(path, "subject", "Hello", "html", "<p>", "base", "2").is(f.T, http.StatusSeeOther)
		v := b.get(path+"versions/2/").is(f.T, http.StatusOK)
		assert.Contains(f, v.text(), "Markdown removed: - # Hello {{context.name}}")
		b.post(path+"versions/2/", "base", "3").is(f.T, http.StatusSeeOther)
		assert.True(f, f.storedTemplate().SameContent(stored))

		large := strings.Repeat("x", 20_000)
		for source, said := range map[string]string{"{{{context.a}}}{{{context.a}}}": "line 1: the Markdown is larger than 32 KiB",
			"[a]: {{context.a}}\n\n" + strings.Repeat("[a] ", 80): "as HTML: the message is larger than 1 MiB"} {
			got := b.post(path+"preview/", "markdown", source, "example", `{"a": "`+large+`"}`).is(f.T, http.StatusBadRequest)
			assert.Contains(f, got.text(), said)
			assert.Contains(f, got.body, `id="markdown-faults"`)
		}
		both := b.post(path, "html", "<p>", "markdown", "x", "base", "4").is(f.T, http.StatusBadRequest)
		assert.Contains(f, both.body, `id="markdown-faults"`)
		assert.Contains(f, both.text(), "the body is either HTML or Markdown")
	})
}

func TestMarkdownNeedsAChannelWithHTML(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.apply(app.BlueprintOrganization{Channels: []app.BlueprintChannel{{Name: "chat", Protocol: "SLACK", Driver: "mailbox", Active: true}}})
	b := f.as(f.operator("ada", users.RoleAdministrator))
	path := ofEvent + "tick/t/" + idText(f.channel(app.Path{Organization: "acme"}, "chat").ID) + "/"
	assert.NotContains(t, b.get(path).is(t, http.StatusOK).body, `id="markdown"`)
	for _, to := range []string{path, path + "preview/", path + "test/"} {
		got := b.post(to, "markdown", "x", "base", "0", "to", "x").is(t, http.StatusBadRequest)
		assert.Contains(t, got.text(), "is for channels whose messages have HTML; those of SLACK have none", to)
		assert.Contains(t, got.body, `id="markdown"`, "what was typed is not lost")
	}
	b.post(path, "text", "x", "base", "0").is(t, http.StatusSeeOther)
}

func TestPreviewTemplate(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		eve := f.person("acme", "eve", users.RoleMember, false)
		f.person("globex", "mallory", users.RoleMember, false)
		f.addToList("eve")
		f.update(func(tx ports.Tx) error {
			eve.CustomFields = metadata.Map{"city": "<Wien>"}
			return tx.Users().SaveFields(f.Context(), eve)
		})
		b := f.as(f.operator("bob", users.RoleViewer))
		path := f.editor()
		const all = "{{user.first_name}} {{user.custom_fields.city}} {{address}} {{context.n}} {{event.slug}} {{channel.name}} {{organization.slug}} {{{context.raw}}}"
		draft := []string{"subject", all, "text", all, "html", "<i>" + all, "example", `{"n": 1.50, "raw": "<b>"}`}
		p := b.post(path+"preview/", append(draft, "user", " EVE ")...).is(f.T, http.StatusOK)
		const plain = "First <Wien> eve@example.org 1.50 tick mail acme <b>"
		assert.Equal(f, 2, strings.Count(p.text(), plain), "subject and text are as they are: %s", p.text())
		h := b.post(path+"html/", append(draft, "user", "eve")...).stranger(f.T)
		assert.Equal(f, "<i>First &lt;Wien&gt; eve@example.org 1.50 tick mail acme <b>", h.body)
		assert.Contains(f, b.post(path+"preview/", draft...).text(), "For a sample recipient, ada@example.org")
		assert.Contains(f, b.get(path+"?user=eve").text(), "For eve , eve@example.org")
		b.get(path + "html/?user=eve").stranger(f.T)
		assert.NotContains(f, p.body, "unsubscribe", "its link is the recipient's alone")
		assert.NotContains(f, p.text(), "Variables without a value")
		assert.Contains(f, b.post(path+"preview/", "text", "a\n{{context.x}} {{user.first_name}}", "markdown", "{{context.y}}").text(),
			"Variables without a value here: context.x (text, line 2) context.y (markdown, line 1)")
		assert.Empty(f, f.entries("acme"))
		assert.Equal(f, 1, f.storedTemplate().Version, "nothing was saved")

		b.header.Set("Hx-Request", "true")
		piece := b.post(path+"preview/", append(draft, "user", "eve")...).is(f.T, http.StatusOK)
		assert.True(f, strings.HasPrefix(piece.body, `<section id="preview"`), piece.body)
		assert.Contains(f, piece.text(), plain)
		wrong := b.post(path+"preview/", "text", "a\n{{#b}}", "html", "{{").is(f.T, http.StatusOK)
		assert.Contains(f, wrong.body, `<div id="text-now" hx-swap-oob="true"><ul class="faults"><li><bdi>line 2: section &#34;b&#34; is never closed</bdi>`)
	})
}

func TestTemplateFormErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("globex", "mallory", users.RoleMember, false)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	path := f.editor()
	for name, c := range map[string]struct {
		fields []string
		field  string
		said   string
	}{
		"Subject":    {[]string{"subject", "{{#a}}"}, "subject", `line 1: section "a" is never closed`},
		"Text":       {[]string{"text", "\n\n{{/a}}"}, "text", `line 3: section "a" is closed but was not opened`},
		"HTML":       {[]string{"html", "{{> partial}}"}, "html", "line 1: there is no partial"},
		"NoJSON":     {[]string{"example", "{"}, "example", "must be a JSON object"},
		"Nobody":     {[]string{"user", "nobody"}, "user", "is not a member of the organization"},
		"Theirs":     {[]string{"user", "mallory"}, "user", "is not a member of the organization"},
		"WithoutEnd": {[]string{"text", strings.Repeat("{{#context.a}}", 5) + "x" + strings.Repeat("{{/context.a}}", 5), "example", `{"a": [` + strings.Repeat("1,", 200) + `1]}`}, "text", "the message takes too many steps"},
		"TooLong":    {[]string{"subject", strings.Repeat("x", 1001)}, "subject", "is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.post(path+"preview/", c.fields...).is(t, http.StatusBadRequest)
			assert.Contains(t, html.UnescapeString(got.body), c.said)
			assert.Contains(t, got.body, `id="`+c.field+`-faults"`)
			frame := b.post(path+"html/", c.fields...).stranger(t)
			assert.Contains(t, html.UnescapeString(frame.body), c.said[1:])
			if c.field != "example" && c.field != "user" && name != "WithoutEnd" { // Saving asks neither for them nor renders.
				b.post(path, append(c.fields, "base", "1")...).is(t, http.StatusBadRequest)
			}
			b.post(path+"test/", append(c.fields, "to", "eve@example.org")...).is(t, http.StatusBadRequest)
		})
	}
	assert.Empty(t, f.post.messages())
	assert.Empty(t, f.entries("acme"))
}

func TestTemplateVariables(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	path := f.editor()
	b.post(web+"e/tick/", "name", "Tick", "context_schema", `{"properties": {"order": {"type": "integer"}}}`).is(t, http.StatusSeeOther)
	for text, said := range map[string]string{
		"{{ user.frist_name }}": `line 1: there is no variable "user.frist_name", did you mean "user.first_name"?`,
		"\n{{ order }}":         `line 2: there is no variable "order", did you mean "context.order"?`,
		"{{ context.ordr }}":    `line 1: there is no variable "context.ordr", did you mean "context.order"?`,
	} {
		got := b.post(path, "text", text, "base", "1").is(t, http.StatusBadRequest)
		assert.Contains(t, html.UnescapeString(got.body), said)
		assert.Contains(t, got.body, `id="text-faults"`)
	}
	b.post(path, "text", "{{ user.first_name }} {{ context.order }}", "base", "1").is(t, http.StatusSeeOther)
	tried := b.post(web+"e/tick/trigger/", "context", `{"order": "17"}`).is(t, http.StatusBadRequest)
	assert.Contains(t, tried.text(), "/order: got string, want integer")
}

func TestTestTemplate(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "eve", users.RoleMember, false)
		f.person("acme", "tim", users.RoleMember, false)
		f.addToList("eve")
		b := f.as(f.operator("ada", users.RoleAdministrator))
		path := f.editor()
		draft := []string{"subject", "Hello {{user.first_name}}", "text", "{{address}} {{context.n}}", "example", `{"n": 7}`}
		assert.Contains(f, b.post(path+"test/", draft...).is(f.T, http.StatusBadRequest).body, `id="to-faults"`)
		assert.Contains(f, b.post(path+"test/", append(draft, "user", "tim")...).is(f.T, http.StatusBadRequest).text(), "is required unless a user is chosen who has an address of the type email")
		b.post(path+"test/", append(draft, "to", "+4366012345")...).is(f.T, http.StatusBadRequest)
		assert.Empty(f, f.post.messages())
		done := b.post(path+"test/", append(draft, "user", "eve")...).is(f.T, http.StatusOK)
		assert.Contains(f, done.text(), "Send a test Accepted: the provider took the message to eve@example.org.")
		assert.Contains(f, done.body, `value="Hello {{user.first_name}}"`, "what is typed stays")
		f.post.fails(deliveries.Refused("no <such> mailbox"))
		assert.Contains(f, b.post(path+"test/", append(draft, "user", "eve", "to", "me@example.org")...).is(f.T, http.StatusOK).text(), "Its provider said: no <such> mailbox")
		sent := f.post.messages()
		require.Len(f, sent, 2)
		for i, to := range []string{"eve@example.org", "me@example.org"} {
			assert.Equal(f, to, sent[i].To)
			assert.Equal(f, "[Test] Hello First", sent[i].Subject)
			assert.Equal(f, to+" 7", sent[i].Text)
			assert.Equal(f, "true", sent[i].Facts["test"])
			assert.Equal(f, "tick", sent[i].Facts["event"])
			assert.Empty(f, sent[i].Unsubscribe, "whoever gets a test must not unsubscribe somebody else")
			assert.Regexp(f, "^test-", sent[i].ID)
		}
		assert.NotEqual(f, sent[0].ID, sent[1].ID)
		assert.Equal(f, []string{"template.test acme/p/shop/a/web/e/tick/t/mail", "template.test acme/p/shop/a/web/e/tick/t/mail"}, f.actions(9))
		b.post(path+"test/", "text", "only a text", "to", "me@example.org").is(f.T, http.StatusOK)
		assert.Equal(f, "[Test] only a text", f.post.messages()[2].Text)
	})
}

// TestMarkOfTestMessage checks that the mark is in what a channel's messages show.
func TestMarkOfTestMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.apply(app.BlueprintOrganization{Channels: []app.BlueprintChannel{{Name: "text", Protocol: "SMS", Driver: "smtp", Active: true, Settings: map[string]any{"host": "sms.example"}}}})
	b := f.as(f.operator("ada", users.RoleAdministrator))
	for i, c := range []struct{ channel, to, subject, text, html, wantSubject, wantText string }{
		{"mail", "me@example.org", "s", "t", "", "[Test] s", "t"},
		{"mail", "me@example.org", "s", "t", "<p>h</p>", "[Test] s", "t"},
		{"mail", "me@example.org", "", "t", "<p>h</p>", "[Test]", "t"},
		{"mail", "me@example.org", "", "", "<p>h</p>", "[Test]", "h"},
		{"mail", "me@example.org", "", "t", "", "", "[Test] t"},
		{"text", "+4366012345", "s", "t", "", "[Test] s", "[Test] t"},
		{"text", "+4366012345", "", "t", "", "", "[Test] t"},
		{"text", "+4366012345", "", "", "<p>h</p>", "", "[Test] h"},
		{"text", "+4366012345", "s", "", "", "[Test] s", ""},
	} {
		path := ofEvent + "tick/t/" + idText(f.channel(app.Path{Organization: "acme"}, c.channel).ID) + "/test/"
		b.post(path, "subject", c.subject, "text", c.text, "html", c.html, "to", c.to).is(t, http.StatusOK)
		sent := f.post.messages()
		require.Len(t, sent, i+1)
		assert.Equal(t, []string{c.wantSubject, c.wantText}, []string{sent[i].Subject, sent[i].Text}, "%+v", c)
		assert.Equal(t, c.html, sent[i].HTML)
	}
}

func TestPreviewIsSandboxed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	path := f.editor()
	draft := []string{"subject", dangerous, "text", dangerous, "html", dangerous + "{{{context.x}}}", "example", `{"x": "<script>alert(5)</script>"}`}
	b.post(path, append(draft, "base", "1")...).is(t, http.StatusSeeOther)
	b.post(ofEvent+"tick/", "name", "Tick", "example", `{"x": "<script>alert(5)</script>"}`).is(t, http.StatusSeeOther)
	for name, frame := range map[string]answer{"Stored": b.get(path + "html/"), "Typed": b.post(path+"html/", draft...)} {
		frame.stranger(t)
		assert.Equal(t, dangerous+"<script>alert(5)</script>", frame.body, "%s: it is shown as it is, because nothing of it can do anything", name)
	}
	viewer := f.as(f.operator("bob", users.RoleViewer))
	for name, page := range map[string]answer{"Editor": b.get(path), "Preview": b.post(path+"preview/", draft...), "Version": b.get(path + "versions/2/"), "Conflict": b.post(path, append(draft, "base", "1")...),
		"Older": b.get(path + "versions/1/"), "Viewer": viewer.get(path), "Event": b.get(ofEvent + "tick/")} {
		assert.Contains(t, page.body, "alert(", name)
		body := strings.ReplaceAll(page.body, `<iframe sandbox="" name="html-preview"`, "")
		for _, alive := range []string{"<script>", "<img", "<meta http-equiv", `href="javascript:`, "<base", "<iframe", "<svg onload", `action="/console/account/sessions/end/"`, "<link rel=stylesheet"} {
			assert.NotContains(t, body, alive, name)
		}
		assert.Contains(t, page.Header.Get("Content-Security-Policy"), "frame-src 'self'")
		assert.NotContains(t, page.Header.Get("Content-Security-Policy"), "unsafe")
	}
	for _, page := range []answer{b.get(path), b.post(path+"preview/", draft...)} {
		for _, frame := range regexp.MustCompile(`<iframe[^>]*>`).FindAllString(page.body, -1) {
			assert.Contains(t, frame, `sandbox=""`, "no word in it gives anything back")
		}
		assert.Contains(t, page.body, "<iframe")
		assert.NotContains(t, page.body, "srcdoc")
	}
}

func TestLargeTemplate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *console.Options) { o.BodyLimit = 8 << 20 })
	b := f.as(f.operator("ada", users.RoleAdministrator))
	large := strings.Repeat("x", 200<<10)
	b.post(f.editor(), "text", large, "html", large, "base", "1").is(t, http.StatusSeeOther)
	assert.Equal(t, large, f.storedTemplate().HTML)
	b.post(ofEvent, "slug", "x", "name", "x", "description", large+large+large).is(t, http.StatusRequestEntityTooLarge)
}
