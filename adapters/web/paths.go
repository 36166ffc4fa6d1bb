package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/domain/fault"
)

// ErrNoSuchPath is the fault of a path without a route.
var ErrNoSuchPath = fault.New(fault.NotFound, "there is nothing at this path")

// InvalidPath replaces an invalid path. No route matches it.
const InvalidPath = "//"

// Canonical rewrites the path of a request to the canonical form for routing: each segment decoded
// and encoded once, with a slash at the end. Echo routes by RawPath, which the server sets only for
// some encodings. Canonical always sets it, so that parameters are always encoded exactly once.
func Canonical(r *http.Request) *http.Request {
	path, ok := canonical(r.URL.EscapedPath())
	if !ok {
		path = InvalidPath
	}
	u := *r.URL
	u.RawPath = path
	r = r.WithContext(r.Context()) // A copy: the caller's request must not change.
	r.URL = &u
	return r
}

// canonical returns false for an invalid path: one with an empty segment, invalid UTF-8 or NUL.
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

// Join encodes and joins segments of a path, each followed by a slash.
func Join(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString(url.PathEscape(s))
		b.WriteByte('/')
	}
	return b.String()
}

// RefuseOptions answers OPTIONS with 405 like any other unsupported method. Echo would answer 204.
func RefuseOptions(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodOptions && c.Get(echo.ContextKeyHeaderAllow) != nil {
			return echo.MethodNotAllowedHandler(c)
		}
		return next(c)
	}
}

// Param returns a path parameter, decoded; empty when the route does not have it.
func Param(c echo.Context, name string) string {
	s, err := url.PathUnescape(c.Param(name))
	if err != nil {
		return "" // Cannot happen: Canonical encoded it.
	}
	return s
}

// idsKey is the context key of the ids in the path.
const idsKey = "tocsin.web.ids"

// ReadIDs reads the path parameters with these names, in this order; a route does not need to have
// all of them. They must be positive integers; any other value is
// ErrNoSuchPath.
func ReadIDs(c echo.Context, names ...string) error {
	var ids map[string]int64
	for _, name := range names {
		if !slices.Contains(c.ParamNames(), name) {
			continue
		}
		text := Param(c, name)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 || text[0] < '1' || text[0] > '9' {
			return ErrNoSuchPath.With("there is nothing at this path: {%s} is a positive whole number", name).On(name)
		}
		if ids == nil { // Most calls have none.
			ids = map[string]int64{}
			c.Set(idsKey, ids)
		}
		ids[name] = n
	}
	return nil
}

// ID returns a path parameter that ReadIDs has read. It panics for any other parameter.
func ID[T ~int64](c echo.Context, name string) T {
	ids, _ := c.Get(idsKey).(map[string]int64)
	id, read := ids[name]
	if !read {
		panic("web: {" + name + "} was not read as an id")
	}
	return T(id)
}
