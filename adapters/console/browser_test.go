package console_test

import (
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	sessionCookie = "tocsin_session"
	visitCookie   = "tocsin_visit"
	deviceCookie  = "tocsin_device"
)

// browser is a client with cookies.
type browser struct {
	f       *fixture
	cookies map[string]string
	header  http.Header // sent with every request
	remote  string
	// The token that the last page carried, and the cookies that it is bound to.
	formToken, bound string
}

// answer is a page or a redirect.
type answer struct {
	*http.Response
	body string
}

func (b *browser) get(path string) answer { return b.do(http.MethodGet, path, nil) }

// post sends a form with the token that a page of this browser carries.
func (b *browser) post(path string, fields ...string) answer {
	b.f.Helper()
	return b.submit(path, append(fields, "form_token", b.token())...)
}

// submit sends a form unchanged.
func (b *browser) submit(path string, fields ...string) answer {
	b.f.Helper()
	form := url.Values{}
	for pair := range slices.Chunk(fields, 2) {
		form.Set(pair[0], pair[1])
	}
	return b.do(http.MethodPost, path, form)
}

var tokenPattern = regexp.MustCompile(`name="form_token" value="([0-9a-f]{64})"`)

// token returns the token of the forms of this browser.
func (b *browser) token() string {
	b.f.Helper()
	if cookies := b.cookies[sessionCookie] + b.cookies[visitCookie]; cookies != "" && cookies == b.bound {
		return b.formToken
	}
	page := b.get("/console/o/nowhere/") // Short, unlike the page of an account with many sessions.
	found := tokenPattern.FindStringSubmatch(page.body)
	if found == nil {
		page = b.get("/console/sign-in/")
		found = tokenPattern.FindStringSubmatch(page.body)
	}
	require.NotEmpty(b.f, found, page.body)
	b.formToken, b.bound = found[1], b.cookies[sessionCookie]+b.cookies[visitCookie]
	return b.formToken
}

func (b *browser) do(method, path string, form url.Values) answer {
	b.f.Helper()
	if form == nil {
		return b.send(method, path, "", http.NoBody)
	}
	return b.send(method, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// send sends a body as it comes.
func (b *browser) send(method, path, contentType string, body io.Reader) answer {
	b.f.Helper()
	r := httptest.NewRequestWithContext(b.f.Context(), method, path, body)
	r.RemoteAddr = b.remote
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	maps.Copy(r.Header, b.header)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value}) //nolint:gosec // What is sent to the server has no attributes.
	}
	w := httptest.NewRecorder()
	b.f.ServeHTTP(w, r)
	response := w.Result()
	text, err := io.ReadAll(response.Body)
	require.NoError(b.f, err)
	require.NoError(b.f, response.Body.Close())
	for _, k := range response.Cookies() {
		if k.MaxAge < 0 {
			delete(b.cookies, k.Name)
		} else {
			b.cookies[k.Name] = k.Value
		}
	}
	return answer{response, string(text)}
}

// further is the link to what comes behind a batch of something.
var further = regexp.MustCompile(`<a class="more" href="([^"]*)"(?: rel="next")?>(?:Next|Keep searching|Older|More)`)

// walk goes from a page on as long as there is more, and returns what a pattern finds on the way.
func (b *browser) walk(path string, pattern *regexp.Regexp) (found []string, pages int) {
	b.f.Helper()
	for ; path != "" && pages < 10; pages++ {
		page := b.get(path).is(b.f.T, http.StatusOK)
		for _, m := range pattern.FindAllStringSubmatch(page.body, -1) {
			found = append(found, m[1])
		}
		path = ""
		if m := further.FindStringSubmatch(page.body); m != nil {
			path = html.UnescapeString(m[1])
		}
	}
	return found, pages
}

// signIn signs in through the form.
func (b *browser) signIn(username, word string) answer {
	b.f.Helper()
	return b.post("/console/sign-in/", "username", username, "password", word)
}

// signedIn reports whether the browser is.
func (b *browser) signedIn() bool { return b.get("/console/").StatusCode == http.StatusOK }

// is checks the status.
func (a answer) is(t *testing.T, status int) answer {
	t.Helper()
	require.Equal(t, status, a.StatusCode, a.body)
	return a
}
