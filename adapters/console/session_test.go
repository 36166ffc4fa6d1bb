package console_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

func TestSignIn(t *testing.T) {
	t.Parallel()

	t.Run("TheRightPasswordBeginsASession", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(f *fixture) {
			f.operator("ada", users.RoleViewer)
			b := f.nobody()
			got := b.signIn(" ADA ", password).is(f.T, http.StatusSeeOther)
			assert.Equal(f, "/console/", got.Header.Get("Location"))
			assert.True(f, b.signedIn())
			assert.NotContains(f, b.cookies, visitCookie)
			assert.Equal(f, audit.SignedIn, f.entries("")[0].Action)
			assert.Equal(f, "ada", f.entries("")[0].Actor.Name)
			assert.Equal(f, "192.0.2.1", f.entries("")[0].Actor.Address)
			assert.Contains(f, f.log.String(), "operator=ada")
			assert.NotContains(f, f.log.String(), password)
		})
	})

	t.Run("AWrongPasswordAndAnUnknownUserLookAlike", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.operator("ada", users.RoleViewer)
		f.person("acme", "bob", users.RoleAdministrator, false) // Has no password.
		var pages []string
		for _, name := range []string{"ada", "bob", "eve"} {
			b := f.nobody()
			got := b.signIn(name, "something else").is(t, http.StatusUnauthorized)
			assert.Empty(t, b.cookies[sessionCookie])
			page := tokenPattern.ReplaceAllString(strings.Replace(got.body, `value="`+name+`"`, "", 1), "")
			pages = append(pages, page)
		}
		assert.Equal(t, pages[0], pages[1])
		assert.Equal(t, pages[0], pages[2])
	})

	t.Run("OneNetworkMayNotTryTooOften", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		b, other := f.nobody(), f.nobody()
		other.remote = "198.51.100.1:1"
		var last answer
		for i := range 6 {
			last = b.signIn(fmt.Sprint("nobody", i), "wrong")
		}
		last.is(t, http.StatusTooManyRequests)
		assert.NotEmpty(t, last.Header.Get("Retry-After"))
		assert.Contains(t, last.text(), "Too many attempts. Try again in 6 seconds.")
		other.signIn("nobody0", "wrong").is(t, http.StatusUnauthorized)
		f.clock.Advance(6 * time.Second)
		b.signIn("nobody9", "wrong").is(t, http.StatusUnauthorized)
	})

	t.Run("PlantedTokenIsNeverUsed", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.operator("ada", users.RoleViewer)
		planted := strings.Repeat("ab", 32)
		for _, name := range []string{sessionCookie, visitCookie} {
			b, thief := f.nobody(), f.nobody()
			b.cookies[name] = planted
			b.signIn("ada", password).is(t, http.StatusSeeOther)
			assert.True(t, b.signedIn())
			assert.NotEqual(t, planted, b.cookies[sessionCookie])
			thief.cookies[sessionCookie] = planted
			assert.False(t, thief.signedIn())
		}
	})

	t.Run("SigningInAgainEndsTheSessionThatWas", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.operator("ada", users.RoleViewer)
		b, old := f.nobody(), f.nobody()
		b.signIn("ada", password)
		old.cookies[sessionCookie] = b.cookies[sessionCookie]
		require.True(t, old.signedIn())
		b.signIn("ada", password).is(t, http.StatusSeeOther)
		assert.False(t, old.signedIn())
		assert.True(t, b.signedIn())
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()

	t.Run("EndEverywhereWithSigningOut", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		a, bob := f.operator("ada", users.RoleViewer), f.operator("bob", users.RoleViewer)
		here, there, other := f.as(a), f.as(a), f.as(bob)
		token := here.cookies[sessionCookie]
		here.post("/console/sign-out/").is(t, http.StatusSeeOther)
		assert.NotContains(t, here.cookies, sessionCookie)
		here.cookies[sessionCookie] = token
		assert.False(t, here.signedIn(), "the token is worth nothing any more")
		assert.False(t, there.signedIn())
		assert.True(t, other.signedIn())
	})

	t.Run("LeaveOnlyTheKnownBrowser", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.operator("ada", users.RoleViewer)
		b := f.nobody()
		b.signIn("ada", password).is(t, http.StatusSeeOther)
		device := b.cookies[deviceCookie]
		got := b.post("/console/sign-out/").is(t, http.StatusSeeOther)
		assert.Equal(t, `"cache", "storage"`, got.Header.Get("Clear-Site-Data"))
		assert.Equal(t, map[string]string{deviceCookie: device}, b.cookies)
	})

	t.Run("EndWhenTheyAreNotUsed", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		b := f.as(f.operator("ada", users.RoleViewer))
		for range 3 {
			f.clock.Advance(operators.SessionIdle - time.Minute)
			require.True(t, b.signedIn())
		}
		f.clock.Advance(operators.SessionIdle)
		assert.False(t, b.signedIn())
	})

	t.Run("EndAfterAWeekInAnyCase", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		b := f.as(f.operator("ada", users.RoleViewer))
		for range 27 {
			f.clock.Advance(operators.SessionLife / 28)
			require.True(t, b.signedIn())
		}
		f.clock.Advance(operators.SessionLife / 28)
		assert.False(t, b.signedIn())
	})

	t.Run("EndWithANewPassword", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		b := f.as(f.operator("ada", users.RoleViewer))
		p, err := operators.NewPassword("password", "another long password")
		require.NoError(t, err)
		require.NoError(t, f.cli.Administration.SetPassword(t.Context(), audit.Actor{Via: audit.CommandLine}, app.Path{}, "ada", p))
		assert.False(t, b.signedIn())
		b.signIn("ada", password).is(t, http.StatusUnauthorized)
		b.signIn("ada", "another long password").is(t, http.StatusSeeOther)
	})

	t.Run("KnowTheRoleOfNow", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		b := f.as(f.operator("ada", users.RoleViewer))
		b.get("/console/o/acme/").is(t, http.StatusOK)
		f.person("acme", "ada", users.RoleMember, false)
		b.get("/console/o/acme/").is(t, http.StatusNotFound)
	})
}

func TestCookies(t *testing.T) {
	t.Parallel()
	proxied := func(o *console.Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }
	for name, c := range map[string]struct {
		adjust func(*console.Options)
		header http.Header
		secure bool
		path   string
	}{
		"ByHTTP":                  {func(*console.Options) {}, nil, false, "/console/"},
		"ByHTTPBelowAPath":        {func(o *console.Options) { o.BaseURL = "http://a.example/sub" }, nil, false, "/sub/console/"},
		"TheBaseURLIsHTTPS":       {func(o *console.Options) { o.BaseURL = "https://a.example" }, nil, true, "/"},
		"AProxySaysHTTPS":         {proxied, http.Header{"X-Forwarded-Proto": {"https"}}, true, "/"},
		"UntrustedProxySaysHTTPS": {func(*console.Options) {}, http.Header{"X-Forwarded-Proto": {"https"}}, false, "/console/"},
		"TheBaseURLIsHTTPSBelow":  {func(o *console.Options) { o.BaseURL = "https://a.example/sub/" }, nil, true, "/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.adjust)
			f.operator("ada", users.RoleViewer)
			b := f.nobody()
			if c.header != nil {
				b.header = c.header
			}
			page := b.get("/console/sign-in/")
			got := b.submit("/console/sign-in/", "username", "ada", "password", password, "form_token", tokenPattern.FindStringSubmatch(page.body)[1])
			got.is(t, http.StatusSeeOther)
			made := append(page.Cookies(), got.Cookies()...)
			require.Len(t, made, 4, "of the visit, of the session, of the device, and the visit's end")
			for _, k := range made {
				assert.True(t, k.HttpOnly, k.Name)
				assert.Equal(t, http.SameSiteLaxMode, k.SameSite, k.Name)
				assert.Equal(t, c.secure, k.Secure, k.Name)
				assert.Equal(t, c.secure, strings.HasPrefix(k.Name, "__Host-"), k.Name)
				assert.Equal(t, c.path, k.Path, k.Name)
				assert.Empty(t, k.Domain, k.Name)
			}
		})
	}
}

func TestNoOpenRedirect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.operator("ada", users.RoleViewer)
	for next, want := range map[string]string{
		"/console/o/acme/u/?q=a%26b&locked=true": "/console/o/acme/u/?q=a%26b&locked=true",
		"/console/o/acme/#top":                   "/console/o/acme/",
		"":                                       "/console/",
		"https://evil.example/":                  "/console/",
		"//evil.example/console/":                "/console/",
		"/\\evil.example/":                       "/console/",
		"\\\\evil.example":                       "/console/",
		"/console/\\..\\..\\evil":                "/console/",
		"/console//evil.example":                 "/console/",
		"/console/../evil":                       "/console/",
		"/console/%2e%2e/evil":                   "/console/",
		"/console/%2F%2Fevil.example":            "/console/",
		"/api/docs/":                             "/console/",
		"/consoleevil/":                          "/console/",
		"javascript:alert(1)":                    "/console/",
		"/\t/evil.example":                       "/console/",
		"/console/\nSet-Cookie: a=b":             "/console/",
		"http:/console/":                         "/console/",
		"%2F%2Fevil.example":                     "/console/",
		"/console@evil.example":                  "/console/",
	} {
		f.clock.Advance(time.Minute) // Not the limit of sign-ins is asked.
		got := f.nobody().post("/console/sign-in/", "username", "ada", "password", password, "next", next).is(t, http.StatusSeeOther)
		assert.Equal(t, want, got.Header.Get("Location"), next)
		page := f.nobody().get("/console/sign-in/?" + url.Values{"next": {next}}.Encode())
		assert.NotContains(t, page.body, "evil", next)
	}
}

func TestSignInContinues(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *console.Options) { o.BaseURL = "http://a.example/sub" })
	got := f.nobody().get("/console/o/acme/u/?q=a%26b").is(t, http.StatusSeeOther)
	assert.Equal(t, "/sub/console/sign-in/?next="+url.QueryEscape("/sub/console/o/acme/u/?q=a%26b"), got.Header.Get("Location"))
}
