package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

const (
	shop = "/console/o/acme/p/shop/"
	web  = shop + "a/web/"
)

// system is an actor of tests.
var system = audit.Actor{Name: "test", Via: audit.CommandLine}

// places makes a list that nothing uses and a key of acme, puts ada on the other list, and returns what names them in paths.
func (f *fixture) places() map[string]string {
	f.Helper()
	f.listed("ada")
	key, _, err := f.use.Keys.Create(f.Context(), system, "spare", access.Scope{Organization: "acme"}, []string{"user:read"}, 0)
	require.NoError(f, err)
	return map[string]string{"{list}": f.list("spare"), "{key}": strconv.FormatInt(int64(key.ID), 10), "{notification}": f.notification("acme")}
}

// list makes a list of acme's shop and returns its id.
func (f *fixture) list(name string) string {
	f.Helper()
	l, err := lists.New(name)
	require.NoError(f, err)
	l, err = f.use.Lists.Create(f.Context(), system, app.Path{Organization: "acme", Project: "shop"}, l, 0)
	require.NoError(f, err)
	return strconv.FormatInt(int64(l.ID), 10)
}

// listNamed is the id of a list of an organization's shop.
func (f *fixture) listNamed(org, name string) string {
	f.Helper()
	all, err := f.use.Lists.List(f.Context(), app.Path{Organization: org, Project: "shop"}, app.Page{Limit: 1000})
	require.NoError(f, err)
	for _, l := range all {
		if l.Name == name {
			return strconv.FormatInt(int64(l.ID), 10)
		}
	}
	f.Fatalf("there is no list %q in %s", name, org)
	return ""
}

// notification is the id of the notification of an organization.
func (f *fixture) notification(org string) string {
	f.Helper()
	all, err := f.use.Applications.Notifications(f.Context(), app.Path{Organization: org, Project: "shop", Application: "web"}, app.Page{Limit: 10})
	require.NoError(f, err)
	require.Len(f, all, 1)
	return strconv.FormatInt(int64(all[0].ID), 10)
}

// id is the id of a member of acme.
func (f *fixture) id(username string) string {
	f.Helper()
	var m users.Member
	f.update(func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(f.Context(), "acme")
		if err != nil {
			return err
		}
		m, err = tx.Users().Find(f.Context(), org.ID, username)
		return err
	})
	return strconv.FormatInt(int64(m.ID), 10)
}

// assigned gives a member of acme an address on a channel and returns the assignment.
func (f *fixture) assigned(username, value, channel string) channels.Assignment {
	f.Helper()
	var made []channels.Assignment
	f.update(func(tx ports.Tx) error {
		ctx := f.Context()
		org, err := tx.Orgs().BySlug(ctx, "acme")
		if err != nil {
			return err
		}
		m, err := tx.Users().Find(ctx, org.ID, username)
		if err != nil {
			return err
		}
		a, err := users.NewAddress(value, "")
		if err != nil {
			return err
		}
		a.Member = m.ID
		held, _, err := tx.Addresses().Ensure(ctx, org.ID, []users.Address{a})
		if err != nil {
			return err
		}
		c, err := tx.Channels().Find(ctx, org.ID, 0, channel)
		if err != nil {
			return err
		}
		made, _, err = tx.Assignments().Ensure(ctx, org.ID, []channels.Assignment{channels.Assign(held[0], c)})
		return err
	})
	return made[0]
}

// latest says what the newest entry of acme's log tells.
func (f *fixture) latest() string {
	f.Helper()
	all := f.entries("acme")
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s %s %v %v", all[0].Actor.Name, all[0].Action, all[0].Object, all[0].Before, all[0].After)
}

func TestListsAreMadeAndChanged(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		to := b.post(shop+"d/", "name", " News ").is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Contains(f, b.get(to).said(), "The change is saved.")
		assert.Equal(f, "olga list.create acme/p/shop/d/News map[] map[application: name:News]", f.latest())
		to, _, _ = strings.Cut(to, "?")

		b.post(to, "name", "Offers", "application", f.application("acme")).is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga list.update acme/p/shop/d/News map[application: name:News] map[application:web name:Offers]", f.latest())
		page := b.get(to).is(f.T, http.StatusOK)
		assert.Contains(f, page.said(), "Pinned to Web")
		assert.Contains(f, page.said(), "No notification uses the list.")
		assert.Contains(f, b.get(shop+"d/").said(), "Offers Web")
		before := len(f.entries("acme"))
		b.post(to, "name", "Offers", "application", f.application("acme")).is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), before, "nothing has changed, and nothing is recorded")
		b.post(to, "name", "Offers").is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga list.update acme/p/shop/d/Offers map[application:web] map[application:]", f.latest())

		for form, said := range map[[4]string]string{
			{"name", "", "application", ""}:                       "Is required",
			{"name", "ALL", "application", ""}:                    "a distribution list with this name exists already",
			{"name", "x", "application", "0"}:                     "there is no application with this id in the project",
			{"name", "x", "application", f.application("globex")}: "there is no application with this id in the project",
			{"name", strings.Repeat("x", 201), "application", ""}: "is longer than 200 characters",
			{"name", "<b>ALL</b>\x00", "application", ""}:         "contains a control character",
		} {
			for _, path := range []string{shop + "d/", to} {
				got := b.post(path, form[:]...).is(f.T, http.StatusBadRequest)
				assert.Contains(f, strings.ToLower(got.said()), strings.ToLower(said), path)
				assert.Contains(f, got.body, `aria-invalid="true"`)
				assert.Contains(f, got.body, `value="`+strings.ReplaceAll(html.EscapeString(form[1]), "\x00", "\uFFFD")+`"`, "what was typed stays")
			}
		}
		b.post(to+"delete/").is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga list.delete acme/p/shop/d/Offers map[application: name:Offers] map[]", f.latest())
		b.get(to).is(f.T, http.StatusNotFound)
		assert.Contains(f, b.get(shop+"d/?done=deleted").said(), "It is deleted.")
	})
}

// application is the id of the application web of an organization.
func (f *fixture) application(org string) string {
	f.Helper()
	a, err := f.use.Applications.Show(f.Context(), app.Path{Organization: org, Project: "shop", Application: "web"})
	require.NoError(f, err)
	return strconv.FormatInt(int64(a.ID), 10)
}

func TestAListThatIsUsed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	to := shop + "d/" + f.listNamed("acme", "all") + "/"
	page := b.get(to).is(t, http.StatusOK)
	assert.Contains(t, page.said(), "Ticks Tick Web active")
	assert.Contains(t, page.body, fmt.Sprintf(`<a href="%se/tick/n/%s/">`, web, f.notification("acme")))
	got := b.post(to+"delete/").is(t, http.StatusBadRequest)
	assert.Contains(t, got.said(), `The distribution list "all" is used by notification "Ticks" of event web/tick.`)

	b.post(shop+"a/", "slug", "desk", "name", "Desk").is(t, http.StatusSeeOther)
	desk, err := f.use.Applications.Show(t.Context(), app.Path{Organization: "acme", Project: "shop", Application: "desk"})
	require.NoError(t, err)
	got = b.post(to, "name", "all", "application", strconv.FormatInt(int64(desk.ID), 10)).is(t, http.StatusBadRequest)
	assert.Contains(t, got.said(), `the list cannot be pinned to this application: it is used by notification "Ticks" of event web/tick`)
	assert.Contains(t, got.body, `aria-describedby="application-hint application-faults" aria-invalid="true"`)
	b.post(to, "name", "all", "application", f.application("acme")).is(t, http.StatusSeeOther)
}

func TestRecipientsAreAddedFoundAndRemoved(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		f.person("globex", "zoe", users.RoleMember, false)
		var emails []string
		for i := range 120 {
			name := fmt.Sprintf("user%03d", i)
			f.person("acme", name, users.RoleMember, false)
			f.assigned(name, name+"@example.org", "mail")
			emails = append(emails, name+"@example.org")
		}
		to := shop + "d/" + f.list("news") + "/"
		got := b.post(to+"add/", "emails", "user000@example.org\nzoe@example.org,  ;nobody@example.org").is(f.T, http.StatusBadRequest)
		for _, said := range []string{"zoe@example.org is not recorded in this organization", "nobody@example.org is not recorded in this organization"} {
			assert.Contains(f, got.said(), said)
		}
		assert.Contains(f, b.post(to+"add/", "emails", "user000@example.org nonsense\r\n").is(f.T, http.StatusBadRequest).said(), "nonsense ")
		assert.Contains(f, b.post(to+"add/", "emails", " \n, ").is(f.T, http.StatusBadRequest).said(), "1 to 10000 e-mail addresses")
		assert.Contains(f, b.get(to).said(), "The list has no recipients.")

		back := b.post(to+"add/", "emails", strings.Join(emails, "\r\n")+"\r\nUSER000@example.org").is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Contains(f, b.get(back).said(), "120 recipients are new on the list.")
		assert.Contains(f, f.latest(), "olga recipients.add acme/p/shop/d/news map[] map[added:")

		row := regexp.MustCompile(`<th scope="row"><bdi>([^<]*)</bdi></th>`)
		next := regexp.MustCompile(`<a class="more" href="([^"]*)"`)
		walk := func(query string) (found []string, pages int) {
			for path := to + query; path != "" && pages < 10; pages++ {
				page := b.get(path).is(f.T, http.StatusOK)
				for _, m := range row.FindAllStringSubmatch(page.body, -1) {
					found = append(found, m[1])
				}
				path = ""
				if m := next.FindStringSubmatch(page.body); m != nil {
					path = html.UnescapeString(m[1])
				}
			}
			return found, pages
		}
		found, pages := walk("")
		assert.Len(f, found, 120)
		assert.Equal(f, 3, pages)
		found, pages = walk("?q=USER0")
		assert.Equal(f, emails[:100], found)
		assert.Equal(f, 2, pages)
		found, _ = walk("?q=user01")
		assert.Equal(f, emails[10:20], found)
		for _, query := range []string{"?q=nobody", "?q=%25", "?q=%00", "?q=user&after_way=9", "?q=%FF&after_key=%00%FF"} {
			found, _ = walk(query)
			if query != "?q=%00" && query != "?q=%FF&after_key=%00%FF" { // What no text can hold is not asked for.
				assert.Empty(f, found, query)
			}
		}

		ids := regexp.MustCompile(`name="only" value="(\d+)"`).FindAllStringSubmatch(b.get(to+"?q=user00").body, -1)
		require.Len(f, ids, 10)
		b.post(to+"remove/", "only", ids[0][1], "recipient", ids[1][1]).is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga recipients.remove acme/p/shop/d/news map[count:1 removed:[user000@example.org]] map[]", f.latest())
		back = b.do(http.MethodPost, to+"remove/", url.Values{"form_token": {b.token()}, "q": {"user00"}, "recipient": {ids[0][1], ids[1][1], ids[2][1], "x"}}).is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Contains(f, b.get(back).said(), "2 recipients are off the list.")
		found, _ = walk("?q=user00")
		assert.Equal(f, emails[3:10], found)
	})
}

func TestRecipientsAreAddedFromUsers(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		f.person("acme", "ada", users.RoleMember, false)
		f.person("acme", "adrian", users.RoleMember, false)
		f.assigned("ada", "ada@example.org", "mail")
		f.update(func(tx ports.Tx) error {
			org, err := tx.Orgs().BySlug(f.Context(), "acme")
			if err != nil {
				return err
			}
			_, err = tx.Channels().Create(f.Context(), channels.Channel{Organization: org.ID, Name: "text", Protocol: channels.SMS, Driver: "twilio", Active: true})
			return err
		})
		byText := f.assigned("ada", "+4915112345678", "text")
		to := shop + "d/" + f.list("news") + "/"
		page := b.get(to+"?people=AD").is(f.T, http.StatusOK).said()
		assert.Contains(f, page, "ada First Last Add e-mail of ada Add +4915112345678 by text adrian First Last Add e-mail of adrian")
		assert.Contains(f, b.get(to+"?people=nobody").said(), "Nobody is found.")

		back := b.post(to+"members/", "member", f.id("ada"), "people", "ad").is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Contains(f, b.get(back).said(), "1 recipient is new on the list.")
		assert.Contains(f, back, "people=ad")
		assert.Equal(f, "olga recipients.add acme/p/shop/d/news map[] map[added:[ada@example.org] user:ada]", f.latest())
		b.post(to+"members/", "assignment", strconv.FormatInt(int64(byText.ID), 10)).is(f.T, http.StatusSeeOther)
		assert.Equal(f, "olga recipients.add acme/p/shop/d/news map[] map[added:[+4915112345678] count:1]", f.latest())
		before := len(f.entries("acme"))
		b.post(to+"members/", "member", f.id("ada")).is(f.T, http.StatusSeeOther)
		b.post(to+"members/", "assignment", strconv.FormatInt(int64(byText.ID), 10)).is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), before)
		assert.Contains(f, b.get(to).said(), "ada@example.org ada mail active Remove ada@example.org by mail +4915112345678 ada text active")

		assert.Contains(f, b.post(to+"members/", "member", f.id("adrian")).is(f.T, http.StatusBadRequest).said(), "adrian has no e-mail address.")
		b.post(to+"members/", "member", "x").is(f.T, http.StatusNotFound)
		b.post(to+"members/", "assignment", "999").is(f.T, http.StatusNotFound)
	})
}

func TestApplicationsAreMadeAndChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eve", users.RoleAdministrator))
	b.post(shop+"a/", "slug", "desk", "name", "Desk").is(t, http.StatusSeeOther)
	assert.Equal(t, "eve application.create acme/p/shop/a/desk map[] map[active:true name:Desk]", f.latest())
	assert.Contains(t, b.get(shop+"a/").said(), "Web web Desk desk")
	for fields, said := range map[[4]string]string{{"slug", "desk", "name", "x"}: "this slug is taken", {"slug", "A b", "name", "x"}: "must consist of lower-case letters", {"slug", "", "name", ""}: "is required"} {
		assert.Contains(t, b.post(shop+"a/", fields[:]...).is(t, http.StatusBadRequest).said(), said)
	}
	desk := shop + "a/desk/"
	b.post(desk+"settings/", "name", "Help desk").is(t, http.StatusSeeOther)
	assert.Equal(t, "eve application.update acme/p/shop/a/desk map[active:true name:Desk] map[active:false name:Help desk]", f.latest())
	assert.Contains(t, b.get(shop+"a/").said(), "Help desk desk inactive")
	assert.Contains(t, b.post(desk+"settings/", "name", " ").is(t, http.StatusBadRequest).said(), "is required")
	page := b.get(desk+"settings/").is(t, http.StatusOK)
	assert.Contains(t, page.body, `value="Help desk"`)
	assert.NotContains(t, page.body, "checked")
	assert.Contains(t, b.post(web+"delete/").is(t, http.StatusBadRequest).said(), `The application "web" is used by event web/tick`)
	b.post(desk+"delete/").is(t, http.StatusSeeOther)
	assert.Equal(t, "eve application.delete acme/p/shop/a/desk map[active:false name:Help desk] map[]", f.latest())
	b.get(desk+"settings/").is(t, http.StatusNotFound)
}

func TestMembersOfAnApplication(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		assert.Contains(f, b.get(web+"m/").said(), "Nobody is registered yet.")
		b.post(web+"m/", "username", "ada", "email", "ada@example.org", "first_name", "Ada", "active", "true", "address", "ada@example.org",
			"assign_to_preferred_channel", "true", "distribution_list", "ALL", "custom_fields", `{"plan": "free"}`).is(f.T, http.StatusSeeOther)
		page := b.get(web + "m/").said()
		assert.Contains(f, page, `ada Ada active open Lock (ada) enabled Disable (ada) Show the metadata of ada { "plan": "free" } Unregister ada`)
		assert.Contains(f, b.get(shop+"d/"+f.listNamed("acme", "all")+"/").said(), "ada@example.org ada mail active")

		got := b.post(web+"m/", "username", "", "email", "x", "address", "a\x00b", "custom_fields", "[1]", "distribution_list", "all").is(f.T, http.StatusBadRequest)
		for _, said := range []string{"Username is required", "Metadata optional [1] A JSON object, merged into what the application records. must be a JSON object", "contains a control character"} {
			assert.Contains(f, got.said(), said)
		}
		assert.Contains(f, b.post(web+"m/", "username", "bob", "distribution_list", "none").is(f.T, http.StatusBadRequest).said(), "there is no distribution list with this name in the project")

		one := web + "m/" + f.id("ada") + "/"
		for _, step := range []struct{ path, on, entry string }{
			{"locked/", "true", "olga membership.lock acme/p/shop/a/web/u/ada map[locked:false] map[locked:true]"},
			{"notifications/", "false", "olga membership.enable_notifications acme/p/shop/a/web/u/ada map[enable_notifications:true] map[enable_notifications:false]"},
		} {
			to := b.post(one+step.path+"?q=ad&after=", "on", step.on).is(f.T, http.StatusSeeOther).Header.Get("Location")
			assert.Equal(f, step.entry, f.latest())
			assert.Contains(f, b.get(to).is(f.T, http.StatusOK).body, `value="ad"`, "it leads back to where one was")
		}
		assert.Contains(f, b.get(web+"m/?q=AD").said(), "active locked Unlock (ada) disabled Enable (ada)")
		assert.Contains(f, b.get(web+"m/?q=b").said(), "Nobody is found.")
		b.post(one+"unregister/").is(f.T, http.StatusSeeOther)
		assert.Contains(f, f.latest(), "olga membership.unregister acme/p/shop/a/web/u/ada")
		before := len(f.entries("acme"))
		b.post(one+"unregister/").is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), before)
		viewer := f.as(f.operator("vera", users.RoleViewer)).get(web + "m/")
		assert.NotContains(f, viewer.body, "Register a member by hand")

		for i := range 60 {
			b.post(web+"m/", "username", fmt.Sprintf("user%02d", i), "active", "true").is(f.T, http.StatusSeeOther)
		}
		first := b.get(web + "m/")
		assert.Equal(f, 50, strings.Count(first.body, `<th scope="row">`))
		more := regexp.MustCompile(`<a class="more" href="([^"]*)"`).FindStringSubmatch(first.body)
		require.NotNil(f, more)
		assert.Equal(f, 10, strings.Count(b.get(html.UnescapeString(more[1])).body, `<th scope="row">`))
	})
}

func TestSubscriptionsAndOptOuts(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		ada := f.person("acme", "ada", users.RoleMember, false)
		a := f.assigned("ada", "ada@example.org", "mail")
		to := web + "n/" + f.notification("acme") + "/subscriptions/"
		assert.Contains(f, b.get(to+"?people=ad").said(), "ada First Last Subscribe ada@example.org by mail")
		id := strconv.FormatInt(int64(a.ID), 10)
		for _, active := range []string{"true", "false", "true"} {
			b.post(to, "assignment", id, "active", active).is(f.T, http.StatusSeeOther)
			assert.Contains(f, f.latest(), "active:"+active)
			assert.Contains(f, f.latest(), "olga subscription.set acme/p/shop/a/web/n/")
		}
		assert.Contains(f, b.get(to).said(), "ada@example.org ada mail active Deactivate ada@example.org by mail")
		b.post(to, "assignment", "999", "active", "true").is(f.T, http.StatusNotFound)
		b.post(to, "assignment", id, "active", "perhaps").is(f.T, http.StatusBadRequest)

		n, err := strconv.ParseInt(f.notification("acme"), 10, 64)
		require.NoError(f, err)
		f.update(func(tx ports.Tx) error {
			_, err := tx.Deliveries().SetOptOut(f.Context(), deliveries.OptOut{Member: ada.ID, AddressKey: "ada@example.org", Notification: subscriptions.NotificationID(n)}, true)
			return err
		})
		assert.Contains(f, b.get(to).said(), "ada@example.org ada 2026-03-04 05:06:07 UTC Undo the opt-out of ada@example.org")
		undo := web + "n/" + f.notification("acme") + "/opt-outs/withdraw/"
		for range 2 { // Again it changes nothing, and nothing is recorded.
			b.post(undo, "member", f.id("ada"), "address", "ada@example.org").is(f.T, http.StatusSeeOther)
			assert.Equal(f, "olga opt_out.set acme/p/shop/a/web/u/ada map[opt_out:true] map[address:ada@example.org notification:Ticks opt_out:false]", f.latest())
		}
		assert.NotContains(f, b.get(to).said(), "Undo")
		b.post(undo, "member", "999", "address", "x").is(f.T, http.StatusNotFound)
	})
}

var shownKey = regexp.MustCompile(`<code class="secret" id="secret">(tcs_[0-9a-f]{64})</code>`)

func TestKeysAreShownOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		keys := "/console/o/acme/keys/"
		authentication := app.NewAuthentication(f.store, f.clock)
		made := b.do(http.MethodPost, keys, url.Values{"form_token": {b.token()}, "name": {"sync"}, "project": {"shop"}, "application": {"web"},
			"grant": {"user:read", "event:trigger"}, "lifetime": {"720h"}}).is(f.T, http.StatusOK)
		assert.Equal(f, "no-store", made.Header.Get("Cache-Control"))
		text := shownKey.FindStringSubmatch(made.body)
		require.NotNil(f, text, made.body)
		key, err := authentication.Authenticate(f.Context(), text[1])
		require.NoError(f, err)
		assert.Equal(f, access.Scope{Organization: "acme", Project: "shop", Application: "web"}, key.Scope)
		assert.Equal(f, []access.Grant{access.UserRead, access.EventTrigger}, key.Grants)
		assert.Equal(f, f.clock.Now().Add(720*time.Hour), key.Expires)
		assert.Contains(f, f.latest(), "eve key.create acme/p/shop/a/web/keys/sync")
		assert.NotContains(f, fmt.Sprint(f.entries("acme")), text[1])
		again := b.post(keys, "name", "sync", "grant", "user:read")
		assert.Contains(f, again.is(f.T, http.StatusBadRequest).said(), "a key with this name exists already")
		page := b.get(keys).is(f.T, http.StatusOK)
		assert.Contains(f, page.said(), "sync acme/shop/web user:read event:trigger active 2026-03-04 05:06:07 UTC 2026-04-03 05:06:07 UTC never")
		assert.NotContains(f, page.body, text[1])

		for fields, said := range map[[6]string]string{
			{"name", "x", "grant", "root"}: `there is no grant &#34;root&#34;`, {"name", "x"}: "at least one is required", {"grant", "user:read"}: "is required",
			{"name", "x", "grant", "user:read", "project", "other"}: "the project does not exist", {"name", "x", "grant", "user:read", "application", "web"}: "needs a project",
			{"name", "x", "grant", "user:read", "lifetime", "1s"}: "is none of the choices",
		} {
			var sent []string
			for _, field := range fields {
				if field != "" {
					sent = append(sent, field)
				}
			}
			got := b.post(keys, sent...).is(f.T, http.StatusBadRequest)
			assert.Contains(f, got.body, said)
		}
		b.post(keys, "name", "other", "organization", "globex", "grant", "full_access").is(f.T, http.StatusOK)
		assert.Contains(f, b.get(keys).said(), "other acme full_access active", "the organization is that of the path, whatever the form says")
	})
}

func TestKeysAreRotatedAndRevoked(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		keys := "/console/o/acme/keys/"
		authentication := app.NewAuthentication(f.store, f.clock)
		valid := func(text string) bool {
			authentication.Forget()
			_, err := authentication.Authenticate(f.Context(), text)
			return err == nil
		}
		old := shownKey.FindStringSubmatch(b.post(keys, "name", "sync", "grant", "user:read", "lifetime", "").body)[1]
		first, err := authentication.Authenticate(f.Context(), old)
		require.NoError(f, err)
		one := keys + strconv.FormatInt(int64(first.ID), 10) + "/"
		assert.Contains(f, b.post(one+"rotate/", "overlap", "").is(f.T, http.StatusBadRequest).body, "is none of the choices")
		rotated := b.post(one+"rotate/", "overlap", "1h").is(f.T, http.StatusOK)
		next := shownKey.FindStringSubmatch(rotated.body)[1]
		assert.Contains(f, rotated.said(), "The key before it goes on until 2026-03-04 06:06:07 UTC")
		assert.Contains(f, f.latest(), "eve key.rotate acme/keys/sync")
		assert.Contains(f, b.post(one+"rotate/", "overlap", "1h").is(f.T, http.StatusBadRequest).said(), "Another key has taken the place of this one already.")
		second, err := authentication.Authenticate(f.Context(), next)
		require.NoError(f, err)
		assert.Equal(f, []any{"sync", first.Scope, first.Grants, true}, []any{second.Name, second.Scope, second.Grants, second.Expires.IsZero()})
		assert.True(f, valid(old))
		assert.Contains(f, b.get(keys).said(), "sync acme user:read replaced")
		f.clock.advance(time.Hour)
		assert.False(f, valid(old))
		assert.True(f, valid(next))
		assert.Contains(f, b.get(keys).said(), "sync acme user:read expired")

		to := keys + strconv.FormatInt(int64(second.ID), 10) + "/revoke/"
		for range 2 {
			b.post(to).is(f.T, http.StatusSeeOther)
		}
		assert.False(f, valid(next))
		assert.Contains(f, f.latest(), "eve key.revoke acme/keys/sync")
		assert.Equal(f, 1, strings.Count(fmt.Sprint(f.entries("acme")), "key.revoke"))
		assert.Contains(f, b.post(keys+strconv.FormatInt(int64(second.ID), 10)+"/rotate/", "overlap", "1h").is(f.T, http.StatusBadRequest).said(), "The key is revoked or has expired.")
	})
}

func TestKeysOfAWiderScopeAreOutOfReach(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b, root := f.as(f.operator("eve", users.RoleAdministrator)), f.as(f.account("root", true))
	root.post("/console/keys/", "name", "wide", "grant", "full_access").is(t, http.StatusOK)
	root.post("/console/keys/", "name", "theirs", "organization", "globex", "grant", "full_access").is(t, http.StatusOK)
	assert.Contains(t, root.post("/console/keys/", "name", "x", "organization", "system", "grant", "full_access").is(t, http.StatusBadRequest).said(), "the organization does not exist")
	all := root.get("/console/keys/").said()
	assert.Contains(t, all, "theirs globex full_access active")
	assert.Contains(t, all, "wide installation full_access active")
	page := b.get("/console/o/acme/keys/").said()
	assert.NotContains(t, page, "wide")
	assert.NotContains(t, page, "theirs")
	found, err := f.use.Keys.Latest(t.Context(), app.Path{}, 0, 10)
	require.NoError(t, err)
	require.Len(t, found, 2)
	for _, k := range found {
		for _, action := range []string{"rotate/", "revoke/"} {
			b.post(fmt.Sprintf("/console/o/acme/keys/%d/%s", k.ID, action), "overlap", "1h").is(t, http.StatusNotFound)
		}
		assert.Equal(t, access.Active, k.State)
	}
}

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
		f.clock.advance(2 * time.Hour)
		late := b.post(to, "context", "{}").confirmation()
		late.Set("form_token", b.token())
		f.clock.advance(61 * time.Minute)
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

func TestWhatPeopleWriteInPlacesIsTextOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.armed()
	f.account(weapon, true)
	b := f.nobody()
	b.signIn(weapon, password).is(t, http.StatusSeeOther)
	list := shop + "d/" + f.listNamed("acme", weapon) + "/"
	b.post(shop+"d/", "name", weapon+" again", "application", f.application("acme")).is(t, http.StatusSeeOther)
	b.post("/console/o/acme/keys/", "name", weapon, "grant", "user:read").is(t, http.StatusOK)
	subscribers := web + "n/" + f.notification("acme") + "/subscriptions/"
	for path, shown := range map[string]int{
		shop + "d/": 3, shop + "d/?after=x": 3, list: 4, list + "?q=" + escaped(): 4, list + "?q=javascript": 3, list + "?people=" + escaped(): 4, shop + "a/": 1,
		web + "settings/": 3, web + "m/": 4, web + "m/?q=" + escaped(): 4, subscribers: 0, subscribers + "?people=" + escaped(): 3, "/console/o/acme/keys/": 2, "/console/keys/": 2,
		web + "e/tick/trigger/": 2, web + "e/" + escaped() + "/trigger/": 0,
	} {
		b.clean(t, b.get(path), shown, path)
	}
	for path, fields := range map[string][]string{
		shop + "d/": {"name", weapon, "application", weapon}, list: {"name", "all", "application", weapon}, list + "add/": {"emails", weapon}, shop + "a/": {"slug", weapon, "name", weapon},
		web + "settings/": {"name", weapon + "\x00"}, "/console/o/acme/keys/": {"name", weapon, "project", weapon, "grant", weapon, "lifetime", weapon},
		web + "m/":              {"username", weapon + "\x00", "email", weapon, "address", weapon, "distribution_list", weapon, "custom_fields", weapon},
		web + "e/tick/trigger/": {"context", weapon, "options.limit_to", weapon, "options.channels", weapon, "cid", weapon},
	} {
		b.clean(t, b.post(path, fields...).is(t, http.StatusBadRequest), 1, path)
	}
	tried := b.post(web+"e/tick/trigger/", "context", `{"x": "<script>alert(1)</script>"}`, "options.limit_to", weapon, "cid", weapon).is(t, http.StatusOK)
	b.clean(t, tried, 4, "a try")
}

// clean checks that a page shows what people wrote as text.
func (b *browser) clean(t *testing.T, got answer, shown int, what string) {
	t.Helper()
	body := ourScripts.ReplaceAllString(tokenPattern.ReplaceAllString(got.body, ""), "")
	for _, alive := range []string{"<script", "<img", `'"><`, "href=\"javascript:", "onerror=alert(2)>"} {
		assert.NotContains(t, body, alive, what)
	}
	assert.GreaterOrEqual(t, strings.Count(body, "alert(1)"), shown, "%s shows what people wrote: %s", what, got.said())
}

func TestPlacesOfAnotherOrganizationAreNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleMember, false)
	theirs := f.person("globex", "ada", users.RoleMember, false)
	mine := f.places()
	b := f.as(f.account("root", true)) // Whoever may do everything may not mix them up either.
	before := len(f.entries("acme")) + len(f.entries("globex"))
	for _, to := range []string{
		shop + "d/" + f.listNamed("globex", "all") + "/", "/console/o/globex/p/shop/d/" + mine["{list}"] + "/", "/console/o/acme/p/other/d/", "/console/o/acme/p/other/a/",
		shop + "d/0/", shop + "d/x/", web + "n/" + f.notification("globex") + "/subscriptions/", "/console/o/globex/p/shop/a/web/n/" + mine["{notification}"] + "/subscriptions/",
		shop + "a/none/m/", shop + "a/none/settings/", "/console/o/other/keys/",
	} {
		b.get(to).is(t, http.StatusNotFound)
	}
	for to, fields := range map[string][]string{
		shop + "d/" + f.listNamed("globex", "all") + "/":                                 {"name", "x"},
		shop + "d/" + f.listNamed("globex", "all") + "/delete/":                          {},
		shop + "d/" + f.listNamed("globex", "all") + "/add/":                             {"emails", "ada@example.org"},
		shop + "d/" + f.listNamed("globex", "all") + "/remove/":                          {"only", "1"},
		shop + "d/" + mine["{list}"] + "/members/":                                       {"member", strconv.FormatInt(int64(theirs.ID), 10)},
		web + "m/" + strconv.FormatInt(int64(theirs.ID), 10) + "/unregister/":            {},
		web + "m/" + strconv.FormatInt(int64(theirs.ID), 10) + "/locked/":                {"on", "true"},
		web + "n/" + f.notification("globex") + "/subscriptions/":                        {"assignment", "1", "active", "true"},
		web + "n/" + mine["{notification}"] + "/opt-outs/withdraw/":                      {"member", strconv.FormatInt(int64(theirs.ID), 10), "address", "x"},
		"/console/o/globex/p/shop/a/web/n/" + mine["{notification}"] + "/subscriptions/": {"assignment", "1", "active", "true"},
		"/console/o/globex/keys/" + mine["{key}"] + "/revoke/":                           {},
		"/console/o/globex/keys/" + mine["{key}"] + "/rotate/":                           {"overlap", "1h"},
	} {
		b.post(to, fields...).is(t, http.StatusNotFound)
	}
	assert.Len(t, append(f.entries("acme"), f.entries("globex")...), before, "nothing was done")
}
