package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

// allowed says who fulfils which need in acme: the installation's administrator, those with a role
// in acme, one whose membership there is locked, another organization's administrator, a user
// without any role, and a client that has not signed in.
var allowed = map[operators.AccessLevel]map[string]bool{
	operators.Everyone:      {"root": true, "administrator": true, "operator": true, "viewer": true, "member": true, "locked": true, "alien": true, "stray": true, "nobody": true},
	operators.SignedIn:      {"root": true, "administrator": true, "operator": true, "viewer": true, "member": true, "locked": true, "alien": true, "stray": true},
	operators.Viewer:        {"root": true, "administrator": true, "operator": true, "viewer": true},
	operators.Operator:      {"root": true, "administrator": true, "operator": true},
	operators.Administrator: {"root": true, "administrator": true},
	operators.Installation:  {"root": true},
}

// insiders are the users who may see that acme exists.
var insiders = map[string]bool{"administrator": true, "operator": true, "viewer": true}

func TestRouteRights(t *testing.T) {
	t.Parallel()
	everybody := slices.Sorted(maps.Keys(allowed[operators.Everyone]))
	routes := console.Routes()
	needs := map[operators.AccessLevel]bool{}
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
		assert.True(t, got.StatusCode == http.StatusOK || got.StatusCode == http.StatusSeeOther, "%s %s, %s: %d %s", r.Method, r.Path, who, got.StatusCode, got.text())
		if r.Needs > operators.SignedIn {
			assert.NotContains(t, got.Header.Get("Location"), "/console/sign-in/", "%s %s, %s", r.Method, r.Path, who)
		}
	}
	t.Run("PermittedUserSees", func(t *testing.T) {
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

// textParams are the parameters of paths that no route checks as ids. An invalid {passkey} is one
// that the user does not have.
var textParams = []string{"{org}", "{prj}", "{app}", "{evt}", "{partial}", "{asset}", "{token}", "{passkey}"}

// TestIDsOfPaths checks that every route refuses a word in place of an id. Reading an id that the
// route has not checked panics.
func TestIDsOfPaths(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.as(s.accounts["root"])
	for _, r := range console.Routes() {
		for _, param := range regexp.MustCompile(`\{\w+\}`).FindAllString(r.Path, -1) {
			if slices.Contains(textParams, param) {
				continue
			}
			wrong := r
			wrong.Path = strings.Replace(r.Path, param, "word", 1)
			send := b.get
			if r.Method == http.MethodPost {
				send = func(path string) answer { return b.post(path) }
			}
			got := send(s.path(t, wrong)).is(t, http.StatusNotFound)
			assert.Contains(t, got.text(), param+" is a positive whole number", "%s %s", r.Method, r.Path)
		}
	}
}

func TestObjectsOfAnotherOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleMember, false)
	theirs := f.person("globex", "ada", users.RoleMember, false)
	id := f.newOccurrence()
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
