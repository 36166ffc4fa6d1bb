package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/domain/operators"
)

// rules has the access level that each route needs. recent has the routes that need a recent
// sign-in. A route without a rule fails the tests.
var rules = map[operators.AccessLevel][]string{
	operators.Everyone: {
		"GET /console/assets/{asset}",
		"GET /console/sign-in/",
		"POST /console/sign-in/",
		"GET /console/welcome/{token}/",
		"POST /console/welcome/{token}/",
		"POST /console/welcome/{token}/passkey/",
		"POST /console/welcome/{token}/passkey/confirm/",
		"GET /console/sign-in/second-factor/",
		"POST /console/sign-in/second-factor/",
		"POST /console/sign-in/passkey/ask/",
		"POST /console/sign-in/passkey/",
		"POST /console/sign-in/second-factor/passkey/ask/",
		"POST /console/sign-in/second-factor/passkey/",
		"GET /console/sign-in/sso/",
		"GET /console/sign-in/sso/callback/",
		"GET /console/sign-in/sso/leave/",
		"POST /console/sign-in/sso/logout/",
	},
	operators.SignedIn: {
		"POST /console/sign-out/",
		"GET /console/account/",
		"POST /console/account/language/",
		"POST /console/account/password/",
		"POST /console/account/sessions/end/",
		"GET /console/account/second-factor/",
		"POST /console/account/second-factor/app/",
		"POST /console/account/second-factor/app/confirm/",
		"POST /console/account/second-factor/app/remove/",
		"POST /console/account/second-factor/codes/",
		"POST /console/account/passkey/ask/",
		"POST /console/account/second-factor/passkeys/",
		"POST /console/account/second-factor/passkeys/confirm/",
		"POST /console/account/second-factor/passkeys/{passkey}/name/",
		"POST /console/account/second-factor/passkeys/{passkey}/remove/",
		"GET /console/",
	},
	operators.Viewer: {
		"GET /console/o/{org}/",
		"GET /console/o/{org}/search/",
		"GET /console/o/{org}/settings/",
		"GET /console/o/{org}/projects/",
		"GET /console/o/{org}/groups/",
		"GET /console/o/{org}/groups/{group}/",
		"GET /console/o/{org}/partials/",
		"GET /console/o/{org}/partials/{partial}/",
		"POST /console/o/{org}/partials/{partial}/preview/",
		"GET /console/o/{org}/partials/{partial}/html/",
		"POST /console/o/{org}/partials/{partial}/html/",
		"GET /console/o/{org}/partials/{partial}/versions/",
		"GET /console/o/{org}/partials/{partial}/versions/{version}/",
		"GET /console/o/{org}/u/",
		"GET /console/o/{org}/u/{member}/",
		"GET /console/o/{org}/u/{member}/addresses/{address}/",
		"GET /console/o/{org}/channels/",
		"GET /console/o/{org}/channels/{channel}/",
		"GET /console/o/{org}/mailbox/",
		"GET /console/o/{org}/mailbox/{message}/",
		"GET /console/o/{org}/mailbox/{message}/html/",
		"GET /console/o/{org}/p/{prj}/",
		"GET /console/o/{org}/p/{prj}/d/",
		"GET /console/o/{org}/p/{prj}/d/{list}/",
		"GET /console/o/{org}/p/{prj}/a/",
		"GET /console/o/{org}/p/{prj}/channels/",
		"GET /console/o/{org}/p/{prj}/channels/{own}/",
		"GET /console/o/{org}/p/{prj}/a/{app}/m/",
		"GET /console/o/{org}/p/{prj}/a/{app}/n/{notification}/subscriptions/",
		"GET /console/o/{org}/p/{prj}/a/{app}/",
		"GET /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/",
		"GET /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/explain/",
		"GET /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/progress/",
		"GET /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/d/{delivery}/",
		"GET /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/d/{delivery}/html/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/audience/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/channels/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/test/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/live/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/preview/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/html/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/html/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/versions/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/versions/{version}/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/preview/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/html/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/html/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/versions/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/versions/{version}/",
	},
	operators.Operator: {
		"GET /console/o/{org}/u/new/",
		"POST /console/o/{org}/u/new/",
		"POST /console/o/{org}/u/export/",
		"POST /console/o/{org}/u/selection/",
		"POST /console/o/{org}/u/selection/remove/",
		"POST /console/o/{org}/u/{member}/locked/",
		"GET /console/o/{org}/u/{member}/names/",
		"POST /console/o/{org}/u/{member}/names/",
		"GET /console/o/{org}/u/{member}/metadata/",
		"POST /console/o/{org}/u/{member}/metadata/",
		"GET /console/o/{org}/u/{member}/remove/",
		"POST /console/o/{org}/u/{member}/remove/",
		"POST /console/o/{org}/u/{member}/groups/",
		"POST /console/o/{org}/u/{member}/groups/remove/",
		"GET /console/o/{org}/u/{member}/addresses/new/",
		"POST /console/o/{org}/u/{member}/addresses/new/",
		"POST /console/o/{org}/u/{member}/addresses/{address}/assign/",
		"POST /console/o/{org}/u/{member}/addresses/{address}/remove/",
		"POST /console/o/{org}/u/{member}/assignments/{assignment}/",
		"POST /console/o/{org}/u/{member}/assignments/{assignment}/remove/",
		"POST /console/o/{org}/u/{member}/p/{prj}/a/{app}/locked/",
		"POST /console/o/{org}/u/{member}/p/{prj}/a/{app}/notifications/",
		"GET /console/o/{org}/imports/",
		"POST /console/o/{org}/imports/",
		"GET /console/o/{org}/imports/{import}/",
		"GET /console/o/{org}/imports/{import}/progress/",
		"GET /console/o/{org}/imports/{import}/rejected.csv",
		"POST /console/o/{org}/imports/{import}/columns/",
		"POST /console/o/{org}/imports/{import}/corrections/",
		"POST /console/o/{org}/imports/{import}/start/",
		"POST /console/o/{org}/imports/{import}/cancel/",
		"GET /console/o/{org}/imports/{import}/undo/",
		"POST /console/o/{org}/imports/{import}/undo/",
		"POST /console/o/{org}/p/{prj}/d/",
		"POST /console/o/{org}/p/{prj}/d/{list}/",
		"POST /console/o/{org}/p/{prj}/d/{list}/delete/",
		"POST /console/o/{org}/p/{prj}/d/{list}/add/",
		"POST /console/o/{org}/p/{prj}/d/{list}/members/",
		"POST /console/o/{org}/p/{prj}/d/{list}/remove/",
		"POST /console/o/{org}/p/{prj}/a/{app}/m/",
		"POST /console/o/{org}/p/{prj}/a/{app}/m/{member}/unregister/",
		"POST /console/o/{org}/p/{prj}/a/{app}/m/{member}/locked/",
		"POST /console/o/{org}/p/{prj}/a/{app}/m/{member}/notifications/",
		"POST /console/o/{org}/p/{prj}/a/{app}/n/{notification}/subscriptions/",
		"POST /console/o/{org}/p/{prj}/a/{app}/n/{notification}/opt-outs/withdraw/",
		"POST /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/retry/",
		"POST /console/o/{org}/snooze/",
		"POST /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/cancel/",
		"POST /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/d/{delivery}/retry/",
	},
	operators.Administrator: {
		"POST /console/o/{org}/name/",
		"POST /console/o/{org}/region/",
		"POST /console/o/{org}/searchable/",
		"POST /console/o/{org}/second-factor/",
		"POST /console/o/{org}/projects/",
		"POST /console/o/{org}/groups/",
		"POST /console/o/{org}/groups/{group}/",
		"POST /console/o/{org}/groups/{group}/delete/",
		"POST /console/o/{org}/partials/",
		"POST /console/o/{org}/partials/{partial}/",
		"POST /console/o/{org}/new-partial/preview/",
		"POST /console/o/{org}/new-partial/html/",
		"POST /console/o/{org}/partials/{partial}/delete/",
		"POST /console/o/{org}/partials/{partial}/versions/{version}/",
		"GET /console/o/{org}/team/",
		"GET /console/o/{org}/audit/",
		"GET /console/o/{org}/audit/{entry}/",
		"POST /console/o/{org}/audit/export/",
		"GET /console/o/{org}/keys/",
		"POST /console/o/{org}/keys/",
		"POST /console/o/{org}/keys/{key}/rotate/",
		"POST /console/o/{org}/keys/{key}/revoke/",
		"GET /console/o/{org}/u/{member}/access/",
		"POST /console/o/{org}/second-factor/",
		"POST /console/o/{org}/u/{member}/access/role/",
		"POST /console/o/{org}/u/{member}/access/invite/",
		"GET /console/o/{org}/channels/new/",
		"POST /console/o/{org}/channels/new/",
		"POST /console/o/{org}/channels/{channel}/",
		"POST /console/o/{org}/channels/{channel}/test/",
		"POST /console/o/{org}/channels/{channel}/delete/",
		"POST /console/o/{org}/mailbox/clear/",
		"POST /console/o/{org}/p/{prj}/name/",
		"POST /console/o/{org}/p/{prj}/a/",
		"GET /console/o/{org}/p/{prj}/channels/new/",
		"POST /console/o/{org}/p/{prj}/channels/new/",
		"POST /console/o/{org}/p/{prj}/channels/{own}/",
		"POST /console/o/{org}/p/{prj}/channels/{own}/test/",
		"POST /console/o/{org}/p/{prj}/channels/{own}/delete/",
		"GET /console/o/{org}/p/{prj}/a/{app}/settings/",
		"POST /console/o/{org}/p/{prj}/a/{app}/settings/",
		"POST /console/o/{org}/p/{prj}/a/{app}/delete/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/delete/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/copy/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/copy/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/channels/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/test/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/live/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/html/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/send/",
		"GET /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/delete/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/test/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/delete/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/versions/{version}/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/test/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/delete/",
		"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/versions/{version}/",
	},
	operators.Installation: {
		"GET /console/system/",
		"GET /console/organizations/",
		"POST /console/organizations/",
		"GET /console/audit/",
		"POST /console/audit/export/",
		"GET /console/keys/",
		"POST /console/keys/",
		"POST /console/keys/{key}/rotate/",
		"POST /console/keys/{key}/revoke/",
	},
}

// ruled returns the rules by route.
func ruled() map[string]operators.AccessLevel {
	all := map[string]operators.AccessLevel{}
	for need, routes := range rules {
		for _, r := range routes {
			all[r] = need
		}
	}
	return all
}

func TestEveryRouteHasARule(t *testing.T) {
	t.Parallel()
	needed := map[string]operators.AccessLevel{}
	for _, r := range console.Routes() {
		needed[r.Method+" "+r.Path] = r.Needs
	}
	assert.Equal(t, ruled(), needed, "say in rules whom a route is for")
}

// verdict is the result of the checks before a route's handler.
type verdict string

const (
	admitted  verdict = "admitted"
	toSignIn  verdict = "sent to sign in"
	toFactors verdict = "sent to set up a second factor"
	again     verdict = "asked to sign in again"
	refused   verdict = "refused"
	unseen    verdict = "told that there is nothing"
)

// expected returns the verdict for a route, a role and a way of signing in.
func expected(route, who, how string, need operators.AccessLevel) verdict {
	method, path, _ := strings.Cut(route, " ")
	switch {
	case who == "nobody", how == "WithOnlyThePassword":
		return toSignIn
	case !allowed[need][who] && (insiders[who] || need == operators.Installation):
		return refused
	case !allowed[need][who]:
		return unseen
	case how == "WithoutTheRequiredFactor" && strings.Contains(path, "{org}"),
		how == "WithoutTheRequiredFactor" && who == "root" && (need == operators.Installation || path == "/console/"):
		return toFactors
	case how == "LongAgo" && method == http.MethodPost && recent[path]:
		return again
	}
	return admitted
}

// TestAccessRules requests every route as every role, after every way of signing in.
func TestAccessRules(t *testing.T) {
	t.Parallel()
	for how, browserOf := range map[string]func(s *scene) func(who string) *browser{
		"JustNow": func(s *scene) func(string) *browser {
			return func(who string) *browser { return s.as(s.accounts[who]) }
		},
		"LongAgo": func(s *scene) func(string) *browser {
			return func(who string) *browser {
				return s.signedInAt(s.accounts[who], s.clock.Now().Add(-operators.Recent))
			}
		},
		"WithOnlyThePassword": (*scene).withPasswordAlone,
		"WithoutTheRequiredFactor": func(s *scene) func(string) *browser {
			s.requireFactors()
			return func(who string) *browser { return s.as(s.accounts[who]) }
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			browsers := browserOf(s)
			for _, r := range console.Routes() {
				if r.Needs == operators.Everyone {
					continue // Nobody is asked.
				}
				route := r.Method + " " + r.Path
				for _, who := range slices.Sorted(maps.Keys(allowed[operators.Everyone])) {
					b := s.nobody()
					if who != "nobody" {
						b = browsers(who)
					}
					assert.Equal(t, expected(route, who, how, ruled()[route]), b.verdictOf(r.Method, s.path(t, r)), "%s, %s", route, who)
				}
			}
		})
	}
}

// withPasswordAlone sets up a second factor for everybody, and signs in with the password alone.
func (s *scene) withPasswordAlone() func(who string) *browser {
	s.Helper()
	all, at := map[string]*browser{}, 0
	for who, a := range s.accounts {
		s.as(a).setUpApp()
		at++
		all[who] = s.stranger(fmt.Sprintf("198.51.100.%d", at))
		all[who].signIn(who, password).is(s.T, http.StatusSeeOther)
		require.Contains(s, all[who].cookies, stepCookie, who)
	}
	return func(who string) *browser { return all[who] }
}

// verdictOf requests a route with an empty form, and returns the verdict.
func (b *browser) verdictOf(method, path string) verdict {
	b.f.Helper()
	var got answer
	if method == http.MethodGet {
		got = b.get(path)
	} else {
		got = b.post(path)
	}
	switch {
	case got.StatusCode == http.StatusSeeOther && strings.HasPrefix(got.Header.Get("Location"), "/console/sign-in/") && got.Header.Get("Clear-Site-Data") == "":
		return toSignIn
	case got.StatusCode == http.StatusSeeOther && strings.HasPrefix(got.Header.Get("Location"), "/console/account/second-factor/?for="):
		return toFactors
	case got.StatusCode == http.StatusUnauthorized && strings.Contains(got.body, "Sign in again"):
		return again
	case got.StatusCode == http.StatusForbidden:
		return refused
	case got.StatusCode == http.StatusNotFound && strings.Contains(got.body, "The organization does not exist."):
		return unseen
	}
	return admitted
}
