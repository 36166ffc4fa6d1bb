package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/domain/fault"
)

// ErrNoSuchPath answers for a path that leads nowhere.
var ErrNoSuchPath = fault.New(fault.NotFound, "there is nothing at this path")

// Nowhere is the path of a request whose own can name nothing. No route has it.
const Nowhere = "//"

// Canonical gives every spelling of a path the one form in which routes are looked up: each segment
// decoded once and encoded again the same way, with a slash at the end. Echo routes by RawPath,
// which the server sets for some spellings only; here it is set always, so that a parameter is
// always still encoded, exactly once.
func Canonical(r *http.Request) *http.Request {
	path, ok := canonical(r.URL.EscapedPath())
	if !ok {
		path = Nowhere
	}
	u := *r.URL
	u.RawPath = path
	r = r.WithContext(r.Context()) // A copy: the caller's request stays as it is.
	r.URL = &u
	return r
}

// canonical is false for a path that can name nothing: it has an empty segment, or text that no
// name can hold.
func canonical(escaped string) (path string, ok bool) {
	escaped = strings.TrimSuffix(strings.TrimPrefix(escaped, "/"), "/")
	if escaped == "" {
		return "/", true
	}
	var b strings.Builder
	b.Grow(len(escaped) + 2)
	for segment := range strings.SplitSeq(escaped, "/") {
		name, err := url.PathUnescape(segment)
		if err != nil || name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			return "", false
		}
		b.WriteByte('/')
		b.WriteString(url.PathEscape(name))
	}
	b.WriteByte('/')
	return b.String(), true
}

// Join joins segments of a path, each as one, with a slash behind each.
func Join(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString(url.PathEscape(s))
		b.WriteByte('/')
	}
	return b.String()
}

// RefuseOptions answers OPTIONS like any other method that a path does not have; Echo would answer
// 204.
func RefuseOptions(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodOptions && c.Get(echo.ContextKeyHeaderAllow) != nil {
			return echo.MethodNotAllowedHandler(c)
		}
		return next(c)
	}
}

// Param is a path parameter, decoded; empty when the route has none of this name.
func Param(c echo.Context, name string) string {
	s, err := url.PathUnescape(c.Param(name))
	if err != nil {
		return "" // Impossible: Canonical encoded it.
	}
	return s
}

// ID is a path parameter that must be a positive integer; what is none names nothing.
func ID[T ~int64](c echo.Context, name string) (T, error) {
	text := Param(c, name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || text[0] < '1' || text[0] > '9' {
		return 0, ErrNoSuchPath.With("there is nothing at this path: {%s} is a positive whole number", name).On(name)
	}
	return T(n), nil
}
