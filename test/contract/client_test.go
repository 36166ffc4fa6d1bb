package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// object is a JSON object that a test sends.
type object map[string]any

// list is a JSON array that a test sends.
type list []any

// raw is a body that is sent unchanged. chunked is a body that is sent without its length.
type (
	raw     string
	chunked string
)

// client sends requests as one caller. Its methods return changed copies.
type client struct {
	t      *testing.T
	base   string // http://127.0.0.1:PORT
	header http.Header
	http   *http.Client
	doc    *document
}

// with returns a client that sends one more header; without a value it omits the header.
func (c client) with(name string, values ...string) client {
	c.header = c.header.Clone()
	c.header.Del(name)
	for _, v := range values {
		c.header.Add(name, v)
	}
	return c
}

// as returns a client with another key.
func (c client) as(key string) client { return c.with("Authorization", "Key "+key) }

// nobody returns a client without a key.
func (c client) nobody() client { return c.with("Authorization") }

func (c client) get(path string) answer { c.t.Helper(); return c.do(http.MethodGet, path, nil) }
func (c client) post(path string, body any) answer {
	c.t.Helper()
	return c.do(http.MethodPost, path, body)
}
func (c client) patch(path string, body any) answer {
	c.t.Helper()
	return c.do(http.MethodPatch, path, body)
}
func (c client) delete(path string, body any) answer {
	c.t.Helper()
	return c.do(http.MethodDelete, path, body)
}

// do sends a request. It fails the test when the exchange violates a rule for all exchanges.
func (c client) do(method, path string, body any) answer {
	c.t.Helper()
	a, err := c.try(method, path, body)
	require.NoError(c.t, err)
	return a
}

// try is do for goroutines, which must not end the test. The path may be a complete URL.
func (c client) try(method, path string, body any) (answer, error) {
	text, err := encode(body)
	if err != nil {
		return answer{}, err
	}
	if !strings.HasPrefix(path, "http") {
		path = c.base + path
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(text)
	}
	if _, hidden := body.(chunked); hidden {
		reader = io.MultiReader(reader)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, path, reader)
	if err != nil {
		return answer{}, err
	}
	request.Header = c.header.Clone()
	request.Host = request.Header.Get("Host") // Empty: that of the URL.
	if _, given := request.Header["Content-Type"]; !given && body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	received, err := io.ReadAll(response.Body)
	if err := response.Body.Close(); err != nil {
		return answer{}, err
	}
	if err != nil {
		return answer{}, err
	}
	a := answer{t: c.t, request: request, sent: text, status: response.StatusCode, header: response.Header, body: received}
	if err := a.check(c.doc); err != nil {
		return answer{}, fmt.Errorf("%s: %w", a, err)
	}
	return a, nil
}

func encode(body any) ([]byte, error) {
	switch body := body.(type) {
	case nil:
		return nil, nil
	case raw:
		return []byte(body), nil
	case chunked:
		return []byte(body), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return b.Bytes(), err
}

// answer is a response with its request.
type answer struct {
	t       *testing.T
	request *http.Request
	sent    []byte
	status  int
	header  http.Header
	body    []byte
}

func (a answer) String() string {
	return fmt.Sprintf("%s %s %.500s → %d %.2000s", a.request.Method, a.request.URL.RequestURI(), a.sent, a.status, a.body)
}

// is checks the status.
func (a answer) is(status int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, a.String())
	return a
}

// json checks that the body is this JSON, in any order of members.
func (a answer) json(want string) {
	a.t.Helper()
	require.JSONEq(a.t, want, string(a.body), a.String())
}

// errors returns the mistakes that a 400 names. Any other answer fails the test.
func (a answer) errors() map[string][]string {
	a.t.Helper()
	a.is(http.StatusBadRequest)
	return read[problem](a).Errors
}

// isBadRequestFor checks that the answer is a 400 that names exactly these fields.
func (a answer) isBadRequestFor(fields ...string) {
	a.t.Helper()
	var named []string
	for field := range a.errors() {
		named = append(named, field)
	}
	require.ElementsMatch(a.t, fields, named, a.String())
}

// read decodes the body.
func read[T any](a answer) T {
	a.t.Helper()
	var v T
	require.NoError(a.t, json.Unmarshal(a.body, &v), a.String())
	return v
}
