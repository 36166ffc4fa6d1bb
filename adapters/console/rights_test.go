package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// allowed says who fulfils which need in acme: the installation's administrator, those with a role in acme, one whose membership
// there is locked, another organization's administrator, somebody without any role, and nobody.
var allowed = map[operators.Need]map[string]bool{
	operators.Anybody:       {"root": true, "administrator": true, "operator": true, "viewer": true, "member": true, "locked": true, "alien": true, "stray": true, "nobody": true},
	operators.SignedIn:      {"root": true, "administrator": true, "operator": true, "viewer": true, "member": true, "locked": true, "alien": true, "stray": true},
	operators.Viewer:        {"root": true, "administrator": true, "operator": true, "viewer": true},
	operators.Operator:      {"root": true, "administrator": true, "operator": true},
	operators.Administrator: {"root": true, "administrator": true},
	operators.Installation:  {"root": true},
}

// insiders see of acme that it exists, whatever else they may not do there.
var insiders = map[string]bool{"administrator": true, "operator": true, "viewer": true}

// example is what a route is asked with in the test of rights: a form or a query that the route takes from whoever may ask.
type example struct {
	query  string
	fields []string
	// send asks in a way of its own, where a form of fields is not enough.
	send func(b *browser, to string) answer
}

// examples has one for every route that changes something, and for those that need a query.
var examples = map[string]example{
	"POST /console/sign-in/":              {fields: []string{"username", "root", "password", password}},
	"POST /console/sign-out/":             {},
	"POST /console/sign-out-everywhere/":  {},
	"POST /console/organizations/":        {fields: []string{"slug", "initech", "name", "Initech"}},
	"POST /console/o/{org}/name/":         {fields: []string{"organization", "Acme"}},
	"POST /console/o/{org}/projects/":     {fields: []string{"slug", "blog", "name", "Blog"}},
	"POST /console/o/{org}/p/{prj}/name/": {fields: []string{"name", "Store"}},
	"POST /console/account/password/":     {fields: change(password)},
	"POST /console/account/sessions/end/": {send: func(b *browser, to string) answer {
		found := sessionOf.FindStringSubmatch(b.get("/console/account/").body)
		if found == nil {
			return b.post(to)
		}
		return b.post(to, "session", found[1])
	}},
	"POST /console/welcome/{token}/":                {fields: []string{"password", newPassword, "again", newPassword}},
	"POST /console/o/{org}/u/{member}/access/role/": {fields: []string{"role", "viewer"}},
	"POST /console/o/{org}/u/{member}/access/invite/": {send: func(b *browser, to string) answer {
		b.post(strings.Replace(to, "/invite/", "/role/", 1), "role", "viewer")
		return b.post(to)
	}},
	"POST /console/audit/export/":         {fields: []string{"as", "csv"}},
	"POST /console/o/{org}/audit/export/": {fields: []string{"as", "jsonl"}},

	"POST /console/o/{org}/u/new/":                                      {fields: []string{"email", "new@example.org", "custom_fields", "{}"}},
	"POST /console/o/{org}/u/export/":                                   {},
	"POST /console/o/{org}/u/selection/":                                {send: chosen("action", "lock")},
	"POST /console/o/{org}/u/selection/remove/":                         {send: chosen()},
	"POST /console/o/{org}/u/{member}/names/":                           {fields: []string{"first_name", "Augusta"}},
	"POST /console/o/{org}/u/{member}/metadata/":                        {fields: []string{"custom_fields", "{}"}},
	"POST /console/o/{org}/u/{member}/remove/":                          {},
	"POST /console/o/{org}/u/{member}/groups/":                          {send: grouped},
	"POST /console/o/{org}/u/{member}/groups/remove/":                   {send: grouped},
	"POST /console/o/{org}/u/{member}/addresses/new/":                   {fields: []string{"value", "+14155552671"}},
	"POST /console/o/{org}/u/{member}/addresses/{address}/assign/":      {send: assigned},
	"POST /console/o/{org}/u/{member}/addresses/{address}/remove/":      {},
	"POST /console/o/{org}/u/{member}/assignments/{assignment}/":        {fields: []string{"active", "false", "validated", "true"}},
	"POST /console/o/{org}/u/{member}/assignments/{assignment}/remove/": {},
	"POST /console/o/{org}/groups/":                                     {fields: []string{"name", "Board"}},
	"POST /console/o/{org}/groups/{group}/":                             {fields: []string{"name", "Board"}},
	"POST /console/o/{org}/groups/{group}/delete/":                      {},
	"POST /console/o/{org}/u/{member}/locked/":                          {fields: []string{"on", "true"}},
	"POST /console/o/{org}/u/{member}/p/{prj}/a/{app}/locked/":          {fields: []string{"on", "true"}},
	"POST /console/o/{org}/u/{member}/p/{prj}/a/{app}/notifications/":   {fields: []string{"on", "true"}},
	"GET /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/explain/":    {query: "?user=ada"},
	"POST /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/retry/":     {},
	"POST /console/o/{org}/imports/": {send: func(b *browser, to string) answer {
		return b.upload(to, b.token(), "people.csv", "email\n")
	}},
	"POST /console/o/{org}/imports/{import}/start/":  {},
	"POST /console/o/{org}/imports/{import}/cancel/": {},

	"POST /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/d/{delivery}/retry/": {},
	"POST /console/o/{org}/p/{prj}/d/":                                           {fields: []string{"name", "New"}},
	"POST /console/o/{org}/p/{prj}/d/{list}/":                                    {fields: []string{"name", "Renamed"}},
	"POST /console/o/{org}/p/{prj}/d/{list}/delete/":                             {},
	"POST /console/o/{org}/p/{prj}/d/{list}/add/":                                {fields: []string{"emails", "ada@example.org"}},
	"POST /console/o/{org}/p/{prj}/d/{list}/members/":                            {send: func(b *browser, to string) answer { return b.post(to, "member", b.f.id("ada")) }},
	"POST /console/o/{org}/p/{prj}/d/{list}/remove/":                             {fields: []string{"only", "1"}},

	"POST /console/o/{org}/p/{prj}/a/":                {fields: []string{"slug", "new", "name", "New"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/settings/": {fields: []string{"name", "Renamed", "active", "true"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/delete/": {send: func(b *browser, to string) answer {
		b.post("/console/o/acme/p/shop/a/", "slug", "spare", "name", "Spare")
		return b.post(strings.Replace(to, "/web/", "/spare/", 1))
	}},
	"POST /console/o/{org}/p/{prj}/a/{app}/m/":                                  {fields: []string{"username", "new"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/m/{member}/unregister/":              {},
	"POST /console/o/{org}/p/{prj}/a/{app}/m/{member}/locked/":                  {fields: []string{"on", "true"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/m/{member}/notifications/":           {fields: []string{"on", "false"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/":                    {fields: []string{"context", "{}"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/send/":               {send: tryAndSend},
	"POST /console/o/{org}/p/{prj}/a/{app}/n/{notification}/subscriptions/":     {fields: []string{"assignment", "1", "active", "true"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/n/{notification}/opt-outs/withdraw/": {send: func(b *browser, to string) answer { return b.post(to, "member", b.f.id("ada"), "address", "x") }},

	"POST /console/o/{org}/keys/":              {fields: []string{"name", "new", "grant", "user:read"}},
	"POST /console/o/{org}/keys/{key}/rotate/": {fields: []string{"overlap", "1h"}},
	"POST /console/o/{org}/keys/{key}/revoke/": {},
	"POST /console/keys/":                      {fields: []string{"name", "new", "grant", "user:read"}},
	"POST /console/keys/{key}/rotate/":         {fields: []string{"overlap", "1h"}},
	"POST /console/keys/{key}/revoke/":         {},
}

// scene is a fixture with one of everything that a path can name, and with everybody who may ask for it.
type scene struct {
	*fixture
	set
}

// set is what a scene consists of.
type set struct {
	accounts map[string]operators.Account
	// params are what stands in the place of the paths' parameters.
	params map[string]string
}

// stage is the set of all scenes, and the database that has it.
var stage struct {
	master
	set
}

func newScene(t *testing.T) *scene {
	t.Helper()
	url := stage.copied(t, func(url string) {
		require.NoError(t, found(t.Context(), url))
		stage.set = furnish(openFixture(t, url))
	})
	return &scene{fixture: openFixture(t, url), set: stage.set}
}

// furnish makes one of everything that a path can name, and everybody who may ask for it.
func furnish(f *fixture) set {
	f.Helper()
	s := set{accounts: map[string]operators.Account{}}
	ada := f.person("acme", "ada", users.RoleMember, false)
	roles := map[string]users.Role{"administrator": users.RoleAdministrator, "operator": users.RoleOperator, "viewer": users.RoleViewer, "member": users.RoleMember}
	for name := range allowed[operators.Anybody] {
		switch role, insider := roles[name]; {
		case insider:
			s.accounts[name] = f.operator(name, role)
		case name == "locked":
			f.person("acme", name, users.RoleAdministrator, true)
			s.accounts[name] = f.account(name, false)
		case name == "alien":
			f.person("globex", name, users.RoleAdministrator, false)
			s.accounts[name] = f.account(name, false)
		case name != "nobody":
			s.accounts[name] = f.account(name, name == "root")
		}
	}
	s.params = map[string]string{
		"{org}": "acme", "{prj}": "shop", "{app}": "web", "{member}": strconv.FormatInt(int64(ada.ID), 10), "{id}": strconv.FormatInt(int64(f.happened()), 10),
		"{import}": strconv.FormatInt(int64(f.checked("people.csv", "email\nnobody\n").ID), 10),
		"{asset}":  "console.css", "{evt}": "tick", "{group}": strconv.FormatInt(int64(f.group("Staff").ID), 10),
	}
	f.listed("ada")
	s.params["{delivery}"] = idText(f.delivery(f.occurrenceID(s.params["{id}"])))
	guest := f.person("acme", "guest", users.RoleViewer, false)
	token, _, err := f.use.Administration.Invite(f.Context(), operators.Officer{Right: operators.Installation}, app.Path{Organization: "acme"}, guest.ID)
	require.NoError(f, err)
	s.params["{token}"] = token
	held, err := f.use.Profiles.Show(f.Context(), app.Path{Organization: "acme"}, ada.ID)
	require.NoError(f, err)
	s.params["{address}"] = strconv.FormatInt(int64(held.Addresses[0].ID), 10)
	s.params["{assignment}"] = strconv.FormatInt(int64(held.Assignments[0].ID), 10)
	maps.Copy(s.params, f.places())
	maps.Copy(s.params, f.contents())
	return s
}

// chosen sends a form about ada as the chosen user.
func chosen(fields ...string) func(b *browser, to string) answer {
	return func(b *browser, to string) answer {
		return b.post(to, append(fields, "member", idText(b.f.found("ada").ID))...)
	}
}

// grouped sends a form about a group that ada is not in.
func grouped(b *browser, to string) answer { return b.post(to, "group", idText(b.f.group("Staff").ID)) }

// assigned sends a form about the channel that ada's address is assigned to already.
func assigned(b *browser, to string) answer {
	held, err := b.f.use.Profiles.Show(b.f.Context(), app.Path{Organization: "acme"}, b.f.found("ada").ID)
	require.NoError(b.f, err)
	return b.post(to, "channel", idText(held.Channels[0].ID))
}

func idText[T ~int64](id T) string { return strconv.FormatInt(int64(id), 10) }

// found is a member of acme.
func (f *fixture) found(username string) (m users.Member) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), "acme")
		if err == nil {
			m, err = tx.Users().Find(f.Context(), o.ID, username)
		}
		return err
	})
	return m
}

// group is a group of acme, which is made when it is missing.
func (f *fixture) group(name string) (g orgs.Group) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(f.Context(), "acme")
		if err == nil {
			g, _, err = tx.Orgs().EnsureGroup(f.Context(), o.ID, name)
		}
		return err
	})
	return g
}

// path is the path of a route to what the set has.
func (s set) path(t *testing.T, r console.Route) string {
	t.Helper()
	return regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(r.Path, func(param string) string {
		require.Contains(t, s.params, param, "furnish says nothing for this parameter")
		return s.params[param]
	})
}

// ask sends what a route's example says, as somebody.
func (s *scene) ask(t *testing.T, r console.Route, who string) answer {
	t.Helper()
	b := s.nobody()
	if a, known := s.accounts[who]; known {
		b = s.as(a)
	}
	to := s.path(t, r)
	e, given := examples[r.Method+" "+r.Path]
	if !given {
		e, given = contentExamples()[r.Method+" "+r.Path]
	}
	switch {
	case e.send != nil:
		return e.send(b, to)
	case r.Method == http.MethodPost:
		require.True(t, given, "there is no example for this route")
		return b.post(to, e.fields...)
	}
	return b.do(r.Method, to+e.query, nil)
}

func TestEveryRouteAsksForItsNeed(t *testing.T) {
	t.Parallel()
	everybody := slices.Sorted(maps.Keys(allowed[operators.Anybody]))
	routes := console.Routes()
	needs := map[operators.Need]bool{}
	for _, r := range routes {
		needs[r.Needs] = true
	}
	assert.Len(t, needs, len(allowed), "every need is asked for by some route, and decided here")

	t.Run("TheOthersAreRefusedAndNothingIsDone", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		for i, r := range routes {
			for _, who := range everybody {
				if allowed[r.Needs][who] {
					continue
				}
				t.Run(fmt.Sprintf("%s %s/%s", r.Method, r.Path, who), func(t *testing.T) {
					before := len(s.entries("acme")) + len(s.entries(""))
					got := s.ask(t, routes[i], who)
					switch {
					case who == "nobody":
						got.is(t, http.StatusSeeOther)
						assert.True(t, strings.HasPrefix(got.Header.Get("Location"), "/console/sign-in/"), got.Header.Get("Location"))
						assert.NotContains(t, got.body, "ada")
					case insiders[who], r.Needs == operators.Installation:
						got.is(t, http.StatusForbidden)
					default:
						got.is(t, http.StatusNotFound)
						assert.Contains(t, got.body, "The organization does not exist.")
					}
					assert.Len(t, append(s.entries("acme"), s.entries("")...), before, "nothing was done")
				})
			}
		}
	})
	admitted := func(t *testing.T, s *scene, r console.Route, who string) {
		t.Helper()
		got := s.ask(t, r, who)
		assert.True(t, got.StatusCode == http.StatusOK || got.StatusCode == http.StatusSeeOther, "%s %s, %s: %d %s", r.Method, r.Path, who, got.StatusCode, got.said())
		if r.Needs > operators.SignedIn {
			assert.NotContains(t, got.Header.Get("Location"), "/console/sign-in/", "%s %s, %s", r.Method, r.Path, who)
		}
	}
	t.Run("WhoeverMaySees", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		for _, r := range routes {
			for _, who := range everybody {
				if r.Method == http.MethodGet && allowed[r.Needs][who] {
					admitted(t, s, r, who)
				}
			}
		}
	})
	for _, r := range routes {
		if r.Method == http.MethodGet {
			continue
		}
		t.Run("WhoeverMay/"+r.Method+" "+r.Path, func(t *testing.T) {
			t.Parallel()
			for _, who := range everybody {
				if !allowed[r.Needs][who] {
					continue
				}
				admitted(t, newScene(t), r, who) // What is changed is changed for this one alone.
			}
		})
	}
}

// happened is an occurrence of acme's event, for which ada is registered.
func (f *fixture) happened() (id events.OccurrenceID) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
		if err != nil {
			return err
		}
		m, err := tx.Users().Find(f.Context(), a.Organization, "ada")
		if err != nil {
			return err
		}
		ms, _, err := tx.Applications().Memberships(f.Context(), a, []users.MemberID{m.ID})
		if err != nil {
			return err
		}
		if err := tx.Applications().SaveMemberships(f.Context(), a, ms); err != nil {
			return err
		}
		e, err := tx.Events().BySlug(f.Context(), a, "tick")
		if err != nil {
			return err
		}
		o, _, err := tx.Deliveries().Trigger(f.Context(), events.Occurrence{Organization: a.Organization, Project: a.Project, Application: a.ID, Event: e.ID,
			Context: events.Context(`{}`), CorrelationID: "order 17", Created: f.clock.Now()}, nil)
		id = o.ID
		return err
	})
	return id
}

func TestWhatBelongsToAnotherOrganizationIsNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleMember, false)
	theirs := f.person("globex", "ada", users.RoleMember, false)
	id := f.happened()
	b := f.as(f.account("root", true)) // Whoever may do everything may not mix them up either.
	for _, to := range []string{
		fmt.Sprintf("/console/o/acme/u/%d/", theirs.ID), fmt.Sprintf("/console/o/globex/p/shop/a/web/occurrences/%d/", id),
		fmt.Sprintf("/console/o/globex/p/shop/a/web/occurrences/%d/explain/?user=ada", id), "/console/o/system/", "/console/o/other/", "/console/o/acme/u/0/",
		"/console/o/acme/u/x/", "/console/o/acme/p/other/a/web/", "/console/nowhere/",
	} {
		b.get(to).is(t, http.StatusNotFound)
	}
	for _, to := range []string{
		fmt.Sprintf("/console/o/acme/u/%d/locked/", theirs.ID), fmt.Sprintf("/console/o/acme/u/%d/p/shop/a/web/locked/", theirs.ID),
		fmt.Sprintf("/console/o/acme/u/%d/p/shop/a/web/notifications/", theirs.ID), fmt.Sprintf("/console/o/globex/p/shop/a/web/occurrences/%d/retry/", id),
	} {
		b.post(to, "on", "true").is(t, http.StatusNotFound)
	}
	require.Empty(t, f.entries("acme"))
	require.Empty(t, f.entries("globex"))
}
