package browser_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/domain/operators"
)

// pagesPerRoute is how many pages of one route and one organization are read; the first of them is
// checked. Pages with a filter, and links on filtered pages, are counted separately. So the many
// pages of many users are not read.
const pagesPerRoute = 2

// crawlResult has the pages that the links of the console lead to.
type crawlResult struct {
	pages  []string        // HTML, in the order of the links: the first of each kind
	routes map[string]bool // the routes that were reached, of pages and others
}

var (
	linked  = regexp.MustCompile(`(?:href|src)="([^"#]*)`)
	hidden  = regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`)
	member  = regexp.MustCompile(`/console/o/acme/u/\d+/`)
	welcome = regexp.MustCompile(`/console/welcome/[^/"<]+/`)
)

// pageClient reads pages without a browser, which is faster.
type pageClient struct {
	w *world
	http.Client
}

// pageResponse is the response to a request.
type pageResponse struct {
	status int
	header http.Header
	url    *url.URL
	text   string
}

// read requests a page; with a form, it posts the form.
func (r *pageClient) read(path string, form url.Values) pageResponse {
	r.w.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(r.w.Context(), method, r.w.base+path, strings.NewReader(form.Encode()))
	require.NoError(r.w, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := r.Do(request)
	require.NoError(r.w, err)
	defer func() { _ = response.Body.Close() }() // The body was read.
	text, err := io.ReadAll(response.Body)
	require.NoError(r.w, err)
	return pageResponse{response.StatusCode, response.Header, response.Request.URL, string(text)}
}

// pageClient returns a client that is not signed in.
func (w *world) pageClient() *pageClient {
	w.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(w, err)
	return &pageClient{w, http.Client{Timeout: timeout, Jar: jar}}
}

// administrator returns a client that is signed in as the administrator.
func (w *world) administrator() *pageClient {
	w.Helper()
	r := w.pageClient()
	r.Jar.SetCookies(r.home(), []*http.Cookie{w.session()})
	return r
}

// home returns the URL of the cookies.
func (r *pageClient) home() *url.URL {
	r.w.Helper()
	home, err := url.Parse(r.w.base + console.Prefix)
	require.NoError(r.w, err)
	return home
}

// signIn signs the client in.
func (r *pageClient) signIn(username, password string) {
	r.w.Helper()
	const page = "/console/sign-in/"
	got := r.send(page, page, url.Values{"username": {username}, "password": {password}})
	require.NotEqual(r.w, page, got.url.Path)
}

// session returns the session cookie.
func (r *pageClient) session() *http.Cookie {
	r.w.Helper()
	cookies := r.Jar.Cookies(r.home())
	i := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == "tocsin_session" })
	require.GreaterOrEqual(r.w, i, 0, cookies)
	return cookies[i]
}

// send posts a form of a page; it must be accepted.
func (r *pageClient) send(page, action string, fields url.Values) pageResponse {
	r.w.Helper()
	token := hidden.FindStringSubmatch(r.read(page, nil).text)
	require.NotEmpty(r.w, token, page)
	fields.Set("form_token", token[1])
	got := r.read(action, fields)
	require.Equal(r.w, http.StatusOK, got.status, got.text)
	return got
}

// invite gives a member of acme a role, and returns the path of the page for their password.
func (r *pageClient) invite(username, role string) string {
	r.w.Helper()
	found := member.FindString(r.read("/console/o/acme/u/?q="+username, nil).text)
	require.NotEmpty(r.w, found, username)
	access := found + "access/"
	r.send(access, access+"role/", url.Values{"role": {role}})
	return welcome.FindString(r.send(access, access+"invite/", url.Values{}).text)
}

// signedInMember gives a member of acme a role, and returns a client that is signed in as them.
func (r *pageClient) signedInMember(username, role string) *pageClient {
	r.w.Helper()
	link := r.invite(username, role)
	member := r.w.pageClient()
	member.send(link, link, url.Values{"password": {password}, "again": {password}})
	return member
}

// crawl follows the links of the console from its first page and from the given paths. Dead links
// fail the test.
func (r *pageClient) crawl(given ...string) crawlResult {
	w := r.w
	w.Helper()
	v := crawlResult{routes: map[string]bool{}}
	table := routes()
	routeOf := func(path string) int {
		return slices.IndexFunc(table, func(r route) bool { return r.pattern.MatchString(path) })
	}
	seen := map[string]int{}
	known := map[string]bool{console.Prefix: true}
	again := map[string]bool{} // those of the same kind as a page that is checked
	for _, path := range append(given, console.Prefix) {
		v.routes[table[routeOf(path)].path] = true
	}
	for next := append([]string{console.Prefix}, given...); len(next) > 0; next = next[1:] {
		got := r.read(next[0], nil)
		foreign := strings.Contains(got.header.Get("Content-Security-Policy"), "sandbox") // HTML of a template, which a page shows in a frame.
		if !assert.Equal(w, http.StatusOK, got.status, "%s: %s", next[0], got.text) || foreign || !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
			continue
		}
		if !again[next[0]] {
			v.pages = append(v.pages, next[0])
		}
		for _, found := range linked.FindAllStringSubmatch(got.text, -1) {
			u, err := got.url.Parse(html.UnescapeString(found[1]))
			require.NoError(w, err)
			to := u.RequestURI()
			if known[to] || !strings.HasPrefix(to, console.Prefix) {
				continue
			}
			known[to] = true
			i := routeOf(u.EscapedPath())
			if !assert.GreaterOrEqual(w, i, 0, "%s links to %s, which is no page", next[0], to) {
				continue
			}
			v.routes[table[i].path] = true
			kind := fmt.Sprint(table[i].path, table[i].pattern.FindStringSubmatch(u.EscapedPath())[1:], u.RawQuery != "", got.url.RawQuery != "")
			if !strings.Contains(table[i].path, "{org}") {
				kind = table[i].path
			}
			if seen[kind]++; seen[kind] <= pagesPerRoute {
				next = append(next, to)
				again[to] = seen[kind] > 1
			}
		}
	}
	return v
}

// route is a route of the console that a link may lead to.
type route struct {
	path    string
	pattern *regexp.Regexp // whose only group is the organization
	needs   operators.AccessLevel
}

func routes() []route {
	var all []route
	for _, r := range console.Routes() {
		if r.Method == http.MethodGet && !r.Moved {
			p := strings.ReplaceAll(r.Path, "{org}", "([^/]+)")
			all = append(all, route{r.Path, regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(p, "[^/]+") + "$"), r.Needs})
		}
	}
	// The route with fewer parameters is preferred.
	slices.SortStableFunc(all, func(a, b route) int { return strings.Count(a.path, "{") - strings.Count(b.path, "{") })
	return all
}
