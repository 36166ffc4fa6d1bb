package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/domain/users"
)

func TestCrossSiteForms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := f.person("acme", "eve", users.RoleMember, false)
	a := f.operator("ada", users.RoleOperator)
	path := memberPath(m) + "locked/"
	foreign := f.as(f.operator("bob", users.RoleOperator)).token()
	visit := f.nobody().token()
	right := func(b *browser) string { return b.token() }
	for name, c := range map[string]struct {
		token  func(b *browser) string
		header http.Header
	}{
		"WithoutAToken":               {func(*browser) string { return "" }, nil},
		"WithAnotherToken":            {func(*browser) string { return strings.Repeat("ab", 32) }, nil},
		"WithAnotherSessionsToken":    {func(*browser) string { return foreign }, nil},
		"WithATokenBeforeSignIn":      {func(*browser) string { return visit }, nil},
		"WithTheSessionItself":        {func(b *browser) string { return b.cookies[sessionCookie] }, nil},
		"FromAnotherSite":             {right, http.Header{"Sec-Fetch-Site": {"cross-site"}}},
		"FromASiblingSite":            {right, http.Header{"Sec-Fetch-Site": {"same-site"}}},
		"FromAnotherOrigin":           {right, http.Header{"Origin": {"https://evil.example"}}},
		"FromNoOrigin":                {right, http.Header{"Origin": {"null"}}},
		"FromAnotherOriginThatIsSame": {right, http.Header{"Origin": {"http://example.com"}, "Sec-Fetch-Site": {"cross-site"}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := f.as(a)
			token := c.token(b)
			if c.header != nil {
				b.header = c.header
			}
			got := b.submit(path, "on", "true", "form_token", token).is(t, http.StatusForbidden)
			assert.Contains(t, got.body, "This form did not come from a page of this console")
			b.do(http.MethodPost, path+"?form_token="+token+"&on=true", nil).is(t, http.StatusForbidden)
		})
	}
	require.Empty(t, f.entries("acme"), "nothing was done")

	t.Run("AFormBeforeSignInIsBoundToTheBrowserToo", func(t *testing.T) {
		victim := f.nobody()
		victim.get("/console/sign-in/")
		victim.submit("/console/sign-in/", "username", "ada", "password", password, "form_token", visit).is(t, http.StatusForbidden)
		f.nobody().submit("/console/sign-in/", "username", "ada", "password", password).is(t, http.StatusForbidden)
		assert.False(t, victim.signedIn())
	})

	for name, header := range map[string]http.Header{
		"OursByOrigin": {"Origin": {"http://example.com"}}, "OursByFetchMetadata": {"Origin": {"http://example.com"}, "Sec-Fetch-Site": {"same-origin"}},
		"OursOfAnOldBrowser": {},
	} {
		t.Run(name, func(t *testing.T) {
			b := f.as(a)
			token := b.token()
			b.header = header
			b.submit(path, "on", "true", "form_token", token).is(t, http.StatusSeeOther)
		})
	}

	t.Run("PublicAddressIsConfiguredBehindAProxy", func(t *testing.T) {
		f := newFixture(t, func(o *console.Options) { o.BaseURL = "http://public.example/sub" })
		m := f.person("acme", "eve", users.RoleMember, false)
		b := f.as(f.operator("ada", users.RoleOperator))
		token := b.token()
		b.header = http.Header{"Origin": {"http://public.example"}}
		b.submit(memberPath(m)+"locked/", "on", "true", "form_token", token).is(t, http.StatusSeeOther)
	})

	t.Run("OnlyTheFormsOwnWordsCount", func(t *testing.T) {
		b := f.as(a)
		b.post(path+"?on=true", "on", "perhaps").is(t, http.StatusBadRequest)
	})

	t.Run("TooLargeForm", func(t *testing.T) {
		b := f.as(a)
		b.post(path, "on", strings.Repeat("x", 513<<10)).is(t, http.StatusRequestEntityTooLarge)
		stranger := newFixture(t).nobody()
		stranger.post("/console/sign-in/", "username", strings.Repeat("x", 31<<10)).is(t, http.StatusUnauthorized)
		stranger.post("/console/sign-in/", "username", strings.Repeat("x", 33<<10)).is(t, http.StatusRequestEntityTooLarge)
	})
}
