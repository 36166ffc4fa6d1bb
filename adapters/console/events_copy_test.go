package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// ordered returns an event with everything that is copied, on these channels.
func ordered(slug string, on ...string) app.BlueprintEvent {
	e := app.BlueprintEvent{Slug: slug, Name: "Order", Description: "Somebody ordered", Active: true, Priority: "urgent", Channels: on,
		Schema: map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}}
	for _, ch := range on {
		e.Templates = append(e.Templates, app.BlueprintTemplate{Channel: ch, Subject: "S", Text: "{{context.n}}", HTML: "<p>H"})
	}
	e.Notifications = []app.BlueprintNotification{
		{Name: "Team", Active: true, List: "all", Templates: []app.BlueprintTemplate{{Channel: on[0], Text: "To the team"}}},
		{Name: "Subscribers", Active: true},
	}
	return e
}

// copyBeside copies an event within its application, which its page has chosen.
func copyBeside(b *browser, to string) answer {
	form := b.get(to).body
	id := "1"
	if m := regexp.MustCompile(`<option value="(\d+)" selected`).FindStringSubmatch(form); m != nil {
		id = m[1]
	}
	return b.post(to, "application", id, "slug", "copy", "name", "Copy")
}

func TestCopyEvent(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		t := f.T
		f.apply(app.BlueprintOrganization{Projects: []app.BlueprintProject{
			{Slug: "shop", Name: "Shop", Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{ordered("order", "mail")}}}},
			{Slug: "lab", Name: "Lab", Applications: []app.BlueprintApplication{{Slug: "try", Name: "Try", Active: true}}},
		}})
		lab := app.Path{Organization: "acme", Project: "lab", Application: "try"}
		there, err := f.use.Applications.Show(t.Context(), lab)
		require.NoError(t, err)
		b := f.as(f.operator("ada", users.RoleAdministrator))
		from := ofEvent + "order/copy/"
		page := b.get(from).is(t, http.StatusOK)
		assert.Contains(t, page.text(), "Shop › Web Lab › Try")
		assert.Contains(t, page.body, `value="order"`)

		// In another project, notifications without a list of that name are inactive.
		made := b.post(from, "application", idText(there.ID), "slug", "order", "name", "Order in the lab").is(t, http.StatusSeeOther)
		assert.Equal(t, atAcme+"p/lab/a/try/e/order/?done=copied", made.Header.Get("Location"))
		assert.Contains(t, b.get(made.Header.Get("Location")).text(), "Event copied. The copy is inactive.")
		was, err := f.use.Events.Show(t.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"}, "order")
		require.NoError(t, err)
		is, err := f.use.Events.Show(t.Context(), lab, "order")
		require.NoError(t, err)
		assert.False(t, is.Event.Active)
		assert.Equal(t, "Order in the lab", is.Event.Name)
		assert.Equal(t, []any{was.Event.Description, was.Event.Schema, was.Event.Priority, was.Event.Channels},
			[]any{is.Event.Description, is.Event.Schema, is.Event.Priority, is.Event.Channels})
		require.Len(t, is.Templates, 1)
		assert.True(t, is.Templates[0].SameContent(was.Templates[0]))
		require.Len(t, is.Notifications, 2)
		for _, n := range is.Notifications {
			assert.Zero(t, n.List)
			assert.Equal(t, n.Name == "Subscribers", n.Active, "without its list a notification is inactive: %s", n.Name)
		}
		assert.Equal(t, []string{"notification.create acme/p/lab/a/try/e/order/n/Subscribers", "template.create acme/p/lab/a/try/e/order/n/Team/t/mail",
			"notification.create acme/p/lab/a/try/e/order/n/Team", "template.create acme/p/lab/a/try/e/order/t/mail", "event.create acme/p/lab/a/try/e/order"}, f.actions(5))

		// Beside itself: the list comes along.
		b.post(from, "application", f.application("acme"), "slug", "order-2", "name", "Order 2").is(t, http.StatusSeeOther)
		is, err = f.use.Events.Show(t.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"}, "order-2")
		require.NoError(t, err)
		for i, n := range is.Notifications {
			assert.Equal(t, was.Notifications[i].List, n.List)
			assert.True(t, n.Active)
		}
	})
}

// TestCopyEventBeyond500 is about channels and lists that are not among the first 500.
func TestCopyEventBeyond500(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addChannels(501)
	f.addLists(501)
	f.apply(app.BlueprintOrganization{Projects: []app.BlueprintProject{{Slug: "shop", Name: "Shop", Lists: []app.BlueprintList{{Name: "last"}},
		Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{{Slug: "order", Name: "Order", Pools: []string{"many"}, Channels: []string{"channel 500"},
			Templates:     []app.BlueprintTemplate{{Channel: "channel 500", Text: "T"}},
			Notifications: []app.BlueprintNotification{{Name: "Team", Active: true, List: "last"}}}}}}}}})
	b := f.as(f.operator("ada", users.RoleAdministrator))

	page := b.get(ofEvent+"order/channels/").is(t, http.StatusOK)
	last := regexp.MustCompile(`value="(\d+)" checked`).FindStringSubmatch(page.body)
	require.NotNil(t, last, "the page of the event shows its channel")
	assert.Contains(t, page.body, `value="many" checked`)
	b.post(ofEvent+"order/channels/", "channels", last[1], "pools", "many", "priority", "bulk").is(t, http.StatusSeeOther)

	copyBeside(b, ofEvent+"order/copy/").is(t, http.StatusSeeOther)
	web := app.Path{Organization: "acme", Project: "shop", Application: "web"}
	was, err := f.use.Events.Show(t.Context(), web, "order")
	require.NoError(t, err)
	is, err := f.use.Events.Show(t.Context(), web, "copy")
	require.NoError(t, err)
	assert.Equal(t, []any{was.Event.Channels, was.Event.Pools}, []any{is.Event.Channels, is.Event.Pools})
	assert.Len(t, is.Event.Channels, 1)
	assert.Len(t, is.Templates, 1)
	require.Len(t, is.Notifications, 1)
	assert.Equal(t, was.Notifications[0].List, is.Notifications[0].List)
	assert.True(t, is.Notifications[0].Active)
}

// addChannels adds channels to acme, the last one in the pool "many".
func (f *fixture) addChannels(n int) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(f.Context(), "acme")
		for i := 0; i < n && err == nil; i++ {
			c := channels.Channel{Organization: org.ID, Name: fmt.Sprintf("channel %d", i), Protocol: channels.EMAIL, Driver: "mailbox", Active: true}
			if i == n-1 {
				c.Pool, c.Weight = "many", channels.DefaultWeight
			}
			_, err = tx.Channels().Create(f.Context(), c)
		}
		return err
	})
}

// addLists adds lists to acme's project.
func (f *fixture) addLists(n int) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		p, err := tx.Orgs().Project(f.Context(), "acme", "shop")
		for i := 0; i < n && err == nil; i++ {
			_, err = tx.Lists().Create(f.Context(), lists.List{Organization: p.Organization, Project: p.ID, Name: fmt.Sprintf("list %d", i)})
		}
		return err
	})
}

func TestCopyEventRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	own := app.BlueprintChannel{Name: "own", Protocol: "EMAIL", Driver: "smtp", Active: true, Weight: 100, Pool: "post", Settings: map[string]any{"host": "mail.example"}}
	ofPool := app.BlueprintEvent{Slug: "of-pool", Name: "Of a pool", Pools: []string{"post"}}
	f.apply(app.BlueprintOrganization{Projects: []app.BlueprintProject{
		{Slug: "shop", Name: "Shop", Channels: []app.BlueprintChannel{own}, Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true,
			Events: []app.BlueprintEvent{ordered("order", "own"), ofPool}}}},
		{Slug: "lab", Name: "Lab", Applications: []app.BlueprintApplication{{Slug: "try", Name: "Try", Active: true}}},
	}})
	there, err := f.use.Applications.Show(t.Context(), app.Path{Organization: "acme", Project: "lab", Application: "try"})
	require.NoError(t, err)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	before := len(f.entries("acme"))
	for name, c := range map[string]struct{ application, slug, said string }{
		"NoChannel":      {idText(there.ID), "order", "has no channel own for EMAIL, which the event uses"},
		"NoApplication":  {"", "x", "choose an application of the organization"},
		"NoneOfOurs":     {f.application("globex"), "x", "choose an application of the organization"},
		"TheSlugIsTaken": {f.application("acme"), "order", "this slug is taken"},
		"NoSlug":         {f.application("acme"), "", "is required"},
		"NoSuchSlug":     {f.application("acme"), "A b", "must consist of lower-case letters"},
		"MoreThanAnID":   {"9223372036854775807", "x", "choose an application of the organization"},
		"NotAnID":        {"x", "x", "choose an application of the organization"},
	} {
		page := b.post(ofEvent+"order/copy/", "application", c.application, "slug", c.slug, "name", "Copy").is(t, http.StatusBadRequest)
		assert.Contains(t, page.text(), c.said, name)
		assert.Contains(t, page.body, `value="Copy"`, "%s: what was typed is still there", name)
	}
	page := b.post(ofEvent+"of-pool/copy/", "application", idText(there.ID), "slug", "x", "name", "x").is(t, http.StatusBadRequest)
	assert.Contains(t, page.text(), "has no pool post of EMAIL, which the event uses")
	b.get(ofEvent+"none/copy/").is(t, http.StatusNotFound)
	b.post(ofEvent+"none/copy/", "application", f.application("acme"), "slug", "x", "name", "x").is(t, http.StatusNotFound)
	assert.Len(t, f.entries("acme"), before, "nothing was written")
}

// TestCopyEventWithChannelsOfOneName is about channels of the organization and of its project that
// share name and protocol.
func TestCopyEventWithChannelsOfOneName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	own := app.BlueprintChannel{Name: "mail", Protocol: "EMAIL", Driver: "smtp", Active: true, Settings: map[string]any{"host": "mail.example"}}
	at := func(project, slug string, all ...app.BlueprintChannel) app.BlueprintProject {
		return app.BlueprintProject{Slug: project, Name: project, Channels: all, Applications: []app.BlueprintApplication{{Slug: slug, Name: slug, Active: true}}}
	}
	shop := at("shop", "web", own)
	shop.Applications[0].Events = []app.BlueprintEvent{{Slug: "order", Name: "Order", Templates: []app.BlueprintTemplate{{Channel: "mail", Text: "shop's"}}}}
	f.apply(app.BlueprintOrganization{Projects: []app.BlueprintProject{shop, at("lab", "try", own), at("bare", "bare")}})
	b := f.as(f.operator("ada", users.RoleAdministrator))
	ofOrg := f.channel(app.Path{Organization: "acme"}, "mail").ID
	b.post(ofEvent+"order/t/"+idText(ofOrg)+"/", "text", "acme's", "base", "0").is(t, http.StatusSeeOther)

	for _, to := range []app.Path{{Project: "shop", Application: "web"}, {Project: "lab", Application: "try"}} {
		to.Organization = "acme"
		there, err := f.use.Applications.Show(t.Context(), to)
		require.NoError(t, err)
		b.post(ofEvent+"order/copy/", "application", idText(there.ID), "slug", "copy", "name", "Copy").is(t, http.StatusSeeOther)
		is, err := f.use.Events.Show(t.Context(), to, "copy")
		require.NoError(t, err)
		texts := map[channels.ID]string{}
		for _, text := range is.Templates {
			texts[text.Channel] = text.Text
		}
		of := app.Path{Organization: "acme", Project: to.Project}
		assert.Equal(t, map[channels.ID]string{ofOrg: "acme's", f.channel(of, "mail").ID: "shop's"}, texts, to.Project)
	}

	// Where only the organization's channel is usable, both would become that one.
	there, err := f.use.Applications.Show(t.Context(), app.Path{Organization: "acme", Project: "bare", Application: "bare"})
	require.NoError(t, err)
	before := len(f.entries("acme"))
	page := b.post(ofEvent+"order/copy/", "application", idText(there.ID), "slug", "copy", "name", "Copy").is(t, http.StatusBadRequest)
	assert.Contains(t, page.text(), "has only one channel mail for EMAIL, but the event uses two")
	assert.Len(t, f.entries("acme"), before, "nothing was written")
}
