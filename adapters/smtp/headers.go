package smtp

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Lengths of header lines (RFC 5322 and 2047).
const (
	longestLine = 76  // characters of a line with encoded words, without its end
	longestWord = 75  // characters of an encoded word
	longestAtom = 900 // characters of a word that stays as it is; a line must have less than 998
)

// How an encoded word begins and ends.
const (
	wordBegin = "=?utf-8?q?"
	wordEnd   = "?="
)

// subject writes the value of a subject, folded, so that whoever decodes it gets the text and
// nothing else: what would read as an encoded word is encoded, and the first line is never empty.
func subject(text string) string {
	const name = "Subject: "
	words := strings.Split(text, " ")
	if !isPlain(text) {
		words = encodedWords(text, longestLine-len(name))
	}
	var folded strings.Builder
	room := longestLine - len(name)
	for i, word := range words {
		switch {
		case i == 0:
		case room <= len(word):
			folded.WriteString("\r\n ")
			room = longestLine - 1
		default:
			folded.WriteString(" ")
			room--
		}
		folded.WriteString(word)
		room -= len(word)
	}
	return folded.String()
}

// isPlain reports whether a text can stand in a header as it is.
func isPlain(text string) bool {
	for word := range strings.SplitSeq(text, " ") {
		if len(word) > longestAtom {
			return false
		}
	}
	return !strings.Contains(text, "=?") && strings.TrimSpace(text) == text && !strings.Contains(text, "  ") &&
		strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// encodedWords writes a text as encoded words (RFC 2047); the first has at most so many characters.
// No character is divided among two.
func encodedWords(text string, first int) []string {
	var words []string
	word, room := wordBegin, first-len(wordEnd)
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		encoded := encodedRune(r)
		if len(word)+len(encoded) > room {
			words = append(words, word+wordEnd)
			word, room = wordBegin, longestWord-len(wordEnd)
		}
		word += encoded
	}
	return append(words, word+wordEnd)
}

// encodedRune is a character of an encoded word.
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

// longestListID is how many characters an identity of a list has at most (RFC 2919).
const longestListID = 255

// listID is the identity of the list that a message belongs to (RFC 2919): all messages of an event
// have one, by which recipients sort them. Empty: it belongs to none.
func listID(facts map[string]string, from string) string {
	parts := make([]string, 0, 5)
	for _, name := range []string{"event", "application", "project", "organization"} {
		if !atoms.MatchString(facts[name]) {
			return ""
		}
		parts = append(parts, facts[name])
	}
	id := strings.Join(append(parts, from[strings.LastIndexByte(from, '@')+1:]), ".")
	if len(id) > longestListID {
		return ""
	}
	return "<" + id + ">"
}
