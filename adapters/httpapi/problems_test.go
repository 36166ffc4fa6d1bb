package httpapi_test

import (
	"bufio"
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

func TestProblemTable(t *testing.T) {
	t.Parallel()
	seen, rests := map[string]bool{}, map[int]int{}
	var codes []any
	for _, p := range httpapi.ProblemTable() {
		assert.False(t, seen[p.Code], "%s is there twice", p.Code)
		seen[p.Code] = true
		codes = append(codes, p.Code)
		assert.Regexp(t, `^[a-z]+(_[a-z]+)*$`, p.Code)
		assert.NotEmpty(t, http.StatusText(p.Status), p.Code)
		assert.Regexp(t, `^[A-Z].*[a-zA-Z]$`, p.Title, p.Code)
		for _, text := range []string{p.Meaning, p.Remedy} {
			assert.Regexp(t, "^[A-Z`].*[.]$", text, p.Code)
			assert.Zero(t, strings.Count(text, "`")%2, p.Code)
		}
		if p.Default {
			rests[p.Status]++
		}
	}
	for k := fault.Invalid; web.Status(k) != 0; k++ {
		assert.Equal(t, 1, rests[web.Status(k)], "%s has a code", k)
	}
	for _, p := range httpapi.ProblemTable() {
		assert.Equal(t, 1, rests[p.Status], "one row stands for the rest of status %d", p.Status)
	}
	assert.Equal(t, codes, load(t).Components.Schemas["ErrorCode"].Value.Enum, "the document lists the codes of the table")
}

// TestEveryCodeIsAnswered causes each error of the table, as far as HTTP is concerned, and reads
// the page that it links.
func TestEveryCodeIsAnswered(t *testing.T) {
	t.Parallel()
	kinds := map[int]fault.Kind{}
	for k := fault.Invalid; web.Status(k) != 0; k++ {
		kinds[web.Status(k)] = k
	}
	// Those that no use case returns.
	others := map[string]func(t *testing.T) problem{
		"internal_error": func(t *testing.T) problem { return failing(t, errors.New("disk on fire")) },
		"method_not_allowed": func(t *testing.T) problem {
			t.Helper()
			return problemOf(t, newFixture(t).do(request{method: http.MethodPut, path: "/api/o/acme/"}))
		},
		"unreadable_request":            plain("GET /healthz HTTP/1.1\r\n\r\n"),
		"header_too_large":              plain("GET /healthz HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1_000)+"\r\n", 100) + "\r\n"),
		"unsupported_transfer_encoding": plain("POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
		"unsupported_http_version":      plain("GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n"),
	}
	for _, row := range httpapi.ProblemTable() {
		t.Run(row.Code, func(t *testing.T) {
			t.Parallel()
			var said []problem
			for _, f := range row.Faults {
				if others[row.Code] == nil {
					said = append(said, failing(t, f))
				}
			}
			for _, q := range row.Quotas {
				said = append(said, failing(t, quotas.Refuse(q, 1, 0)))
			}
			if other := others[row.Code]; other != nil {
				said = append(said, other(t))
			} else if row.Default {
				said = append(said, failing(t, fault.New(kinds[row.Status], "of a kind")))
			}
			require.NotEmpty(t, said, "nothing is answered with this code")
			for _, p := range said {
				assert.Equal(t, row.Code, p.Code)
				assert.Equal(t, row.Status, p.Status)
				w := newFixture(t).do(request{path: strings.TrimPrefix(p.Type, "http://tocsin.test"), key: "-"})
				require.Equal(t, http.StatusOK, w.Code)
				assert.Contains(t, w.Body.String(), "<h1>"+row.Title+"</h1>")
			}
		})
	}
}

// failing returns the problem of a use case that fails with this error.
func failing(t *testing.T, err error) problem {
	t.Helper()
	f := newFixture(t)
	f.store.err = err
	return problemOf(t, f.do(request{path: "/api/o/acme/u/anna/"}))
}

// plain returns the problem of bytes that net/http cannot parse.
func plain(sent string) func(*testing.T) problem {
	return func(t *testing.T) problem {
		t.Helper()
		f := newFixture(t)
		server := httptest.NewUnstartedServer(f)
		server.Config = httpapi.NewServer(f, httpapi.Timeouts{}, slog.New(slog.DiscardHandler))
		server.Listener = httpapi.Problems(server.Listener, "http://tocsin.test/")
		server.Start()
		t.Cleanup(server.Close)
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		_, err = io.WriteString(connection, sent)
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		w := httptest.NewRecorder()
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.StatusCode)
		_, err = w.Write(body)
		require.NoError(t, err)
		return problemOf(t, w)
	}
}

// TestEveryFaultHasACode finds the faults of the domain and the use cases that would get the
// general code of their status: giving them a code later would break clients.
func TestEveryFaultHasACode(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("problemtable.go")
	require.NoError(t, err)
	// Faults of the console, the command line and the workers only.
	elsewhere := regexp.MustCompile(`^(factors|signon|operators|imports|deliveries|app|backup|schemas)\.|` +
		`^(ports\.\w+|channels.ErrSealed|templates.ErrTooLarge|templates.ErrTooMuch|orgs.ErrSeveral|users.ErrChanged|users.ErrSince|users.ErrTooLarge|events.ErrOutdated|access.ErrAmbiguous|audit.ErrNotFound)$`)
	whole := regexp.MustCompile(`^(access.ErrUnauthenticated|requests.ErrReused|requests.ErrChanged)$`) // the only ones of their status
	found := 0
	tree := os.DirFS("../..")
	for _, layer := range []string{"domain", "ports", "app"} {
		require.NoError(t, fs.WalkDir(tree, layer, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, sentinel := range errorVariables(file) {
				found++
				full := file.Name.Name + "." + sentinel
				if !elsewhere.MatchString(full) && !whole.MatchString(full) {
					assert.True(t, regexp.MustCompile(regexp.QuoteMeta(full)+`\b`).Match(table), "%s: give the fault a row of the table, or name it here", full)
				}
			}
			return nil
		}))
	}
	assert.Greater(t, found, 60, "the walk finds the faults")
}

// errorVariables returns the exported errors of a file.
func errorVariables(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, s := range group.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				if strings.HasPrefix(name.Name, "Err") {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

func TestProblemDetails(t *testing.T) {
	t.Parallel()
	const trigger = "/api/o/acme/p/shop/a/web/e/order/trigger/"
	for name, c := range map[string]struct {
		request
		code, param string // -: none
	}{
		"NoKey":                  {request{path: "/api/o/acme/", key: "-"}, "unauthenticated", "Authorization"},
		"AnotherOrganization":    {request{path: "/api/o/other/", key: acmeKey}, "out_of_scope", "org"},
		"AnotherApplication":     {request{path: "/api/o/acme/p/shop/a/other/", key: shopKey}, "out_of_scope", "app"},
		"AnotherProject":         {request{path: "/api/o/acme/p/other/a/web/", key: shopKey}, "out_of_scope", "prj"},
		"MoreThanTheKeyIsFor":    {request{path: "/api/o/acme/u/", key: shopKey}, "out_of_scope", "-"},
		"NoGrant":                {request{path: "/api/o/acme/", key: readKey}, "grant_missing", "-"},
		"Organization":           {request{path: "/api/o/acm/"}, "organization_not_found", "org"},
		"OrganizationOfAUser":    {request{path: "/api/v1/user/acm/anna/"}, "organization_not_found", "org"},
		"InvalidID":              {request{path: "/api/o/acme/p/shop/d/news/"}, "path_not_found", "pk"},
		"AStrayPart":             {request{path: "/api/o/acme/p/shop/lists/"}, "path_not_found", "lists"},
		"AStrayPartAtTheEnd":     {request{path: "/api/o/acme/p/shop/a/web/e/order/triger/"}, "path_not_found", "triger"},
		"OutsideOfTheAPI":        {request{path: "/favicon.ico"}, "path_not_found", "-"},
		"Method":                 {request{method: http.MethodDelete, path: "/api/o/acme/"}, "method_not_allowed", "-"},
		"NoBody":                 {request{method: http.MethodPost, path: usersPath, header: map[string]string{"Content-Type": "application/json"}}, "invalid_json", "body"},
		"NoJSON":                 {request{method: http.MethodPost, path: usersPath, body: `{"email": "a@b.c",}`}, "invalid_json", "body"},
		"NoObject":               {request{method: http.MethodPost, path: usersPath, body: `[]`}, "invalid_request", "body"},
		"AMember":                {request{method: http.MethodPost, path: usersPath, body: `{"email": "anna"}`}, "invalid_request", "email"},
		"TheFirstMember":         {request{method: http.MethodPost, path: usersPath, body: `{"email": "anna", "first_name": 1}`}, "invalid_request", "first_name"},
		"InvalidMember":          {request{method: http.MethodPost, path: trigger, body: `{"order": 17}`}, "unknown_member", "order"},
		"InvalidOption":          {request{method: http.MethodPost, path: trigger, body: `{"options": {"limitto": []}}`}, "unknown_member", "options.limitto"},
		"InvalidFilter":          {request{method: http.MethodPost, path: trigger, body: `{"options": {"recipient_filter": {"usernames": ["anna"], "group": "Staff"}}}`}, "unknown_member", "options.recipient_filter.group"},
		"AHeader":                {request{method: http.MethodPost, path: trigger, body: `{}`, header: map[string]string{"Idempotency-Key": strings.Repeat("x", 201)}}, "invalid_request", "Idempotency-Key"},
		"InvalidParameter":       {request{path: usersPath + "?page=2"}, "unknown_parameter", "page"},
		"AQueryWithASemicolon":   {request{method: http.MethodPost, path: trigger + "?dry_run=true;", body: `{}`}, "invalid_request", "query"},
		"AQueryWithAPercentSign": {request{path: usersPath + "?email=50%off"}, "invalid_request", "query"},
		"AParameter":             {request{path: usersPath + "?limit=0"}, "invalid_request", "limit"},
		"AnOptionInTheQuery":     {request{method: http.MethodPost, path: trigger + "?dry_run=true", body: `{}`}, "unknown_parameter", "dry_run"},
		"NoUsername":             {request{method: http.MethodPost, path: "/api/o/acme/p/shop/a/web/unregister/"}, "path_not_found", "username"},
		"AForm":                  {request{method: http.MethodPost, path: usersPath, body: `email=a`, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, "unsupported_media_type", "Content-Type"},
		"ACompressedBody":        {request{method: http.MethodPost, path: usersPath, body: `{}`, header: map[string]string{"Content-Encoding": "gzip"}}, "unsupported_encoding", "Content-Encoding"},
		"TooLargeBody":           {request{method: http.MethodPost, path: usersPath, body: strings.Repeat(" ", 1<<20+1)}, "body_too_large", "body"},
		"PageOfAnUnknownCode":    {request{path: "/api/docs/errors/oops/", key: "-"}, "path_not_found", "code"},
		"NonCanonicalPath":       {request{path: "/api//o/"}, "path_not_found", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := problemOf(t, newFixture(t).do(c.request))
			assert.Equal(t, c.code, p.Code, p.Detail)
			assert.Equal(t, c.param, cmp.Or(p.Param, "-"), p.Detail)
		})
	}
}

func TestUnknownPathDetail(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"/api/o/acme/p/shop/lists/":                 `there is nothing at this path: /api/o/{org}/p/{prj}/ goes on with a, c, d, not with "lists"`,
		"/api/o/acme/p/shop/d/1/add/2/":             `there is nothing at this path: /api/o/{org}/p/{prj}/d/{pk}/add/ ends there, not with "2"`,
		"/api/v1/user/":                             `there is nothing at this path itself: /api/v1/user/ goes on with {org}`,
		"/api/organizations/acme/":                  `there is nothing at this path: /api/ goes on with docs, o, openapi.json, system, v1, not with "organizations"`,
		"/api/o/acme/p/shop/a/web/e/order/trigger2": `there is nothing at this path: /api/o/{org}/p/{prj}/a/{app}/e/{evt}/ goes on with n, t, trigger, not with "trigger2"`,
		"/api/v2/user/acme/":                        `there is nothing at this path: /api/ goes on with docs, o, openapi.json, system, v1, not with "v2"`,
		"/api/%22%3Cb%3E" + strings.Repeat("x", 80): `there is nothing at this path: /api/ goes on with docs, o, openapi.json, system, v1, not with "\"<b>` + strings.Repeat("x", 60) + `…"`,
		"/o/acme/":      `there is nothing at this path; the API is below /api/, and /api/docs/ describes it`,
		"/api/o//acme/": `there is nothing at this path: a part of it is empty, or holds what no name can hold`,
	} {
		f := newFixture(t)
		for _, key := range []string{"-", acmeKey, fullKey} {
			w := f.do(request{path: sent, key: key})
			require.Equal(t, http.StatusNotFound, w.Code, sent)
			assert.Equal(t, want, problemOf(t, w).Detail, "whoever asks")
		}
		assert.Zero(t, f.store.used())
	}
}

func TestProblemSuggestions(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]request{
		`this path does not have the method "PUT"; it has DELETE, GET, HEAD, PATCH`:                                           {method: http.MethodPut, path: "/api/o/acme/u/anna/"},
		`this path does not have the method "OPTIONS"; it has GET, HEAD`:                                                      {method: http.MethodOptions, path: "/api/system/ping/"},
		`a body must be sent as Content-Type: application/json, in UTF-8; it was sent as "application/x-www-form-urlencoded"`: {method: http.MethodPost, path: usersPath, body: "a", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}},
		`a body must be sent as Content-Type: application/json, in UTF-8; it was sent as "` + strings.Repeat("x", 64) + `…"`:  {method: http.MethodPost, path: usersPath, body: "a", header: map[string]string{"Content-Type": strings.Repeat("x", 100)}},
		`a body must be sent as Content-Type: application/json, in UTF-8`:                                                     {method: http.MethodPost, path: usersPath, body: "a", header: map[string]string{"Content-Type": ""}},
		"dry_run: there is no such parameter; there is cid":                                                                   {method: http.MethodPost, path: "/api/o/acme/p/shop/a/web/e/order/trigger/?dry_run=true", body: "{}"},
	} {
		assert.Equal(t, want, problemOf(t, newFixture(t).do(r)).Detail)
	}
	for sent, want := range map[string]string{
		"GET /healthz HTTP/1.1\r\n\r\n":        "the request cannot be read: missing required Host header",
		"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n": "the request cannot be read: its path or one of its headers is malformed",
		"GET /healthz HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1_000)+"\r\n", 100) + "\r\n": "the request cannot be read: its headers have more than 65536 bytes",
	} {
		assert.Equal(t, want, plain(sent)(t).Detail)
	}
}

func TestErrorPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	index := f.do(request{path: "/api/docs/errors/", key: "-"})
	require.Equal(t, http.StatusOK, index.Code)
	for _, p := range httpapi.ProblemTable() {
		assert.Contains(t, index.Body.String(), `<a href="/api/docs/errors/`+p.Code+`/"><code>`+p.Code+`</code></a>`)
	}
	page := f.do(request{path: "/api/docs/errors/unauthenticated/", key: "-"})
	assert.Contains(t, page.Body.String(), "<code>Authorization: Key &lt;API_KEY&gt;</code>")
	links := regexp.MustCompile(`(?:href|src)="([^"#]+)"`)
	var all []string
	for _, w := range []*httptest.ResponseRecorder{index, page} {
		assert.Equal(t, "text/html; charset=UTF-8", w.Header().Get("Content-Type"))
		assert.Contains(t, w.Header().Get("Content-Security-Policy"), "style-src 'self'")
		for _, unwanted := range []string{"<script", "<style", " style=", "ZgotmplZ"} {
			assert.NotContains(t, w.Body.String(), unwanted)
		}
		for _, m := range links.FindAllStringSubmatch(w.Body.String(), -1) {
			all = append(all, m[1])
		}
	}
	slices.Sort(all)
	for _, link := range slices.Compact(all) {
		assert.Equal(t, http.StatusOK, f.do(request{path: link, key: "-"}).Code, link)
	}
}
