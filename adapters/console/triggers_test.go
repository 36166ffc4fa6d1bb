package console_test

import (
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
	"github.com/tocsin/tocsin/domain/users"
)

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z._]+)" value="([^"]*)">`)

// confirmation is the form that a dry run offers.
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

func TestAnEventIsTriggeredByHand(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		f.person("acme", "ada", users.RoleMember, false)
		f.person("acme", "bob", users.RoleMember, true)
		f.listed("ada")
		f.listed("bob")
		to := web + "e/tick/trigger/"
		assert.Contains(f, b.get(to).is(f.T, http.StatusOK).said(), "Trigger Tick")
		tried := b.do(http.MethodPost, to, url.Values{"form_token": {b.token()}, "context": {`{"a": 1.50}`}, "options.limit_to": {"ada\r\n bob \r\n"}, "options.channels": {"mail"}, "cid": {"order 17"}}).is(f.T, http.StatusOK)
		assert.Contains(f, tried.said(), "Ticks mail 1 Left out")
		assert.Contains(f, tried.said(), "bob")
		assert.Contains(f, tried.said(), "Ticks by mail to ada@example.org Subject s t")
		occurrences := func() int {
			all, err := f.use.Occurrences.List(f.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"}, 0, 100)
			require.NoError(f, err)
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
		assert.Contains(f, b.get(first).is(f.T, http.StatusOK).said(), "order 17")
		assert.Len(f, f.entries("acme"), 1)
		assert.Contains(f, f.latest(), "eve event.trigger acme/p/shop/a/web/e/tick")
		all, err := f.use.Occurrences.List(f.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"}, 0, 1)
		require.NoError(f, err)
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
			assert.Contains(f, b.do(http.MethodPost, to+"send/", form).is(f.T, http.StatusBadRequest).said(), "This is not what was tried", name)
		}
		f.clock.Advance(2 * time.Hour)
		late := b.post(to, "context", "{}").confirmation()
		late.Set("form_token", b.token())
		f.clock.Advance(61 * time.Minute)
		assert.Contains(f, b.do(http.MethodPost, to+"send/", late).is(f.T, http.StatusBadRequest).said(), "that was too long ago")
		assert.Equal(f, 1, occurrences())
	})
}

func TestWhatCannotBeTriggered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	to := web + "e/tick/trigger/"
	for context, said := range map[string]string{"[]": "must be a JSON object", "{": "must be a JSON object", `{"a": "` + "\\u0000" + `"}`: "NUL", strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40): "nested deeper"} {
		got := b.post(to, "context", context).is(t, http.StatusBadRequest)
		assert.Contains(t, got.said(), said)
		assert.Contains(t, got.body, `aria-invalid="true"`)
	}
	unknown := b.post(to, "context", "{}", "options.limit_to", "nobody@example.org").is(t, http.StatusBadRequest)
	assert.Contains(t, unknown.said(), `"nobody@example.org" is neither a member's username nor an address in this organization`)
	assert.Contains(t, b.post(to, "context", "{}", "options.channels", "nothing").is(t, http.StatusBadRequest).said(), `the event has no channel "nothing"`)
	b.get(web+"e/none/trigger/").is(t, http.StatusNotFound)
	b.post(web+"e/none/trigger/", "context", "{}").is(t, http.StatusNotFound)
	form := b.post(to, "context", "{}").confirmation()
	b.post(web+"settings/", "name", "Web").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get(to).said(), "The application is inactive: its events cannot be triggered.")
	assert.Contains(t, b.post(to, "context", "{}").is(t, http.StatusBadRequest).said(), "The application is inactive.")
	form.Set("form_token", b.token())
	assert.Contains(t, b.do(http.MethodPost, to+"send/", form).is(t, http.StatusBadRequest).said(), "The application is inactive.")
	other := f.as(f.operator("eva", users.RoleAdministrator))
	form.Set("form_token", other.token())
	assert.Contains(t, other.do(http.MethodPost, to+"send/", form).is(t, http.StatusBadRequest).said(), "This is not what was tried", "it was somebody else who tried")
}
