package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What others wrote (messages, answers of providers, cells of a file) is printed so that it can be
// read and does nothing: characters that move the cursor, change colours and titles, or turn the
// direction of writing to show something else than is there, are spelled out.

// oneLine makes a text of any origin fit for one line of a terminal.
func oneLine(s string) string { return spelled(s, "", `\u%04x`) }

// manyLines is oneLine for a text that has lines and tabs.
func manyLines(s string) string {
	return spelled(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t", `\u%04x`)
}

// hypertext is manyLines for HTML, which has a way to spell such characters that keeps their
// meaning.
func hypertext(s string) string {
	return spelled(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t", "&#x%x;")
}

// spelled writes active characters, but for the allowed ones, in another form, and what is no UTF-8
// as U+FFFD.
func spelled(s, allowed, form string) string {
	isWrong := func(r rune) bool { return isActive(r) && !strings.ContainsRune(allowed, r) }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, isWrong) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // Bytes that are no UTF-8 come as U+FFFD.
		if isWrong(r) {
			fmt.Fprintf(&b, form, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isActive reports whether a character does something: the control characters of ASCII and of Latin
// 1, separators of lines and paragraphs, and what turns the direction of writing.
func isActive(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\u200e' || r == '\u200f' || r == '\u061c' ||
		'\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}
