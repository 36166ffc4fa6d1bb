package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

func TestRequestID(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent string
		kept bool
	}{
		"Plain":     {"d2c5b0e6-a1f3", true},
		"TraceLike": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true},
		"Longest":   {strings.Repeat("x", 128), true},
		"None":      {"", false},
		"TooLong":   {strings.Repeat("x", 129), false},
		"Space":     {"a b", false},
		"Quote":     {`a"b`, false},
		"Email":     {"anna@example.org", false},
		"NotASCII":  {"ä", false},
		"Markup":    {"<b>", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			seen := map[string]bool{}
			for _, path := range []string{"/healthz", "/nothing", "/api/system/ping/", "/api/o/acme/u/anna/"} {
				w := f.do(request{path: path, header: map[string]string{"X-Request-ID": c.sent}})
				id := w.Header().Get("X-Request-ID")
				assert.NotEmpty(t, id, "every answer has one")
				assert.Equal(t, c.kept, id == c.sent)
				seen[id] = true
			}
			if !c.kept {
				assert.Len(t, seen, 4, "every request has its own")
			}
		})
	}
}

func TestLogLine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.do(request{
		method: http.MethodPost, path: "/api/o/acme/u/anna@example.org/address/?q=anna@example.org", key: acmeKey,
		body: `{"value":"anna@example.org","name":1}`, header: map[string]string{"User-Agent": "anna@example.org"},
	})
	require.Equal(t, http.StatusBadRequest, w.Code)
	lines := f.log.lines(t, "request")
	require.Len(t, lines, 1)
	delete(lines[0], "time")
	assert.Equal(t, map[string]any{
		"level": "INFO", "msg": "request", "id": w.Header().Get("X-Request-ID"), "method": "POST",
		"route": "/api/o/{org}/u/{username}/address/", "status": 400.0, "duration": 0.0, "bytes": float64(w.Body.Len()), "key": "key acme",
	}, lines[0])
	assert.NotContains(t, f.log.String(), "anna")
	assert.NotContains(t, f.log.String(), "192.0.2.1", "the client's address")
}

func TestLogLineOfOtherRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request request
		want    map[string]any
	}{
		"UnknownPath":   {request{path: "/anna@example.org"}, map[string]any{"route": "unknown", "status": 404.0, "level": "INFO"}},
		"UnknownMethod": {request{method: "ANNA", path: "/healthz"}, map[string]any{"route": "unknown", "status": 405.0, "method": "other"}},
		"BadKey":        {request{path: "/api/system/ping/", key: "secret-key"}, map[string]any{"status": 401.0, "key": nil, "route": "/api/system/ping/"}},
		"Forbidden":     {request{path: "/api/o/acme/u/", key: otherKey}, map[string]any{"status": 403.0, "key": "key other"}},
		"Probe":         {request{path: "/healthz"}, map[string]any{"level": "DEBUG", "route": "/healthz", "status": 200.0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.do(c.request)
			lines := f.log.lines(t, "request")
			require.Len(t, lines, 1)
			for field, value := range c.want {
				assert.Equal(t, value, lines[0][field], field)
			}
			assert.NotContains(t, f.log.String(), "anna")
			assert.NotContains(t, f.log.String(), "secret-key")
		})
	}
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/healthz", "/nothing", "/api/system/ping/", "/api/docs/", "/api/openapi.json"} {
		w := newFixture(t).do(request{path: path})
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), path)
		assert.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"), path)
		assert.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'", path)
		assert.Contains(t, w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
		assert.NotEmpty(t, w.Header().Get("Cache-Control"), path)
	}
	w := newFixture(t).do(request{path: "/api/o/acme/u/anna/"})
	assert.Equal(t, "no-store", w.Header().Get("Cache-Control"), "people's data is not kept on the way")
}

func TestVerboseReadiness(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.do(request{path: "/readyz?verbose", key: "-"})
	require.Equal(t, http.StatusOK, w.Code)
	assert.JSONEq(t, `{"status": "ok", "checks": [{"name": "takes requests", "status": "ok"}, {"name": "the database answers", "status": "ok"}]}`, w.Body.String())

	for _, c := range []struct {
		err    error
		reason string
	}{
		{errors.New("dial postgres://tocsin:secret@db: refused"), "it failed; the log says more"},
		{fmt.Errorf("%w: as tocsin:secret@db says", ports.ErrFull), "the disk of the database is full"},
	} {
		f.ready = c.err
		w = f.do(request{path: "/readyz?verbose", key: "-"})
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		assert.NotContains(t, w.Body.String(), "secret")
		var answer struct{ Checks json.RawMessage }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		assert.JSONEq(t, `[{"name": "takes requests", "status": "ok"}, {"name": "the database answers", "status": "failing", "reason": "`+c.reason+`"}]`, string(answer.Checks))
	}
}

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"/healthz", "/readyz", "/healthz/", "/readyz/"} {
		w := f.do(request{path: path, key: "-"})
		require.Equal(t, http.StatusOK, w.Code, path)
		assert.JSONEq(t, `{"status":"ok"}`, w.Body.String())
	}

	for _, err := range []error{errors.New("dial postgres://tocsin:secret@db: refused"), fault.New(fault.Unavailable, "secret")} {
		f.ready = err
		w := f.do(request{path: "/readyz", key: "-"})
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
		assert.Equal(t, "the service is not ready", problemOf(t, w).Detail)
		assert.Equal(t, http.StatusOK, f.do(request{path: "/healthz", key: "-"}).Code, "the process is alive all the same")
	}
	assert.Len(t, f.log.lines(t, "request failed"), 2, "the log says why")

	f.alive = errors.New("the loop expand stands still")
	w := f.do(request{path: "/healthz", key: "-"})
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "a background loop is stuck; only a restart helps", problemOf(t, w).Detail)
	assert.Zero(t, f.auth.calls())
}

// TestReadinessCode checks that an instance that is not ready has one code, whatever the cause.
func TestReadinessCode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, err := range []error{errors.New("refused"), fmt.Errorf("ping: %w", context.DeadlineExceeded), context.Canceled, ports.ErrUnavailable, installation.ErrReadOnly} {
		f.ready, f.alive = err, err
		assert.Equal(t, "not_ready", problemOf(t, f.do(request{path: "/readyz", key: "-"})).Code, err)
		assert.Equal(t, "not_alive", problemOf(t, f.do(request{path: "/healthz", key: "-"})).Code, err)
	}
	logged := f.log.lines(t, "request failed")
	assert.Contains(t, fmt.Sprint(logged), context.DeadlineExceeded.Error(), "the log says why")
}

func TestPing(t *testing.T) {
	t.Parallel()
	w := newFixture(t).do(request{path: "/api/system/ping/", key: otherKey})
	require.Equal(t, http.StatusOK, w.Code)
	assert.JSONEq(t, `{"token":"key other"}`, w.Body.String())
}
