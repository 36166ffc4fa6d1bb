package console_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/operators"
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

func TestEveryRouteAsksForItsNeed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.person("acme", "ada", users.RoleMember, false)
	occurrence := f.happened()
	accounts := map[string]operators.Account{"root": f.account("root", true)}
	for name, role := range map[string]users.Role{
		"administrator": users.RoleAdministrator, "operator": users.RoleOperator, "viewer": users.RoleViewer, "member": users.RoleMember,
	} {
		accounts[name] = f.operator(name, role)
	}
	f.person("acme", "locked", users.RoleAdministrator, true)
	f.person("globex", "alien", users.RoleAdministrator, false)
	for _, name := range []string{"locked", "alien", "stray"} {
		accounts[name] = f.account(name, false)
	}
	path := strings.NewReplacer("{org}", "acme", "{member}", strconv.FormatInt(int64(ada.ID), 10), "{prj}", "shop", "{app}", "web", "{id}", strconv.FormatInt(int64(occurrence), 10))

	seen := map[operators.Need]bool{}
	for _, r := range console.Routes() {
		seen[r.Needs] = true
		for name := range allowed[operators.Anybody] {
			t.Run(fmt.Sprintf("%s %s/%s", r.Method, r.Path, name), func(t *testing.T) {
				b := f.nobody()
				b.remote = fmt.Sprintf("192.0.2.%d:1", len(f.entries(""))%250+1) // Not the limit of sign-ins is asked.
				if a, known := accounts[name]; known {
					b = f.as(a)
				}
				to := path.Replace(r.Path)
				if strings.HasSuffix(to, "/explain/") {
					to += "?user=ada"
				}
				before := len(f.entries("acme"))
				var got answer
				if r.Method == http.MethodPost {
					got = b.post(to, "on", "true", "username", "root", "password", password)
				} else {
					got = b.do(r.Method, to, nil)
				}
				inside, signIn := got.StatusCode == http.StatusOK || got.StatusCode == http.StatusSeeOther, "/console/sign-in/"
				switch may := allowed[r.Needs][name]; {
				case may:
					assert.True(t, inside, "%d %s", got.StatusCode, got.body)
					if r.Needs > operators.SignedIn {
						assert.NotContains(t, got.Header.Get("Location"), signIn)
					}
				case name == "nobody":
					got.is(t, http.StatusSeeOther)
					assert.True(t, strings.HasPrefix(got.Header.Get("Location"), signIn), got.Header.Get("Location"))
					assert.NotContains(t, got.body, "ada")
				case insiders[name], r.Needs == operators.Installation:
					got.is(t, http.StatusForbidden)
				default:
					got.is(t, http.StatusNotFound)
					assert.Contains(t, got.body, "The organization does not exist.")
				}
				if !allowed[r.Needs][name] {
					assert.Len(t, f.entries("acme"), before, "nothing was done")
				}
				f.update(func(tx ports.Tx) error { // Every change is one again.
					if err := tx.Users().SetLocked(f.Context(), ada); err != nil {
						return err
					}
					a, err := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
					if err != nil {
						return err
					}
					return tx.Applications().SetLocked(f.Context(), a, ada.ID, false)
				})
			})
		}
	}
	assert.Len(t, seen, len(allowed), "every need is asked for by some route, and decided here")
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
