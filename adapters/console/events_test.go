package console_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		mail := idText(f.channel(app.Path{Organization: "acme"}, "mail").ID)
		made := b.post(ofEvent, "slug", "order", "name", "Order", "description", "Somebody\nordered", "example", ` {"n": 1} `).is(f.T, http.StatusSeeOther)
		assert.Equal(f, ofEvent+"order/?done=created-event", made.Header.Get("Location"))
		assert.Contains(f, b.get(ofEvent).text(), "Order order every channel inactive", "it begins as a draft")
		b.post(ofEvent+"order/channels/", "channels", mail, "priority", "bulk").is(f.T, http.StatusSeeOther)
		b.post(ofEvent+"order/live/", "on", "true").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(ofEvent).text(), "Order order mail active")
		assert.Contains(f, b.get(ofEvent+"order/channels/").is(f.T, http.StatusOK).body, `value="`+mail+`" checked`)
		assert.Contains(f, b.get(ofEvent+"order/").is(f.T, http.StatusOK).text(), `{"n": 1}`)

		b.post(ofEvent+"order/", "name", "Orders").is(f.T, http.StatusSeeOther)
		e := f.entries("acme")[0]
		assert.Equal(f, []any{"Order", "Somebody\nordered"}, []any{e.Before["name"], e.Before["description"]})
		assert.NotContains(f, e.Before, "channels")
		assert.Equal(f, "Orders", e.After["name"])
		assert.Contains(f, b.get(ofEvent).text(), "Orders order mail active", "each tab changes what is its own")
		b.post(ofEvent+"order/live/", "on", "false").is(f.T, http.StatusSeeOther)
		b.post(ofEvent+"order/live/").is(f.T, http.StatusBadRequest)
		b.post(ofEvent+"order/channels/").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(ofEvent).text(), "Orders order every channel inactive")
		before := len(f.entries("acme"))
		b.post(ofEvent+"order/", "name", " Orders ").is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), before, "again it changes nothing")

		b.post(ofEvent+"order/delete/").is(f.T, http.StatusSeeOther)
		b.get(ofEvent+"order/").is(f.T, http.StatusNotFound)
		assert.Equal(f, []string{"event.delete acme/p/shop/a/web/e/order", "event.update acme/p/shop/a/web/e/order"}, f.actions(2))
		assert.Contains(f, b.post(ofEvent+"tick/delete/").is(f.T, http.StatusBadRequest).text(), `The event "tick" is used by notification "Ticks" of event web/tick.`)
	})
}

func TestEventPools(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	assert.NotContains(t, b.get(ofEvent+"tick/channels/").body, `name="pools"`, "there is none")
	channel := created(b, atAcme, "name", "second", "active", "true", "pool", "post", "weight", "1", "settings.host", "h")
	assert.Contains(t, b.get(ofEvent+"tick/channels/").text(), "post (EMAIL: second)")
	b.post(ofEvent, "slug", "order", "name", "Order").is(t, http.StatusSeeOther)
	b.post(ofEvent+"order/channels/", "pools", "post").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get(ofEvent).text(), "Order order pool post inactive")
	page := b.get(ofEvent+"order/channels/").is(t, http.StatusOK)
	assert.Contains(t, page.body, `value="post" checked`)
	assert.Contains(t, page.text(), "those of its pools")
	assert.Contains(t, page.text(), "post (EMAIL)")
	b.post(ofEvent+"order/channels/", "pools", "nope").is(t, http.StatusBadRequest)

	assert.Contains(t, b.post(channel+"delete/").is(t, http.StatusBadRequest).text(), `used by event web/order, and there is no other channel in it than "second"`)
	b.post(ofEvent+"order/channels/").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get(ofEvent).text(), "Order order every channel inactive")
}

func TestEventKeepsEmptyPool(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	created(b, atAcme, "name", "second", "active", "true", "pool", "post", "weight", "1", "settings.host", "h")
	second := f.channel(app.Path{Organization: "acme"}, "second")
	b.post(ofEvent, "slug", "order", "name", "Order").is(t, http.StatusSeeOther)
	b.post(ofEvent+"order/channels/", "pools", "post").is(t, http.StatusSeeOther)
	second.Pool = ""
	f.update(func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), second) }) // as an earlier release may do it
	page := b.get(ofEvent+"order/channels/").is(t, http.StatusOK)
	assert.Contains(t, page.body, `value="post" checked`)
	b.post(ofEvent+"order/channels/", "pools", "post").is(t, http.StatusSeeOther)
	b.post(ofEvent+"order/", "name", "Orders").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get(ofEvent).text(), "Orders order pool post")
	f.update(func(tx ports.Tx) error {
		second.ID, second.Name, second.Protocol, second.Pool, second.Settings = 0, "third", channels.SMS, "post", nil
		_, err := tx.Channels().Create(t.Context(), second)
		return err
	})
	page = b.get(ofEvent+"order/channels/").is(t, http.StatusOK)
	assert.Equal(t, 1, strings.Count(page.body, `value="post"`), "another pool of its name takes its place")
	b.post(ofEvent+"order/channels/", "pools", "post").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get(ofEvent+"order/channels/").text(), "post (SMS: third)")
	assert.NotContains(t, b.get(ofEvent+"order/channels/").text(), "post (EMAIL)")
}

func TestEventFormErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleAdministrator))
	theirs := idText(f.channel(app.Path{Organization: "globex"}, "mail").ID)
	for name, c := range map[string]struct {
		fields []string // behind the end of the path
		field  string
		said   string
	}{
		"NoSlug":         {[]string{"", "name", "x"}, "slug", "is required"},
		"TheSlugIsTaken": {[]string{"", "slug", "tick", "name", "x"}, "slug", "this slug is taken"},
		"NoName":         {[]string{"", "slug", "x"}, "name", "is required"},
		"NoObject":       {[]string{"", "slug", "x", "name", "x", "example", "[1]"}, "example", "must be a JSON object"},
		"NoJSON":         {[]string{"", "slug", "x", "name", "x", "example", "{"}, "example", "must be a JSON object"},
		"NoSchema":       {[]string{"tick/", "slug", "x", "name", "x", "context_schema", `{"type": "text"}`}, "context_schema", "is not a JSON Schema: /type: value must be one of"},
		"ItDoesNotFit":   {[]string{"tick/", "slug", "x", "name", "x", "context_schema", `{"required": ["a"]}`, "example", `{"b": 1}`}, "example", "does not fit the schema: missing property"},
		"NoPriority":     {[]string{"tick/channels/", "slug", "x", "name", "x", "priority", "soon"}, "priority", "must be one of urgent, normal, bulk"},
		"Theirs":         {[]string{"tick/channels/", "slug", "x", "name", "x", "channels", theirs}, "", "the channel does not exist"},
		"NoChannel":      {[]string{"tick/channels/", "slug", "x", "name", "x", "channels", "x"}, "", "the channel does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.post(ofEvent+c.fields[0], c.fields[1:]...).is(t, http.StatusBadRequest)
			assert.Contains(t, got.body, c.said)
			if c.field != "" {
				assert.Contains(t, got.body, `id="`+c.field+`-faults"`)
			}
		})
	}
	assert.Contains(t, b.post(ofEvent+"tick/", "name", "x", "example", "x").is(t, http.StatusBadRequest).body, `id="example-faults"`)
	assert.Empty(t, f.entries("acme"))
}

func TestContextSchema(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		b.post(ofEvent+"tick/channels/", "priority", "bulk").is(f.T, http.StatusSeeOther)
		page := b.get(ofEvent+"tick/channels/").is(f.T, http.StatusOK).body
		assert.Contains(f, page, `<option value="bulk" selected>`)
		assert.Contains(f, b.get(ofEvent+"tick/live/").is(f.T, http.StatusOK).body, "bulk, as the event")
		const schema = `{"required": ["order"], "properties": {"order": {"type": "integer"}}}`
		b.post(ofEvent+"tick/", "name", "Tick", "context_schema", schema, "example", `{"order": 1}`).is(f.T, http.StatusSeeOther)
		assert.Contains(f, html.UnescapeString(b.get(ofEvent+"tick/").is(f.T, http.StatusOK).body), schema)
		assert.Contains(f, f.latest(), "event.update")
		refused := b.post(ofEvent+"tick/trigger/", "context", `{"order": "x"}`).is(f.T, http.StatusBadRequest)
		assert.Contains(f, refused.text(), "/order: got string, want integer")
		assert.Contains(f, refused.body, `id="context-faults"`)
		b.post(ofEvent+"tick/trigger/", "context", `{"order": 17}`).is(f.T, http.StatusOK)
	})
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		var all, pinned, theirs lists.List
		f.update(func(tx ports.Tx) error {
			a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
			if err != nil {
				return err
			}
			if all, err = tx.Lists().ByName(f.Context(), a.Organization, a.Project, "all"); err != nil {
				return err
			}
			desk := a
			desk.ID, desk.Slug = 0, "desk"
			if desk, err = tx.Applications().Create(f.Context(), desk); err != nil {
				return err
			}
			if pinned, err = tx.Lists().Create(f.Context(), lists.List{Organization: a.Organization, Project: a.Project, Name: "desk only", Application: desk.ID}); err != nil {
				return err
			}
			other, err := tx.Applications().BySlug(f.Context(), "globex", "shop", "web")
			if err != nil {
				return err
			}
			theirs, err = tx.Lists().ByName(f.Context(), other.Organization, other.Project, "all")
			return err
		})
		form := b.get(ofEvent+"tick/audience/").is(f.T, http.StatusOK)
		assert.Contains(f, form.body, ">all</option>")
		assert.NotContains(f, form.body, "desk only")
		for said, fields := range map[string][]string{
			"is required": {"name", ""}, "a notification with this name exists already": {"name", "TICKS"}, "the distribution list does not exist": {"name", "x", "list", idText(theirs.ID)},
			lists.ErrPinned.Error(): {"name", "x", "list", idText(pinned.ID)},
		} {
			assert.Contains(f, b.post(ofEvent+"tick/n/", fields...).is(f.T, http.StatusBadRequest).body, said)
		}
		b.post(ofEvent+"tick/n/", "name", "x", "list", "x").is(f.T, http.StatusBadRequest)
		assert.Empty(f, f.entries("acme"))

		b.post(ofEvent+"tick/n/", "name", "Second", "list", idText(all.ID), "active", "true").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(ofEvent+"tick/audience/").text(), "Second all active")
		r, err := f.use.Events.Show(f.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"}, "tick")
		assert.NoError(f, err)
		path := ofEvent + "tick/n/" + idText(r.Notifications[1].ID) + "/"
		assert.Contains(f, b.get(path).text(), "Distribution list all")
		b.post(path, "name", "Renamed").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(ofEvent+"tick/audience/").text(), "Renamed none inactive")
		e := f.entries("acme")[0]
		assert.Equal(f, []any{"Second", "all", true}, []any{e.Before["name"], e.Before["list"], e.Before["active"]})
		assert.Equal(f, []any{"Renamed", "", false}, []any{e.After["name"], e.After["list"], e.After["active"]})
		b.post(path, "name", "ticks").is(f.T, http.StatusBadRequest)
		b.post(path+"delete/").is(f.T, http.StatusSeeOther)
		b.get(path).is(f.T, http.StatusNotFound)
		assert.Equal(f, []string{"notification.delete acme/p/shop/a/web/e/tick/n/Renamed", "notification.update acme/p/shop/a/web/e/tick/n/Second",
			"notification.create acme/p/shop/a/web/e/tick/n/Second"}, f.actions(3))
	})
}
