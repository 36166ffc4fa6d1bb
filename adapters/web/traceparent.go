package web

import (
	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/ports"
)

// Traceparent names the span that what a request leads to belongs to: that of the request, else,
// where requests are not traced, the caller's. Empty: there is none.
func Traceparent(c echo.Context) string {
	if own := ports.SpanOf(c.Request().Context()).Traceparent(); own != "" {
		return own
	}
	return caller(c)
}

// caller is what the caller says of its trace; empty when it says nothing, or nothing that can be
// understood.
func caller(c echo.Context) string {
	all := c.Request().Header.Values("Traceparent")
	if len(all) != 1 {
		return ""
	}
	if _, _, _, ok := ports.ParseTraceparent(all[0]); !ok {
		return ""
	}
	return all[0]
}
