package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

// document is the parsed OpenAPI document of the service.
type document struct {
	*openapi3.T
	router routers.Router
	found  sync.Map // an operation for each method and path that was looked up
	judged sync.Map // the refusals that agree with the document, see answer.refusal
}

// operation is the operation of a request in the document.
type operation struct {
	route      *routers.Route
	parameters map[string]string
	err        error
}

// documents caches the document, because all worlds serve the same one.
var documents struct {
	once sync.Once
	doc  *document
	err  error
}

func readDocument(handler http.Handler) (*document, error) {
	documents.once.Do(func() { documents.doc, documents.err = loadDocument(served(handler)) })
	return documents.doc, documents.err
}

// served returns the document that the service serves without a key.
func served(handler http.Handler) []byte {
	got := httptest.NewRecorder()
	handler.ServeHTTP(got, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/api/openapi.json", http.NoBody))
	return got.Body.Bytes()
}

func loadDocument(text []byte) (*document, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		return nil, fmt.Errorf("the document is not valid OpenAPI %s: %w", doc.OpenAPI, err)
	}
	// For 3.1 the filter compiles every schema again for each exchange. This takes 30 ms with the
	// race detector. The validator for 3.0 takes 1 ms and supports everything that the document
	// uses, except `const`. answer.check checks the few of these.
	doc.OpenAPI = "3.0.3"
	closed(doc)
	router, err := gorillamux.NewRouter(doc)
	return &document{T: doc, router: router}, err
}

// lenient are the requests whose unknown members are ignored.
var lenient = []string{"Enrollment", "UserPatch", "AddressInput", "DistributionListInput", "Registration", "SubscriptionInput", "UnsubscriptionInput", "BulkEnrollmentInput"}

// closed forbids members that the document does not describe. The document allows them, so that
// clients accept those of later versions, and because generators would make maps of the objects.
func closed(doc *openapi3.T) {
	seen := map[*openapi3.Schema]bool{}
	var closeAll func(s *openapi3.SchemaRef)
	closeAll = func(s *openapi3.SchemaRef) {
		if s == nil || s.Value == nil || seen[s.Value] {
			return
		}
		seen[s.Value] = true
		if extra := &s.Value.AdditionalProperties; len(s.Value.Properties) > 0 && extra.Has == nil && extra.Schema == nil {
			no := false
			extra.Has = &no
		}
		closeAll(s.Value.Items)
		for _, p := range s.Value.Properties {
			closeAll(p)
		}
	}
	for _, name := range lenient {
		seen[doc.Components.Schemas[name].Value] = true
	}
	for _, s := range doc.Components.Schemas {
		closeAll(s)
	}
}

// problem is an RFC 9457 document with the members of decisions 2.
type problem struct {
	Type      string              `json:"type"`
	Title     string              `json:"title"`
	Status    int                 `json:"status"`
	Code      string              `json:"code"`
	Param     string              `json:"param"`
	Detail    string              `json:"detail"`
	RequestID string              `json:"request_id"`
	Errors    map[string][]string `json:"errors"`
	Quota     string              `json:"quota"`
	Checks    []map[string]string `json:"checks"`
}

// check checks an exchange by the rules for all exchanges, and by the document.
func (a answer) check(doc *document) error {
	if a.status == http.StatusInternalServerError {
		return errors.New("nothing may ever answer 500")
	}
	if a.header.Get("X-Request-ID") == "" {
		return errors.New("every answer carries X-Request-ID")
	}
	if a.request.Method == http.MethodHead {
		if len(a.body) > 0 {
			return errors.New("an answer to HEAD has no body")
		}
		return nil
	}
	if a.status >= http.StatusBadRequest {
		if err := a.checkProblem(); err != nil {
			return err
		}
	}
	refusal := a.refusal()
	if _, known := doc.judged.Load(refusal); known {
		return nil
	}
	err := a.checkDocumented(doc)
	if err == nil && refusal != "" {
		doc.judged.Store(refusal, nil)
	}
	return err
}

// refusal returns the part of a refused exchange that is checked by the document; "" for other
// exchanges. It omits the date and an id of the usual form, which are different each time. Most
// exchanges are refusals that were checked before, and a check takes longer than an exchange.
func (a answer) refusal() string {
	id := a.header.Get("X-Request-ID")
	if a.status < http.StatusBadRequest || !usualID.MatchString(id) {
		return ""
	}
	header := a.header.Clone()
	header.Del("Date")
	header.Del("X-Request-ID")
	text := fmt.Sprint(a.request.Method, a.request.URL, a.request.Header["Content-Type"], a.status, header)
	return text + strings.ReplaceAll(string(a.body), id, "")
}

var usualID = regexp.MustCompile(`^[A-Z2-7]{26}$`)

func (a answer) checkProblem() error {
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.DisallowUnknownFields()
	var p problem
	if err := decoder.Decode(&p); err != nil {
		return fmt.Errorf("an error is a problem document: %w", err)
	}
	switch {
	case a.header.Get("Content-Type") != "application/problem+json":
		return errors.New("an error is application/problem+json")
	case p.Code == "" || !strings.HasSuffix(p.Type, "/api/docs/errors/"+p.Code+"/"):
		return errors.New("a problem has a code, and the URL of its page")
	case p.Title != http.StatusText(a.status) || p.Status != a.status:
		return errors.New("a problem repeats the status and its title")
	case p.Detail == "" || p.RequestID != a.header.Get("X-Request-ID"):
		return errors.New("a problem has a detail and the request's id")
	case (a.status == http.StatusBadRequest) != (len(p.Errors) > 0):
		return errors.New("a 400, and nothing else, says what is wrong with each field")
	case (a.status == http.StatusTooManyRequests || a.status == http.StatusRequestEntityTooLarge) != (p.Quota != ""):
		return errors.New("a 413 or 429, and nothing else, names a quota")
	case (a.status == http.StatusUnauthorized) != (a.header.Get("WWW-Authenticate") == "Key"):
		return errors.New("a 401, and nothing else, carries WWW-Authenticate: Key")
	}
	return nil
}

func (a answer) checkDocumented(doc *document) error {
	route, parameters, err := doc.find(a.request)
	if err != nil {
		absent := a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed
		path := strings.TrimSuffix(a.request.URL.Path, "/")
		if absent || strings.HasPrefix(path, "/api/docs/") { // The pages below it are no part of the API.
			return nil
		}
		return fmt.Errorf("the document does not have this: %w", err)
	}
	request := a.request.Clone(context.Background())
	request.Body = io.NopCloser(bytes.NewReader(a.sent))
	request.GetBody = nil // Else the filter would ask it again.
	in := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc,
			IncludeResponseStatus: true,
			MultiError:            true,
			SkipSettingDefaults:   true,
		},
	}
	if a.status < http.StatusBadRequest {
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			return fmt.Errorf("the document forbids this request: %w", err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Options: in.Options,
		Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
	}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		return fmt.Errorf("the document forbids this answer: %w", err)
	}
	return nil
}

// find finds an operation, with and without the slash at the end, as the service does. It asks the
// router only once, because the router tries one path after the other.
func (d *document) find(r *http.Request) (*routers.Route, map[string]string, error) {
	key := r.Method + " " + r.URL.EscapedPath()
	known, found := d.found.Load(key)
	if !found {
		var o operation
		o.route, o.parameters, o.err = d.lookUp(r)
		known, _ = d.found.LoadOrStore(key, o)
	}
	o := known.(operation)
	return o.route, o.parameters, o.err
}

func (d *document) lookUp(r *http.Request) (*routers.Route, map[string]string, error) {
	if path := documented(r.URL.EscapedPath()); path != r.URL.EscapedPath() {
		r = r.Clone(context.Background())
		plain, err := url.PathUnescape(path)
		if err != nil {
			return nil, nil, err
		}
		r.URL.RawPath, r.URL.Path = path, plain
	}
	route, parameters, err := d.router.FindRoute(r)
	if !errors.Is(err, routers.ErrPathNotFound) {
		return route, parameters, err
	}
	toggle := func(path string) string {
		if trimmed, has := strings.CutSuffix(path, "/"); has || path == "" {
			return trimmed
		}
		return path + "/"
	}
	other := r.Clone(context.Background())
	other.URL.Path, other.URL.RawPath = toggle(r.URL.Path), toggle(r.URL.RawPath)
	return d.router.FindRoute(other)
}

var secondPath = regexp.MustCompile(`^/api/o/([^/]+)/u(/|$)`)

// documented returns a path as the document has it. The document does not have the second path of
// the user API, because each generated client would have every method twice.
func documented(path string) string { return secondPath.ReplaceAllString(path, "/api/v1/user/$1$2") }

// operations calls do for every operation of the document.
func (d *document) operations(do func(method, path string, o *openapi3.Operation)) {
	for path, item := range d.Paths.Map() {
		for method, o := range item.Operations() {
			do(method, path, o)
		}
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()

	t.Run("DescribesEveryRouteAndNothingElse", both(func(w *world) {
		var written, routed []string
		w.doc.operations(func(method, path string, o *openapi3.Operation) {
			written = append(written, method+" "+path+" "+grantOf(o))
		})
		for _, r := range httpapi.Routes() {
			if documented(r.Path) == r.Path {
				routed = append(routed, r.Method+" "+r.Path+" "+string(r.Grant))
			}
		}
		require.ElementsMatch(w, routed, written)
	}))

	t.Run("KnowsNoStatusBeyondTheContractAndTheDecisions", both(func(w *world) {
		known := []string{"200", "201", "304", "400", "401", "403", "404", "409", "412", "413", "415", "422", "429", "500", "503"} // 405 is of paths, not of operations.
		w.doc.operations(func(method, path string, o *openapi3.Operation) {
			for status := range o.Responses.Map() {
				require.Contains(w, known, status, "%s %s", method, path)
			}
		})
	}))

	t.Run("IsServedToEverybodyWithAPage", both(func(w *world) {
		answer := w.nobody().get("/api/openapi.json").is(http.StatusOK)
		require.Equal(w, "3.1.0", read[struct{ OpenAPI string }](answer).OpenAPI)
		page := w.nobody().get("/api/docs/").is(http.StatusOK)
		require.Contains(w, string(page.body), "/api/openapi.json")
		require.Contains(w, string(page.body), "/api/docs/start/")
		w.nobody().get("/api/docs/start/").is(http.StatusOK)
	}))

	t.Run("JudgesEveryExchange", both(checkBrokenExchanges))
}

// grantOf returns the grant in the security of an operation.
func grantOf(o *openapi3.Operation) string {
	if o.Security == nil || len(*o.Security) == 0 {
		return ""
	}
	return strings.Join((*o.Security)[0]["ApiKeyAuthentication"], ",")
}

// checkBrokenExchanges changes good exchanges, each in one way, and checks that the checks find it.
func checkBrokenExchanges(w *world) {
	good := w.post("/api/v1/user/acme/", object{"email": "anna@example.org"}).is(http.StatusCreated)
	bad := w.post("/api/v1/user/acme/", object{}).is(http.StatusBadRequest)
	lists := w.get("/api/o/acme/p/shop/d/").is(http.StatusOK)
	for _, a := range []answer{good, bad, lists} {
		require.NoError(w, a.check(w.doc))
	}
	each(map[string]answer{
		"MissingStatus":          good.with(func(a *answer) { a.status = http.StatusAccepted }),
		"FailureOfTheService":    good.with(func(a *answer) { a.status = http.StatusInternalServerError }),
		"MemberTooMany":          good.replace(`"created":true`, `"created":true,"role":"member"`),
		"MemberMissing":          good.replace(`,"created":true`, ``),
		"WrongType":              good.replace(`"created":true`, `"created":"true"`),
		"NullWhereNoneMayBe":     good.replace(`"first_name":""`, `"first_name":null`),
		"NumberOutOfRange":       lists.replace(`"id":`, `"id":-`),
		"WrongContentType":       good.having("Content-Type", "text/html"),
		"NoRequestID":            good.having("X-Request-ID", ""),
		"RequestIDOfAnotherForm": good.having("X-Request-ID", "not sane"),
		"RequestWithoutEmail":    good.with(func(a *answer) { a.sent = []byte(`{}`) }),
		"RequestOfWrongType":     good.with(func(a *answer) { a.sent = []byte(`{"email":1}`) }),
		"ProblemOfAnotherStatus": bad.replace(`"status":400`, `"status":404`),
		"ProblemWithoutErrors":   bad.replace(`"errors"`, `"mistakes"`),
		"ProblemOfAnotherID":     bad.having("X-Request-ID", "another"),
		"ProblemSentAsJSON":      bad.having("Content-Type", "application/json"),
	}, func(w *world, spoiled answer) {
		require.Error(w, spoiled.check(w.doc))
	})(w)
}

// with returns the answer after a change.
func (a answer) with(change func(a *answer)) answer {
	change(&a)
	return a
}

// replace returns the answer with a text of its body replaced. The body must contain the old text.
func (a answer) replace(from, to string) answer {
	a.t.Helper()
	require.Contains(a.t, string(a.body), from)
	a.body = bytes.ReplaceAll(a.body, []byte(from), []byte(to))
	return a
}

// having returns the answer with another header; without a value it has none.
func (a answer) having(name, value string) answer {
	a.header = a.header.Clone()
	a.header.Del(name)
	if value != "" {
		a.header.Set(name, value)
	}
	return a
}
