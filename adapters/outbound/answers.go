package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// MaxQuote is the maximum number of characters of a service's answer that a failure quotes.
	MaxQuote = 200
	// MaxRetryAfter is the longest pause that a service may request.
	MaxRetryAfter = 24 * time.Hour
)

// Line turns a text into one line: separators and control characters become spaces.
func Line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// Quote turns a service's answer into a line that can be shown to an operator: printable
// characters, at most MaxQuote of them.
func Quote(s string) string {
	return Cut(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " "))
}

// Cut shortens a line to MaxQuote characters.
func Cut(s string) string {
	if runes := []rune(s); len(runes) > MaxQuote {
		return string(runes[:MaxQuote]) + "…"
	}
	return s
}

// RetryAfter parses a Retry-After header: whole seconds or a date, at most MaxRetryAfter. It
// returns 0 if the header is missing or invalid.
func RetryAfter(header string, now time.Time) time.Duration {
	var pause time.Duration
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil {
		pause = time.Duration(min(max(seconds, 0), int(MaxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		pause = date.Sub(now)
	}
	return min(max(pause, 0), MaxRetryAfter)
}

// MayHavePassedOn reports whether a status is that of a gateway that may have passed the request
// on: it got no good answer, or none in time.
func MayHavePassedOn(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout
}
