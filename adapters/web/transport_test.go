package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/test/clocks"
)

func TestTransportSecurity(t *testing.T) {
	t.Parallel()
	proxies := web.Proxies{netip.MustParsePrefix("192.0.2.0/24")}
	for name, c := range map[string]struct {
		base    string
		proxies web.Proxies
		said    string // by the connecting host
		secure  bool
	}{
		"Unknown":                 {},
		"TheBaseURLIsHTTP":        {base: "http://tocsin.example"},
		"TheBaseURLIsHTTPS":       {base: "HTTPS://tocsin.example/below", secure: true},
		"ATrustedProxySaysHTTPS":  {proxies: proxies, said: "https", secure: true},
		"ATrustedProxySaysHTTP":   {proxies: proxies, said: "http"},
		"UntrustedProxySaysHTTPS": {said: "https"},
		"AProxyOfAnHTTPSBase":     {base: "https://tocsin.example", proxies: proxies, said: "http", secure: true},
		"ATrustedProxySaysNought": {proxies: proxies},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := echo.New()
			e.Use(web.NewObserver(clocks.At(time.Time{}), slog.New(slog.DiscardHandler), web.NewTransport(c.base, c.proxies), nil).Middleware(func(echo.Context, error) {}))
			e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
			r.RemoteAddr = "192.0.2.7:1"
			if c.said != "" {
				r.Header.Set("X-Forwarded-Proto", c.said)
			}
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			want := ""
			if c.secure {
				want = "max-age=31536000"
			}
			assert.Equal(t, want, w.Header().Get("Strict-Transport-Security"))
		})
	}
}
