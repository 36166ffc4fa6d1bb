package httpapi_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/metadata"
)

const usersPath = "/api/v1/user/acme/"

func TestContentType(t *testing.T) {
	t.Parallel()
	for value, status := range map[string]int{
		"application/json":                         http.StatusCreated,
		"Application/JSON":                         http.StatusCreated,
		"application/json; charset=utf-8":          http.StatusCreated,
		`application/json;charset="UTF-8"`:         http.StatusCreated,
		"application/json; profile=x":              http.StatusCreated,
		"":                                         http.StatusUnsupportedMediaType,
		"text/json":                                http.StatusUnsupportedMediaType,
		"text/plain":                               http.StatusUnsupportedMediaType,
		"application/json; charset=latin1":         http.StatusUnsupportedMediaType,
		"application/json; charset":                http.StatusUnsupportedMediaType,
		"application/merge-patch+json":             http.StatusUnsupportedMediaType,
		"application/x-www-form-urlencoded":        http.StatusUnsupportedMediaType,
		"application/json, application/json":       http.StatusUnsupportedMediaType,
		"application/json-patch":                   http.StatusUnsupportedMediaType,
		"multipart/form-data; boundary=1234567890": http.StatusUnsupportedMediaType,
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			w := f.do(request{method: http.MethodPost, path: usersPath, body: `{"email":"anna@example.org"}`, header: map[string]string{"Content-Type": value}})
			require.Equal(t, status, w.Code, w.Body.String())
			if status != http.StatusCreated {
				problemOf(t, w)
			}
		})
	}
}

func TestEncodedBody(t *testing.T) {
	t.Parallel()
	r := request{method: http.MethodPost, path: usersPath, body: `{"email":"anna@example.org"}`}
	r.header = map[string]string{"Content-Encoding": "gzip"}
	assert.Equal(t, http.StatusUnsupportedMediaType, newFixture(t).do(r).Code)
	r.header = map[string]string{"Content-Encoding": "identity"}
	assert.Equal(t, http.StatusCreated, newFixture(t).do(r).Code)
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	small := func(o *httpapi.Options) { o.BodyLimit = 100 }
	exact := `{"email":"anna@example.org","x":"` + strings.Repeat("x", 65) + `"}`
	require.Len(t, exact, 100)
	for name, c := range map[string]struct {
		body    string
		chunked bool
		status  int
	}{
		"AtTheLimit":          {exact, false, http.StatusCreated},
		"AtTheLimitChunked":   {exact, true, http.StatusCreated},
		"AboveTheLimit":       {exact + " ", false, http.StatusRequestEntityTooLarge},
		"AboveTheLimitUnsaid": {exact + " ", true, http.StatusRequestEntityTooLarge},
		"FarAbove":            {strings.Repeat("x", 1<<20), true, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, small)
			built := request{method: http.MethodPost, path: usersPath, body: c.body}.build()
			if c.chunked {
				built.ContentLength = -1
			}
			w := httptest.NewRecorder()
			f.ServeHTTP(w, built)
			require.Equal(t, c.status, w.Code, w.Body.String())
			if c.status == http.StatusRequestEntityTooLarge {
				assert.Equal(t, "the body is larger than 100 bytes", problemOf(t, w).Detail)
				assert.Zero(t, f.store.used())
			}
		})
	}
}

func TestMissingBody(t *testing.T) {
	t.Parallel()
	for _, r := range httpapi.Routes() {
		without := strings.Contains(r.Path, "{username}/") && !strings.Contains(r.Path, "address") || strings.HasSuffix(r.Path, "/cancel/") || strings.HasSuffix(r.Path, "/retry/") || strings.HasSuffix(r.Path, "/restore/") ||
			strings.HasSuffix(r.Path, "/k/{key}/rotate/") || strings.HasSuffix(r.Path, "/k/{key}/revoke/")
		if r.Method != http.MethodPost && r.Method != http.MethodPatch || r.Method == http.MethodPost && without {
			continue
		}
		w := newFixture(t).do(request{method: r.Method, path: fill(r.Path)})
		require.Equal(t, http.StatusBadRequest, w.Code, "%s %s", r.Method, r.Path)
		assert.Equal(t, map[string][]string{"body": {"is missing"}}, problemOf(t, w).Errors)
	}
}

// TestUnreadableBody checks that every operation with a JSON body refuses one that it cannot read
// before it does anything, whatever the members must be.
func TestUnreadableBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for path, item := range load(t).Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.RequestBody == nil || strings.HasSuffix(path, "/blueprint/") { // A blueprint may be YAML.
				continue
			}
			for sent, code := range map[string]string{"{": "invalid_json", "7": "invalid_request"} {
				w := f.do(request{method: method, path: fill(path), body: sent})
				require.Equal(t, http.StatusBadRequest, w.Code, "%s %s", method, path)
				p := problemOf(t, w)
				assert.Equal(t, code, p.Code, "%s %s", method, path)
				assert.Equal(t, []string{"body"}, slices.Collect(maps.Keys(p.Errors)), "%s %s", method, path)
			}
		}
	}
	assert.Zero(t, f.store.used())
}

func TestUnsubscribeBodyOrQuery(t *testing.T) {
	t.Parallel()
	const path = "/api/o/acme/p/shop/a/web/n/1/subscribe/"
	for name, c := range map[string]struct {
		path, body string
		errors     map[string][]string
	}{
		"Nothing":          {path, "", map[string][]string{"assignment": {"is required"}}},
		"EmptyQuery":       {path + "?assignment=", "", map[string][]string{"assignment": {"is required"}}},
		"QueryIsAWord":     {path + "?assignment=x", "", map[string][]string{"assignment": {"must be an integer"}}},
		"BodyWithoutIt":    {path + "?assignment=1", "{}", map[string][]string{"assignment": {"is required"}}},
		"BodyWithNull":     {path, `{"assignment":null}`, map[string][]string{"assignment": {"is required"}}},
		"BodyWithAString":  {path, `{"assignment":"1"}`, map[string][]string{"assignment": {"must be an integer, not a string"}}},
		"BodyIsNoJSON":     {path, `assignment=1`, map[string][]string{"body": {"is not JSON: line 1, column 1: invalid character 'a' looking for beginning of value"}}},
		"BodyDoesNotFit":   {path, `{"assignment":99999999999999999999}`, map[string][]string{"assignment": {"does not fit a 64-bit integer"}}},
		"QueryDoesNotFit":  {path + "?assignment=99999999999999999999", "", map[string][]string{"assignment": {"must be an integer"}}},
		"BodyIsAnotherOne": {path, `[1]`, map[string][]string{"body": {"must be an object, not an array"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			w := f.do(request{method: http.MethodDelete, path: c.path, body: c.body})
			require.Equal(t, http.StatusBadRequest, w.Code, w.Body.String())
			assert.Equal(t, c.errors, problemOf(t, w).Errors)
			assert.Zero(t, f.store.used())
		})
	}
}

func TestAllBodyErrorsAreReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path, body string
		errors             map[string][]string
	}{
		"CreateUser": {http.MethodPost, usersPath, `{"email":"x","first_name":1,"last_name":"` + strings.Repeat("x", 201) + `","custom_fields":[]}`, map[string][]string{
			"email":         {"is not an e-mail address"},
			"first_name":    {"must be a string, not a number"},
			"last_name":     {"is longer than 200 characters"},
			"custom_fields": {"must be an object, not an array"},
		}},
		"RequiredButOfAWrongType": {http.MethodPost, usersPath, `{"email":5}`, map[string][]string{"email": {"must be a string, not a number"}}},
		"RequiredButBlank":        {http.MethodPost, usersPath, `{"email":" \t"}`, map[string][]string{"email": {"is required"}}},
		"PatchUser": {http.MethodPatch, usersPath + "anna/", `{"_mode":"replace","custom_fields":"x","first_name":"\u0007"}`, map[string][]string{
			"_mode":         {"must be one of merge, override, rewrite, remove, ignore"},
			"custom_fields": {"must be an object, not a string"},
			"first_name":    {"contains a control character"},
		}},
		"MetadataTooLarge": {http.MethodPost, usersPath, `{"email":"anna@example.org","custom_fields":{"x":"` + strings.Repeat("x", metadata.MaxBytes) + `"}}`, map[string][]string{
			"custom_fields": {"metadata is larger than 64 KiB"},
		}},
		"TooManyValues": {http.MethodPost, usersPath, `{"email":"anna@example.org","custom_fields":{"x":[` + strings.Repeat("[],", metadata.MaxValues) + `[]]}}`, map[string][]string{
			"custom_fields": {"metadata has more than 2,000 values"},
		}},
		"TooManyValuesOfAPatch": {http.MethodPatch, usersPath + "anna/", `{"custom_fields":{"x":[` + strings.Repeat("0,", metadata.MaxValues) + `0]}}`, map[string][]string{
			"custom_fields": {"metadata has more than 2,000 values"},
		}},
		"TooManyValuesOfARegistration": {http.MethodPost, "/api/o/acme/p/shop/a/web/register/", `{"username":"anna","custom_fields":{"x":[` + strings.Repeat("0,", metadata.MaxValues) + `0]}}`, map[string][]string{
			"custom_fields": {"metadata has more than 2,000 values"},
		}},
		"AddAddress": {http.MethodPost, usersPath + "anna/address/", `{"name":true,"assign_to_preferred_channel":"yes"}`, map[string][]string{
			"value":                       {"is required"},
			"name":                        {"must be a string, not a boolean"},
			"assign_to_preferred_channel": {"must be true or false, not a string"},
		}},
		"CreateList": {http.MethodPost, "/api/o/acme/p/shop/d/", `{"application":1.5}`, map[string][]string{
			"name": {"is required"}, "application": {"must be an integer"},
		}},
		"PinnedToNothing": {http.MethodPost, "/api/o/acme/p/shop/d/", `{"name":"News","application":0}`, map[string][]string{
			"application": {"there is no application with this id in the project"},
		}},
		"AddRecipients": {http.MethodPost, "/api/o/acme/p/shop/d/1/add/", `["anna@example.org","x",""]`, map[string][]string{
			"[1]": {"is not an e-mail address"}, "[2]": {"is required"},
		}},
		"AddNobody":       {http.MethodPost, "/api/o/acme/p/shop/d/1/add/", `[]`, map[string][]string{"body": {"the body must be an array of 1 to 10000 e-mail addresses"}}},
		"AddAnObject":     {http.MethodPost, "/api/o/acme/p/shop/d/1/add/", `{}`, map[string][]string{"body": {"must be an array of strings, not an object"}}},
		"AddSomethingBad": {http.MethodPost, "/api/o/acme/p/shop/d/1/add/", `["a",null]`, map[string][]string{"[1]": {"must be a string, not null"}}},
		"Register": {http.MethodPost, "/api/o/acme/p/shop/a/web/register/", `{"email":"x","active":1,"addresses":[{"value":""},7,{"value":"a","name":[]}],"distribution_list":{}}`, map[string][]string{
			"username":           {"is required"},
			"email":              {"is not an e-mail address"},
			"active":             {"must be true or false, not a number"},
			"addresses[0].value": {"is required"},
			"addresses[1]":       {"must be an object, not a number"},
			"addresses[2].name":  {"must be a string, not an array"},
			"distribution_list":  {"must be a string, not an object"},
		}},
		"RegisterTooManyAddresses": {http.MethodPost, "/api/o/acme/p/shop/a/web/register/", `{"username":"anna","addresses":[` + strings.Repeat(`{},`, 100) + `{}]}`, map[string][]string{
			"addresses": {"holds more than 100 addresses"},
		}},
		"Subscribe": {http.MethodPost, "/api/o/acme/p/shop/a/web/n/1/subscribe/", `{"active":"no"}`, map[string][]string{
			"assignment": {"is required"}, "active": {"must be true or false, not a string"},
		}},
		"NULInMetadata": {http.MethodPost, usersPath, `{"email":"anna@example.org","custom_fields":{"a":["\u0000"]}}`, map[string][]string{
			"custom_fields.a[0]": {"contains a NUL character"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			w := f.do(request{method: c.method, path: c.path, body: c.body})
			require.Equal(t, http.StatusBadRequest, w.Code, w.Body.String())
			assert.Equal(t, c.errors, problemOf(t, w).Errors)
			assert.Zero(t, f.store.used())
		})
	}
}

func TestOptionalMembers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"email":"anna@example.org"}`,
		`{"email":" anna@example.org ","first_name":null,"last_name":"","custom_fields":null,"unknown":{"x":[1]}}`,
	} {
		f := newFixture(t)
		w := f.do(request{method: http.MethodPost, path: usersPath, body: body})
		require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
		require.Len(t, f.store.batches, 1)
		e := f.store.batches[0].Members[0]
		assert.Equal(t, "anna@example.org", e.Email)
		assert.Empty(t, e.FirstName)
		assert.Empty(t, e.CustomFields)
	}
}

func TestMetadataNumbersAreUnchanged(t *testing.T) {
	t.Parallel()
	const fields = `{"big":123456789012345678901234567890,"exact":1.10,"exponent":1E+2,"text":"<&>\u2028"}`
	w := newFixture(t).do(request{method: http.MethodPost, path: usersPath, body: `{"email":"anna@example.org","custom_fields":` + fields + `}`})
	require.Equal(t, http.StatusCreated, w.Code)
	var answer struct {
		CustomFields json.RawMessage `json:"custom_fields"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	assert.Equal(t, fields, string(answer.CustomFields))
}

func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	w := newFixture(t).do(request{method: http.MethodPost, path: usersPath, body: "\ufeff" + `{"email":"anna@example.org"}`})
	assert.Equal(t, http.StatusCreated, w.Code)
}

func TestAnswerOfCreateUser(t *testing.T) {
	t.Parallel()
	w := newFixture(t).do(request{method: http.MethodPost, path: usersPath, body: `{"email":"anna@example.org","first_name":"Anna"}`})
	require.Equal(t, http.StatusCreated, w.Code)
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	assert.JSONEq(t, `{"id":7,"username":"anna@example.org","email":"anna@example.org","first_name":"Anna","last_name":"",
		"custom_fields":{},"groups":["Default"],"locked":false,"is_active":true,"created":true}`, w.Body.String())
}

func TestIncompleteBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	built := request{method: http.MethodPost, path: usersPath, body: "{}"}.build()
	built.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"email":`), brokenReader{}))
	built.ContentLength = 100
	w := httptest.NewRecorder()
	f.ServeHTTP(w, built)
	require.Equal(t, http.StatusBadRequest, w.Code)
	assert.Equal(t, map[string][]string{"body": {"could not be read to its end"}}, problemOf(t, w).Errors)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
