package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// LongestQuote is how many characters of a service's answer a failure repeats.
	LongestQuote = 200
	// LongestPause is the longest pause that a service may ask for.
	LongestPause = 24 * time.Hour
)

// Line turns a text into one line: separators and control characters become spaces.
func Line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// Quote turns a service's answer into a line that can be shown to an operator: printable
// characters, at most LongestQuote of them.
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

// RetryAfter parses how long a service asks us to wait: whole seconds or a date, at most
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
