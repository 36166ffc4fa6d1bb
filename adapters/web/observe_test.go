package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/test/clocks"
)

// TestClientsThatHangUp checks that a failure which nobody waits for is not counted as the
// service's own.
func TestClientsThatHangUp(t *testing.T) {
	t.Parallel()
	hungUp, hangUp := context.WithCancel(t.Context())
	hangUp()
	tooLate, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	t.Cleanup(end)
	for name, c := range map[string]struct {
		ctx          context.Context
		status, want int
	}{
		"Unavailable":           {hungUp, http.StatusServiceUnavailable, web.StatusHungUp},
		"Fault":                 {hungUp, http.StatusInternalServerError, web.StatusHungUp},
		"Done":                  {hungUp, http.StatusCreated, http.StatusCreated},
		"Refused":               {hungUp, http.StatusConflict, http.StatusConflict},
		"UnavailableAndWaiting": {t.Context(), http.StatusServiceUnavailable, http.StatusServiceUnavailable},
		"TimeIsUp":              {tooLate, http.StatusServiceUnavailable, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			counted := 0
			e := echo.New()
			e.Use(web.NewObserver(clocks.At(time.Time{}), slog.New(slog.NewJSONHandler(&log, nil)), web.NewTransport("", nil),
				func(_, _ string, status int, _ time.Duration) { counted = status }).Middleware(func(echo.Context, error) {}))
			e.GET("/", func(e echo.Context) error { return e.NoContent(c.status) })
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequestWithContext(c.ctx, http.MethodGet, "/", http.NoBody))
			assert.Equal(t, c.want, counted)
			var line struct{ Status int }
			require.NoError(t, json.Unmarshal(log.Bytes(), &line))
			assert.Equal(t, c.want, line.Status)
			assert.Equal(t, c.status, w.Code, "a proxy that still listens gets the answer")
		})
	}
}
