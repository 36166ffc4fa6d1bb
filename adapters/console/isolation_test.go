package console_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

const (
	shop = "/console/o/acme/p/shop/"
	web  = shop + "a/web/"
)

// system is an actor of tests.
var system = audit.Actor{Name: "test", Via: audit.CommandLine}

// places creates an unused list and a key of acme, adds ada to the other list, and returns the
// values of the parameters in paths.
func (f *fixture) places() map[string]string {
	f.Helper()
	f.addToList("ada")
	key, _, err := f.use.Keys.Create(f.Context(), system, "spare", access.Scope{Organization: "acme"}, []string{"user:read"}, 0)
	require.NoError(f, err)
	return map[string]string{"{list}": f.list("spare"), "{key}": strconv.FormatInt(int64(key.ID), 10), "{notification}": f.notification("acme")}
}

// list creates a list of acme's shop and returns its id.
func (f *fixture) list(name string) string {
	f.Helper()
	l, err := lists.New(name)
	require.NoError(f, err)
	l, err = f.use.Lists.Create(f.Context(), system, app.Path{Organization: "acme", Project: "shop"}, l, 0)
	require.NoError(f, err)
	return strconv.FormatInt(int64(l.ID), 10)
}

// listNamed returns the id of a list of an organization's shop.
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

// notification returns the id of the notification of an organization.
func (f *fixture) notification(org string) string {
	f.Helper()
	all, err := f.use.Applications.Notifications(f.Context(), app.Path{Organization: org, Project: "shop", Application: "web"}, app.Page{Limit: 10})
	require.NoError(f, err)
	require.Len(f, all, 1)
	return strconv.FormatInt(int64(all[0].ID), 10)
}

// id returns the id of a member of acme.
func (f *fixture) id(username string) string {
	f.Helper()
	var m users.Member
	f.update(func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(f.Context(), "acme")
		if err != nil {
			return err
		}
		m, err = tx.Users().ByUsername(f.Context(), org.ID, username)
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
		m, err := tx.Users().ByUsername(ctx, org.ID, username)
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

// latest returns the newest entry of acme's log.
func (f *fixture) latest() string {
	f.Helper()
	all := f.entries("acme")
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s %s %v %v", all[0].Actor.Name, all[0].Action, all[0].Object, all[0].Before, all[0].After)
}

func TestTenancyIsEscaped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fillWithPayload()
	f.account(payload, true)
	b := f.nobody()
	b.signIn(payload, password).is(t, http.StatusSeeOther)
	list := shop + "d/" + f.listNamed("acme", payload) + "/"
	b.post(shop+"d/", "name", payload+" again", "application", f.application("acme")).is(t, http.StatusSeeOther)
	b.post("/console/o/acme/keys/", "name", payload, "grant", "user:read").is(t, http.StatusOK)
	subscribers := web + "n/" + f.notification("acme") + "/subscriptions/"
	for path, shown := range map[string]int{
		shop + "d/": 3, shop + "d/?after=x": 3, list: 4, list + "?q=" + escaped(): 4, list + "?q=javascript": 3, list + "?people=" + escaped(): 4, shop + "a/": 1,
		web + "settings/": 3, web + "m/": 4, web + "m/?q=" + escaped(): 4, subscribers: 0, subscribers + "?people=" + escaped(): 3, "/console/o/acme/keys/": 2, "/console/keys/": 2,
		web + "e/tick/live/": 2, web + "e/" + escaped() + "/live/": 0,
	} {
		b.clean(t, b.get(path), shown, path)
	}
	for path, fields := range map[string][]string{
		shop + "d/": {"name", payload, "application", payload}, list: {"name", "all", "application", payload}, list + "add/": {"emails", payload}, shop + "a/": {"slug", payload, "name", payload},
		web + "settings/": {"name", payload + "\x01"}, "/console/o/acme/keys/": {"name", payload, "project", payload, "grant", payload, "lifetime", payload},
		web + "m/":              {"username", payload + "\x01", "email", payload, "address", payload, "distribution_list", payload, "custom_fields", payload},
		web + "e/tick/trigger/": {"context", payload, "options.limit_to", payload, "options.channels", payload, "cid", payload},
	} {
		b.clean(t, b.post(path, fields...).is(t, http.StatusBadRequest), 1, path)
	}
	tried := b.post(web+"e/tick/trigger/", "context", `{"x": "<script>alert(1)</script>"}`, "options.limit_to", payload, "cid", payload).is(t, http.StatusOK)
	b.clean(t, tried, 4, "a try")
}

// clean checks that a page shows what people wrote as text.
func (b *browser) clean(t *testing.T, got answer, shown int, what string) {
	t.Helper()
	body := ourScripts.ReplaceAllString(tokenPattern.ReplaceAllString(got.body, ""), "")
	for _, alive := range []string{"<script", "<img", `'"><`, "href=\"javascript:", "onerror=alert(2)>"} {
		assert.NotContains(t, body, alive, what)
	}
	assert.GreaterOrEqual(t, strings.Count(body, "alert(1)"), shown, "%s shows what people wrote: %s", what, got.text())
}

func TestTenancyOfAnotherOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleMember, false)
	theirs := f.person("globex", "ada", users.RoleMember, false)
	own := f.places()
	b := f.as(f.account("root", true)) // Whoever may do everything may not mix them up either.
	before := len(f.entries("acme")) + len(f.entries("globex"))
	for _, to := range []string{
		shop + "d/" + f.listNamed("globex", "all") + "/", "/console/o/globex/p/shop/d/" + own["{list}"] + "/", "/console/o/acme/p/other/d/", "/console/o/acme/p/other/a/",
		shop + "d/0/", shop + "d/x/", web + "n/" + f.notification("globex") + "/subscriptions/", "/console/o/globex/p/shop/a/web/n/" + own["{notification}"] + "/subscriptions/",
		shop + "a/none/m/", shop + "a/none/settings/", "/console/o/other/keys/",
	} {
		b.get(to).is(t, http.StatusNotFound)
	}
	for to, fields := range map[string][]string{
		shop + "d/" + f.listNamed("globex", "all") + "/":                                {"name", "x"},
		shop + "d/" + f.listNamed("globex", "all") + "/delete/":                         {},
		shop + "d/" + f.listNamed("globex", "all") + "/add/":                            {"emails", "ada@example.org"},
		shop + "d/" + f.listNamed("globex", "all") + "/remove/":                         {"only", "1"},
		shop + "d/" + own["{list}"] + "/members/":                                       {"member", strconv.FormatInt(int64(theirs.ID), 10)},
		web + "m/" + strconv.FormatInt(int64(theirs.ID), 10) + "/unregister/":           {},
		web + "m/" + strconv.FormatInt(int64(theirs.ID), 10) + "/locked/":               {"on", "true"},
		web + "n/" + f.notification("globex") + "/subscriptions/":                       {"assignment", "1", "active", "true"},
		web + "n/" + own["{notification}"] + "/opt-outs/withdraw/":                      {"member", strconv.FormatInt(int64(theirs.ID), 10), "address", "x"},
		"/console/o/globex/p/shop/a/web/n/" + own["{notification}"] + "/subscriptions/": {"assignment", "1", "active", "true"},
		"/console/o/globex/keys/" + own["{key}"] + "/revoke/":                           {},
		"/console/o/globex/keys/" + own["{key}"] + "/rotate/":                           {"overlap", "1h"},
	} {
		b.post(to, fields...).is(t, http.StatusNotFound)
	}
	assert.Len(t, append(f.entries("acme"), f.entries("globex")...), before, "nothing was done")
}
