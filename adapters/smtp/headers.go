package smtp

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Lengths of header lines (RFC 5322 and 2047).
const (
	maxLine = 76  // characters of a line with encoded words, without CRLF
	maxWord = 75  // characters of an encoded word
	maxAtom = 900 // characters of a word that is not encoded; a line has at most 998
)

// How an encoded word begins and ends.
const (
	wordBegin = "=?utf-8?q?"
	wordEnd   = "?="
)

// subject encodes and folds a subject, so that a decoder gets exactly the text. It also encodes
// text that looks like an encoded word, and never leaves the first line empty.
func subject(text string) string {
	const name = "Subject: "
	words := strings.Split(text, " ")
	if !isPlain(text) {
		words = encodedWords(text, maxLine-len(name))
	}
	var folded strings.Builder
	room := maxLine - len(name)
	for i, word := range words {
		switch {
		case i == 0:
		case room <= len(word):
			folded.WriteString("\r\n ")
			room = maxLine - 1
		default:
			folded.WriteString(" ")
			room--
		}
		folded.WriteString(word)
		room -= len(word)
	}
	return folded.String()
}

// isPlain reports whether a text needs no encoding in a header.
func isPlain(text string) bool {
	for word := range strings.SplitSeq(text, " ") {
		if len(word) > maxAtom {
			return false
		}
	}
	return !strings.Contains(text, "=?") && strings.TrimSpace(text) == text && !strings.Contains(text, "  ") &&
		strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// encodedWords encodes a text as encoded words (RFC 2047); the first has at most first characters.
// No character is split between two words.
func encodedWords(text string, first int) []string {
	var words []string
	word, room := wordBegin, first-len(wordEnd)
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		encoded := encodedRune(r)
		if len(word)+len(encoded) > room {
			words = append(words, word+wordEnd)
			word, room = wordBegin, maxWord-len(wordEnd)
		}
		word += encoded
	}
	return append(words, word+wordEnd)
}

// encodedRune encodes a character of an encoded word.
func encodedRune(r rune) string {
	switch {
	case r == ' ':
		return "_"
	case r > ' ' && r <= '~' && r != '=' && r != '?' && r != '_':
		return string(r)
	}
	var encoded strings.Builder
	for _, b := range utf8.AppendRune(nil, r) {
		fmt.Fprintf(&encoded, "=%02X", b)
	}
	return encoded.String()
}

// maxListID is the maximum length of a List-Id, in characters (RFC 2919).
const maxListID = 255

// listID returns the List-Id of a message (RFC 2919), by which recipients can filter all messages
// of an event. Empty: there is none.
func listID(facts map[string]string, from string) string {
	parts := make([]string, 0, 5)
	for _, name := range []string{"event", "application", "project", "organization"} {
		if !atoms.MatchString(facts[name]) {
			return ""
		}
		parts = append(parts, facts[name])
	}
	id := strings.Join(append(parts, from[strings.LastIndexByte(from, '@')+1:]), ".")
	if len(id) > maxListID {
		return ""
	}
	return "<" + id + ">"
}
