package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// corsAge is how long a browser may cache the response to a preflight, in seconds.
const corsAge = 600

// The headers that scripts of other origins may send and read.
var (
	corsRequestHeaders  = []string{echo.HeaderAuthorization, echo.HeaderContentType, headerIdempotencyKey, "If-Match", "If-None-Match", echo.HeaderXRequestID}
	corsResponseHeaders = []string{echo.HeaderXRequestID, headerRateLimit, headerRateLimitPolicy, echo.HeaderRetryAfter, headerReplayed, "Link", headerTotal, headerAtLeast, "ETag", echo.HeaderAllow,
		echo.HeaderWWWAuthenticate}
)

// cors allows scripts from these origins to use the API. They need a key like every client; cookies
// are not used. A preflight needs no key. Without origins it does nothing.
func cors(origins []string) echo.MiddlewareFunc {
	if len(origins) == 0 {
		return func(next echo.HandlerFunc) echo.HandlerFunc { return next }
	}
	return middleware.CORSWithConfig(middleware.CORSConfig{
		Skipper: func(c echo.Context) bool {
			r := c.Request()
			preflight := r.Header.Get(echo.HeaderOrigin) != "" && r.Header.Get(echo.HeaderAccessControlRequestMethod) != ""
			return !strings.HasPrefix(r.URL.Path, "/api/") || r.Method == http.MethodOptions && !preflight
		},
		AllowOriginFunc: func(origin string) (bool, error) { return slices.Contains(origins, origin), nil },
		AllowHeaders:    corsRequestHeaders,
		ExposeHeaders:   corsResponseHeaders,
		MaxAge:          corsAge,
	})
}
