package httpapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// Names under which a request's context carries what its log line tells.
const (
	routeName = "route"
	keyName   = "key"
)

// observe surrounds everything else: it names the request, sets the headers that every answer has, catches panics, and
// logs one line. The line tells the route and never the path, which holds usernames and e-mail addresses.
func (a *API) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := a.clock.Now()
		header := c.Response().Header()
		header.Set(echo.HeaderXRequestID, requestID(c.Request().Header.Get(echo.HeaderXRequestID)))
		header.Set(echo.HeaderXContentTypeOptions, "nosniff")
		header.Set(echo.HeaderReferrerPolicy, "no-referrer")
		header.Set(echo.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
		header.Set(echo.HeaderCacheControl, "no-store")

		err := a.attempt(c, next)
		cut := err != nil && c.Response().Committed
		if err != nil && !cut {
			a.fail(c, err)
		}
		a.logRequest(c, a.clock.Now().Sub(start))
		if cut {
			a.logCut(c, err)
			panic(http.ErrAbortHandler) // Half an answer must not look like a whole one: the server cuts the connection.
		}
		return nil
	}
}

// attempt turns a panic into an error.
func (a *API) attempt(c echo.Context, next echo.HandlerFunc) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return next(c)
}

func (a *API) logRequest(c echo.Context, took time.Duration) {
	level := slog.LevelInfo
	route, _ := c.Get(routeName).(string)
	switch route {
	case "":
		route = "unknown"
	case healthPath, readyPath:
		level = slog.LevelDebug // Probes come every few seconds.
	}
	attributes := []slog.Attr{
		slog.String("id", c.Response().Header().Get(echo.HeaderXRequestID)),
		slog.String("method", known(c.Request().Method)),
		slog.String("route", route),
		slog.Int("status", c.Response().Status),
		slog.Duration("duration", took),
		slog.Int64("bytes", c.Response().Size),
	}
	if key, ok := c.Get(keyName).(string); ok {
		attributes = append(attributes, slog.String("key", key))
	}
	a.log.LogAttrs(c.Request().Context(), level, "request", attributes...)
}

// logCut tells why an answer ends in its middle. A client that went away is no fault of ours.
func (a *API) logCut(c echo.Context, err error) {
	level := slog.LevelError
	if errors.Is(err, errUndelivered) || c.Request().Context().Err() != nil {
		level = slog.LevelDebug
	}
	a.log.LogAttrs(c.Request().Context(), level, "answer cut off",
		slog.String("id", c.Response().Header().Get(echo.HeaderXRequestID)), slog.String("error", err.Error()))
}

// known is the method when it is one of HTTP's; a caller may send any word.
func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// maxRequestID is the longest request id that a caller may choose.
const maxRequestID = 128

// requestID is the caller's own id when it is sane, else a new one.
func requestID(sent string) string {
	const sane = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+="
	if sent == "" || len(sent) > maxRequestID || strings.Trim(sent, sane) != "" {
		return rand.Text()
	}
	return sent
}
