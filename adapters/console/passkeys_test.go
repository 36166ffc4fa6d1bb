package console_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/test/passkeys"
)

const (
	passkeyCookie = "tocsin_passkey"
	passkeysPath  = "/console/account/second-factor/passkeys/"
)

var (
	optionsPattern = regexp.MustCompile(`data-options="([^"]+)"`)
	passkeyPattern = regexp.MustCompile(`/passkeys/(\d+)/remove/`)
)

// key returns a user's authenticator.
func key() *passkeys.Authenticator { return passkeys.New("notify.example", site) }

// make sends what an authenticator answers who is asked for a new passkey.
func (b *browser) make(k *passkeys.Authenticator, to, name string) answer {
	b.f.Helper()
	page := b.post(passkeysPath).is(b.f.T, http.StatusOK)
	filter := html.UnescapeString(optionsPattern.FindStringSubmatch(page.body)[1])
	return b.post(to, "step", stepPattern.FindStringSubmatch(page.body)[1], "name", name, "passkey", string(k.Create(b.f, []byte(filter))))
}

// joined sends a new passkey by which an invitation is accepted.
func joined(b *browser, to string) answer {
	return b.join(key(), strings.TrimSuffix(to, "passkey/confirm/"))
}

// join accepts the invitation of a link by a new passkey.
func (b *browser) join(k *passkeys.Authenticator, link string) answer {
	b.f.Helper()
	page := b.post(link+"passkey/").is(b.f.T, http.StatusOK)
	filter := html.UnescapeString(optionsPattern.FindStringSubmatch(page.body)[1])
	return b.post(link+"passkey/confirm/", "step", stepPattern.FindStringSubmatch(page.body)[1], "name", "Telephone", "passkey", string(k.Create(b.f, []byte(filter))))
}

// passkeyConfirmed sends a new passkey.
func passkeyConfirmed(b *browser, to string) answer {
	if b.cookies[sessionCookie] == "" {
		return b.post(to)
	}
	return b.make(key(), to, "")
}

// withPasskey sends a form of a user with a passkey.
func withPasskey(b *browser, to string) answer {
	if b.cookies[sessionCookie] == "" {
		return b.post(to)
	}
	passkeyConfirmed(b, passkeysPath+"confirm/")
	id := passkeyPattern.FindStringSubmatch(b.get("/console/account/second-factor/").body)[1]
	return b.post(strings.Replace(to, "/1/", "/"+id+"/", 1), "name", "Laptop")
}

// show answers the request of a path with an authenticator.
func (b *browser) show(k *passkeys.Authenticator, ask string) string {
	b.f.Helper()
	filter := b.post(ask).is(b.f.T, http.StatusOK)
	assert.Equal(b.f, "application/json", filter.Header.Get("Content-Type"))
	assert.NotEmpty(b.f, b.cookies[passkeyCookie])
	return string(k.Answer(b.f, []byte(filter.body)))
}

func TestSignInWithPasskey(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		k := key()
		made := f.as(f.operator("ada", users.RoleViewer)).make(k, passkeysPath+"confirm/", "<Telephone>").is(f.T, http.StatusOK)
		assert.Len(f, codePattern.FindAllString(made.body, -1), factors.RecoveryCodes)

		b := f.nobody()
		page := b.get("/console/sign-in/").is(f.T, http.StatusOK)
		assert.Contains(f, page.body, "/console/assets/passkeys.js?v=")
		assert.Contains(f, page.body, `autocomplete="username webauthn"`)
		got := b.post("/console/sign-in/passkey/", "passkey", b.show(k, "/console/sign-in/passkey/ask/"), "next", "/console/account/?x=1").is(f.T, http.StatusSeeOther)
		assert.Equal(f, "/console/account/?x=1", got.Header.Get("Location"))
		assert.True(f, b.signedIn())
		assert.NotContains(f, b.cookies, passkeyCookie)
		assert.Contains(f, b.get("/console/account/second-factor/").body, "&lt;Telephone&gt;")

		b = f.nobody()
		got = b.signIn("ada", password).is(f.T, http.StatusSeeOther)
		page = b.get(got.Header.Get("Location")).is(f.T, http.StatusOK)
		assert.Contains(f, page.body, `data-ask="/console/sign-in/second-factor/passkey/ask/"`)
		wrong := b.show(key(), "/console/sign-in/second-factor/passkey/ask/")
		page = b.post("/console/sign-in/second-factor/passkey/", "passkey", wrong).is(f.T, http.StatusBadRequest)
		assert.Contains(f, page.text(), "The passkey was not accepted")
		assert.False(f, b.signedIn())
		b.post("/console/sign-in/second-factor/passkey/", "passkey", b.show(k, "/console/sign-in/second-factor/passkey/ask/")).is(f.T, http.StatusSeeOther)
		assert.True(f, b.signedIn())
		assert.NotContains(f, b.cookies, stepCookie)
	})
}

func TestWrongPasskeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k := key()
	f.as(f.operator("ada", users.RoleViewer)).make(k, passkeysPath+"confirm/", "")
	b := f.nobody()
	page := b.post("/console/sign-in/passkey/", "passkey", b.show(key(), "/console/sign-in/passkey/ask/")).is(t, http.StatusUnauthorized)
	assert.Contains(t, page.text(), "The passkey was not accepted")
	assert.Contains(t, f.log.String(), "wrong passkey")
	answer := b.show(k, "/console/sign-in/passkey/ask/")
	other := f.nobody()
	late := other.post("/console/sign-in/passkey/", "passkey", answer).is(t, http.StatusSeeOther)
	assert.Contains(t, late.Header.Get("Location"), "done=late", "it is bound to the browser")
	b.post("/console/sign-in/passkey/", "passkey", strings.Repeat("x", factors.MaxAnswer+1)).is(t, http.StatusUnauthorized)
	late = b.post("/console/sign-in/passkey/", "passkey", answer).is(t, http.StatusSeeOther)
	assert.Contains(t, late.Header.Get("Location"), "done=late", "one answer, right or wrong")
	assert.Contains(t, b.get(late.Header.Get("Location")).text(), "This took too long")
	assert.False(t, b.signedIn())
	got := b.post("/console/sign-in/second-factor/passkey/ask/").is(t, http.StatusSeeOther)
	assert.Contains(t, got.Header.Get("Location"), "/console/sign-in/")
}

// TestPasskeysRevealNothing checks that no page shows a stranger whether a username has an account
// or a passkey.
func TestPasskeysRevealNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.operator("bob", users.RoleViewer)
	f.as(f.operator("ada", users.RoleViewer)).make(key(), passkeysPath+"confirm/", "")
	var seen []string
	for _, username := range []string{"ada", "bob", "nobody"} {
		b := f.nobody()
		b.token()
		filter := b.post("/console/sign-in/passkey/ask/", "username", username).is(t, http.StatusOK)
		assert.NotContains(t, filter.body, "allowCredentials")
		page := b.post("/console/sign-in/", "username", username, "password", "not this one at all").is(t, http.StatusUnauthorized)
		texts := regexp.MustCompile(`[0-9a-f]{64}|"challenge":"[^"]*"`).ReplaceAllString(filter.body+page.body, "")
		seen = append(seen, strings.ReplaceAll(texts, username, "NAME"))
	}
	assert.Equal(t, seen[0], seen[1])
	assert.Equal(t, seen[0], seen[2])
}

func TestPasskeyRequestsAreThrottled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	known := f.nobody()
	f.operator("ada", users.RoleViewer)
	known.signIn("ada", password).is(t, http.StatusSeeOther)
	delete(known.cookies, sessionCookie)
	b := f.nobody()
	for b.post("/console/sign-in/passkey/ask/").StatusCode == http.StatusOK {
	}
	refused := b.post("/console/sign-in/passkey/ask/").is(t, http.StatusTooManyRequests)
	assert.NotEmpty(t, refused.Header.Get("Retry-After"))
	known.post("/console/sign-in/passkey/ask/").is(t, http.StatusOK)
	f.clock.Advance(2 * time.Second)
	b.post("/console/sign-in/passkey/ask/").is(t, http.StatusOK)
}

func TestConfirmWithPasskey(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const keys = "/console/o/acme/keys/"
		k := key()
		b := f.as(f.operator("eva", users.RoleAdministrator))
		b.make(k, passkeysPath+"confirm/", "")
		f.clock.Advance(operators.Recent)
		page := b.post(keys, "name", "deploy", "grant", "user:read", "lifetime", "24h").is(f.T, http.StatusUnauthorized)
		assert.Contains(f, page.text(), "or use a passkey, to continue.")
		draft := draftPattern.FindStringSubmatch(page.body)[1]
		page = b.post(keys, "draft", draft, "passkey", b.show(key(), "/console/account/passkey/ask/")).is(f.T, http.StatusUnauthorized)
		assert.Contains(f, page.text(), "The passkey was not accepted")
		answer := b.show(k, "/console/account/passkey/ask/")
		assert.Contains(f, b.post(keys, "draft", draft, "passkey", answer).is(f.T, http.StatusOK).text(), "deploy")

		f.clock.Advance(operators.Recent)
		page = b.post("/console/account/password/", change(password)...).is(f.T, http.StatusUnauthorized)
		draft = draftPattern.FindStringSubmatch(page.body)[1]
		page = b.post(keys, "draft", draft, "passkey", answer).is(f.T, http.StatusBadRequest)
		assert.NotContains(f, page.body, "deploy", "what was entered goes where it was sent")
		b.post("/console/account/password/", "draft", draft, "passkey", answer).is(f.T, http.StatusUnauthorized)
		b.post("/console/account/password/", "draft", draft, "passkey", b.show(k, "/console/account/passkey/ask/")).is(f.T, http.StatusSeeOther)
		f.nobody().signIn("eva", newPassword).is(f.T, http.StatusSeeOther)
	})
}

func TestManagePasskeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k := key()
	b := f.as(f.operator("ada", users.RoleViewer))
	b.make(k, passkeysPath+"confirm/", strings.Repeat("x", 201)).is(t, http.StatusBadRequest)
	b.make(k, passkeysPath+"confirm/", "Telephone").is(t, http.StatusOK)
	b.make(k, passkeysPath+"confirm/", "").is(t, http.StatusBadRequest)
	b.post(passkeysPath+"confirm/", "step", "x", "passkey", "{}").is(t, http.StatusBadRequest)
	page := b.get("/console/account/second-factor/").is(t, http.StatusOK)
	id := passkeyPattern.FindStringSubmatch(page.body)[1]
	b.post(passkeysPath+id+"/name/", "name", "Laptop").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get("/console/account/second-factor/").text(), "Laptop")
	eve := f.as(f.operator("eve", users.RoleViewer))
	eve.post(passkeysPath+id+"/name/", "name", "Mine").is(t, http.StatusNotFound)
	eve.post(passkeysPath+id+"/remove/").is(t, http.StatusSeeOther)
	assert.Contains(t, b.get("/console/account/second-factor/").text(), "Laptop")
	b.post(passkeysPath+id+"/remove/").is(t, http.StatusSeeOther)
	b.post(passkeysPath+id+"/remove/").is(t, http.StatusSeeOther)
	assert.NotContains(t, b.get("/console/account/second-factor/").text(), "Laptop")
	entries := f.entries("acme")
	assert.Equal(t, audit.FactorRemoved, entries[0].Action)
	assert.Equal(t, "Laptop", entries[0].After["name"])
	page = b.post("/console/sign-in/passkey/", "passkey", b.show(k, "/console/sign-in/passkey/ask/")).is(t, http.StatusUnauthorized)
	assert.Contains(t, page.text(), "The passkey was not accepted")
}

func TestPasskeysNeedHTTPS(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.parts.Authenticators = nil
	f.assemble()
	f.serve()
	page := f.nobody().get("/console/sign-in/").is(t, http.StatusOK)
	assert.NotContains(t, page.body, "passkey")
	b := f.as(f.operator("ada", users.RoleViewer))
	assert.Contains(t, b.get("/console/account/second-factor/").text(), "they need the setting base_url to be an https address")
	b.post(passkeysPath).is(t, http.StatusBadRequest)
	require.Equal(t, http.StatusBadRequest, f.nobody().post("/console/sign-in/passkey/ask/").StatusCode)
}
