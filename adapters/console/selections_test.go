package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// choose sends the form of the users page about some of them.
func (b *browser) choose(path, action string, ms []users.Member, fields ...string) answer {
	b.f.Helper()
	form := url.Values{"form_token": {b.token()}, "action": {action}, "back": {"q=e&after=id:1:"}}
	for _, m := range ms {
		form.Add("member", idText(m.ID))
	}
	for pair := range slices.Chunk(fields, 2) {
		form.Set(pair[0], pair[1])
	}
	return b.do(http.MethodPost, "/console/o/acme/u/selection/"+path, form)
}

func TestChangeSelection(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleOperator))
		var ms []users.Member
		for i := range 4 {
			ms = append(ms, f.person("acme", fmt.Sprintf("e%d", i), users.RoleMember, i == 3))
		}
		f.addToList("e0")
		f.addToList("e1")
		staff := f.group("Staff")
		page := b.get("/console/o/acme/u/?q=e").is(f.T, http.StatusOK)
		for _, m := range ms {
			assert.Contains(f, page.body, `<input type="checkbox" name="member" value="`+idText(m.ID)+`" aria-label="Select `+m.User.Username+`">`)
		}
		list := regexp.MustCompile(`<option value="(shop/\d+)">shop / all`).FindStringSubmatch(page.body)
		require.NotEmpty(f, list, page.body)

		changed := func(a answer, n int, done, words string) {
			f.Helper()
			to := a.is(f.T, http.StatusSeeOther).Header.Get("Location")
			assert.Equal(f, fmt.Sprintf("/console/o/acme/u/?after=id%%3A1%%3A&count=%d&done=selected-%s&q=e", n, done), to)
			shown := b.get(to)
			assert.Contains(f, shown.text(), fmt.Sprintf("%d users %s.", n, words))
			assert.Contains(f, html.UnescapeString(shown.body), `name="back" value="after=id%3A1%3A&q=e"`, "what was done is said once")
		}
		changed(b.choose("", "lock", ms), 3, "lock", "locked")
		changed(b.choose("", "lock", ms), 0, "lock", "locked")
		changed(b.choose("", "unlock", ms[:2]), 2, "unlock", "unlocked")
		changed(b.choose("", "link", append(ms[:2:2], ms[0]), "group", idText(staff.ID)), 2, "link", "added to the group")
		changed(b.choose("", "unlink", ms, "group", idText(staff.ID)), 2, "unlink", "removed from the group")
		listed := b.choose("", "list", ms, "list", list[1]).is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Contains(f, b.get(listed).text(), "0 users added to the list. Without an e-mail address: e2, e3.", "the others are on it")
		asks := b.choose("", "remove", ms[2:]).is(f.T, http.StatusOK)
		assert.Contains(f, asks.text(), "This ends 2 memberships")
		assert.Len(f, f.audited(), 3+2+2+2, "nothing is done before it is confirmed")
		changed(b.choose("remove/", "", ms[2:]), 2, "remove", "removed")
		assert.Equal(f, []string{
			"ada member.lock acme/u/e0 map[locked:false] map[locked:true]", "ada member.lock acme/u/e1 map[locked:false] map[locked:true]", "ada member.lock acme/u/e2 map[locked:false] map[locked:true]",
			"ada member.lock acme/u/e0 map[locked:true] map[locked:false]", "ada member.lock acme/u/e1 map[locked:true] map[locked:false]",
			"ada member.update acme/u/e0 map[groups:[]] map[groups:[Staff]]", "ada member.update acme/u/e1 map[groups:[]] map[groups:[Staff]]",
			"ada member.update acme/u/e0 map[groups:[Staff]] map[groups:[]]", "ada member.update acme/u/e1 map[groups:[Staff]] map[groups:[]]",
		}, f.audited()[:9])
		assert.Contains(f, f.audited()[9], "ada member.remove acme/u/e2")
		assert.Contains(f, f.audited()[10], "ada member.remove acme/u/e3")

		// All or nothing.
		b.choose("", "lock", append(ms[:2:2], ms[2])).is(f.T, http.StatusNotFound)
		b.choose("", "lock", nil).is(f.T, http.StatusBadRequest)
		b.choose("", "explode", ms[:1]).is(f.T, http.StatusBadRequest)
		b.choose("", "link", ms[:1], "group", "4711").is(f.T, http.StatusNotFound)
		b.choose("", "list", ms[:1], "list", "shop/4711").is(f.T, http.StatusNotFound)
		b.choose("", "list", ms[:1], "list", "nonsense").is(f.T, http.StatusNotFound)
		theirs := f.person("globex", "e9", users.RoleMember, false)
		b.choose("remove/", "", []users.Member{ms[0], theirs}).is(f.T, http.StatusNotFound)
		assert.Len(f, f.audited(), 11)
	})
}

// TestRefusedSelectionStays checks that the page comes back with the same search and the same users
// selected.
func TestRefusedSelectionStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleOperator))
	var ms []users.Member
	for i := range 4 {
		ms = append(ms, f.person("acme", fmt.Sprintf("e%d", i), users.RoleMember, false))
	}
	boss, gone := f.person("acme", "eboss", users.RoleAdministrator, false), f.person("acme", "egone", users.RoleMember, false)
	f.group("Staff")
	staff := idText(f.group("Other staff").ID)
	require.NoError(t, f.use.Members.Remove(f.Context(), operators.Editor{}, app.Path{Organization: "acme"}, gone.ID))
	row := regexp.MustCompile(`name="member" value="\d+" aria-label="Select ([a-z0-9]+)"( checked)?>`)
	for name, c := range map[string]struct {
		path, action string
		selected     []users.Member
		fields       []string
		status       int
		problem      string
		checked      string
	}{
		"no group":             {"", "link", ms[:2], []string{"group", "4711"}, http.StatusNotFound, "The group does not exist in this organization.", "e0 e1"},
		"no list":              {"", "list", ms[1:3], []string{"list", "nonsense"}, http.StatusNotFound, "The distribution list does not exist.", "e1 e2"},
		"removed meanwhile":    {"", "link", []users.Member{ms[0], gone}, []string{"group", staff}, http.StatusNotFound, "One of these users is not a member of this organization any more.", "e0"},
		"an administrator":     {"", "lock", []users.Member{boss, ms[3]}, nil, http.StatusForbidden, "You may not change eboss: only administrators can change administrators.", "e3 eboss"},
		"removal":              {"", "remove", []users.Member{boss, ms[3]}, nil, http.StatusForbidden, "You may not change eboss: only administrators can change administrators.", "e3 eboss"},
		"confirmed removal":    {"remove/", "", []users.Member{ms[2], gone}, nil, http.StatusNotFound, "One of these users is not a member of this organization any more.", "e2"},
		"nobody":               {"", "lock", nil, []string{"group", staff}, http.StatusBadRequest, "Select 1 to 200 users.", ""},
		"something unheard of": {"", "explode", ms[:1], nil, http.StatusBadRequest, "The form could not be read.", "e0"},
	} {
		got := b.choose(c.path, c.action, c.selected, append(c.fields, "back", "q=e&sort=username&done=selected-lock")...).is(t, c.status)
		assert.Contains(t, got.text(), c.problem, name)
		assert.NotContains(t, got.text(), "users locked", name)
		var shown, checked []string
		for _, m := range row.FindAllStringSubmatch(got.body, -1) {
			shown = append(shown, m[1])
			if m[2] != "" {
				checked = append(checked, m[1])
			}
		}
		assert.Equal(t, []string{"ada", "e0", "e1", "e2", "e3", "eboss"}, shown, name)
		assert.Equal(t, c.checked, strings.Join(checked, " "), name)
		assert.Contains(t, html.UnescapeString(got.body), `name="back" value="q=e&sort=username"`, name)
		if slices.Contains(c.fields, staff) {
			assert.Contains(t, got.body, `<option value="`+staff+`" selected>`, name)
		}
	}
}

func TestAddSelectionToList(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		by := f.operator("ada", users.RoleOperator)
		eve, unreached := f.person("acme", "eve", users.RoleMember, false), f.person("acme", "zoe", users.RoleMember, false)
		b := f.as(by)
		b.post(memberPath(eve)+"addresses/new/", "value", "eve@example.org").is(f.T, http.StatusSeeOther)
		b.post(memberPath(eve)+"addresses/new/", "value", "eve@example.com").is(f.T, http.StatusSeeOther)
		l, err := f.use.Members.Choices(f.Context(), app.Path{Organization: "acme"}, users.Query{})
		require.NoError(f, err)
		done := b.choose("", "list", []users.Member{eve, unreached}, "list", "shop/"+idText(l.Lists[0].ID)).is(f.T, http.StatusSeeOther)
		assert.Contains(f, done.Header.Get("Location"), "count=1")
		assert.Len(f, f.profile(eve).Assignments, 2, "by the preferred channel")
		assert.Equal(f, "all", f.profile(eve).Lists[0].Name)
		assert.Empty(f, f.profile(unreached).Lists)
		shown := b.get(done.Header.Get("Location"))
		assert.Contains(f, shown.text(), "1 user added to the list. Without an e-mail address: zoe.")
		assert.NotContains(f, shown.body, "without=", "what was done is said once")
		forged := b.get("/console/o/acme/u/?done=selected-list&count=1&without=zoe").is(f.T, http.StatusOK).text()
		assert.NotContains(f, forged, "Without an e-mail address")
		told := f.audited()
		assert.Equal(f, "ada recipients.add acme/p/shop/d/all map[] map[added:[eve@example.org eve@example.com] assigned:[eve@example.org eve@example.com] channel:mail user:eve]", told[len(told)-1])
		var many []users.Member
		for _, name := range numbered(7, "no-address-%d") {
			many = append(many, f.person("acme", name, users.RoleMember, false))
		}
		left := b.choose("", "list", many, "list", "shop/"+idText(l.Lists[0].ID)).is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(left.Header.Get("Location")).text(), "Without an e-mail address: no-address-0, no-address-1, no-address-2, no-address-3, no-address-4 and 2 more.")
	})
}

// TestAdministratorsAreProtected tries every way in which an operator could change an
// administrator.
func TestAdministratorsAreProtected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	boss, eve := f.person("acme", "boss", users.RoleAdministrator, false), f.person("acme", "eve", users.RoleMember, false)
	f.addToList("boss")
	staff := f.group("Staff")
	p := f.profile(boss)
	address, assignment := fmt.Sprintf("%saddresses/%d/", memberPath(boss), p.Addresses[0].ID), fmt.Sprintf("%sassignments/%d/", memberPath(boss), p.Assignments[0].ID)
	ways := map[string]func(b *browser) answer{
		"lock":             func(b *browser) answer { return b.post(memberPath(boss)+"locked/", "on", "true") },
		"application lock": func(b *browser) answer { return b.post(memberPath(boss)+"p/shop/a/web/locked/", "on", "true") },
		"names":            func(b *browser) answer { return b.post(memberPath(boss)+"names/", "first_name", "Fool") },
		"metadata": func(b *browser) answer {
			return b.post(memberPath(boss)+"metadata/", "shown", metadata.Map{}.Digest(), "custom_fields", `{"a":1}`)
		},
		"new address":      func(b *browser) answer { return b.post(memberPath(boss)+"addresses/new/", "value", "spy@example.org") },
		"removed channel":  func(b *browser) answer { return b.post(assignment + "remove/") },
		"inactive channel": func(b *browser) answer { return b.post(assignment, "active", "false", "validated", "false") },
		"channel":          func(b *browser) answer { return b.post(address+"assign/", "channel", idText(p.Channels[0].ID)) },
		"removed address":  func(b *browser) answer { return b.post(address + "remove/") },
		"group":            func(b *browser) answer { return b.post(memberPath(boss)+"groups/", "group", idText(staff.ID)) },
		"created again": func(b *browser) answer {
			return b.post("/console/o/acme/u/new/", "email", "boss@example.org", "custom_fields", "{}", "group", idText(staff.ID))
		},
		"registered by hand": func(b *browser) answer { return b.post(web+"m/", "username", "boss", "active", "true") },
		"locked in a set":    func(b *browser) answer { return b.choose("", "lock", []users.Member{eve, boss}) },
		"grouped in a set": func(b *browser) answer {
			return b.choose("", "link", []users.Member{eve, boss}, "group", idText(staff.ID))
		},
		"asked to remove":   func(b *browser) answer { return b.choose("", "remove", []users.Member{eve, boss}) },
		"removed in a set":  func(b *browser) answer { return b.choose("remove/", "", []users.Member{eve, boss}) },
		"form of names":     func(b *browser) answer { return b.get(memberPath(boss) + "names/") },
		"form of removing":  func(b *browser) answer { return b.get(memberPath(boss) + "remove/") },
		"form of metadata":  func(b *browser) answer { return b.get(memberPath(boss) + "metadata/") },
		"form of addresses": func(b *browser) answer { return b.get(memberPath(boss) + "addresses/new/") },
		"removed":           func(b *browser) answer { return b.post(memberPath(boss) + "remove/") },
	}
	operator := f.as(f.operator("ada", users.RoleOperator))
	for name, try := range ways {
		got := try(operator)
		assert.Equal(t, http.StatusForbidden, got.StatusCode, name)
		assert.Contains(t, got.text(), "only administrators can change administrators", name)
	}
	assert.Empty(t, f.entries("acme"))
	assert.Equal(t, p, f.profile(boss))
	page := operator.get(memberPath(boss)).is(t, http.StatusOK)
	assert.Contains(t, page.text(), "Only administrators can change an administrator.")
	assert.NotContains(t, page.body, `action="`+memberPath(boss), "no change is offered")
	assert.NotContains(t, operator.get(address).body, `action="`+memberPath(boss), "no change is offered")

	admin := f.as(f.operator("eva", users.RoleAdministrator))
	for _, name := range []string{"lock", "names", "metadata", "new address", "inactive channel", "group", "created again", "locked in a set", "removed in a set"} {
		got := ways[name](admin)
		assert.Equal(t, http.StatusSeeOther, got.StatusCode, "%s %s", name, got.text())
	}
}

func TestMemberFilters(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleViewer))
		eve, zoe := f.person("acme", "eve", users.RoleOperator, false), f.person("acme", "zoe", users.RoleMember, false)
		f.addToList("eve")
		staff := f.group("Staff")
		f.update(func(tx ports.Tx) error {
			eve.CustomFields = metadata.Map{"address": map[string]any{"city": "Wien & Graz"}}
			if err := tx.Users().SaveFields(f.Context(), eve); err != nil {
				return err
			}
			_, err := tx.Users().Link(f.Context(), staff, []users.MemberID{zoe.ID})
			return err
		})
		choices, err := f.use.Members.Choices(f.Context(), app.Path{Organization: "acme"}, users.Query{})
		require.NoError(f, err)
		list := idText(choices.Lists[0].ID)
		for query, want := range map[string]string{
			"role=operator": "eve", "group=" + idText(staff.ID): "zoe", "list=" + list: "eve", "key=address.city&value=Wien+%26+Graz": "eve", "key=address&value=": "eve",
			"unreached=true": "ada zoe", "role=operator&group=" + idText(staff.ID): "", "application=" + idText(choices.Applications[0].ID): "", "locked=true": "",
			"q=e&list=" + list: "eve", "q=z&list=" + list: "", "role=nonsense&group=-1&list=x": "ada eve zoe",
		} {
			page := b.get("/console/o/acme/u/?"+query).is(f.T, http.StatusOK)
			var found []string
			for _, m := range regexp.MustCompile(`<th scope="row"><a href="/console/o/acme/u/\d+/"><bdi>[^<]*</bdi></a></th>\s*<td><bdi>([^<]*)</bdi>`).FindAllStringSubmatch(page.body, -1) {
				found = append(found, m[1])
			}
			slices.Sort(found)
			assert.Equal(f, want, strings.Join(found, " "), query)
		}
		page := b.get("/console/o/acme/u/?role=operator&key=a%22b&list=" + list).body
		assert.Contains(f, page, `<option value="operator" selected>operator</option>`)
		assert.Contains(f, page, `<option value="`+list+`" selected>`)
		assert.Contains(f, page, `value="a&#34;b"`)
		assert.NotContains(f, page, `name="member"`, "a viewer chooses nobody")
	})
}

// TestMembersAreEscaped stores the payload in texts that only the pages of users show.
func TestMembersAreEscaped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m, _ := f.fillWithPayload()
	f.update(func(tx ports.Tx) error {
		ctx := f.Context()
		a, err := tx.Applications().BySlug(ctx, "acme", "shop", "web")
		if err != nil {
			return err
		}
		g, _, err := tx.Orgs().EnsureGroup(ctx, a.Organization, payload)
		if err != nil {
			return err
		}
		if _, err := tx.Users().Link(ctx, g, []users.MemberID{m.ID}); err != nil {
			return err
		}
		e, err := tx.Events().BySlug(ctx, a, "tick")
		if err != nil {
			return err
		}
		n, err := tx.Subscriptions().Create(ctx, subscriptions.Notification{Application: a.ID, Event: e.ID, Name: payload, Active: true})
		if err != nil {
			return err
		}
		held, err := tx.Assignments().OfMember(ctx, a.Organization, m.ID, 1)
		if err != nil {
			return err
		}
		if _, _, err := tx.Subscriptions().Subscribe(ctx, n, held[0].ID, true); err != nil {
			return err
		}
		_, err = tx.Channels().Create(ctx, channels.Channel{Organization: a.Organization, Name: payload + "2", Protocol: channels.WEBHOOK, Driver: "webhook", Active: true})
		if err != nil {
			return err
		}
		_, err = tx.Deliveries().SetOptOut(ctx, deliveries.OptOut{Member: m.ID, AddressKey: payload, Notification: n.ID}, true)
		return err
	})
	p := f.profile(m)
	address := fmt.Sprintf("%saddresses/%d/", memberPath(m), p.Addresses[0].ID)
	f.account(payload, true)
	b := f.nobody()
	b.signIn(payload, password).is(t, http.StatusSeeOther)
	check := func(name string, got answer, shown int) {
		t.Helper()
		body := ourScripts.ReplaceAllString(tokenPattern.ReplaceAllString(got.body, ""), "")
		for _, alive := range []string{"<script", "<img", `'"><`, "href=\"javascript:", "onerror=alert(2)>"} {
			assert.NotContains(t, body, alive, name)
		}
		assert.GreaterOrEqual(t, strings.Count(body, "alert(1)"), shown, "%s shows what people wrote: %s", name, got.text())
	}
	list := "/console/o/acme/u/"
	for path, shown := range map[string]int{
		list: 9, list + "?key=" + escaped() + "&value=" + escaped() + "&q=" + escaped(): 7, list + "?done=" + escaped() + "&count=" + escaped() + "&role=" + escaped(): 5, list + "new/": 2,
		memberPath(m): 20, memberPath(m) + "names/": 3, memberPath(m) + "metadata/": 3, memberPath(m) + "remove/": 6, memberPath(m) + "addresses/new/": 2, address: 9,
		"/console/o/acme/groups/": 3, "/console/o/acme/groups/" + idText(f.group(payload).ID) + "/": 3,
	} {
		check(path, b.get(path).is(t, http.StatusOK), shown)
	}
	check("new", b.post(list+"new/", "email", payload, "first_name", payload+"\x01", "custom_fields", payload, "group", payload).is(t, http.StatusBadRequest), 3)
	check("names", b.post(memberPath(m)+"names/", "first_name", payload+"\x01").is(t, http.StatusBadRequest), 2)
	check("metadata", b.post(memberPath(m)+"metadata/", "custom_fields", payload, "shown", payload).is(t, http.StatusBadRequest), 3)
	check("stale metadata", b.post(memberPath(m)+"metadata/", "custom_fields", `{"a":"`+strings.ReplaceAll(payload, `"`, `'`)+`"}`, "shown", payload).is(t, http.StatusBadRequest), 4)
	check("address", b.post(memberPath(m)+"addresses/new/", "value", payload+"\x01", "name", payload).is(t, http.StatusBadRequest), 3)
	check("group", b.post("/console/o/acme/groups/", "name", strings.Repeat(payload, 9)).is(t, http.StatusBadRequest), 3)
	check("selection", b.choose("", "remove", []users.Member{m}, "back", payload).is(t, http.StatusOK), 3)
	check("selection by nonsense", b.choose("", payload, []users.Member{m}).is(t, http.StatusBadRequest), 0)
}

func TestExportMembers(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleOperator))
		f.people("acme", users.RoleMember, func(i int) bool { return i%500 == 1 }, numbered(1_030, "e%04d")...)
		f.person("acme", "=cmd|' /C calc'!A0", users.RoleMember, false)
		f.person("globex", "e9999", users.RoleMember, false)
		all := b.post("/console/o/acme/u/export/", "back", "q=e&after=id:7:").is(f.T, http.StatusOK)
		assert.Equal(f, "text/csv; charset=utf-8", all.Header.Get("Content-Type"))
		assert.Equal(f, `attachment; filename=users-acme.csv`, all.Header.Get("Content-Disposition"))
		rows := strings.Split(strings.TrimSpace(all.body), "\n")
		assert.Len(f, rows, 1_033, "all of them, from the beginning, and the two others at example.org")
		assert.Equal(f, "username,email,first_name,last_name,role,locked,groups,custom_fields", rows[0])
		assert.Equal(f, "e0001,e0001@example.org,First,Last,member,true,,{}", rows[2])
		assert.Equal(f, []string{"e0001", "e0501", "e1001"}, first(b.post("/console/o/acme/u/export/", "back", "locked=true")))
		formula := b.post("/console/o/acme/u/export/", "back", "q=cmd").is(f.T, http.StatusOK)
		assert.Contains(f, formula.body, "\n'=cmd|")
		assert.NotContains(f, formula.body, "\n=cmd|")
		f.person("acme", `a;=cmd|x;"=y,+z`, users.RoleMember, false)
		assert.Contains(f, b.post("/console/o/acme/u/export/", "back", "q=cmd").is(f.T, http.StatusOK).body, "\n\"a;'=cmd|x;'\"\"=y,'+z\",", "whatever separates its cells")
		b.post("/console/o/acme/u/export/", "back", "q=%zz").is(f.T, http.StatusBadRequest)
		assert.Equal(f, []string{"ada member.export acme/u map[] map[text:e]", "ada member.export acme/u map[] map[locked:true]", "ada member.export acme/u map[] map[text:cmd]", "ada member.export acme/u map[] map[text:cmd]"}, f.audited())
	})
}

// first returns the first cell of each row of a sheet, without the header.
func first(a answer) []string {
	var all []string
	for _, row := range strings.Split(strings.TrimSpace(a.body), "\n")[1:] {
		cell, _, _ := strings.Cut(row, ",")
		all = append(all, cell)
	}
	return all
}
