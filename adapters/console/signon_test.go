package console_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/oidc"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/test/idp"
)

const signOnCookie = "tocsin_sso"

// strangers is a provider that knows one person, without any protocol.
type strangers struct{}

func (strangers) Begin(_ context.Context, w signon.AuthRequest) (address string, held []byte, err error) {
	return "https://id.example/?state=" + w.State, nil, nil
}

func (strangers) Finish(context.Context, signon.AuthRequest, []byte, string, string) (signon.Identity, error) {
	return signon.Identity{Subject: signon.Subject{Issuer: "https://id.example", ID: "1"}, Username: "stranger"}, nil
}

func (strangers) Logout(context.Context, string) (signon.Logout, error) {
	return signon.Logout{Issuer: "https://id.example", Subject: "1", Token: operators.NewToken(), Expires: morning.Add(time.Hour)}, nil
}

func (strangers) EndSessionURL(context.Context, string) (string, error) {
	return "https://id.example/end", nil
}

// signsOn sets an identity provider.
func (f *fixture) signsOn(p signon.Provider, policy operators.Policy, rules ...signon.Rule) {
	f.Helper()
	f.parts.Policy, f.parts.Provider = policy, p
	f.parts.SignOn = app.SignOnSettings{Label: "Sign in with Acme ID", Mapping: rules}
	f.assemble()
	f.serve()
}

// provided starts an OpenID Connect provider and sets it.
func (f *fixture) provided(policy operators.Policy, rules ...signon.Rule) *idp.Provider {
	f.Helper()
	p := idp.New(f, f.clock.Now)
	policy.Issuer = p.URL
	f.signsOn(oidc.New(oidc.Settings{Issuer: p.URL, ClientID: idp.ClientID, ClientSecret: idp.ClientSecret, Scopes: []string{"openid"},
		UsernameClaim: "preferred_username", GroupsClaim: "groups"}, f.clock), policy, rules...)
	return p
}

// staff is a mapping with a role in acme.
var staff = signon.Rule{Group: "staff", Organization: "acme", Role: users.RoleAdministrator}

// cameBack goes to the provider and back in a browser of its own.
func cameBack(b *browser, to string) answer {
	b = b.f.nobody()
	there, err := url.Parse(b.get("/console/sign-in/sso/").Header.Get("Location"))
	require.NoError(b.f, err)
	return b.get(to + "?code=c&state=" + there.Query().Get("state"))
}

// signOn goes to the provider from a path of ours, and back.
func (b *browser) signOn(p *idp.Provider, from string) answer {
	b.f.Helper()
	gone := b.get(from).is(b.f.T, http.StatusSeeOther)
	return b.get(p.Visit(gone.Header.Get("Location")).RequestURI())
}

func TestSingleSignOn(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		p := f.provided(operators.Policy{}, staff)
		p.Person = idp.Claims{"sub": "s-1", "preferred_username": "ada", "groups": []string{"staff"}, "sid": "session 1", "given_name": "Ada"}
		p.LastSignIn = f.clock.Now()
		b := f.nobody()
		page := b.get("/console/sign-in/?next=/console/o/acme/keys/").is(f.T, http.StatusOK)
		link := regexp.MustCompile(`href="(/console/sign-in/sso/[^"]*)">Sign in with Acme ID`).FindStringSubmatch(page.body)
		require.NotEmpty(f, link, page.body)
		got := b.signOn(p, link[1]).is(f.T, http.StatusSeeOther)
		assert.Equal(f, "/console/o/acme/keys/", got.Header.Get("Location"))
		assert.NotContains(f, b.cookies, signOnCookie)
		b.get("/console/o/acme/keys/").is(f.T, http.StatusOK)
		assert.Contains(f, b.get("/console/account/").is(f.T, http.StatusOK).text(), "You have signed in with single sign-on.")
		assert.Equal(f, "Ada", f.memberNamed("ada").FirstName)

		// What opens doors changes within ten minutes of having signed in to the provider, which is
		// asked once more after that.
		const keys = "/console/o/acme/keys/"
		b.post(keys, "name", "first", "grant", "user:read", "lifetime", "24h").is(f.T, http.StatusOK)
		f.clock.Advance(operators.Recent)
		ask := b.post(keys, "name", "second", "grant", "user:read", "lifetime", "24h").is(f.T, http.StatusUnauthorized)
		assert.NotContains(f, ask.body, `type="password"`)
		redisplay := regexp.MustCompile(`href="(/console/sign-in/sso/\?draft=[0-9a-f]{64})"`).FindStringSubmatch(ask.body)
		require.NotEmpty(f, redisplay, ask.body)
		p.IgnoresPrompt = true
		assert.Contains(f, b.signOn(p, redisplay[1]).is(f.T, http.StatusForbidden).text(), "does not say that you have just signed in")
		p.IgnoresPrompt = false
		p.Person["sub"] = "s-2"
		assert.Contains(f, b.signOn(p, redisplay[1]).is(f.T, http.StatusForbidden).text(), "somebody else")
		p.Person["sub"] = "s-1"
		back := b.signOn(p, redisplay[1]).is(f.T, http.StatusOK)
		assert.Contains(f, back.text(), "You have signed in again.")
		assert.Contains(f, back.body, `action="`+keys+`"`)
		made := b.confirm(keys, back, "").is(f.T, http.StatusOK)
		assert.Contains(f, made.text(), "second")

		// The provider ends its session, and with that ours.
		other := f.nobody()
		p.Person["sid"] = "session 2"
		other.signOn(p, "/console/sign-in/sso/").is(f.T, http.StatusSeeOther)
		machine := f.nobody()
		token := p.LogoutToken(idp.Claims{"sid": "session 1"})
		machine.submit("/console/sign-in/sso/logout/", "logout_token", token).is(f.T, http.StatusOK)
		assert.False(f, b.signedIn())
		assert.True(f, other.signedIn())
		refused := machine.submit("/console/sign-in/sso/logout/", "logout_token", token).is(f.T, http.StatusBadRequest)
		assert.JSONEq(f, `{"error":"invalid_request"}`, refused.body)
		assert.Equal(f, "no-store", refused.Header.Get("Cache-Control"))
		machine.submit("/console/sign-in/sso/logout/", "logout_token", p.LogoutToken(idp.Claims{"sub": "s-1"})).is(f.T, http.StatusOK)
		assert.False(f, other.signedIn())

		// Signing out leads to where one signs out of the provider, too.
		b.signOn(p, "/console/sign-in/sso/").is(f.T, http.StatusSeeOther)
		out := b.post("/console/sign-out/").is(f.T, http.StatusSeeOther)
		left := b.get(out.Header.Get("Location")).is(f.T, http.StatusOK)
		assert.Contains(f, left.text(), "Sign out there, too")
		leave := b.get("/console/sign-in/sso/leave/").is(f.T, http.StatusSeeOther)
		assert.True(f, strings.HasPrefix(leave.Header.Get("Location"), p.URL+"/end?"), leave.Header.Get("Location"))

		actions := []audit.Action{}
		for _, e := range f.entries("") {
			actions = append(actions, e.Action)
		}
		for _, want := range []audit.Action{audit.AccountCreated, audit.SignedIn, audit.Reauthenticated, audit.SignInRefused, audit.SignedOutByProvider} {
			assert.Contains(f, actions, want)
		}
	})
}

func TestSingleSignOnCallbackIsBound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.provided(operators.Policy{})
	begin := func(b *browser) string {
		return p.Visit(b.get("/console/sign-in/sso/").is(t, http.StatusSeeOther).Header.Get("Location")).RequestURI()
	}
	ada, eve := f.nobody(), f.nobody()
	hers, evil := begin(ada), begin(eve)
	ada.get(evil).is(t, http.StatusForbidden) // Eve had her sign in as Eve.
	assert.False(t, ada.signedIn())
	ada.get(hers).is(t, http.StatusForbidden) // The attempt ended what she had begun.
	f.nobody().get(hers).is(t, http.StatusForbidden)
	hers = begin(ada)
	kept := ada.cookies[signOnCookie]
	ada.get(hers).is(t, http.StatusSeeOther)
	assert.True(t, ada.signedIn())
	thief := f.nobody()
	thief.cookies[signOnCookie] = kept
	thief.get(hers).is(t, http.StatusForbidden)
	late := f.nobody()
	to := begin(late)
	f.clock.Advance(10 * time.Minute)
	late.get(to).is(t, http.StatusForbidden)
	refused := f.nobody()
	to = begin(refused)
	u, err := url.Parse(to)
	require.NoError(t, err)
	page := refused.get("/console/sign-in/sso/callback/?error=access_denied&error_description=Call+0900&state="+u.Query().Get("state")).is(t, http.StatusForbidden)
	assert.NotContains(t, page.body, "0900")
	assert.Contains(t, f.log.String(), "sign-in refused")
}

func TestSingleSignOnNoOpenRedirect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.provided(operators.Policy{})
	for _, next := range []string{"https://evil.example/", "//evil.example/", "/\\evil.example", "/other/", "javascript:alert(1)"} {
		b := f.nobody()
		got := b.signOn(p, "/console/sign-in/sso/?next="+url.QueryEscape(next)).is(t, http.StatusSeeOther)
		assert.Equal(t, "/console/", got.Header.Get("Location"), next)
	}
	b := f.nobody()
	b.signOn(p, "/console/sign-in/sso/").is(t, http.StatusSeeOther)
	assert.Equal(t, "/console/account/", b.get("/console/sign-in/sso/?next=/console/account/").is(t, http.StatusSeeOther).Header.Get("Location"), "whoever is signed in stays here")
	assert.Contains(t, b.get("/console/sign-in/sso/?draft="+operators.NewToken()).is(t, http.StatusForbidden).text(), "please begin again")
}

func TestUnavailableProvider(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.provided(operators.Policy{})
	p.Close()
	b := f.nobody()
	b.get("/console/sign-in/").is(t, http.StatusOK)
	page := b.get("/console/sign-in/sso/").is(t, http.StatusServiceUnavailable)
	assert.Contains(t, page.text(), "The sign-in service cannot be reached at the moment; try again in a minute")
	assert.NotEmpty(t, page.Header.Get("Retry-After"))
	b.get("/console/sign-in/sso/leave/").is(t, http.StatusServiceUnavailable)
	b.submit("/console/sign-in/sso/logout/", "logout_token", "x").is(t, http.StatusServiceUnavailable)
	f.nobody().signIn(f.operator("eva", users.RoleViewer).User.Username, password).is(t, http.StatusSeeOther)
}

// TestLogoutsAreLimitedApart is about a provider in a network of many browsers: their sign-ins do
// not keep it from ending sessions, which have a limit of their own.
func TestLogoutsAreLimitedApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.provided(operators.Policy{})
	p.Person["sub"] = "s-1"
	b := f.nobody()
	b.signOn(p, "/console/sign-in/sso/").is(t, http.StatusSeeOther)
	browsers, status := f.nobody(), 0
	for n := 0; status != http.StatusTooManyRequests; n++ {
		require.Less(t, n, 100)
		status = browsers.get("/console/sign-in/sso/").StatusCode
	}
	machine := f.nobody()
	logOut := func(token string) int {
		return machine.submit("/console/sign-in/sso/logout/", "logout_token", token).StatusCode
	}
	assert.Equal(t, http.StatusOK, logOut(p.LogoutToken(idp.Claims{"sub": "s-1"})))
	assert.False(t, b.signedIn())
	for n := 0; logOut("x") != http.StatusTooManyRequests; n++ {
		require.Less(t, n, 1_100)
	}
}

func TestNoProvider(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.nobody()
	assert.NotContains(t, b.get("/console/sign-in/").is(t, http.StatusOK).body, "/sso/")
	b.get("/console/sign-in/sso/").is(t, http.StatusNotFound)
	b.get("/console/sign-in/sso/callback/?state=x&code=y").is(t, http.StatusNotFound)
	b.get("/console/sign-in/sso/leave/").is(t, http.StatusNotFound)
	b.submit("/console/sign-in/sso/logout/", "logout_token", "x").is(t, http.StatusNotFound)
}

func TestOnlySingleSignOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root, eva := f.account("root", true), f.operator("eva", users.RoleAdministrator)
	before := f.as(eva)
	p := f.provided(operators.Policy{SingleSignOnOnly: true, BreakGlass: "Root"}, staff)
	assert.False(t, before.signedIn(), "sessions from before end")
	b := f.nobody()
	assert.Contains(t, b.get("/console/sign-in/").is(t, http.StatusOK).text(), "Only the emergency account signs in with a password.")
	b.signIn("eva", password).is(t, http.StatusUnauthorized)
	b.signIn("root", password).is(t, http.StatusSeeOther)
	assert.True(t, b.signedIn())
	assert.Equal(t, audit.BreakGlassUsed, f.entries("")[1].Action)
	assert.True(t, f.as(root).signedIn())

	p.Person = idp.Claims{"sub": "1", "preferred_username": "root", "groups": "staff"}
	assert.Contains(t, f.nobody().signOn(p, "/console/sign-in/sso/").is(t, http.StatusForbidden).text(), "kept for the emergency account")
	p.Person = idp.Claims{"sub": "2", "preferred_username": "grace", "groups": "staff"}
	f.nobody().signOn(p, "/console/sign-in/sso/").is(t, http.StatusSeeOther)
}

func TestSingleSignOnRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.account("eva", false)
	p := f.provided(operators.Policy{}, staff)
	for who, want := range map[string]string{"eva": "tocsin admin sso link", "grace": "none of your groups has a role", " ": "does not say a username"} {
		p.Person = idp.Claims{"sub": "of " + who, "preferred_username": who}
		if who == "eva" {
			p.Person["groups"] = "staff"
		}
		page := f.nobody().signOn(p, "/console/sign-in/sso/?next=/console/account/").is(t, http.StatusForbidden)
		assert.Contains(t, page.text(), want)
		assert.Contains(t, page.body, `href="/console/sign-in/?next=%2Fconsole%2Faccount%2F"`)
		e := f.entries("")[0]
		assert.Equal(t, audit.SignInRefused, e.Action)
		assert.Equal(t, "of "+who, e.After["subject"])
		assert.NotEmpty(t, e.After["reason"])
	}
}

func TestSingleSignOnIsThrottled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.signsOn(strangers{}, operators.Policy{Issuer: "https://id.example"})
	b := f.nobody()
	for range 60 {
		b.get("/console/sign-in/sso/").is(t, http.StatusSeeOther)
	}
	assert.NotEmpty(t, b.get("/console/sign-in/sso/").is(t, http.StatusTooManyRequests).Header.Get("Retry-After"))
}
