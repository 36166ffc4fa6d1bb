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

// Of one route and one organization so many pages are read, and the first is looked at, so that the
// many pages of many users are not: of those that a filter leads to, and those that come from a
// filtered page, so many each.
const perRoute = 2

// visited is what can be reached from the first page of the console by its links alone.
type visited struct {
	pages  []string        // HTML, in the order in which links lead there: of each kind the first
	routes map[string]bool // the routes that are reached, of pages or of anything else
}

var (
	linked  = regexp.MustCompile(`(?:href|src)="([^"#]*)`)
	hidden  = regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`)
	member  = regexp.MustCompile(`/console/o/acme/u/\d+/`)
	welcome = regexp.MustCompile(`/console/welcome/[^/"<]+/`)
)

// reader reads pages faster than a browser does.
type reader struct {
	w *world
	http.Client
}

// answer is what a reader got.
type answer struct {
	status int
	header http.Header
	url    *url.URL
	text   string
}

// read asks for a page, with a form when there is one.
func (r *reader) read(path string, form url.Values) answer {
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
	defer func() { _ = response.Body.Close() }() // It has been read.
	text, err := io.ReadAll(response.Body)
	require.NoError(r.w, err)
	return answer{response.StatusCode, response.Header, response.Request.URL, string(text)}
}

// reader is a reader who has not signed in.
func (w *world) reader() *reader {
	w.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(w, err)
	return &reader{w, http.Client{Timeout: patience, Jar: jar}}
}

// administrator is a reader who has signed in before, as the administrator.
func (w *world) administrator() *reader {
	w.Helper()
	r := w.reader()
	r.Jar.SetCookies(r.home(), []*http.Cookie{w.session()})
	return r
}

// home is where the reader's cookies belong.
func (r *reader) home() *url.URL {
	r.w.Helper()
	home, err := url.Parse(r.w.base + console.Prefix)
	require.NoError(r.w, err)
	return home
}

// signIn signs the reader in.
func (r *reader) signIn(username, password string) {
	r.w.Helper()
	const page = "/console/sign-in/"
	got := r.send(page, page, url.Values{"username": {username}, "password": {password}})
	require.NotEqual(r.w, page, got.url.Path)
}

// session is the cookie of the reader's session.
func (r *reader) session() *http.Cookie {
	r.w.Helper()
	cookies := r.Jar.Cookies(r.home())
	i := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == "tocsin_session" })
	require.GreaterOrEqual(r.w, i, 0, cookies)
	return cookies[i]
}

// send sends a form of a page, which must be taken.
func (r *reader) send(page, action string, fields url.Values) answer {
	r.w.Helper()
	token := hidden.FindStringSubmatch(r.read(page, nil).text)
	require.NotEmpty(r.w, token, page)
	fields.Set("form_token", token[1])
	got := r.read(action, fields)
	require.Equal(r.w, http.StatusOK, got.status, got.text)
	return got
}

// invited gives a member of acme a role and returns the path of the link with which they set their
// password.
func (r *reader) invited(username, role string) string {
	r.w.Helper()
	found := member.FindString(r.read("/console/o/acme/u/?q="+username, nil).text)
	require.NotEmpty(r.w, found, username)
	access := found + "access/"
	r.send(access, access+"role/", url.Values{"role": {role}})
	return welcome.FindString(r.send(access, access+"invite/", url.Values{}).text)
}

// hired is a member of acme who was given a role and has signed in, by the link.
func (r *reader) hired(username, role string) *reader {
	r.w.Helper()
	link := r.invited(username, role)
	member := r.w.reader()
	member.send(link, link, url.Values{"password": {password}, "again": {password}})
	return member
}

// crawl follows the links of the console from its first page, and from those that are given away
// outside of it. It fails on those that lead nowhere.
func (r *reader) crawl(given ...string) visited {
	w := r.w
	w.Helper()
	v := visited{routes: map[string]bool{}}
	table := routes()
	routeOf := func(path string) int {
		return slices.IndexFunc(table, func(r route) bool { return r.pattern.MatchString(path) })
	}
	seen := map[string]int{}
	known := map[string]bool{console.Prefix: true}
	again := map[string]bool{} // those that are of a kind with one that is looked at
	for _, path := range append(given, console.Prefix) {
		v.routes[table[routeOf(path)].path] = true
	}
	for next := append([]string{console.Prefix}, given...); len(next) > 0; next = next[1:] {
		got := r.read(next[0], nil)
		foreign := strings.Contains(got.header.Get("Content-Security-Policy"), "sandbox") // What others wrote, which a page shows in a frame.
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
			if seen[kind]++; seen[kind] <= perRoute {
				next = append(next, to)
				again[to] = seen[kind] > 1
			}
		}
	}
	return v
}

// route is a line of the console's table that can be linked to.
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
	// Of two routes that match, the one with fewer parameters is meant.
	slices.SortStableFunc(all, func(a, b route) int { return strings.Count(a.path, "{") - strings.Count(b.path, "{") })
	return all
}
