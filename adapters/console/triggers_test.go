package console_test

import (
	"cmp"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z._]+)" value="([^"]*)">`)

// confirmation returns the form that a dry run offers.
func (a answer) confirmation() url.Values {
	form := url.Values{}
	_, after, _ := strings.Cut(a.body, "trigger/send/")
	before, _, _ := strings.Cut(after, "</form>")
	for _, field := range hidden.FindAllStringSubmatch(before, -1) {
		form.Add(field[1], html.UnescapeString(field[2]))
	}
	return form
}

// tryAndSend tries to trigger an event and then sends what was tried.
func tryAndSend(b *browser, to string) answer {
	form := b.post(strings.TrimSuffix(to, "send/"), "context", `{"order": 17}`).confirmation()
	form.Set("form_token", b.token())
	return b.do(http.MethodPost, to, form)
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		f.person("acme", "ada", users.RoleMember, false)
		f.person("acme", "bob", users.RoleMember, true)
		f.addToList("ada")
		f.addToList("bob")
		to := web + "e/tick/trigger/"
		assert.Equal(f, web+"e/tick/live/", b.get(to).is(f.T, http.StatusSeeOther).Header.Get("Location"), "where it was before")
		assert.Contains(f, b.get(web+"e/tick/live/").is(f.T, http.StatusOK).text(), "Trigger by hand")
		tried := b.do(http.MethodPost, to, url.Values{"form_token": {b.token()}, "context": {`{"a": 1.50}`}, "options.limit_to": {"ada\r\n bob \r\n"}, "options.channels": {"mail"}, "cid": {"order 17"}}).is(f.T, http.StatusOK)
		assert.Contains(f, tried.text(), "Ticks mail 1 Left out")
		assert.Contains(f, tried.text(), "bob")
		assert.Contains(f, tried.text(), "Ticks by mail to ada@example.org Subject s t")
		occurrences := func() int {
			all := f.newest(100)
			return len(all)
		}
		assert.Zero(f, occurrences(), "a try does nothing")
		assert.Empty(f, f.entries("acme"))

		form := tried.confirmation()
		form.Set("form_token", b.token())
		first := b.do(http.MethodPost, to+"send/", form).is(f.T, http.StatusSeeOther).Header.Get("Location")
		second := b.do(http.MethodPost, to+"send/", form).is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Equal(f, first, second, "the same form leads to the same occurrence")
		assert.Equal(f, 1, occurrences())
		assert.Contains(f, b.get(first).is(f.T, http.StatusOK).text(), "order 17")
		assert.Len(f, f.entries("acme"), 1)
		assert.Contains(f, f.latest(), "eve event.trigger acme/p/shop/a/web/e/tick")
		all := f.newest(1)
		assert.JSONEq(f, `{"a": 1.50}`, string(all[0].Context))
		assert.Equal(f, []string{"ada", "bob"}, all[0].Options.LimitTo)
		assert.Equal(f, []string{"mail"}, all[0].Options.Channels)

		for name, change := range map[string]func(url.Values){
			"context": func(v url.Values) { v.Set("context", `{"a": 2}`) }, "recipients": func(v url.Values) { v.Del("options.limit_to") }, "channels": func(v url.Values) { v.Del("options.channels") },
			"cid": func(v url.Values) { v.Set("cid", "x") }, "word": func(v url.Values) { v.Set("word", "another") }, "at": func(v url.Values) { v.Set("at", "0") }, "seal": func(v url.Values) { v.Set("seal", "") },
		} {
			form := tried.confirmation()
			form.Set("form_token", b.token())
			change(form)
			assert.Contains(f, b.do(http.MethodPost, to+"send/", form).is(f.T, http.StatusBadRequest).text(), "The form has changed since the dry run", name)
		}
		f.clock.Advance(2 * time.Hour)
		late := b.post(to, "context", "{}").confirmation()
		late.Set("form_token", b.token())
		f.clock.Advance(61 * time.Minute)
		assert.Contains(f, b.do(http.MethodPost, to+"send/", late).is(f.T, http.StatusBadRequest).text(), "the dry run is too old")
		assert.Equal(f, 1, occurrences())
	})
}

func TestTriggerRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	to := web + "e/tick/trigger/"
	for context, said := range map[string]string{"[]": "must be a JSON object", "{": "must be a JSON object", `{"a": "` + "\\u0000" + `"}`: "NUL", strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40): "nested deeper"} {
		got := b.post(to, "context", context).is(t, http.StatusBadRequest)
		assert.Contains(t, got.text(), said)
		assert.Contains(t, got.body, `aria-invalid="true"`)
	}
	unknown := b.post(to, "context", "{}", "options.limit_to", "nobody@example.org").is(t, http.StatusBadRequest)
	assert.Contains(t, unknown.text(), `"nobody@example.org" is neither a member's username nor an address in this organization`)
	assert.Contains(t, b.post(to, "context", "{}", "options.channels", "nothing").is(t, http.StatusBadRequest).text(), `the event has no channel "nothing"`)
	b.get(web+"e/none/live/").is(t, http.StatusNotFound)
	b.post(web+"e/none/trigger/", "context", "{}").is(t, http.StatusNotFound)
	form := b.post(to, "context", "{}").confirmation()
	b.post(web+"settings/", "name", "Web").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get(web+"e/tick/live/").text(), "The application is inactive: its events cannot be triggered.")
	assert.Contains(t, b.post(to, "context", "{}").is(t, http.StatusBadRequest).text(), "The application is inactive.")
	form.Set("form_token", b.token())
	assert.Contains(t, b.do(http.MethodPost, to+"send/", form).is(t, http.StatusBadRequest).text(), "The application is inactive.")
	other := f.as(f.operator("eva", users.RoleAdministrator))
	form.Set("form_token", other.token())
	assert.Contains(t, other.do(http.MethodPost, to+"send/", form).is(t, http.StatusBadRequest).text(), "The form has changed since the dry run", "it was somebody else who tried")
}

func TestMakeEventLive(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		t := f.T
		b := f.as(f.operator("eve", users.RoleAdministrator))
		page, to := web+"e/tick/live/", web+"e/tick/trigger/"
		assert.NotContains(t, b.get(page).text(), "Make it live")
		form := b.post(to, "context", "{}").confirmation()
		b.post(web+"e/tick/", "name", "Tick", "description", "D", "example", `{"a": 1}`).is(t, http.StatusSeeOther)
		b.post(web+"e/tick/channels/", "priority", "bulk").is(t, http.StatusSeeOther)
		assert.Contains(t, b.get(b.post(page, "on", "false").is(t, http.StatusSeeOther).Header.Get("Location")).text(), "Event is a draft.")
		assert.Contains(t, b.get(page).text(), "Make it live")
		assert.NotContains(t, f.as(f.operator("vic", users.RoleViewer)).get(page).text(), "Make it live")

		checked := b.post(to, "context", "{}").is(t, http.StatusOK)
		assert.Contains(t, checked.text(), "The event is a draft: you can check it now, and trigger it once it is live.")
		assert.Contains(t, checked.text(), "What would happen")
		assert.NotContains(t, checked.body, to+"send/")
		form.Set("form_token", b.token())
		assert.Contains(t, b.do(http.MethodPost, to+"send/", form).is(t, http.StatusBadRequest).text(), "The event is inactive.")
		_, err := f.use.Triggers.DryRun(t.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"}, "tick", app.Trigger{Context: []byte("{}")}, true)
		require.ErrorIs(t, err, events.ErrInactive, "for the API it is as it was")

		made := b.post(page, "on", "true").is(t, http.StatusSeeOther)
		assert.Contains(t, b.get(made.Header.Get("Location")).text(), "Event is live.")
		r, err := f.use.Events.Show(t.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"}, "tick")
		require.NoError(t, err)
		assert.Equal(t, []any{true, "Tick", "D", `{"a": 1}`, events.Bulk}, []any{r.Event.Active, r.Event.Name, r.Event.Description, r.Event.Example, r.Event.Priority})
		assert.Equal(t, []string{"event.update acme/p/shop/a/web/e/tick"}, f.actions(1))
		assert.Contains(t, b.post(to, "context", "{}").body, to+"send/")
		b.post(web+"e/none/live/", "on", "true").is(t, http.StatusNotFound)
	})
}

// fieldPattern matches a field with its value, and blamePattern the error of a field.
var (
	fieldPattern = regexp.MustCompile(`(?s)<input [^>]*>|<textarea .*?</textarea>|<option [^>]* selected>`)
	blamePattern = regexp.MustCompile(` aria-(?:invalid|describedby|errormessage)="[^"]*"`)
)

func TestMakeEventLiveRefuses(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		page := web + "e/tick/live/"
		b.post(web+"e/tick/", "name", "Tick", "example", `{"a": 1}`).is(f.T, http.StatusSeeOther)
		b.post(page, "on", "false").is(f.T, http.StatusSeeOther)
		f.update(func(tx ports.Tx) error { // A schema that the example does not fit, as one kept before a rule was made.
			a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
			if err != nil {
				return err
			}
			e, err := tx.Events().BySlug(f.Context(), a, "tick")
			if err != nil {
				return err
			}
			c, err := tx.Channels().Find(f.Context(), a.Organization, 0, "mail")
			if err != nil {
				return err
			}
			e.Schema, e.Channels = `{"required": ["b"]}`, []events.Channel{{ID: c.ID, Name: c.Name}}
			return tx.Events().Save(f.Context(), e)
		})
		filled := func(a answer) []string {
			return fieldPattern.FindAllString(blamePattern.ReplaceAllString(a.body, ""), -1)
		}
		filter, refused := b.get(page), b.post(page, "on", "true").is(f.T, http.StatusBadRequest)
		assert.Contains(f, refused.text(), "does not fit the schema")
		assert.Equal(f, filled(filter), filled(refused))
		assert.Contains(f, html.UnescapeString(strings.Join(filled(refused), "\n")), `{"a": 1}`)
	})
}

// rendersTick gives acme's event a template that uses its context.
func (f *fixture) rendersTick() {
	f.Helper()
	f.apply(app.BlueprintOrganization{Projects: []app.BlueprintProject{{Slug: "shop", Name: "Shop", Applications: []app.BlueprintApplication{
		{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{{Slug: "tick", Name: "Tick", Active: true,
			Templates: []app.BlueprintTemplate{{Channel: "mail", Subject: "{{ context.title }}", Text: "Hello {{ context.name }}",
				HTML: "<p>{{ context.name }}{{# context.gift }} and {{ context.card }}{{/ context.gift }}"}}}}}}}}})
}

func TestDryRunWarnings(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		f.rendersTick()
		b.post(ofEvent+"tick/", "name", "Tick", "example", `{"title": "Winter", "name": "Ada"}`).is(f.T, http.StatusSeeOther)
		to := web + "e/tick/trigger/"
		form := html.UnescapeString(b.get(web+"e/tick/live/").is(f.T, http.StatusOK).body)
		assert.Contains(f, form, `"title": "Winter"`, "the example of the event stands in the form")

		nobody := b.post(to, "context", "{}").is(f.T, http.StatusOK)
		assert.Contains(f, nobody.text(), "Before you send: Nobody gets a message.")
		assert.Contains(f, nobody.text(), "Trigger without recipients")

		f.person("acme", "ada", users.RoleMember, false)
		f.person("acme", "bob", users.RoleMember, false)
		f.addToList("ada")
		assert.Contains(f, b.post(to, "context", `{"title": "Winter", "name": "Ada"}`).text(), "Send to 1 person")
		f.addToList("bob")
		full := b.post(to, "context", `{"title": "Winter", "name": "Ada"}`).is(f.T, http.StatusOK)
		assert.NotContains(f, full.text(), "Before you send")
		assert.Contains(f, full.text(), "Send to 2 people")
		assert.NotContains(f, full.body, `name="number"`, "a few are sent to with one button")

		blank := b.post(to, "context", `{"titel": "Winter"}`).is(f.T, http.StatusOK)
		assert.Contains(f, blank.text(), "Before you send: Ticks by mail: undefined variable context.name (html, line 1) "+
			"Ticks by mail: undefined variable context.name (text, line 1) Ticks by mail: undefined variable context.title (subject, line 1) Ticks")
		assert.NotContains(f, blank.text(), "context.card", "what stands in a section that is left out is not missed")
		assert.Equal(f, 2, strings.Count(html.UnescapeString(blank.body), `{"titel": "Winter"}`), "kept for sending and for another check")
	})
}

// framed returns the form that shows the HTML of the only message of a check in a frame.
func (a answer) framed() url.Values {
	form := url.Values{}
	_, after, _ := strings.Cut(a.body, `target="html-1"`)
	before, _, _ := strings.Cut(after, "</form>")
	for _, field := range hidden.FindAllStringSubmatch(before, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	return form
}

// checkAndShow checks a trigger and has the HTML of its first message shown.
func checkAndShow(b *browser, to string) answer {
	form := b.post(strings.TrimSuffix(to, "html/"), "context", "{}").framed()
	form.Set("form_token", b.token())
	return b.do(http.MethodPost, to, form)
}

func TestDryRunHTML(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	f.rendersTick()
	f.person("acme", "ada", users.RoleMember, false)
	f.addToList("ada")
	to := web + "e/tick/trigger/"
	tried := b.post(to, "context", `{"title": "Winter", "name": "A\nB & <script>"}`).is(t, http.StatusOK)
	assert.Contains(t, tried.body, `<iframe sandbox="" name="html-1" title="The HTML of Ticks by mail to ada@example.org"`)
	form := tried.framed()
	assert.Equal(t, "<p>A\nB &amp; &lt;script&gt;", form.Get("html"))
	form.Set("html", strings.ReplaceAll(form.Get("html"), "\n", "\r\n")) // As browsers send it.
	shown := b.do(http.MethodPost, to+"html/", form).is(t, http.StatusOK)
	assert.Equal(t, form.Get("html"), shown.body)
	assert.True(t, strings.HasPrefix(shown.Header.Get("Content-Security-Policy"), "sandbox; default-src 'none'"), "it runs nothing")
	assert.Equal(t, "SAMEORIGIN", shown.Header.Get("X-Frame-Options"))

	form.Set("html", "<p>Your password, please")
	assert.Contains(t, b.do(http.MethodPost, to+"html/", form).is(t, http.StatusBadRequest).text(), "The form has changed since the dry run")
	other := f.as(f.operator("eva", users.RoleAdministrator))
	foreign := tried.framed()
	foreign.Set("form_token", other.token())
	assert.Contains(t, other.do(http.MethodPost, to+"html/", foreign).is(t, http.StatusBadRequest).text(), "The form has changed since the dry run")
}

func TestTriggerConfirmsManyRecipients(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	names := numbered(101, "buyer%d")
	f.people("acme", users.RoleMember, func(int) bool { return false }, names...)
	f.addToList(names...)
	to := web + "e/tick/trigger/"
	tried := b.post(to, "context", `{"a": 1}`, "cid", "order 17").is(t, http.StatusOK)
	assert.Contains(t, tried.text(), "Send to 101 people")
	send := func(tried answer, change ...string) answer {
		form := tried.confirmation()
		form.Set("form_token", b.token())
		for i := 0; i < len(change); i += 2 {
			form.Set(change[i], change[i+1])
		}
		return b.do(http.MethodPost, to+"send/", form)
	}
	for _, number := range []string{"", "100", "all"} {
		redisplay := send(tried, "number", number).is(t, http.StatusBadRequest)
		assert.Contains(t, redisplay.body, `id="number-faults"`)
		assert.Contains(t, redisplay.text(), "Send to 101 people")
		assert.Equal(t, `{"a": 1}`, redisplay.confirmation().Get("context"), "nothing is lost")
		assert.Equal(t, "order 17", redisplay.confirmation().Get("cid"))
		tried = redisplay
	}
	assert.Contains(t, send(tried, "people", "1").is(t, http.StatusBadRequest).text(), "The form has changed since the dry run", "the number is sealed")
	send(tried, "number", "101").is(t, http.StatusSeeOther)
}

// TestTriggerConfirmsNumberAsShown checks that the number to type is accepted as the page shows it.
func TestTriggerConfirmsNumberAsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	names := numbered(1_001, "buyer%d")
	f.people("acme", users.RoleMember, func(int) bool { return false }, names...)
	f.addToList(names...)
	to := web + "e/tick/trigger/"
	for language, shown := range map[string]*regexp.Regexp{"en": regexp.MustCompile(`Type (\S+) to send`), "de": regexp.MustCompile(`Geben Sie (\S+) ein, um zu senden`)} {
		b.header = http.Header{"Accept-Language": {language}}
		for _, typed := range []string{"", "1001", " 1\u202f001 "} {
			tried := b.post(to, "context", "{}").is(t, http.StatusOK)
			number := shown.FindStringSubmatch(tried.text())
			require.Len(t, number, 2, language)
			form := tried.confirmation()
			form.Set("form_token", b.token())
			form.Set("number", cmp.Or(typed, number[1]))
			b.do(http.MethodPost, to+"send/", form).is(t, http.StatusSeeOther)
		}
	}
}
