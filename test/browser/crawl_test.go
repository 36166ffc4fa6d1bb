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
)

// perRoute is how many pages of one route and one organization are looked at, so that the many pages of many users are not.
const perRoute = 2

// visited is what can be reached from the first page of the console by its links alone.
type visited struct {
	pages  []string        // HTML, in the order in which links lead there
	routes map[string]bool // the routes that are reached, of pages or of anything else
	cookie *http.Cookie    // of the session that reached them
}

var (
	linked = regexp.MustCompile(`(?:href|src)="([^"#]*)`)
	hidden = regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`)
)

// crawl follows the links of the console from its first page, as the administrator, and fails on those that lead nowhere.
func (w *world) crawl() visited {
	w.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(w, err)
	client := &http.Client{Timeout: patience, Jar: jar}
	get := func(path string) (*http.Response, string) {
		request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.base+path, http.NoBody)
		require.NoError(w, err)
		response, err := client.Do(request)
		require.NoError(w, err)
		defer func() { _ = response.Body.Close() }() // It has been read.
		text, err := io.ReadAll(response.Body)
		require.NoError(w, err)
		return response, string(text)
	}
	v := visited{routes: map[string]bool{console.Prefix: true}}
	_, form := get("/console/sign-in/")
	response, err := client.PostForm(w.base+"/console/sign-in/", url.Values{"username": {root}, "password": {password}, "form_token": hidden.FindStringSubmatch(form)[1:2]})
	require.NoError(w, err)
	require.NoError(w, response.Body.Close())
	require.Equal(w, http.StatusOK, response.StatusCode)
	v.cookie = jar.Cookies(response.Request.URL)[0]

	table := routes()
	seen := map[string]int{}
	known := map[string]bool{console.Prefix: true}
	for next := []string{console.Prefix}; len(next) > 0; next = next[1:] {
		response, text := get(next[0])
		if !assert.Equal(w, http.StatusOK, response.StatusCode, "%s: %s", next[0], text) || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
			continue
		}
		v.pages = append(v.pages, next[0])
		for _, found := range linked.FindAllStringSubmatch(text, -1) {
			u, err := response.Request.URL.Parse(html.UnescapeString(found[1]))
			require.NoError(w, err)
			to := u.RequestURI()
			if known[to] || !strings.HasPrefix(to, console.Prefix) {
				continue
			}
			known[to] = true
			i := slices.IndexFunc(table, func(r route) bool { return r.pattern.MatchString(u.EscapedPath()) })
			if !assert.GreaterOrEqual(w, i, 0, "%s links to %s, which is no page", next[0], to) {
				continue
			}
			v.routes[table[i].path] = true
			kind := fmt.Sprint(table[i].path, table[i].pattern.FindStringSubmatch(u.EscapedPath())[1:], u.RawQuery != "")
			if !strings.Contains(table[i].path, "{org}") {
				kind = table[i].path
			}
			if seen[kind]++; seen[kind] <= perRoute {
				next = append(next, to)
			}
		}
	}
	return v
}

// route is a line of the console's table that can be linked to.
type route struct {
	path    string
	pattern *regexp.Regexp // whose only group is the organization
}

func routes() []route {
	var all []route
	for _, r := range console.Routes() {
		if r.Method == http.MethodGet {
			p := strings.ReplaceAll(r.Path, "{org}", "([^/]+)")
			all = append(all, route{r.Path, regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(p, "[^/]+") + "$")})
		}
	}
	// Of two routes that match, the one with fewer parameters is meant.
	slices.SortStableFunc(all, func(a, b route) int { return strings.Count(a.path, "{") - strings.Count(b.path, "{") })
	return all
}
