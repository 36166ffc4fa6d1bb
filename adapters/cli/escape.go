package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The functions in this file escape untrusted text (messages, responses of providers, cells of a
// file) for a terminal: control characters, and characters that change the direction of writing.

// oneLine escapes a text for one line of a terminal.
func oneLine(s string) string { return escape(s, "", `\u%04x`) }

// multiLine is oneLine, but keeps line breaks and tabs.
func multiLine(s string) string {
	return escape(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t", `\u%04x`)
}

// escapeHTML is multiLine with character references of HTML.
func escapeHTML(s string) string {
	return escape(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t", "&#x%x;")
}

// escape escapes control characters except the allowed ones, and replaces invalid UTF-8 with
// U+FFFD.
func escape(s, allowed, form string) string {
	isWrong := func(r rune) bool { return isControl(r) && !strings.ContainsRune(allowed, r) }
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

// isControl reports whether a character is an ASCII or Latin 1 control character, a line or
// paragraph separator, or changes the direction of writing.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\u200e' || r == '\u200f' || r == '\u061c' ||
		'\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}
