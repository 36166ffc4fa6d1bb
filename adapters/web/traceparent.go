package web

import (
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"
)

// traceparentForm is the form of version 00 of the header (W3C Trace Context).
var traceparentForm = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// Traceparent is what the caller says of its trace; empty when it says nothing, or nothing that can
// be understood.
func Traceparent(c echo.Context) string {
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
