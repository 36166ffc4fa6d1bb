package web

import (
	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/ports"
)

// Traceparent returns the parent span for work that a request starts: the span of the request, or
// that of the caller if requests are not traced; empty if there is none.
func Traceparent(c echo.Context) string {
	if own := ports.SpanOf(c.Request().Context()).Traceparent(); own != "" {
		return own
	}
	return callerTraceparent(c)
}

// callerTraceparent returns the caller's traceparent header; empty when it is absent or invalid.
func callerTraceparent(c echo.Context) string {
	all := c.Request().Header.Values("Traceparent")
	if len(all) != 1 {
		return ""
	}
	if _, _, _, ok := ports.ParseTraceparent(all[0]); !ok {
		return ""
	}
	return all[0]
}
