package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text from others (messages, answers of providers, cells of a file) is printed so that it is
// readable and harmless: characters that move the cursor, change colours or titles, or change the
// direction of writing to display something else are escaped.

// oneLine makes any text fit for one line of a terminal.
func oneLine(s string) string { return spelled(s, "", `\u%04x`) }

// manyLines is oneLine for a text with lines and tabs.
func manyLines(s string) string {
	return spelled(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t", `\u%04x`)
}

// hypertext is manyLines for HTML, whose escapes keep the meaning of such characters.
func hypertext(s string) string {
	return spelled(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t", "&#x%x;")
}

// spelled escapes active characters, except the allowed ones, and replaces invalid UTF-8 with
// U+FFFD.
func spelled(s, allowed, form string) string {
	isWrong := func(r rune) bool { return isActive(r) && !strings.ContainsRune(allowed, r) }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, isWrong) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // Invalid bytes come as U+FFFD.
		if isWrong(r) {
			fmt.Fprintf(&b, form, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isActive reports whether a character has an effect: ASCII and Latin 1 control characters, line
// and paragraph separators, and characters that change the direction of writing.
func isActive(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\u200e' || r == '\u200f' || r == '\u061c' ||
		'\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}
