package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/adapters/httpapi/reference"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/users"
)

// document is the document that most tests share. They only read it.
var document struct {
	once  sync.Once
	value *openapi3.T
}

// load returns the shared document.
func load(t *testing.T) *openapi3.T {
	t.Helper()
	document.once.Do(func() { document.value = fetchDocument(t) })
	require.NotNil(t, document.value)
	return document.value
}

// fetchDocument fetches the document as a client would.
func fetchDocument(t *testing.T) *openapi3.T {
	t.Helper()
	w := newFixture(t).do(request{path: "/api/openapi.json", key: "-"})
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	require.NoError(t, err)
	return doc
}

func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	doc := fetchDocument(t) // Validation fills in what it has compiled.
	assert.Equal(t, "3.1.0", doc.OpenAPI)
	require.NoError(t, doc.Validate(context.Background(), openapi3.EnableExamplesValidation()))
	assert.NotContains(t, doc.Extensions, "x-fragments")
}

func TestDocumentMatchesRoutes(t *testing.T) {
	t.Parallel()
	var documented, served []string
	for path, item := range load(t).Paths.Map() {
		for method, operation := range item.Operations() {
			documented = append(documented, method+" "+path+" "+grant(t, operation))
		}
	}
	for _, r := range httpapi.Routes() {
		if strings.HasSuffix(r.Path, ".css") {
			continue // Part of the page, nothing to call.
		}
		if strings.HasPrefix(r.Path, "/api/o/{org}/u/") {
			continue // The second path of the user API: clients need only one.
		}
		served = append(served, r.Method+" "+r.Path+" "+string(r.Grant))
	}
	assert.ElementsMatch(t, served, documented)
}

// grant returns the one grant that an operation requires, empty when it takes no key.
func grant(t *testing.T, operation *openapi3.Operation) string {
	t.Helper()
	require.NotNil(t, operation.Security, operation.OperationID)
	if len(*operation.Security) == 0 {
		return ""
	}
	require.Len(t, *operation.Security, 1)
	grants := (*operation.Security)[0]["ApiKeyAuthentication"]
	require.Len(t, grants, 1, operation.OperationID)
	assert.Contains(t, access.Grants(), access.Grant(grants[0]))
	return grants[0]
}

func TestDocumentedErrors(t *testing.T) {
	t.Parallel()
	for path, item := range load(t).Paths.Map() {
		for method, operation := range item.Operations() {
			want := []string{}
			if grant(t, operation) != "" {
				want = append(want, "401", "403", "429", "500", "503")
				if strings.Contains(path, "{") {
					want = append(want, "404")
				}
			}
			if operation.RequestBody != nil {
				want = append(want, "400", "413", "415")
			}
			if grant(t, operation) != "" && method != http.MethodGet { // It may have a condition, for which the body is read.
				want = append(want, "400", "413")
			}
			if operation.Parameters.GetByInAndName("query", "limit") != nil {
				want = append(want, "400")
			}
			for _, status := range want {
				assert.NotNil(t, operation.Responses.Value(status), "%s %s: %s", method, path, status)
			}
			for status, response := range operation.Responses.Map() {
				assert.NotNil(t, response.Value.Headers["X-Request-ID"], "%s %s: %s", method, path, status)
			}
		}
	}
}

// TestDocumentForGenerators checks what docs/compatibility.md promises about the document;
// make interop runs the generators.
func TestDocumentForGenerators(t *testing.T) {
	t.Parallel()
	doc := load(t)
	kinds := map[string][]string{}
	for kind, names := range map[string][]string{
		"schema": slices.Collect(maps.Keys(doc.Components.Schemas)), "parameter": slices.Collect(maps.Keys(doc.Components.Parameters)),
		"header": slices.Collect(maps.Keys(doc.Components.Headers)), "body": slices.Collect(maps.Keys(doc.Components.RequestBodies)),
		"response": slices.Collect(maps.Keys(doc.Components.Responses)),
	} {
		for _, name := range names {
			kinds[name] = append(kinds[name], kind)
		}
	}
	for name, of := range kinds {
		assert.Len(t, of, 1, "%s is the name of several components", name)
	}
	for name := range doc.Components.Schemas {
		assert.NotRegexp(t, "^New[A-Z]", name, "Go calls constructors so")
		assert.NotContains(t, []string{"APIKey", "APIResponse", "BasicAuth", "Configuration", "ServerConfiguration"}, name, "clients by openapi-generator have it")
	}
	var judge func(at string, s *openapi3.SchemaRef)
	judge = func(at string, s *openapi3.SchemaRef) {
		if s == nil || s.Value == nil {
			return
		}
		v := s.Value
		assert.Nil(t, v.Default, "%s: a default makes a member required", at)
		if v.Type.Includes("object") && len(v.Properties) == 0 && v.AdditionalProperties.Schema == nil {
			require.NotNil(t, v.AdditionalProperties.Has, "%s is an object of free members", at)
			assert.True(t, *v.AdditionalProperties.Has, at)
		}
		if at == "id" || strings.HasSuffix(at, ".id") {
			assert.Equal(t, "int64", v.Format, at)
		}
		judge(at+"[]", v.Items)
		for name, p := range v.Properties {
			judge(at+"."+name, p)
		}
	}
	for name, s := range doc.Components.Schemas {
		judge(name, s)
	}
	for path, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for _, p := range slices.Concat(item.Parameters, operation.Parameters) {
				judge(p.Value.Name, p.Value.Schema)
			}
			for status, response := range operation.Responses.Map() {
				for _, media := range response.Value.Content {
					judge(path+" "+status, media.Schema)
				}
			}
		}
	}
}

// TestDocumentLinks checks the links of responses: each names an operation and all of its
// path parameters, by an expression that reads an existing parameter of the request or member of
// the response.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	doc := load(t)
	inPath := map[string][]string{}
	for path, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
				inPath[operation.OperationID] = append(inPath[operation.OperationID], m[1])
			}
		}
	}
	followed := map[string]bool{}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				for name, link := range response.Value.Links {
					at := operation.OperationID + " " + status + " " + name
					to := link.Value.OperationID
					followed[to] = true
					assert.ElementsMatch(t, inPath[to], slices.Collect(maps.Keys(link.Value.Parameters)), at)
					for parameter, expression := range link.Value.Parameters {
						if given, asked := strings.CutPrefix(expression.(string), "$request.path."); asked {
							assert.Contains(t, inPath[operation.OperationID], given, "%s: %s", at, parameter)
							continue
						}
						pointer, held := strings.CutPrefix(expression.(string), "$response.body#/")
						require.True(t, held, "%s: %s", at, expression)
						s := response.Value.Content["application/json"].Schema.Value
						for step := range strings.SplitSeq(pointer, "/") {
							if step == "0" {
								require.NotNil(t, s.Items, "%s: %s", at, expression)
								s = s.Items.Value
								continue
							}
							require.Contains(t, s.Properties, step, "%s: %s", at, expression)
							s = s.Properties[step].Value
						}
					}
				}
			}
		}
	}
	for operation, parameters := range inPath {
		assert.Equal(t, len(parameters) > 0, followed[operation], "whether an answer leads to %s", operation)
	}
}

func TestResponseSchemas(t *testing.T) {
	t.Parallel()
	doc := load(t)
	partial := []string{"CustomFields", "Enrollment", "Registration", "Trigger",
		"BulkEnrollmentResult", // Only one of its two members is present.
		"Triggered"}            // Recipients are absent if they were not counted.
	for name, s := range doc.Components.Schemas {
		if !s.Value.Type.Is("object") || slices.Contains(partial, name) || strings.HasSuffix(name, "Input") || strings.HasSuffix(name, "Patch") {
			continue
		}
		assert.Nil(t, s.Value.AdditionalProperties.Has, "%s: clients must live with members of later versions", name)
		for member := range s.Value.Properties {
			assert.Contains(t, s.Value.Required, member, "%s: a member that an answer always has", name)
		}
	}
}

// TestDocumentExamples checks the responses that need no database against the document;
// test/contract does the same for all others.
func TestDocumentExamples(t *testing.T) {
	t.Parallel()
	doc := load(t)
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	f := newFixture(t, limited(1_000))
	f.store.reader = recipients(3, 0, nil)
	f.store.members = func(users.MemberID, int) []users.Member {
		return []users.Member{{ID: 1, User: users.User{Username: "anna"}}}
	}
	for _, r := range []request{
		{path: "/healthz", key: "-"},
		{path: "/readyz", key: "-"},
		{path: "/api/openapi.json", key: "-"},
		{path: "/api/docs/", key: "-"},
		{path: "/api/system/ping/"},
		{path: "/api/system/ping/", key: "-"},
		{path: "/api/o/acme/"},
		{path: "/api/o/nobody/"},
		{path: "/api/o/acme/", key: otherKey},
		{path: "/api/o/acme/p/shop/"},
		{path: "/api/v1/user/acme/"},
		{path: "/api/v1/user/acme/?limit=1"},
		{path: "/api/v1/user/acme/a%2Fb/"},
		{path: membersPath},
		{method: http.MethodPost, path: usersPath, body: `{"email":"anna@example.org","first_name":null,"custom_fields":{"a":1.0}}`},
		{method: http.MethodPost, path: usersPath, body: `{"email":"anna"}`},
	} {
		built := r.build()
		route, parameters, err := router.FindRoute(built)
		require.NoError(t, err, r.path)
		input := &openapi3filter.RequestValidationInput{
			Request: built, PathParams: parameters, Route: route,
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
		}
		require.NoError(t, openapi3filter.ValidateRequest(context.Background(), input), r.path)
		w := httptest.NewRecorder()
		f.ServeHTTP(w, built)
		err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: input, Status: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
			Options: &openapi3filter.Options{IncludeResponseStatus: true},
		})
		assert.NoError(t, err, "%s %s", r.method, r.path)
	}
}

// TestPagesAreSelfContained checks that everything the documentation pages load or link to is
// served here, without a key.
func TestPagesAreSelfContained(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for path, policy := range map[string]string{"/api/docs/": reference.Policy, "/api/docs/start/": "default-src 'none'; style-src 'self'; "} {
		w := f.do(request{path: path, key: "-"})
		require.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, "text/html; charset=UTF-8", w.Header().Get("Content-Type"))
		assert.Contains(t, w.Header().Get("Content-Security-Policy"), policy)
		assert.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe")
		page := w.Body.String()
		for _, unwanted := range []string{"<script>", "<style", " style=", "<img", "<iframe", " onclick", "ZgotmplZ"} {
			assert.NotContains(t, page, unwanted)
		}
		links := regexp.MustCompile(`(?:href|src|apiDescriptionUrl)="([^"]+)"`).FindAllStringSubmatch(page, -1)
		require.NotEmpty(t, links)
		for _, m := range links {
			if m[1] == "data:," { // No icon.
				continue
			}
			if target, local := strings.CutPrefix(m[1], "#"); local {
				assert.Contains(t, page, ` id="`+target+`"`)
				continue
			}
			assert.Equal(t, http.StatusOK, f.do(request{path: m[1], key: "-"}).Code, m[1])
		}
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	page := f.do(request{path: "/api/docs/", key: "-"}).Body.String()
	program := regexp.MustCompile(`/api/docs/assets/elements\.min-[0-9a-f]+\.js`).FindString(page)
	plain := f.do(request{path: program, key: "-"})
	packed := f.do(request{path: program, key: "-", header: map[string]string{"Accept-Encoding": "gzip, br"}})
	refused := f.do(request{path: program, key: "-", header: map[string]string{"Accept-Encoding": "gzip;q=0"}})
	for _, w := range []*httptest.ResponseRecorder{plain, packed, refused} {
		require.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, "public, max-age=31536000, immutable", w.Header().Get("Cache-Control"))
		assert.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
		assert.Contains(t, w.Header().Get("Content-Type"), "javascript")
	}
	assert.Empty(t, plain.Header().Get("Content-Encoding"))
	assert.Empty(t, refused.Header().Get("Content-Encoding"))
	assert.Equal(t, "gzip", packed.Header().Get("Content-Encoding"))
	assert.Less(t, packed.Body.Len(), plain.Body.Len()/2)
	assert.Equal(t, http.StatusNotFound, f.do(request{path: "/api/docs/assets/elements.min.js", key: "-"}).Code)
}
