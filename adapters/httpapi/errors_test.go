package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

func TestStatusOfKind(t *testing.T) {
	t.Parallel()
	for kind, status := range map[fault.Kind]int{
		fault.Invalid:         400,
		fault.Unauthenticated: 401,
		fault.Forbidden:       403,
		fault.NotFound:        404,
		fault.Conflict:        409,
		fault.TooLarge:        413,
		fault.Unsupported:     415,
		fault.Mismatch:        422,
		fault.Limited:         429,
		fault.Internal:        500,
		fault.Unavailable:     503,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.store.err = fmt.Errorf("users.go:17: SELECT secret: %w", fault.New(kind, "said to the caller"))
			w := f.do(request{path: "/api/o/acme/u/anna@example.org/"})
			require.Equal(t, status, w.Code)
			body := w.Body.String()
			assert.NotContains(t, body, "SELECT")
			p := problemOf(t, w)
			assert.Equal(t, status == 401, w.Header().Get("WWW-Authenticate") == "Key")
			assert.Equal(t, status == 429 || status == 503, w.Header().Get("Retry-After") != "")
			logged := f.log.lines(t, "request failed")
			if kind == fault.Internal {
				assert.NotContains(t, body, "said to the caller")
				require.Len(t, logged, 1, "logged once")
				assert.Equal(t, p.RequestID, logged[0]["id"])
				assert.Contains(t, logged[0]["error"], "SELECT secret")
				return
			}
			assert.Equal(t, "said to the caller", p.Detail)
			assert.Equal(t, kind == fault.Unavailable, len(logged) == 1, "nobody logs what the caller did wrong")
		})
	}
}

func TestUnclassifiedErrorIs500(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.store.err = errors.New("pq: duplicate key (/home/build/secret.go)")
	w := f.do(request{path: "/api/o/acme/u/"})
	require.Equal(t, http.StatusInternalServerError, w.Code)
	assert.NotContains(t, w.Body.String(), "duplicate")
	assert.NotContains(t, w.Body.String(), "secret")
	problemOf(t, w)
	assert.Len(t, f.log.lines(t, "request failed"), 1)
}

func TestPanicIs500(t *testing.T) {
	t.Parallel()
	f := newFixture(t) // Its store has no applications: reading them panics.
	w := f.do(request{path: "/api/o/acme/p/shop/a/web/"})
	require.Equal(t, http.StatusInternalServerError, w.Code)
	assert.NotContains(t, w.Body.String(), "nil pointer")
	assert.NotContains(t, w.Body.String(), ".go")
	problemOf(t, w)
	logged := f.log.lines(t, "request failed")
	require.Len(t, logged, 1)
	assert.Contains(t, logged[0]["error"], "applications.go", "the log has the stack")
	require.Len(t, f.log.lines(t, "request"), 1)
	assert.EqualValues(t, 500, f.log.lines(t, "request")[0]["status"])
}

func TestTimeoutIs503(t *testing.T) {
	t.Parallel()
	for _, err := range []error{context.DeadlineExceeded, fmt.Errorf("querying: %w", context.Canceled), ports.ErrUnavailable} {
		f := newFixture(t)
		f.store.err = err
		w := f.do(request{path: "/api/o/acme/u/anna/"})
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
		problemOf(t, w)
		require.Len(t, f.log.lines(t, "request failed"), 1)
		assert.Equal(t, "WARN", f.log.lines(t, "request failed")[0]["level"])
	}
}

// TestOutageIsLoggedSparsely checks that an outage, which fails every call, does not flood the log
// and the recent problems, and that calls refused for maintenance do not either.
func TestOutageIsLoggedSparsely(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	warnings := func() (found []map[string]any) {
		for _, l := range f.log.lines(t, "request failed") {
			if l["level"] == "WARN" {
				found = append(found, l)
			}
		}
		return found
	}
	fails := func(times int, err error) {
		f.store.err = err
		for range times {
			require.Equal(t, http.StatusServiceUnavailable, f.do(request{path: "/api/o/acme/u/anna/"}).Code)
		}
	}
	fails(100, fmt.Errorf("writing: %w", installation.ErrReadOnly.With("back at noon")))
	assert.Empty(t, warnings())
	assert.Len(t, f.log.lines(t, "request failed"), 100, "at debug")
	fails(50, ports.ErrUnavailable)
	fails(50, context.DeadlineExceeded)
	require.Len(t, warnings(), 2)
	assert.NotContains(t, warnings()[1], "others_not_logged")
	f.clock.Advance(time.Minute)
	fails(1, ports.ErrUnavailable)
	require.Len(t, warnings(), 3)
	assert.EqualValues(t, 98, warnings()[2]["others_not_logged"])
	f.store.err = errors.New("a mistake of ours")
	for range 5 {
		f.do(request{path: "/api/o/acme/u/anna/"})
	}
	errs := 0
	for _, l := range f.log.lines(t, "request failed") {
		if l["level"] == "ERROR" {
			errs++
		}
	}
	assert.Equal(t, 5, errs, "each has an id that somebody may ask about")
}

// TestReadinessIsLoggedWhenItChanges checks that probes, which come every few seconds, do not flood
// the log.
func TestReadinessIsLoggedWhenItChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	probe := func(err error) {
		f.ready = err
		for range 20 {
			f.do(request{path: "/readyz", key: "-"})
			f.clock.Advance(10 * time.Second)
		}
	}
	refused := errors.New("connection refused")
	for _, err := range []error{refused, ports.ErrFull, nil, ports.ErrFull} {
		probe(err)
	}
	var said []string
	for _, l := range f.log.lines(t, "request failed") {
		if l["level"] == "WARN" {
			said = append(said, fmt.Sprint(l["error"]))
		}
	}
	require.Len(t, said, 3)
	assert.Contains(t, said[0], "connection refused")
	assert.Contains(t, said[1], ports.ErrFull.Error())
	assert.Contains(t, said[2], ports.ErrFull.Error(), "it was ready in between")
}

func TestManyErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.do(request{method: http.MethodPost, path: "/api/o/acme/p/shop/d/1/add/", body: `["` + strings.Repeat(`x","`, 9_999) + `x"]`})
	require.Equal(t, http.StatusBadRequest, w.Code)
	p := problemOf(t, w)
	assert.Equal(t, "there are 10000 mistakes, see errors", p.Detail)
	assert.Len(t, p.Errors, 10_000)
}
