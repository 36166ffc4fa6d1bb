package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// LongestQuote is how many characters of what a service says a failure repeats.
	LongestQuote = 200
	// LongestPause is how long a service may want to be left alone.
	LongestPause = 24 * time.Hour
)

// Line makes one line of a text: what separates or controls becomes a space.
func Line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// Quote makes a line of what a service says that can be shown to an operator: of what can be
// printed, and at most LongestQuote characters.
func Quote(s string) string {
	return Cut(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " "))
}

// Cut shortens a line to LongestQuote characters.
func Cut(s string) string {
	if runes := []rune(s); len(runes) > LongestQuote {
		return string(runes[:LongestQuote]) + "…"
	}
	return s
}

// RetryAfter reads how long a service wants to be left alone: whole seconds or a date, at most
// LongestPause. It is 0 when the header does not say.
func RetryAfter(header string, now time.Time) time.Duration {
	var pause time.Duration
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil {
		pause = time.Duration(min(seconds, int(LongestPause/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		pause = date.Sub(now)
	}
	return min(max(pause, 0), LongestPause)
}
