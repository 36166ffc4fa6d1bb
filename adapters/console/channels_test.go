package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/users"
)

const secret = "0pen Sesame"

// created creates a channel with the form and returns its path.
func created(b *browser, place string, fields ...string) string {
	b.f.Helper()
	got := b.post(place+"channels/new/", append([]string{"driver", "smtp", "protocol", "EMAIL"}, fields...)...).is(b.f.T, http.StatusSeeOther)
	return regexp.MustCompile(`^[^?]*`).FindString(got.Header.Get("Location"))
}

func TestCreateChannel(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		assert.Contains(f, b.get(atAcme+"channels/new/").text(), "smtp e-mail through a mail server mailbox test mailbox")
		page := b.get(atAcme+"channels/new/?driver=smtp").is(f.T, http.StatusOK)
		for _, field := range []string{`name="settings.host" type="text" value="" required`, `name="settings.password" type="password"`, `<textarea id="settings.ca"`,
			`<select id="settings.tls"`, `name="settings.concurrency"`, `name="settings.rate_per_second"`} {
			assert.Contains(f, page.body, field)
		}
		assert.Contains(f, page.text(), "Where it is.")
		b.get(atAcme+"channels/new/?driver=nonsense").is(f.T, http.StatusBadRequest)

		assert.Contains(f, page.text(), "More settings, which have a default Port", "a setting with a default need not be looked at")
		path := created(b, atAcme, "name", "second", "active", "true", "settings.host", " h ", "settings.port", "025", "settings.ca", "a\r\nb", "settings.password", secret,
			"settings.headers", "X-A: b\r\nX-C: d: $${e}", "settings.rate_per_second", "0.5")
		shown := b.get(path).is(f.T, http.StatusOK)
		assert.NotContains(f, shown.body, secret)
		assert.NotContains(f, shown.body, "X-A")
		assert.Contains(f, shown.body, `value="h"`)
		assert.Contains(f, shown.text(), "A value is set, and never shown. Leave the field empty to keep it.")
		assert.Contains(f, shown.text(), "16 messages at once on each instance, 0.5 per second on all together")

		b.post(path+"test/", "to", "eve@example.org").is(f.T, http.StatusOK)
		want := channels.Settings{"host": "h", "port": 25, "ca": "a\nb", "password": secret, "headers": map[string]any{"X-A": "b", "X-C": "d: ${e}"}, "rate_per_second": 0.5}
		assert.True(f, want.Equal(f.post.settings()), "%#v", map[string]any(f.post.settings()))
		assert.Equal(f, []string{"channel.test acme/c/second", "channel.create acme/c/second"}, f.actions(2))
		for _, e := range f.entries("acme") {
			assert.NotContains(f, fmt.Sprint(e), secret)
		}
		assert.NotContains(f, f.log.String(), secret)

		viewer := f.as(f.operator("bob", users.RoleViewer)).get(path).is(f.T, http.StatusOK)
		assert.NotContains(f, viewer.body, "<input id=\"settings.")
		assert.NotContains(f, viewer.body, secret)
		assert.Contains(f, viewer.text(), "Password set, and never shown")
		assert.Contains(f, viewer.text(), "Host h")
	})
}

func TestChannelSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	path := created(b, atAcme, "name", "second", "settings.host", "h", "settings.password", secret, "settings.headers", "X-A: b")
	password := func() any {
		b.post(path+"test/", "to", "eve@example.org").is(t, http.StatusOK)
		return f.post.settings()["password"]
	}
	b.post(path, "settings.host", "h", "settings.port", "26").is(t, http.StatusSeeOther)
	assert.Equal(t, secret, password(), "an empty field keeps it")

	b.post(path, "settings.host", "h", "settings.password", "another word").is(t, http.StatusSeeOther)
	assert.Equal(t, "another word", password())

	moved := b.post(path, "settings.host", "evil.example").is(t, http.StatusBadRequest)
	assert.Contains(t, moved.text(), "must be entered again, because host has changed and this secret would go to the new destination")
	assert.Equal(t, "another word", password())
	assert.Equal(t, "h", f.post.settings()["host"], "nothing was changed")
	b.post(path, "settings.host", "i", "settings.password", secret, "settings.headers", "X-A: c").is(t, http.StatusSeeOther)
	assert.Equal(t, secret, password())

	b.post(path, "settings.host", "i", "without", "password").is(t, http.StatusSeeOther)
	assert.Nil(t, password())
	assert.NotNil(t, f.post.settings()["headers"])
	b.post(path, "settings.host", "j", "without", "headers").is(t, http.StatusSeeOther)
	assert.Nil(t, f.post.settings()["password"])

	refused := b.post(path, "settings.host", "", "settings.port", "x", "settings.password", secret, "settings.headers", secret).is(t, http.StatusBadRequest)
	assert.NotContains(t, refused.body, secret, "what was typed does not come back")
	assert.Contains(t, refused.body, `value="x"`, "what is no secret does")
	for _, wrong := range []string{"must be a whole number", "must have a line NAME: VALUE for each entry"} {
		assert.Contains(t, refused.text(), wrong)
	}
	variable := b.post(path, "settings.host", "${HOME}", "settings.ca", "$${HOME}").is(t, http.StatusBadRequest)
	assert.Contains(t, variable.text(), "which only tocsin apply replaces")
	assert.Contains(t, b.post(path, "settings.host", "h", "settings.port", "70000", "settings.tls", "maybe", "settings.concurrency", "1000").is(t, http.StatusBadRequest).text(), "must be one of on, off")
}

func TestChannelFormErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	for name, c := range map[string]struct {
		fields []string
		field  string
		said   string
	}{
		"NoName":           {[]string{"driver", "smtp", "protocol", "EMAIL", "settings.host", "h"}, "name", "is required"},
		"TheNameIsTaken":   {[]string{"driver", "smtp", "protocol", "EMAIL", "name", "MAIL", "settings.host", "h"}, "name", "exists there already"},
		"AnotherProtocol":  {[]string{"driver", "smtp", "protocol", "SLACK", "name", "x", "settings.host", "h"}, "", "smtp carries EMAIL and SMS, not SLACK"},
		"AnotherPreferred": {[]string{"driver", "smtp", "protocol", "EMAIL", "name", "x", "settings.host", "h", "preferred", "true"}, "preferred", "&#34;mail&#34; is preferred for EMAIL there already"},
		"NoHost":           {[]string{"driver", "smtp", "protocol", "EMAIL", "name", "x"}, "settings.host", "is required"},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.post(atAcme+"channels/new/", c.fields...).is(t, http.StatusBadRequest)
			assert.Contains(t, got.body, c.said)
			if c.field != "" {
				assert.Contains(t, got.body, `id="`+c.field+`-faults"`)
				assert.Contains(t, got.body, `aria-invalid="true"`)
			}
		})
	}
	b.post(atAcme+"channels/new/", "driver", "pigeon", "protocol", "EMAIL", "name", "x").is(t, http.StatusBadRequest)
	assert.Empty(t, f.entries("acme"))
}

func TestChannelsOfAProject(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		path := created(b, atAcme+"p/shop/", "name", "mail", "preferred", "true", "active", "true", "settings.host", "h")
		assert.Regexp(f, `^/console/o/acme/p/shop/channels/\d+/$`, path)
		list := b.get(atAcme + "p/shop/channels/").text()
		assert.Contains(f, list, "mail active E-mail through a mail server EMAIL by smtp · preferred Nothing is waiting.")
		assert.Equal(f, []string{"channel.create acme/p/shop/c/mail"}, f.actions(1))
		b.post(path, "settings.host", "h").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(atAcme+"p/shop/channels/").text(), "mail inactive E-mail through a mail server EMAIL by smtp Nothing is waiting.")
		before := len(f.entries("acme"))
		b.post(path, "settings.host", "h").is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), before, "again it changes nothing")
		b.post(path+"delete/").is(f.T, http.StatusSeeOther)
		b.get(path).is(f.T, http.StatusNotFound)
		assert.Equal(f, []string{"channel.delete acme/p/shop/c/mail"}, f.actions(1))
	})
}

func TestChannelInUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	path := atAcme + "channels/" + idText(f.channel(app.Path{Organization: "acme"}, "mail").ID) + "/"
	assert.Contains(t, b.post(path+"delete/").is(t, http.StatusBadRequest).text(), `The channel "mail" is used by template of event web/tick.`)
	b.get(path).is(t, http.StatusOK)
	assert.Empty(t, f.entries("acme"))
}

func TestChannelTestResult(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	path := created(b, atAcme, "name", "second", "settings.host", "h", "settings.password", secret)
	assert.Contains(t, b.post(path+"test/", "to", "not an address").is(t, http.StatusBadRequest).text(), "is of the type generic, but EMAIL channels reach addresses of the type email")
	assert.Contains(t, b.post(path+"test/", "to", "").is(t, http.StatusBadRequest).text(), "is required")
	assert.Empty(t, f.post.messages())
	for said, answer := range map[string]error{
		"Accepted: the provider took the message to eve@example.org.":                                                                                  nil,
		"Unreachable: the channel does not work for any recipient. Its provider said":                                                                  deliveries.Unreachable("login with %s <refused>", secret),
		"Postponed: the channel works, but eve@example.org cannot be reached now.":                                                                     deliveries.Postponed("full"),
		"Refused: the channel works, but the provider does not accept the message to eve@example.org":                                                  deliveries.Refused("no such mailbox"),
		"Not sent: the driver refused the message to eve@example.org before anything was sent. This proves nothing about the channel. Its driver said": deliveries.Unsendable("no text with %s <refused>", secret),
	} {
		f.post.fails(answer)
		got := b.post(path+"test/", "to", "eve@example.org").is(t, http.StatusOK)
		assert.Contains(t, got.text(), "Send the test "+said, "beside its button")
		assert.NotContains(t, got.body, secret)
		assert.NotContains(t, got.body, "<refused>")
	}
	assert.Len(t, f.post.messages(), 5)
	assert.Contains(t, b.get(path).body, `action="`+path+`test/#test"`, "the browser shows the answer, not the top of the page")
}

func TestChannelCards(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		assert.Contains(f, b.get(atAcme+"channels/").text(), "Last 24 hours: 0 sent, 0 failed")
		f.person("acme", "eve", users.RoleMember, false)
		f.addToList("eve")
		f.clock.Advance(-24 * time.Hour)
		f.fails(f.newOccurrence())
		f.clock.Advance(time.Hour)
		f.newOccurrence()
		f.fails(f.newOccurrence())
		f.clock.Advance(23 * time.Hour)
		page := b.get(atAcme + "channels/")
		assert.Contains(f, page.text(), "Last 24 hours: 1 sent, 1 failed")
		assert.Contains(f, page.body, `<rect class="all" x="0.00" y="0.00" width="3.33" height="100.00"/><rect class="failed" x="0.00" y="50.00" width="3.33" height="50.00"/></svg>`)
		own := b.get(atAcme + "channels/" + idText(f.channel(app.Path{Organization: "acme"}, "mail").ID) + "/")
		assert.Contains(f, own.text(), "Last 24 hours: 1 sent, 1 failed")
		assert.Contains(f, own.body, `<rect class="failed" x="0.00" y="50.00" width="3.33" height="50.00"/></svg>`, "its own page draws the same")
	})
}

func TestSaveAndTest(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		path := created(b, atAcme, "name", "second", "active", "true", "settings.host", "h", "settings.password", secret)
		assert.Contains(f, b.get(path).body, `name="test_to" type="text" value="ada@example.org"`, "who is signed in gets it")
		before := len(f.entries("acme"))

		got := b.post(path, "active", "true", "settings.host", "h", "settings.port", "26", "test_to", "eve@example.org", "then", "test").is(f.T, http.StatusOK)
		assert.Contains(f, got.text(), "Save Save and test The settings are saved. Accepted: the provider took the message to eve@example.org.", "beside the button")
		assert.Contains(f, got.body, `value="26"`)
		assert.Contains(f, got.body, `name="test_to" type="text" value="eve@example.org"`)
		assert.NotContains(f, got.body, secret)
		require.Len(f, f.post.messages(), 1)
		assert.Equal(f, "eve@example.org", f.post.messages()[0].To)
		assert.Equal(f, secret, f.post.settings()["password"])
		assert.Equal(f, []string{"channel.test acme/c/second", "channel.update acme/c/second"}, f.actions(2))
		assert.Len(f, f.entries("acme"), before+2)

		refused := b.post(path, "active", "true", "settings.host", "h", "settings.port", "x", "test_to", "eve@example.org", "then", "test").is(f.T, http.StatusBadRequest)
		assert.Contains(f, refused.text(), "must be a whole number")
		assert.Len(f, f.post.messages(), 1, "what is not saved is not tested")
		nobody := b.post(path, "active", "true", "settings.host", "h", "test_to", "", "then", "test").is(f.T, http.StatusBadRequest)
		assert.Contains(f, nobody.text(), "Test address is required")
		assert.Contains(f, nobody.text(), "The settings are saved.")
		assert.Contains(f, nobody.body, `id="test_to-faults"`)
		assert.Len(f, f.entries("acme"), before+3)
	})
}

// TestCreateAndTest checks that a channel that cannot be stored is not tested, and that one whose
// test fails is kept.
func TestCreateAndTest(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		form := b.get(atAcme + "channels/new/?driver=smtp")
		assert.Contains(f, form.body, `name="test_to" type="text" value="ada@example.org"`, "who is signed in gets it")
		assert.Contains(f, form.body, `formaction="`+atAcme+`channels/new/#settings"`, "the browser shows the answer")
		create := func(fields ...string) answer {
			return b.post(atAcme+"channels/new/", append([]string{"driver", "smtp", "protocol", "EMAIL", "active", "true", "test_to", "eve@example.org", "then", "test"}, fields...)...)
		}
		refused := create("name", "second").is(f.T, http.StatusBadRequest)
		assert.Contains(f, refused.body, `id="settings.host-faults"`)
		assert.Contains(f, refused.body, `name="test_to" type="text" value="eve@example.org"`)
		assert.Empty(f, f.post.messages())
		assert.Empty(f, f.entries("acme"))

		made := create("name", "second", "settings.host", "h", "settings.password", secret).is(f.T, http.StatusOK)
		assert.Contains(f, made.text(), "Save and test Channel created. Accepted: the provider took the message to eve@example.org.", "beside the button")
		assert.NotContains(f, made.body, secret)
		assert.Len(f, f.post.messages(), 1)
		assert.Equal(f, secret, f.post.settings()["password"])
		assert.Equal(f, []string{"channel.test acme/c/second", "channel.create acme/c/second"}, f.actions(2))
		second := f.channel(app.Path{Organization: "acme"}, "second")
		assert.Contains(f, made.body, `action="`+atAcme+`channels/`+idText(second.ID)+`/"`, "what is mended is saved in the channel")

		f.post.fails(deliveries.Unreachable("no route"))
		third := create("name", "third", "settings.host", "h").is(f.T, http.StatusOK)
		assert.Contains(f, third.text(), "Channel created. Unreachable: the channel does not work for any recipient.")
		nobody := create("name", "fourth", "settings.host", "h", "test_to", "").is(f.T, http.StatusBadRequest)
		assert.Contains(f, nobody.text(), "Test address is required")
		assert.Contains(f, nobody.text(), "Channel created.")
	})
}

func TestChannelShowsOutages(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		mail := f.channel(app.Path{Organization: "acme"}, "mail")
		now := f.clock.Now()
		for instance, until := range map[string]time.Duration{"host:1": time.Minute, "host:2": -time.Minute} {
			require.NoError(f, f.store.Queue().ReportOutage(f.Context(), channels.Outage{Channel: mail.ID, Instance: instance, Since: now.Add(-time.Hour), Last: now.Add(-2 * time.Minute),
				Until: now.Add(until), Error: "connection <refused>"}))
		}
		b := f.as(f.operator("ada", users.RoleAdministrator))
		path := atAcme + "channels/" + idText(mail.ID) + "/"
		assert.Contains(f, b.get(atAcme+"channels/").text(), "mail paused on 2 instances E-mail through a mail server EMAIL by smtp · preferred Nothing is waiting. Last 24 hours: 0 sent, 0 failed "+
			"Last error at 2026-03-04 05:04:07 UTC : connection <refused> Next try at 2026-03-04 05:07:07 UTC .")
		f.clock.Advance(2 * time.Minute)
		assert.Contains(f, b.get(atAcme+"channels/").text(), "mail failing on 2 instances")
		assert.Contains(f, b.get(atAcme+"channels/").text(), "connection <refused> Next try: with the next message.")
		f.clock.Advance(-2 * time.Minute)
		page := b.get(path).text()
		assert.Contains(f, page, "Health paused on 2 instances until 2026-03-04 05:07:07 UTC")
		assert.Contains(f, page, "Last 24 hours: 0 sent, 0 failed Last error at 2026-03-04 05:04:07 UTC : connection <refused> Next try at 2026-03-04 05:07:07 UTC .")
		assert.Contains(f, page, "host:1 2026-03-04 04:06:07 UTC 2026-03-04 05:04:07 UTC 2026-03-04 05:07:07 UTC connection <refused>")
		assert.Contains(f, page, "host:2 2026-03-04 04:06:07 UTC 2026-03-04 05:04:07 UTC not paused; nothing has got through since connection <refused>")
		b.post(path, "settings.host", "other", "active", "true", "preferred", "true").is(f.T, http.StatusSeeOther)
		assert.NotContains(f, b.get(atAcme+"channels/").text(), "paused", "another configuration has not failed")
		e := f.entries("acme")[0]
		assert.Equal(f, audit.ChannelUpdated, e.Action)
		assert.Equal(f, []any{"host"}, e.After["settings_changed"])
	})
}

func TestPoolHealth(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		id := func(path string) (id channels.ID) {
			_, err := fmt.Sscanf(path, atAcme+"channels/%d/", &id)
			require.NoError(f, err, path)
			return id
		}
		first := created(b, atAcme, "name", "first", "active", "true", "pool", "post", "weight", "75", "settings.host", "h")
		assert.Contains(f, b.get(first).text(), "post , weight 75 no other channel in it")
		second := created(b, atAcme, "name", "second", "active", "true", "pool", "post", "weight", "25", "settings.host", "h")
		third := created(b, atAcme, "name", "third", "active", "true", "pool", "post", "weight", "0", "settings.host", "h")
		shown := b.get(first)
		assert.Contains(f, shown.text(), "post , weight 75 all members")
		assert.Contains(f, shown.text(), "first working 75 75.0 % – – second working 25 25.0 % – – third standby 0 0.0 % – –")
		assert.Contains(f, shown.body, `<a href="`+third+`"><bdi>third`)

		queue, now := f.store.Queue(), f.clock.Now()
		for range 3 {
			queue.RecordAnswer(id(first), false, 120*time.Millisecond)
		}
		queue.RecordAnswer(id(first), true, 0)
		require.NoError(f, queue.ReportOutage(f.Context(), channels.Outage{Channel: id(second), Instance: "a", Since: now, Last: now, Until: now.Add(time.Minute), Error: "x"}))
		text := b.get(second).text()
		assert.Contains(f, text, "75 100.0 % 25.0 % 120 ms second paused until "+now.Add(time.Minute).UTC().Format("2006-01-02 15:04:05 UTC")+" 25 0.0 %")
	})
}

// TestUnrestrictedChannels checks that an organization's administrators neither see nor set the
// field that lets a channel reach every address, and do not see the answers of a private service.
func TestUnrestrictedChannels(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		root, ada := f.as(f.account("root", true)), f.as(f.operator("ada", users.RoleAdministrator))
		const tick = `name="unrestricted"`
		assert.Contains(f, root.get(atAcme+"channels/new/?driver=smtp").body, tick)
		assert.NotContains(f, ada.get(atAcme+"channels/new/?driver=smtp").body, tick)
		path := created(ada, atAcme, "name", "second", "settings.host", "h", "unrestricted", "true")
		unrestricted := func() bool {
			return f.channel(app.Path{Organization: "acme"}, "second").Unrestricted
		}
		assert.False(f, unrestricted())
		assert.Contains(f, ada.get(path).text(), "public addresses and what the installation allows")
		root.post(path, "settings.host", "h", "unrestricted", "true").is(f.T, http.StatusSeeOther)
		assert.True(f, unrestricted())
		assert.Regexp(f, `name="unrestricted"[^>]* checked`, root.get(path).body)
		page := ada.get(path)
		assert.NotContains(f, page.body, tick)
		assert.Contains(f, page.text(), "Reaches every address")
		assert.Contains(f, page.text(), "When you change what it connects to, it will reach public ones only.")

		refused := deliveries.Unreachable("h:25: greeting: answered 421")
		refused.Detail = fmt.Errorf("421 internal-secret-banner")
		f.post.fails(refused)
		for b, sees := range map[*browser]bool{root: true, ada: false} {
			tested := b.post(path+"test/", "to", "eve@example.org").is(f.T, http.StatusOK)
			assert.Contains(f, tested.text(), "h:25: greeting: answered 421")
			assert.Equal(f, sees, strings.Contains(tested.body, "internal-secret-banner"))
		}
		for _, e := range f.entries("acme") {
			assert.NotContains(f, fmt.Sprint(e), "internal-secret-banner")
		}

		ada.post(path, "settings.host", "h", "settings.port", "26", "unrestricted", "true").is(f.T, http.StatusSeeOther)
		assert.True(f, unrestricted(), "the port of this driver leads nowhere")
		ada.post(path, "settings.host", "elsewhere", "unrestricted", "true").is(f.T, http.StatusSeeOther)
		assert.False(f, unrestricted())
		assert.Contains(f, f.actions(1)[0], "channel.update")
		assert.Contains(f, fmt.Sprint(f.entries("acme")[0].After), "unrestricted:false")
	})
}
