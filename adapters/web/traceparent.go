package web

import (
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/ports"
)

// traceparentForm is the form of version 00 of the header (W3C Trace Context).
var traceparentForm = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// Traceparent names the span that what a request leads to belongs to: that of the request, else,
// where requests are not traced, the caller's. Empty: there is none.
func Traceparent(c echo.Context) string {
	if own := ports.SpanOf(c.Request().Context()).Traceparent(); own != "" {
		return own
	}
	return caller(c)
}

// traceOf is the id of the trace of a traceparent.
func traceOf(traceparent string) string { return traceparent[3:35] }

// caller is what the caller says of its trace; empty when it says nothing, or nothing that can be
// understood.
func caller(c echo.Context) string {
	all := c.Request().Header.Values("Traceparent")
	if len(all) != 1 || !traceparentForm.MatchString(all[0]) {
		return ""
	}
	trace, span := all[0][3:35], all[0][36:52]
	if strings.Trim(trace, "0") == "" || strings.Trim(span, "0") == "" {
		return "" // Neither may be all zeros.
	}
	return all[0]
}
