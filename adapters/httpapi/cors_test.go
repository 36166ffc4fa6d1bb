package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/quotas"
)

func TestCORS(t *testing.T) {
	t.Parallel()
	const app, list = "https://app.example", "/api/o/acme/p/shop/d/"
	shared := func(o *httpapi.Options) { o.CORSOrigins = []string{app, "http://localhost:3000"} }
	from := func(origin string, more ...string) map[string]string {
		h := map[string]string{"Origin": origin}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	preflight := func(origin string) request {
		return request{method: http.MethodOptions, path: list, key: "-", header: from(origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")}
	}

	t.Run("IsOff", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		for _, r := range []request{{path: "/api/system/ping/", header: from(app)}, preflight(app)} {
			w := f.do(r)
			for name := range w.Header() {
				assert.NotContains(t, name, "Access-Control")
			}
			assert.Equal(t, []string{"Accept-Encoding"}, w.Header().Values("Vary"))
		}
		assert.Equal(t, http.StatusMethodNotAllowed, f.do(preflight(app)).Code)
	})

	t.Run("APreflightOfAnOriginTakesNoKey", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, shared)
		for _, origin := range []string{app, "http://localhost:3000"} {
			w := f.do(preflight(origin))
			require.Equal(t, http.StatusNoContent, w.Code)
			assert.Equal(t, origin, w.Header().Get("Access-Control-Allow-Origin"))
			assert.Equal(t, "OPTIONS, GET, HEAD, POST", w.Header().Get("Access-Control-Allow-Methods"), "those of the path")
			assert.Equal(t, "Authorization,Content-Type,Idempotency-Key,If-Match,If-None-Match,X-Request-Id", w.Header().Get("Access-Control-Allow-Headers"))
			assert.Equal(t, "600", w.Header().Get("Access-Control-Max-Age"))
			assert.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
			assert.Empty(t, w.Body.String())
		}
		assert.Zero(t, f.auth.calls())
		assert.Zero(t, f.store.used())
	})

	t.Run("OthersLearnNothing", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, shared)
		for _, origin := range []string{"https://app.example.evil", "https://evil.example", "http://app.example", "https://app.example:8443", "https://sub.app.example", "null", "*", "https://APP.example"} {
			for _, r := range []request{preflight(origin), {path: "/api/system/ping/", header: from(origin)}} {
				w := f.do(r)
				for name := range w.Header() {
					assert.NotContains(t, name, "Access-Control", origin)
				}
				assert.Contains(t, w.Header().Values("Vary"), "Origin")
			}
		}
	})

	t.Run("EveryAnswerCanBeRead", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, shared, func(o *httpapi.Options) { o.Quotas = quotas.NewDefaults(quotas.Limits{quotas.Requests: 2}) })
		for _, c := range []struct {
			request
			status int
		}{
			{request{path: "/api/system/ping/", key: tokens[0], header: from(app)}, 200},
			{request{path: "/api/system/ping/", key: "-", header: from(app)}, 401},
			{request{path: "/api/o/none/", key: acmeKey, header: from(app)}, 403},
			{request{path: "/api/none/", key: tokens[0], header: from(app)}, 404},
			{request{method: http.MethodPut, path: list, key: "-", header: from(app)}, 405},
			{request{path: "/api/system/ping/", key: tokens[0], header: from(app)}, 429},
		} {
			w := f.do(c.request)
			require.Equal(t, c.status, w.Code, w.Body.String())
			assert.Equal(t, app, w.Header().Get("Access-Control-Allow-Origin"))
			assert.Equal(t, "X-Request-Id,RateLimit,RateLimit-Policy,Retry-After,Idempotency-Replayed,Link,X-Total-Count,X-Total-At-Least,ETag,Allow,WWW-Authenticate", w.Header().Get("Access-Control-Expose-Headers"))
			assert.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
			assert.Equal(t, []string{"Accept-Encoding", "Origin"}, w.Header().Values("Vary"))
		}
	})

	t.Run("AppliesToTheAPIOnly", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, shared)
		for _, path := range []string{"/healthz", "/unsubscribe/x/", "/none"} {
			w := f.do(request{path: path, key: "-", header: from(app)})
			assert.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
			assert.Empty(t, w.Header().Get("Vary"))
		}
		w := f.do(request{method: http.MethodOptions, path: list, key: "-"})
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code, "OPTIONS that is no preflight")
	})
}
