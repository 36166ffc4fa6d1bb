package console_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// post is a driver with a setting of every kind. It records its messages.
type post struct {
	mu     sync.Mutex
	sent   []deliveries.Message
	seen   []channels.Settings // of the channels that were opened
	answer error
}

func (*post) Name() string { return "smtp" }
func (*post) Protocols() []channels.Protocol {
	return []channels.Protocol{channels.EMAIL, channels.SMS}
}

func (*post) Settings() []channels.Setting {
	return []channels.Setting{
		{Name: "host", Kind: channels.Line, Required: true, ResetsSecrets: true, Target: true, Help: "Where it is."},
		{Name: "port", Kind: channels.Integer, Default: "25", Help: "Its door."},
		{Name: "tls", Kind: channels.Choice, Words: []string{"on", "off"}, Help: "Hidden or not."},
		{Name: "ca", Kind: channels.Text, Help: "Whom to trust."},
		{Name: "password", Kind: channels.Line, Secret: true, Help: "The word."},
		{Name: "headers", Kind: channels.Lines, Secret: true, Help: "More words."},
	}
}

func (d *post) Check(c channels.Channel) error {
	r := c.ReadSettings(d.Settings(), d.Protocols()...)
	r.Required("host")
	r.Integer("port", 1, 65535)
	r.Word("tls", "on", "off")
	r.Text("ca")
	r.Line("password")
	r.Lines("headers")
	return r.Err()
}

func (d *post) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, c.Settings)
	return d, nil
}

func (d *post) Dispatch(_ context.Context, m deliveries.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = append(d.sent, m)
	return d.answer
}

func (*post) Close() error { return nil }

// fails makes every message fail from now on.
func (d *post) fails(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = err
}

func (d *post) messages() []deliveries.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]deliveries.Message(nil), d.sent...)
}

// settings returns the settings that a channel was last opened with.
func (d *post) settings() channels.Settings {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[len(d.seen)-1]
}

// apply brings acme to what a description says, as `tocsin apply` does.
func (f *fixture) apply(org app.BlueprintOrganization) {
	f.Helper()
	org.Slug, org.Name = "acme", "Company"
	_, err := f.cli.Provisioning.Apply(f.Context(), operators.Editor{Actor: audit.Actor{Name: "eva", Via: audit.CommandLine}},
		app.Blueprint{Organizations: []app.BlueprintOrganization{org}}, false)
	require.NoError(f, err)
}

// channel returns a channel of an organization or, if given, of a project.
func (f *fixture) channel(at app.Path, name string) channels.Channel {
	f.Helper()
	found, err := f.use.Channels.List(f.Context(), at, app.Page{Limit: 100})
	require.NoError(f, err)
	for _, c := range found {
		if c.Name == name {
			return c.Channel
		}
	}
	require.Fail(f, "there is no such channel", name)
	return channels.Channel{}
}

// notificationOf returns the first notification of an event of acme's web.
func (f *fixture) notificationOf(event string) subscriptions.Notification {
	f.Helper()
	r, err := f.use.Events.Show(f.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"}, event)
	require.NoError(f, err)
	require.NotEmpty(f, r.Notifications)
	return r.Notifications[0]
}

// contents creates channels, events, templates and messages for every parameter that names one, and
// unused ones.
func (f *fixture) contents() map[string]string {
	f.Helper()
	spare := func(name string) app.BlueprintChannel {
		return app.BlueprintChannel{Name: name, Protocol: "EMAIL", Driver: "smtp", Active: true, Settings: channels.Settings{"host": "h"}}
	}
	f.apply(app.BlueprintOrganization{Channels: []app.BlueprintChannel{spare("spare")}, Partials: []app.BlueprintPartial{{Name: "footer", Text: "-- ", HTML: "<hr>"}}, Projects: []app.BlueprintProject{{Slug: "shop", Name: "Shop",
		Channels: []app.BlueprintChannel{spare("own")},
		Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{
			{Slug: "rare", Name: "Rare", Active: true, Notifications: []app.BlueprintNotification{{Name: "Idle", Active: true}}}, {Slug: "empty", Name: "Empty"},
			{Slug: "tick", Name: "Tick", Active: true, Notifications: []app.BlueprintNotification{{Name: "Ticks", List: "all", Active: true,
				Templates: []app.BlueprintTemplate{{Channel: "mail", Subject: "own", Text: "own", HTML: "<p>own"}}}}}}}}}}})
	var kept deliveries.MailboxMessage
	mail := f.channel(app.Path{Organization: "acme"}, "mail")
	f.update(func(tx ports.Tx) error {
		_, err := tx.Mailbox().Keep(f.Context(), mail.Organization, mail.ID, deliveries.Message{ID: "1", To: "ada@example.org", Subject: "Kept", HTML: "<p>kept"})
		return err
	})
	found, err := f.use.Mailbox.Browse(f.Context(), app.Path{Organization: "acme"}, 0, "", 0, 1)
	require.NoError(f, err)
	kept = found.Messages[0]
	return map[string]string{"{channel}": idText(mail.ID), "{own}": idText(f.channel(app.Path{Organization: "acme", Project: "shop"}, "own").ID), "{evt}": "tick",
		"{notification}": idText(f.notificationOf("tick").ID), "{version}": "1", "{partial}": "footer", "{message}": idText(kept.ID),
		"{entry}": idText(f.entryOf(audit.TemplateCreated).ID)}
}

const (
	atAcme  = "/console/o/acme/"
	ofEvent = atAcme + "p/shop/a/web/e/"
)

// contentExamples returns examples for the routes of channels, events, templates and the mailbox.
func contentExamples() map[string]example {
	const org, web = "POST /console/o/{org}/", "POST /console/o/{org}/p/{prj}/a/{app}/"
	elsewhere := func(path func(f *fixture) string, fields ...string) example {
		return example{send: func(b *browser, _ string) answer { return b.post(path(b.f), fields...) }}
	}
	all := map[string]example{
		org + "channels/{channel}/":                    {fields: []string{"settings.host", "other"}},
		org + "channels/{channel}/test/":               {fields: []string{"to", "ada@example.org"}},
		org + "p/{prj}/channels/{own}/":                {fields: []string{"settings.host", "other"}},
		org + "p/{prj}/channels/{own}/test/":           {fields: []string{"to", "ada@example.org"}},
		org + "p/{prj}/channels/{own}/delete/":         {},
		org + "channels/new/":                          {fields: []string{"driver", "smtp", "name", "new", "protocol", "EMAIL", "settings.host", "h"}},
		org + "p/{prj}/channels/new/":                  {fields: []string{"driver", "smtp", "name", "new", "protocol", "EMAIL", "settings.host", "h"}},
		org + "partials/":                              {fields: []string{"name", "new", "text", "x"}},
		org + "new-partial/preview/":                   {fields: []string{"text", "other", "html", "<p>"}},
		org + "new-partial/html/":                      {fields: []string{"text", "other", "html", "<p>"}},
		org + "partials/{partial}/":                    {fields: []string{"text", "other", "base", "1"}},
		org + "partials/{partial}/preview/":            {fields: []string{"text", "other", "html", "<p>"}},
		org + "partials/{partial}/html/":               {fields: []string{"text", "other", "html", "<p>"}},
		org + "partials/{partial}/delete/":             {fields: []string{"base", "1"}},
		org + "partials/{partial}/versions/{version}/": {fields: []string{"base", "1"}},
		org + "mailbox/clear/":                         {fields: []string{"channel", ""}},
		web + "e/":                                     {fields: []string{"slug", "new", "name", "New"}},
		web + "e/{evt}/":                               {fields: []string{"name", "Changed"}},
		web + "e/{evt}/copy/":                          {send: copyBeside},
		web + "e/{evt}/live/":                          {fields: []string{"on", "true"}},
		web + "e/{evt}/channels/":                      {fields: []string{"priority", "urgent"}},
		web + "e/{evt}/test/": {send: func(b *browser, to string) answer {
			return b.post(to, "channel", idText(b.f.channel(app.Path{Organization: "acme"}, "mail").ID), "to", "ada@example.org")
		}},
		web + "e/{evt}/n/":                       {fields: []string{"name", "New"}},
		web + "e/{evt}/n/{notification}/":        {fields: []string{"name", "Changed"}},
		web + "e/{evt}/delete/":                  elsewhere(func(*fixture) string { return ofEvent + "empty/delete/" }),
		web + "e/{evt}/n/{notification}/delete/": elsewhere(func(f *fixture) string { return ofEvent + "rare/n/" + idText(f.notificationOf("rare").ID) + "/delete/" }),
		org + "channels/{channel}/delete/": elsewhere(func(f *fixture) string {
			return atAcme + "channels/" + idText(f.channel(app.Path{Organization: "acme"}, "spare").ID) + "/delete/"
		}),
	}
	for _, owner := range []string{web + "e/{evt}/", web + "e/{evt}/n/{notification}/"} {
		one := owner + "t/{channel}/"
		draft := []string{"subject", "S", "text", "T", "html", "<p>H", "base", "1"}
		all[one] = example{fields: draft}
		all[one+"preview/"], all[one+"html/"], all[one+"delete/"] = all[one], all[one], all[one]
		all[one+"test/"] = example{fields: append([]string{"to", "ada@example.org"}, draft...)}
		all[one+"versions/{version}/"] = example{fields: draft}
	}
	return all
}

func TestContentsOfAnotherOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	params := f.contents()
	theirs := f.channel(app.Path{Organization: "globex"}, "mail")
	root := f.as(f.account("root", true)) // Whoever may do everything may not mix them up either.
	before := len(f.entries("acme"))
	paths := []string{
		"/console/o/acme/channels/" + idText(theirs.ID) + "/", "/console/o/globex/channels/" + params["{channel}"] + "/", "/console/o/acme/p/shop/channels/" + params["{channel}"] + "/",
		"/console/o/acme/channels/" + params["{own}"] + "/", ofEvent + "other/", ofEvent + "rare/n/" + params["{notification}"] + "/",
		strings.Replace(ofEvent, "acme", "globex", 1) + "tick/n/" + params["{notification}"] + "/", ofEvent + "tick/t/" + idText(theirs.ID) + "/",
		strings.Replace(ofEvent, "acme", "globex", 1) + "tick/t/" + params["{channel}"] + "/", "/console/o/globex/mailbox/" + params["{message}"] + "/",
	}
	for _, path := range paths {
		root.get(path).is(t, http.StatusNotFound)
		if !strings.Contains(path, "mailbox") {
			root.post(path, "name", "x", "base", "0", "text", "x", "settings.host", "x").is(t, http.StatusNotFound)
			root.post(path+"delete/", "base", "1").is(t, http.StatusNotFound)
		}
	}
	for _, path := range []string{"/console/o/globex/mailbox/" + params["{message}"] + "/html/", ofEvent + "tick/t/" + params["{channel}"] + "/versions/7/",
		strings.Replace(ofEvent, "acme", "globex", 1) + "tick/t/" + params["{channel}"] + "/versions/1/", ofEvent + "tick/t/0/", ofEvent + "tick/t/x/versions/"} {
		root.get(path).is(t, http.StatusNotFound)
	}
	root.post("/console/o/globex/mailbox/clear/", "channel", params["{channel}"]).is(t, http.StatusSeeOther)
	root.get(atAcme+"mailbox/"+params["{message}"]+"/").is(t, http.StatusOK)
	assert.Len(t, f.entries("acme"), before)
	assert.Empty(t, f.entries("globex"))
}

// storedTemplate returns the template of acme's event for its channel mail.
func (f *fixture) storedTemplate() events.Template {
	f.Helper()
	r, err := f.use.Templates.Show(f.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"},
		app.TemplateName{Event: "tick", Channel: f.channel(app.Path{Organization: "acme"}, "mail").ID})
	require.NoError(f, err)
	return r.Template
}

// actions returns the newest entries of acme's audit log, the newest first.
func (f *fixture) actions(n int) (told []string) {
	f.Helper()
	for i, e := range f.entries("acme") {
		if i < n {
			told = append(told, fmt.Sprintf("%s %s", e.Action, e.Object))
		}
	}
	return told
}

// TestContentsAreEscaped stores the payload in every text of channels, events, notifications,
// templates and messages.
func TestContentsAreEscaped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.account(payload, true)
	f.person("acme", payload, users.RoleMember, false)
	b := f.nobody()
	b.signIn(payload, password).is(t, http.StatusSeeOther)
	channel := created(b, atAcme, "name", payload, "active", "true", "settings.host", payload, "settings.ca", payload, "settings.tls", "on", "settings.password", payload)
	one := f.channel(app.Path{Organization: "acme"}, payload)
	require.NoError(t, f.store.Queue().ReportOutage(t.Context(), channels.Outage{Channel: one.ID, Instance: payload, Since: f.clock.Now(), Last: f.clock.Now(), Until: f.clock.Now(), Error: payload}))
	b.post(ofEvent, "slug", "armed", "name", payload, "description", payload, "example", `{"x": "'\"><script>alert(1)</script>"}`).is(t, http.StatusSeeOther)
	event := ofEvent + "armed/"
	b.post(event+"channels/", "channels", idText(one.ID)).is(t, http.StatusSeeOther)
	b.post(event+"n/", "name", payload, "active", "true").is(t, http.StatusSeeOther)
	notification := event + "n/" + idText(f.notificationOf("armed").ID) + "/"
	template, own := event+"t/"+idText(one.ID)+"/", notification+"t/"+idText(one.ID)+"/"
	text := strings.ReplaceAll(payload, "{{7}}", "")
	draft := []string{"subject", text + "{{context.x}}", "text", text, "html", text, "user", payload, "example", `{"x": "'\"><script>alert(1)</script>"}`}
	for _, path := range []string{template, own} {
		b.post(path, append(draft, "base", "0")...).is(t, http.StatusSeeOther)
		b.post(path, append(draft[2:], "base", "1")...).is(t, http.StatusSeeOther)
	}
	b.post(atAcme+"partials/", "name", "armed", "description", payload, "text", text, "html", text).is(t, http.StatusSeeOther)
	b.post(atAcme+"partials/armed/", "description", payload, "text", text, "base", "1").is(t, http.StatusSeeOther)
	b.post(own, "text", text+"{{> armed}}", "base", "2").is(t, http.StatusSeeOther)
	partial := atAcme + "partials/armed/"
	f.keeps(one, deliveries.Message{ID: payload, To: payload, Subject: payload, Text: payload, HTML: payload, Facts: map[string]string{payload: payload}})
	found, err := f.use.Mailbox.Browse(t.Context(), app.Path{Organization: "acme"}, 0, "", 0, 1)
	require.NoError(t, err)
	f.post.fails(deliveries.Refused("%s", payload))
	answers := map[string]answer{"test": b.post(channel+"test/", "to", "eve@example.org"), "template test": b.post(template+"test/", append(draft, "to", "eve@example.org")...),
		"preview": b.post(template+"preview/", draft...), "conflict": b.post(template, append(draft, "base", "1")...),
		"event test": b.post(event+"test/", "channel", idText(one.ID), "to", "eve@example.org", "user", payload),
		"refused":    b.post(channel, "settings.host", payload, "settings.port", payload), "partial conflict": b.post(partial, "text", text, "base", "1"), "partial in use": b.post(partial+"delete/", "base", "2"),
		"partial preview": b.post(partial+"preview/", "text", text, "html", text, "user", payload), "partial refused": b.post(atAcme+"partials/", "name", payload, "text", "{{#"+payload+"}}"), "nobody": b.post(template+"preview/", "user", payload+"x", "subject", "{{#"+payload+"}}")}
	for _, path := range []string{atAcme + "channels/", channel, ofEvent, event, notification, event + "audience/", event + "channels/", event + "test/", event + "live/", template, own, template + "versions/", template + "versions/1/", own + "versions/2/",
		atAcme + "partials/", partial, partial + "versions/", partial + "versions/1/",
		atAcme + "mailbox/?to=" + escaped(), atAcme + "mailbox/?channel=" + idText(one.ID), atAcme + "mailbox/" + idText(found.Messages[0].ID) + "/", atAcme + "audit/", atAcme + "channels/new/?driver=" + escaped()} {
		answers[path] = b.get(path)
	}
	for name, got := range answers {
		body := ourScripts.ReplaceAllString(tokenPattern.ReplaceAllString(got.body, ""), "")
		for _, alive := range []string{"<script", "<img", `'"><`, "onerror=alert(2)>"} {
			assert.NotContains(t, body, alive, name)
		}
		if !strings.Contains(name, "driver=") {
			assert.Contains(t, body, "alert(1)", "%s shows what people wrote", name)
		}
	}
}
