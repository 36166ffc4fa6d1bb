package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/harness"
)

// fixture is an API over a store and an authenticator that a test controls.
type fixture struct {
	*httpapi.API
	t     testing.TB
	auth  *authenticator
	store *store
	clock *clocks.Moving
	log   *logBuffer
	ready error
	alive error
}

func newFixture(t testing.TB, options ...func(*httpapi.Options)) *fixture {
	t.Helper()
	f := &fixture{
		t: t, auth: &authenticator{}, store: &store{out: map[deliveries.OptOut]bool{}}, log: &logBuffer{},
		clock: clocks.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	o := httpapi.Options{BodyLimit: 1 << 20}
	for _, set := range options {
		set(&o)
	}
	api, err := httpapi.New(harness.Assemble(harness.Parts{Store: f.store, Clock: f.clock, Links: links}).API, f.auth, health.New(f.clock, 0, health.Probe{Ask: func(context.Context) error { return f.alive }},
		health.Probe{Name: "the database answers", Ask: func(context.Context) error { return f.ready }}), f.clock,
		slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})), o)
	require.NoError(t, err)
	f.API = api
	return f
}

// request describes a call; the zero value is a GET with the full key.
type request struct {
	method, path, body string
	key                string // "-": none
	header             map[string]string
	remote             string
}

func (f *fixture) do(r request) *httptest.ResponseRecorder {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r.build())
	return w
}

func (r request) build() *http.Request {
	var body io.Reader
	if r.body != "" {
		body = bytes.NewBufferString(r.body)
	}
	method := r.method
	if method == "" {
		method = http.MethodGet
	}
	built := httptest.NewRequestWithContext(context.Background(), method, "http://tocsin.test"+r.path, body)
	if r.body != "" {
		built.Header.Set("Content-Type", "application/json")
	}
	switch r.key {
	case "-":
	case "":
		built.Header.Set("Authorization", "Key "+fullKey)
	default:
		built.Header.Set("Authorization", "Key "+r.key)
	}
	for name, value := range r.header {
		built.Header.Set(name, value)
	}
	if r.remote != "" {
		built.RemoteAddr = r.remote
	}
	return built
}

// problem is the document of an error.
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
}

// problemOf checks everything that all errors have in common and returns the problem document.
func problemOf(t testing.TB, w *httptest.ResponseRecorder) problem {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), w.Body.String())
	decoder := json.NewDecoder(w.Body)
	decoder.DisallowUnknownFields()
	var p problem
	require.NoError(t, decoder.Decode(&p))
	require.NotEmpty(t, p.Code)
	require.Equal(t, "http://tocsin.test/api/docs/errors/"+p.Code+"/", p.Type)
	require.Equal(t, http.StatusText(w.Code), p.Title)
	require.Equal(t, w.Code, p.Status)
	require.NotEmpty(t, p.Detail)
	require.Equal(t, w.Header().Get("X-Request-ID"), p.RequestID)
	require.Equal(t, w.Code == http.StatusBadRequest, len(p.Errors) > 0, "errors belong to 400 and to nothing else")
	return p
}

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lines returns the logged lines with this message.
func (l *logBuffer) lines(t testing.TB, message string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range bytes.Lines([]byte(l.String())) {
		var entry map[string]any
		require.NoError(t, json.Unmarshal(line, &entry))
		if entry["msg"] == message {
			found = append(found, entry)
		}
	}
	return found
}

// fetch makes a call with the full key over a real connection; the caller closes the body.
func fetch(t testing.TB, server *httptest.Server, method, path string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Key "+fullKey)
	answer, err := server.Client().Do(r)
	require.NoError(t, err)
	return answer
}

// newServer serves the fixture on a real connection.
func newServer(t testing.TB, f *fixture) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server
}
