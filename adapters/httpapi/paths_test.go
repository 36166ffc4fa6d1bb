package httpapi_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

func TestPathDecoding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, username string }{
		"Plain":             {"/api/v1/user/acme/anna/", "anna"},
		"WithoutLastSlash":  {"/api/v1/user/acme/anna", "anna"},
		"OtherPath":         {"/api/o/acme/u/anna/", "anna"},
		"Email":             {"/api/o/acme/u/anna@example.org", "anna@example.org"},
		"Slash":             {"/api/o/acme/u/a%2Fb/", "a/b"},
		"SlashLowerCase":    {"/api/o/acme/u/a%2fb", "a/b"},
		"SlashAtTheEnd":     {"/api/o/acme/u/a%2F/", "a/"},
		"Percent":           {"/api/o/acme/u/100%25/", "100%"},
		"PercentAndSlash":   {"/api/o/acme/u/100%25%2F/", "100%/"},
		"EncodedTwice":      {"/api/o/acme/u/a%252Fb/", "a%2Fb"},
		"EncodedTwiceMixed": {"/api/o/acme/u/a%252Fb%2F/", "a%2Fb/"},
		"PlusStaysPlus":     {"/api/o/acme/u/anna+test@example.org/", "anna+test@example.org"},
		"EncodedPlus":       {"/api/o/acme/u/anna%2Btest@example.org/", "anna+test@example.org"},
		"Space":             {"/api/o/acme/u/a%20b/", "a b"},
		"NotASCII":          {"/api/o/acme/u/%C3%A4/", "ä"},
		"NotASCIIAndSlash":  {"/api/o/acme/u/%C3%A4%2F/", "ä/"},
		"NeedlessEscapes":   {"/%61pi/o/%61cme/u/%61nna/", "anna"},
		"Colon":             {"/api/o/acme/u/:username/", ":username"},
		"Asterisk":          {"/api/o/acme/u/*/", "*"},
		"QuestionMark":      {"/api/o/acme/u/a%3Fb/", "a?b"},
		"WordOfTheRoutes":   {"/api/o/acme/u/address/", "address"},
		"WordOfAPost":       {"/api/o/acme/u/bulk/", "bulk"},
		"Dots":              {"/api/o/acme/u/%2E%2E/", ".."},
		"BackSlash":         {"/api/o/acme/u/a%5Cb/", `a\b`},
		"NameOfAnotherKind": {"/api/o/acme/u/u/", "u"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			w := f.do(request{path: c.path})
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			assert.Equal(t, []string{c.username}, f.store.found)
		})
	}
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"Root":              "/",
		"Unknown":           "/api/v2/",
		"BelowARoute":       "/api/o/acme/u/anna/phone/",
		"BelowALeaf":        "/healthz/more",
		"EmptySegment":      "/api/o//u/",
		"EmptyOrganization": "/api/v1/user//anna/",
		"TwoSlashesAtEnd":   "/api/o/acme/u//",
		"UnencodedSlash":    "/api/o/acme/u/a/b/c/",
		"NUL":               "/api/o/acme/u/a%00b/",
		"InvalidUTF8":       "/api/o/acme/u/%FF/",
		"WrongCase":         "/API/o/acme/u/",
		"IdIsAWord":         "/api/o/acme/p/shop/d/news/",
		"IdIsZero":          "/api/o/acme/p/shop/d/0/",
		"IdIsNegative":      "/api/o/acme/p/shop/d/-1/",
		"IdHasASign":        "/api/o/acme/p/shop/d/+1/",
		"IdHasAZeroInFront": "/api/o/acme/p/shop/d/01/",
		"IdHasAFraction":    "/api/o/acme/p/shop/d/1.0/",
		"IdDoesNotFit":      "/api/o/acme/p/shop/d/9223372036854775808/",
		"IdHasASpace":       "/api/o/acme/p/shop/d/1%20/",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			w := f.do(request{path: path})
			require.Equal(t, http.StatusNotFound, w.Code, w.Body.String())
			problemOf(t, w)
			assert.Zero(t, f.store.used())
		})
	}
}

// texts are the parameters of paths that are not ids.
var texts = []string{"{org}", "{prj}", "{app}", "{evt}", "{username}", "{name}"}

// TestIDsOfPaths checks that every route refuses a word in place of an id before it does anything.
// Reading an id that the route has not checked panics.
func TestIDsOfPaths(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, r := range httpapi.Routes() {
		for _, param := range regexp.MustCompile(`\{\w+\}`).FindAllString(r.Path, -1) {
			if slices.Contains(texts, param) {
				continue
			}
			w := f.do(request{method: r.Method, path: fill(strings.Replace(r.Path, param, "word", 1)), body: "["})
			require.Equal(t, http.StatusNotFound, w.Code, "%s %s: %s", r.Method, r.Path, w.Body)
			p := problemOf(t, w)
			assert.Equal(t, strings.Trim(param, "{}"), p.Param, "%s %s", r.Method, r.Path)
			assert.Equal(t, "there is nothing at this path: "+param+" is a positive whole number", p.Detail)
		}
	}
	assert.Zero(t, f.store.used())
}

func TestMethodNotAllowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ method, path, allow string }{
		"Put":              {http.MethodPut, "/api/v1/user/acme/", "GET, HEAD, POST"},
		"WithoutLastSlash": {http.MethodPut, "/api/v1/user/acme", "GET, HEAD, POST"},
		"User":             {http.MethodPost, "/api/o/acme/u/anna/", "DELETE, GET, HEAD, PATCH"},
		"Options":          {http.MethodOptions, "/api/o/acme/u/anna/", "DELETE, GET, HEAD, PATCH"},
		"OnlyPost":         {http.MethodGet, "/api/o/acme/p/shop/a/web/register/", "POST"},
		"Subscribe":        {http.MethodGet, "/api/o/acme/p/shop/a/web/n/1/subscribe/", "DELETE, POST"},
		"Health":           {http.MethodPost, "/healthz", "GET, HEAD"},
		"UnknownMethod":    {"BREW", "/api/system/ping/", "GET, HEAD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t).do(request{method: c.method, path: c.path})
			require.Equal(t, http.StatusMethodNotAllowed, w.Code)
			assert.Equal(t, c.allow, w.Header().Get("Allow"))
			problemOf(t, w)
		})
	}
	t.Run("OptionsOfNothingIs404", func(t *testing.T) {
		t.Parallel()
		w := newFixture(t).do(request{method: http.MethodOptions, path: "/nothing"})
		assert.Equal(t, http.StatusNotFound, w.Code)
	})
}

func TestHead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newServer(t, f)
	for _, path := range []string{"/healthz", "/api/openapi.json", "/api/o/acme/u/anna/"} {
		answer := fetch(t, server, http.MethodHead, path)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, http.StatusOK, answer.StatusCode, path)
		assert.Positive(t, answer.ContentLength, path)
	}
}
