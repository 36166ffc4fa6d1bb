package console_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

const stepCookie = "tocsin_step"

var (
	secretPattern = regexp.MustCompile(`id="secret">([A-Z2-7 ]+)<`)
	stepPattern   = regexp.MustCompile(`name="step" value="([0-9a-f]{64})"`)
	codePattern   = regexp.MustCompile(`[a-z2-7]{4}-[a-z2-7]{4}-[a-z2-7]{4}-[a-z2-7]{4}`)
)

// code returns the current code of an authenticator app.
func (f *fixture) code(secret string) string {
	f.Helper()
	code, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), f.clock.Now())
	require.NoError(f, err)
	return code
}

// setUpApp sets up an authenticator app, and moves the clock to its next code.
func (b *browser) setUpApp() (secret string, codes []string) {
	b.f.Helper()
	page := b.post("/console/account/second-factor/app/").is(b.f.T, http.StatusOK)
	secret = secretPattern.FindStringSubmatch(page.body)[1]
	shown := b.post("/console/account/second-factor/app/confirm/", "step", stepPattern.FindStringSubmatch(page.body)[1], "code", b.f.code(secret)).is(b.f.T, http.StatusOK)
	b.f.clock.Advance(time.Minute)
	return secret, codePattern.FindAllString(shown.body, -1)
}

// showCode goes from the password to the second factor.
func (b *browser) showCode(code string) answer {
	b.f.Helper()
	return b.post("/console/sign-in/second-factor/", "code", code, "next", "/console/account/")
}

// appConfirmed sends the code of a new authenticator app, where there is one.
func appConfirmed(b *browser, to string) answer {
	page := b.post("/console/account/second-factor/app/")
	found := secretPattern.FindStringSubmatch(page.body)
	if found == nil {
		return b.post(to)
	}
	return b.post(to, "step", stepPattern.FindStringSubmatch(page.body)[1], "code", b.f.code(found[1]))
}

// withApp sends an empty form of a user with an authenticator app.
func withApp(b *browser, to string) answer {
	appConfirmed(b, "/console/account/second-factor/app/confirm/")
	return b.post(to)
}

func TestSignInWithSecondFactor(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		secret, codes := f.as(f.operator("ada", users.RoleViewer)).setUpApp()
		require.Len(f, codes, factors.RecoveryCodes)
		for _, code := range []string{f.code(secret), strings.ToUpper(codes[0])} {
			b := f.nobody()
			got := b.post("/console/sign-in/", "username", "ada", "password", password, "next", "/console/account/?x=1").is(f.T, http.StatusSeeOther)
			assert.Equal(f, "/console/sign-in/second-factor/?next=%2Fconsole%2Faccount%2F%3Fx%3D1", got.Header.Get("Location"))
			assert.NotContains(f, b.cookies, sessionCookie)
			assert.False(f, b.signedIn(), "the password alone opens nothing")
			page := b.get(got.Header.Get("Location")).is(f.T, http.StatusOK)
			assert.Contains(f, page.text(), "The password for ada is correct")
			b.showCode("123 456").is(f.T, http.StatusBadRequest)
			assert.False(f, b.signedIn())
			got = b.post("/console/sign-in/second-factor/", "code", code, "next", "//evil.example/").is(f.T, http.StatusSeeOther)
			assert.Equal(f, "/console/", got.Header.Get("Location"))
			assert.True(f, b.signedIn())
			assert.NotContains(f, b.cookies, stepCookie)
			assert.Contains(f, b.cookies, deviceCookie)
		}
		assert.NotContains(f, f.log.String(), codes[0])
		b := f.nobody()
		b.signIn("ada", password).is(f.T, http.StatusSeeOther)
		b.showCode(codes[0]).is(f.T, http.StatusBadRequest)
		f.clock.Advance(factors.StepLife)
		got := b.showCode(codes[1]).is(f.T, http.StatusSeeOther)
		assert.Contains(f, got.Header.Get("Location"), "/console/sign-in/?next=")
		got = b.get("/console/sign-in/second-factor/").is(f.T, http.StatusSeeOther)
		assert.Contains(f, got.Header.Get("Location"), "/console/sign-in/?next=")
	})
}

func TestWrongSecondFactorsAreThrottled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret, _ := f.as(f.operator("ada", users.RoleViewer)).setUpApp()
	b := f.nobody()
	for range operators.FreeAttempts {
		b.signIn("ada", password)
		b.showCode("000000").is(t, http.StatusBadRequest)
	}
	b.signIn("ada", password)
	late := b.showCode(f.code(secret)).is(t, http.StatusTooManyRequests)
	assert.NotEmpty(t, late.Header.Get("Retry-After"))
	assert.Contains(t, late.text(), "Too many attempts. Try again in 10 seconds.")
	assert.Contains(t, f.log.String(), "wrong second factor")
	assert.Equal(t, audit.FactorFailed, f.entries("acme")[1].Action)
}

func TestSetUpAuthenticatorApp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleViewer))
	b.get("/console/account/second-factor/").is(t, http.StatusOK)
	page := b.post("/console/account/second-factor/app/").is(t, http.StatusOK)
	assert.Contains(t, page.body, `<svg class="qr"`)
	assert.NotContains(t, page.body, "data:")
	step := stepPattern.FindStringSubmatch(page.body)[1]
	secret := secretPattern.FindStringSubmatch(page.body)[1]
	redisplay := b.post("/console/account/second-factor/app/confirm/", "step", step, "code", "000000").is(t, http.StatusBadRequest)
	assert.Equal(t, secret, secretPattern.FindStringSubmatch(redisplay.body)[1])
	assert.Contains(t, redisplay.text(), "is not valid, or was already used")
	b.post("/console/account/second-factor/app/confirm/", "step", "x", "code", "000000").is(t, http.StatusBadRequest)
	shown := b.post("/console/account/second-factor/app/confirm/", "step", step, "code", f.code(secret)).is(t, http.StatusOK)
	codes := codePattern.FindAllString(html.UnescapeString(shown.body), -1)
	assert.Len(t, codes, factors.RecoveryCodes)
	state := b.get("/console/account/second-factor/").is(t, http.StatusOK)
	assert.Contains(t, state.text(), "Recovery codes left: 10.")
	assert.NotContains(t, state.body, codes[0])
	b.post("/console/account/second-factor/app/").is(t, http.StatusBadRequest)
	renewed := codePattern.FindAllString(b.post("/console/account/second-factor/codes/").is(t, http.StatusOK).body, -1)
	assert.Len(t, renewed, factors.RecoveryCodes)
	assert.NotContains(t, renewed, codes[0])
	b.post("/console/account/second-factor/app/remove/").is(t, http.StatusSeeOther)
	b.post("/console/account/second-factor/app/remove/").is(t, http.StatusSeeOther)
	b.post("/console/account/second-factor/codes/").is(t, http.StatusNotFound)
	f.nobody().signIn("ada", password).is(t, http.StatusSeeOther)
	for _, e := range f.entries("") {
		for _, code := range append(codes, renewed...) {
			assert.NotContains(t, e.After, code)
		}
	}
}

func TestInvitationResetsSecondFactor(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		f := newFixture(t)
		ada := f.administrator("acme", "ada")
		m := f.person("acme", "bob", users.RoleViewer, false)
		bob := f.operator("bob", users.RoleViewer)
		f.as(bob).setUpApp()
		fields := []string{}
		if reset {
			fields = []string{"reset", "true"}
		}
		page := f.as(ada).post(memberPath(m)+"access/invite/", fields...).is(t, http.StatusOK)
		link := regexp.MustCompile(`/console/welcome/[0-9a-f]+/`).FindString(page.body)
		b := f.nobody()
		b.get(link).is(t, http.StatusOK)
		b.post(link, "password", newPassword, "again", newPassword).is(t, http.StatusSeeOther)
		got := b.signIn("bob", newPassword).is(t, http.StatusSeeOther)
		assert.Equal(t, reset, !strings.Contains(got.Header.Get("Location"), "second-factor"))
		assert.Equal(t, reset, b.signedIn())
	}
}

func TestConfirmWithSecondFactor(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const keys = "/console/o/acme/keys/"
		b := f.as(f.operator("eva", users.RoleAdministrator))
		secret, codes := b.setUpApp()
		f.clock.Advance(operators.Recent)
		page := b.post(keys, "name", "deploy", "grant", "user:read", "lifetime", "24h").is(f.T, http.StatusUnauthorized)
		assert.Contains(f, page.text(), "Enter your password and your second factor to continue.")
		send := func(word, code string) answer {
			return b.post(keys, "draft", draftPattern.FindStringSubmatch(page.body)[1], "current", word, "second_factor", code)
		}
		page = send(password, "").is(f.T, http.StatusUnauthorized)
		assert.NotContains(f, page.text(), "is not valid", "nothing was tried")
		page = send("not this one", f.code(secret)).is(f.T, http.StatusUnauthorized)
		assert.Contains(f, page.text(), "is not your password")
		page = send(password, "000000").is(f.T, http.StatusUnauthorized)
		assert.Contains(f, page.text(), "is not valid, or was already used")
		assert.NotContains(f, page.body, password)
		assert.Contains(f, send(password, codes[0]).is(f.T, http.StatusOK).text(), "deploy")
		b.post("/console/account/second-factor/app/remove/").is(f.T, http.StatusSeeOther)

		f.clock.Advance(operators.Recent)
		page = b.post("/console/account/second-factor/app/").is(f.T, http.StatusUnauthorized)
		assert.NotContains(f, page.text(), "second factor to continue", "without one the password will do")
	})
}

func TestPasswordChangeNeedsSecondFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("eva", users.RoleAdministrator))
	secret, _ := b.setUpApp()
	f.clock.Advance(operators.Recent)
	page := b.post("/console/account/password/", change(password)...).is(t, http.StatusUnauthorized)
	b.post("/console/account/password/", "draft", draftPattern.FindStringSubmatch(page.body)[1], "current", password, "second_factor", f.code(secret)).is(t, http.StatusSeeOther)
	assert.Contains(t, f.nobody().signIn("eva", newPassword).is(t, http.StatusSeeOther).Header.Get("Location"), "second-factor")
}
