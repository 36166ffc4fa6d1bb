package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/quotas"
)

func TestRefusalDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(o *httpapi.Options) {
			o.Quotas, o.RefusalDelay = quotas.NewDefaults(quotas.Limits{quotas.Requests: 1}), 250*time.Millisecond
		})
		ask := func(ctx context.Context, path string) (status int, took time.Duration) {
			w, begin := httptest.NewRecorder(), time.Now()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
			r.Header.Set("Authorization", "Key "+fullKey)
			f.ServeHTTP(w, r)
			return w.Code, time.Since(begin)
		}
		const ping = "/api/system/ping/"
		assert.Equal(t, answer(http.StatusOK, 0), answer(ask(t.Context(), ping)))
		assert.Equal(t, answer(http.StatusTooManyRequests, 250*time.Millisecond), answer(ask(t.Context(), ping)))
		assert.Equal(t, answer(http.StatusTooManyRequests, 250*time.Millisecond), answer(ask(t.Context(), "/api/none/")), "what is not there counts, too")
		f.clock.Advance(time.Second)
		assert.Equal(t, answer(http.StatusNotFound, 0), answer(ask(t.Context(), "/api/none/")), "other refusals come at once")
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		assert.Equal(t, answer(http.StatusTooManyRequests, 0), answer(ask(gone, ping)), "nobody waits for a client that has gone")
	})
}

func answer(status int, took time.Duration) []any { return []any{status, took} }
