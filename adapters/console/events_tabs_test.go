package console_test

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/users"
)

var tabsPattern = regexp.MustCompile(`(?s)<nav class="tabs".*?</nav>`)

// tabs returns the texts of the tabs of an event's page.
func (a answer) tabs(t *testing.T) string {
	t.Helper()
	found := tabsPattern.FindString(a.is(t, http.StatusOK).body)
	require.NotEmpty(t, found)
	a.body = found
	return a.text()
}

func TestEventTabs(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		mail := idText(f.channel(app.Path{Organization: "acme"}, "mail").ID)
		b.post(ofEvent, "slug", "order", "name", "Order").is(f.T, http.StatusSeeOther)
		event := ofEvent + "order/"
		live := b.get(event + "live/")
		assert.Equal(f, "Content 0 templates Audience 0 notifications Channels 1 active Test no template Live draft: 2 problems", live.tabs(f.T))
		assert.Contains(f, live.text(), "Problems: It has no template for any of its channels. It reaches nobody: it has no active notification.")
		assert.Contains(f, b.get(event+"test/").is(f.T, http.StatusOK).text(), "There is no template to test yet.")

		b.post(event+"t/"+mail+"/", "subject", "S", "text", "{{context.missing}}", "base", "0").is(f.T, http.StatusSeeOther)
		b.post(event+"n/", "name", "Team").is(f.T, http.StatusSeeOther)
		assert.Equal(f, "Content 1 template Audience 1 notification Channels 1 active Test ready Live draft: 1 problem", b.get(event+"live/").tabs(f.T), "the notification is inactive")
		b.post(event+"n/"+idText(f.notificationOf("order").ID)+"/", "name", "Team", "active", "true").is(f.T, http.StatusSeeOther)
		b.post(event+"live/", "on", "true").is(f.T, http.StatusSeeOther)
		viewer := f.as(f.operator("vic", users.RoleViewer))
		for _, end := range []string{"", "audience/", "channels/", "test/", "live/", "t/" + mail + "/", "t/" + mail + "/versions/", "t/" + mail + "/versions/1/", "n/" + idText(f.notificationOf("order").ID) + "/"} {
			page := viewer.get(event + end)
			assert.Equal(f, "Content 1 template Audience 1 notification Channels 1 active Test ready Live live", page.tabs(f.T), end)
			assert.NotContains(f, page.body, `<form class="sheet"`, end)
		}

		b.post(atAcme+"channels/"+mail+"/", "settings.host", "h").is(f.T, http.StatusSeeOther)
		assert.Equal(f, "Content 1 template Audience 1 notification Channels 0 active Test ready Live live: 1 problem", b.get(event).tabs(f.T), "the channel is inactive")
		b.post(atAcme+"p/shop/a/web/settings/", "name", "Web").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(event+"live/").text(), "Problems: The application is inactive. None of the channels it may use is active.")
	})
}

func TestEventWithoutTemplateForItsChannel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	mail, spare := idText(f.channel(app.Path{Organization: "acme"}, "mail").ID), created(b, atAcme, "name", "second", "active", "true", "settings.host", "h")
	spare = regexp.MustCompile(`\d+`).FindString(spare)
	assert.NotContains(t, b.get(ofEvent+"tick/live/").text(), "It has no template", "it may use every channel, and needs none in particular")
	b.do(http.MethodPost, ofEvent+"tick/channels/", url.Values{"form_token": {b.token()}, "channels": {mail, spare}}).is(t, http.StatusSeeOther)
	assert.Contains(t, b.get(ofEvent+"tick/live/").text(), "It has no template for the channel second.")
}

func TestEventTestTab(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "eve", users.RoleMember, false)
		b := f.as(f.operator("ada", users.RoleAdministrator))
		mail, to := idText(f.channel(app.Path{Organization: "acme"}, "mail").ID), ofEvent+"tick/test/"
		page := b.get(to).is(f.T, http.StatusOK)
		assert.Contains(f, page.body, `name="to" type="text" value="ada@example.org"`, "it is sent to oneself")
		assert.Contains(f, page.text(), "For a sample recipient")
		assert.Equal(f, page.tabs(f.T), b.get(to+"?channel="+mail).tabs(f.T))
		spare := created(b, atAcme, "name", "spare", "active", "true", "settings.host", "h")
		b.get(to+"?channel="+regexp.MustCompile(`\d+`).FindString(spare)).is(f.T, http.StatusNotFound)

		sent := b.post(to, "channel", mail, "to", "ada@example.org", "user", "eve").is(f.T, http.StatusOK)
		assert.Contains(f, sent.text(), "Accepted: the provider took the message to ada@example.org.")
		assert.Contains(f, sent.text(), "For eve")
		assert.Equal(f, []string{"template.test acme/p/shop/a/web/e/tick/t/mail"}, f.actions(1))
		require.Len(f, f.post.messages(), 1)
		assert.Equal(f, "[Test] s", f.post.messages()[0].Subject)

		assert.Contains(f, b.post(to, "channel", mail, "to", "nonsense").is(f.T, http.StatusBadRequest).body, `id="to-faults"`)
		assert.Contains(f, b.post(to, "channel", mail, "to", "ada@example.org", "user", "nobody").is(f.T, http.StatusBadRequest).body, `id="user-faults"`)
		f.post.fails(deliveries.Refused("%s", errors.New("mailbox full")))
		assert.Contains(f, b.post(to, "channel", mail, "to", "ada@example.org").is(f.T, http.StatusOK).text(), "Its provider said: mailbox full")
		b.post(to, "channel", "0").is(f.T, http.StatusNotFound)
	})
}
