package console_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

// recent says of every route that changes something whether it takes a recent sign-in: so it does
// when it changes keys, secrets of channels, roles, passwords or factors. A new route is missing
// here: decide, and say so in the table of routes.
var recent = map[string]bool{
	"/console/account/password/":                                true,
	"/console/account/second-factor/app/":                       true,
	"/console/account/second-factor/app/confirm/":               true,
	"/console/account/second-factor/app/remove/":                true,
	"/console/account/second-factor/codes/":                     true,
	"/console/sign-in/second-factor/":                           false,
	"/console/account/second-factor/passkeys/":                  true,
	"/console/account/second-factor/passkeys/confirm/":          true,
	"/console/account/second-factor/passkeys/{passkey}/name/":   true,
	"/console/account/second-factor/passkeys/{passkey}/remove/": true,
	"/console/o/{org}/second-factor/":                           true,
	"/console/account/passkey/ask/":                             false,
	"/console/sign-in/passkey/":                                 false,
	"/console/sign-in/passkey/ask/":                             false,
	"/console/sign-in/second-factor/passkey/":                   false,
	"/console/sign-in/second-factor/passkey/ask/":               false,
	"/console/keys/":                                            true,
	"/console/keys/{key}/rotate/":                               true,
	"/console/keys/{key}/revoke/":                               true,
	"/console/o/{org}/keys/":                                    true,
	"/console/o/{org}/keys/{key}/rotate/":                       true,
	"/console/o/{org}/keys/{key}/revoke/":                       true,
	"/console/o/{org}/u/{member}/access/role/":                  true,
	"/console/o/{org}/u/{member}/access/invite/":                true,
	"/console/o/{org}/channels/new/":                            true,
	"/console/o/{org}/channels/{channel}/":                      true,
	"/console/o/{org}/p/{prj}/channels/new/":                    true,
	"/console/o/{org}/p/{prj}/channels/{own}/":                  true,

	"/console/sign-in/":                                                                         false,
	"/console/sign-out/":                                                                        false,
	"/console/welcome/{token}/":                                                                 false,
	"/console/welcome/{token}/passkey/":                                                         false,
	"/console/welcome/{token}/passkey/confirm/":                                                 false,
	"/console/account/language/":                                                                false,
	"/console/account/sessions/end/":                                                            false,
	"/console/organizations/":                                                                   false,
	"/console/audit/export/":                                                                    false,
	"/console/o/{org}/region/":                                                                  false,
	"/console/o/{org}/searchable/":                                                              false,
	"/console/o/{org}/snooze/":                                                                  false,
	"/console/o/{org}/name/":                                                                    false,
	"/console/o/{org}/projects/":                                                                false,
	"/console/o/{org}/groups/":                                                                  false,
	"/console/o/{org}/groups/{group}/":                                                          false,
	"/console/o/{org}/groups/{group}/delete/":                                                   false,
	"/console/o/{org}/partials/":                                                                false,
	"/console/o/{org}/partials/{partial}/":                                                      false,
	"/console/o/{org}/new-partial/preview/":                                                     false,
	"/console/o/{org}/new-partial/html/":                                                        false,
	"/console/o/{org}/partials/{partial}/preview/":                                              false,
	"/console/o/{org}/partials/{partial}/html/":                                                 false,
	"/console/o/{org}/partials/{partial}/delete/":                                               false,
	"/console/o/{org}/partials/{partial}/versions/{version}/":                                   false,
	"/console/o/{org}/audit/export/":                                                            false,
	"/console/o/{org}/u/new/":                                                                   false,
	"/console/o/{org}/u/export/":                                                                false,
	"/console/sign-in/sso/logout/":                                                              false,
	"/console/o/{org}/u/selection/":                                                             false,
	"/console/o/{org}/u/selection/remove/":                                                      false,
	"/console/o/{org}/u/{member}/locked/":                                                       false,
	"/console/o/{org}/u/{member}/names/":                                                        false,
	"/console/o/{org}/u/{member}/metadata/":                                                     false,
	"/console/o/{org}/u/{member}/remove/":                                                       false,
	"/console/o/{org}/u/{member}/groups/":                                                       false,
	"/console/o/{org}/u/{member}/groups/remove/":                                                false,
	"/console/o/{org}/u/{member}/addresses/new/":                                                false,
	"/console/o/{org}/u/{member}/addresses/{address}/assign/":                                   false,
	"/console/o/{org}/u/{member}/addresses/{address}/remove/":                                   false,
	"/console/o/{org}/u/{member}/assignments/{assignment}/":                                     false,
	"/console/o/{org}/u/{member}/assignments/{assignment}/remove/":                              false,
	"/console/o/{org}/u/{member}/p/{prj}/a/{app}/locked/":                                       false,
	"/console/o/{org}/u/{member}/p/{prj}/a/{app}/notifications/":                                false,
	"/console/o/{org}/imports/":                                                                 false,
	"/console/o/{org}/imports/{import}/columns/":                                                false,
	"/console/o/{org}/imports/{import}/corrections/":                                            false,
	"/console/o/{org}/imports/{import}/start/":                                                  false,
	"/console/o/{org}/imports/{import}/cancel/":                                                 false,
	"/console/o/{org}/imports/{import}/undo/":                                                   false,
	"/console/o/{org}/channels/{channel}/test/":                                                 false,
	"/console/o/{org}/channels/{channel}/delete/":                                               false,
	"/console/o/{org}/mailbox/clear/":                                                           false,
	"/console/o/{org}/p/{prj}/name/":                                                            false,
	"/console/o/{org}/p/{prj}/d/":                                                               false,
	"/console/o/{org}/p/{prj}/d/{list}/":                                                        false,
	"/console/o/{org}/p/{prj}/d/{list}/delete/":                                                 false,
	"/console/o/{org}/p/{prj}/d/{list}/add/":                                                    false,
	"/console/o/{org}/p/{prj}/d/{list}/members/":                                                false,
	"/console/o/{org}/p/{prj}/d/{list}/remove/":                                                 false,
	"/console/o/{org}/p/{prj}/a/":                                                               false,
	"/console/o/{org}/p/{prj}/channels/{own}/test/":                                             false,
	"/console/o/{org}/p/{prj}/channels/{own}/delete/":                                           false,
	"/console/o/{org}/p/{prj}/a/{app}/settings/":                                                false,
	"/console/o/{org}/p/{prj}/a/{app}/delete/":                                                  false,
	"/console/o/{org}/p/{prj}/a/{app}/m/":                                                       false,
	"/console/o/{org}/p/{prj}/a/{app}/m/{member}/unregister/":                                   false,
	"/console/o/{org}/p/{prj}/a/{app}/m/{member}/locked/":                                       false,
	"/console/o/{org}/p/{prj}/a/{app}/m/{member}/notifications/":                                false,
	"/console/o/{org}/p/{prj}/a/{app}/n/{notification}/subscriptions/":                          false,
	"/console/o/{org}/p/{prj}/a/{app}/n/{notification}/opt-outs/withdraw/":                      false,
	"/console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/retry/":                                  false,
	"/console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/cancel/":                                 false,
	"/console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/d/{delivery}/retry/":                     false,
	"/console/o/{org}/p/{prj}/a/{app}/e/":                                                       false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/":                                                 false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/delete/":                                          false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/copy/":                                            false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/channels/":                                        false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/test/":                                            false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/live/":                                            false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/":                                         false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/html/":                                    false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/send/":                                    false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/":                                               false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/":                                false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/delete/":                         false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/":                                     false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/preview/":                             false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/html/":                                false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/test/":                                false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/delete/":                              false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/t/{channel}/versions/{version}/":                  false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/":                    false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/preview/":            false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/html/":               false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/test/":               false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/delete/":             false,
	"/console/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/t/{channel}/versions/{version}/": false,
}

// draftPattern matches the sealed draft in the page that asks for the password.
var draftPattern = regexp.MustCompile(`<input type="hidden" name="draft" value="([^"]*)">`)

// stale returns the browser of a user who has not signed in recently.
func (f *fixture) stale(a operators.Account) *browser {
	f.Helper()
	b := f.as(a)
	f.clock.Advance(operators.Recent)
	return b
}

// confirm sends the draft of the page with a password.
func (b *browser) confirm(path string, page answer, word string) answer {
	b.f.Helper()
	found := draftPattern.FindStringSubmatch(page.body)
	require.NotEmpty(b.f, found, page.body)
	return b.post(path, "draft", found[1], "current", word)
}

func TestRecentSignInRules(t *testing.T) {
	t.Parallel()
	known := 0
	for _, r := range console.Routes() {
		if r.Method == http.MethodGet {
			assert.False(t, r.Recent, "%s: nothing is changed by looking", r.Path)
			continue
		}
		want, decided := recent[r.Path]
		assert.True(t, decided, "%s %s: say whether it takes a recent sign-in", r.Method, r.Path)
		assert.Equal(t, want, r.Recent, "%s %s", r.Method, r.Path)
		known++
	}
	assert.Len(t, recent, known, "there are no others")
}

// TestOldSignInIsConfirmed checks every route of the table for every allowed user.
func TestOldSignInIsConfirmed(t *testing.T) {
	t.Parallel()
	for _, r := range console.Routes() {
		if !r.Recent {
			continue
		}
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			for who, may := range allowed[r.Needs] {
				if !may {
					continue
				}
				before := len(s.entries("acme")) + len(s.entries(""))
				b := s.stale(s.accounts[who])
				to := s.path(t, r)
				page := b.post(to, "mark", "what was typed")
				page.is(t, http.StatusUnauthorized)
				assert.Contains(t, page.text(), "Sign in again")
				assert.NotContains(t, page.body, "what was typed")
				assert.Contains(t, page.body, `action="`+to+`"`)
				assert.Len(t, append(s.entries("acme"), s.entries("")...), before, "nothing was done")
				draft, err := base64.RawURLEncoding.DecodeString(draftPattern.FindStringSubmatch(page.body)[1])
				require.NoError(t, err)
				assert.NotContains(t, string(draft), "mark")
			}
		})
	}
}

func TestConfirmContinuesTheForm(t *testing.T) {
	t.Parallel()
	const keys = "/console/o/acme/keys/"

	t.Run("WithEverythingThatWasTyped", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(f *fixture) {
			b := f.stale(f.operator("eva", users.RoleAdministrator))
			form := url.Values{"name": {"<deploy> & co"}, "grant": {"user:read", "event:list"}, "lifetime": {"24h"}, "form_token": {b.token()}}
			page := b.do(http.MethodPost, keys, form).is(f.T, http.StatusUnauthorized)
			assert.Contains(f, page.text(), "You signed in more than 10 minutes ago.")
			wrong := b.confirm(keys, page, "not this one").is(f.T, http.StatusUnauthorized)
			assert.Contains(f, wrong.text(), "is not your password")
			assert.NotContains(f, wrong.body, "not this one")
			assert.Contains(f, f.log.String(), "wrong password")
			made := b.confirm(keys, wrong, password).is(f.T, http.StatusOK)
			assert.Contains(f, made.text(), "<deploy> & co")
			e := f.entries("acme")[0]
			assert.Equal(f, audit.KeyCreated, e.Action)
			assert.Contains(f, e.After["grants"], "user:read")
			assert.Contains(f, e.After["grants"], "event:list")
			assert.Equal(f, audit.Reauthenticated, f.entries("")[0].Action)

			b.post(keys, "name", "another", "grant", "user:read", "lifetime", "24h").is(f.T, http.StatusOK)
			f.clock.Advance(operators.Recent)
			b.post(keys, "name", "a third", "grant", "user:read", "lifetime", "24h").is(f.T, http.StatusUnauthorized)
		})
	})

	t.Run("InTheMeantimeInAnotherTab", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		b := f.stale(f.operator("eva", users.RoleAdministrator))
		page := b.post(keys, "name", "first", "grant", "user:read", "lifetime", "24h").is(t, http.StatusUnauthorized)
		other := b.post(keys, "name", "second", "grant", "user:read", "lifetime", "24h").is(t, http.StatusUnauthorized)
		b.confirm(keys, other, password).is(t, http.StatusOK)
		assert.Contains(t, b.confirm(keys, page, "").is(t, http.StatusOK).text(), "first")
	})

	t.Run("ButNowhereElse", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		eva := f.operator("eva", users.RoleAdministrator)
		b := f.stale(eva)
		page := b.post(keys, "name", "first", "grant", "user:read", "lifetime", "24h").is(t, http.StatusUnauthorized)
		b.confirm("/console/o/acme/channels/new/", page, password).is(t, http.StatusBadRequest)
		f.stale(eva).confirm(keys, page, password).is(t, http.StatusBadRequest) // Another session's.
		b.post(keys, "draft", "bm90IG9uZQ", "current", password).is(t, http.StatusBadRequest)
		b.post(keys, "draft", "%%%", "current", password).is(t, http.StatusBadRequest)
		assert.Empty(t, f.entries("acme"))
	})

	t.Run("WithTheSecretsOfAChannel", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		b := f.stale(f.operator("eva", users.RoleAdministrator))
		const to = "/console/o/acme/channels/new/"
		page := b.post(to, "driver", "smtp", "name", "new", "protocol", "EMAIL", "settings.host", "h", "settings.password", "hunter22").is(t, http.StatusUnauthorized)
		assert.NotContains(t, page.body, "hunter22")
		b.confirm(to, page, password).is(t, http.StatusSeeOther)
	})

	t.Run("WithOnesOwnPasswordWithoutAPage", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		b := f.stale(f.operator("ada", users.RoleViewer))
		page := b.post("/console/account/password/", change("not this one")...).is(t, http.StatusUnauthorized)
		assert.NotContains(t, page.body, newPassword)
		b.confirm("/console/account/password/", page, password).is(t, http.StatusSeeOther)
		f.nobody().signIn("ada", newPassword).is(t, http.StatusSeeOther)
		b = f.stale(f.operator("bob", users.RoleViewer))
		b.post("/console/account/password/", change(password)...).is(t, http.StatusSeeOther)
	})

	t.Run("NotFasterThanOthersGuess", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		b := f.stale(f.operator("eva", users.RoleAdministrator))
		page := b.post(keys, "name", "first", "grant", "user:read", "lifetime", "24h").is(t, http.StatusUnauthorized)
		for range operators.FreeAttempts {
			page = b.confirm(keys, page, "wrong").is(t, http.StatusUnauthorized)
		}
		page = b.confirm(keys, page, password).is(t, http.StatusTooManyRequests)
		assert.Equal(t, "10", page.Header.Get("Retry-After"))
		f.clock.Advance(signInPause)
		b.confirm(keys, page, password).is(t, http.StatusOK)
	})

	t.Run("IfOneMay", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.stale(f.operator("ada", users.RoleViewer)).post(keys).is(t, http.StatusForbidden)
		f.stale(f.administrator("globex", "gil")).post(keys).is(t, http.StatusNotFound)
	})
}

func TestAcceptInvitationNeedsRecentSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.operator("ada", users.RoleViewer)
	there := f.person("globex", "ada", users.RoleViewer, false)
	gil := f.as(f.administrator("globex", "gil"))
	link := f.invitedTo("globex", gil, there)
	b := f.stale(ada)
	page := b.post(link).is(t, http.StatusUnauthorized)
	b.confirm(link, page, password).is(t, http.StatusSeeOther)
	f.signedInAs("ada", password).sees("acme", "globex")
}

// TestConfirmLargeForm checks that the largest form is not too large after it is sealed.
func TestConfirmLargeForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.stale(f.operator("eva", users.RoleAdministrator))
	const to = "/console/o/acme/channels/new/"
	large := strings.Repeat("x", 500<<10)
	page := b.post(to, "driver", "smtp", "name", large, "protocol", "EMAIL", "settings.host", "h").is(t, http.StatusUnauthorized)
	assert.Contains(t, b.confirm(to, page, password).is(t, http.StatusBadRequest).text(), "is longer than 200 characters")
}
