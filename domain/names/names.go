// Package names holds the rules for the words that people choose: labels, slugs and the folded form
// under which two spellings count as one. It knows nothing of what is being named.
package names

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tocsin/tocsin/domain/fault"
)

// Limits, in characters (decisions 2).
const (
	MaxLabel      = 200
	MaxIdentifier = 254 // usernames and e-mail addresses
	MaxSlug       = 100
)

// Fold returns the form under which names are compared "without regard to case": NFC, then lower
// case. It is the only such function; its result is stored in a column of its own and never left to
// a database's lower() or collation, which differ.
func Fold(s string) string { return strings.ToLower(norm.NFC.String(s)) }

// Label trims a display name and checks it: not empty, at most MaxLabel characters, no control
// characters. field names it in the error.
func Label(field, s string) (string, error) { return required(field, s, MaxLabel) }

// OptionalLabel is Label for a name that may be missing.
func OptionalLabel(field, s string) (string, error) { return checked(field, s, MaxLabel) }

// Identifier trims a username and checks it like a label of at most MaxIdentifier characters. It
// refuses invisible characters.
func Identifier(field, s string) (string, error) {
	s, err := required(field, s, MaxIdentifier)
	if err != nil || isPrintableASCII(s) {
		return s, err
	}
	if r, found := Invisible(s); found {
		return "", fault.Field(field, "contains the invisible character %U", r)
	}
	return s, nil
}

// Invisible returns the first character of s that cannot be seen, or that looks like a space and is
// none. The joiners of letters and emoji, the tags of flags and the full-width space are allowed.
func Invisible(s string) (r rune, found bool) {
	const nonJoiner, joiner, firstTag, lastTag, fullWidthSpace = '\u200c', '\u200d', '\U000e0020', '\U000e007f', '\u3000'
	for _, r := range s {
		switch {
		case r == ' ', r == fullWidthSpace, r == nonJoiner, r == joiner, firstTag <= r && r <= lastTag, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		case unicode.IsSpace(r), unicode.Is(unicode.Cf, r):
			return r, true
		}
	}
	return 0, false
}

// Slug checks an identifier of a URL path: 1 to MaxSlug lower-case letters, digits, `-` and `_`.
func Slug(field, s string) (string, error) {
	s, err := required(field, s, MaxSlug)
	if err != nil {
		return "", err
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return "", fault.Field(field, "must consist of lower-case letters, digits, - and _")
		}
	}
	return s, nil
}

func required(field, s string, limit int) (string, error) {
	s, err := checked(field, s, limit)
	if err == nil && s == "" {
		return "", fault.Field(field, "is required")
	}
	return s, err
}

func checked(field, s string, limit int) (string, error) {
	s = strings.TrimSpace(s)
	if len(s) <= limit && isPrintableASCII(s) {
		return s, nil // It passes all checks below; imports call this for millions of cells.
	}
	if !utf8.ValidString(s) {
		return "", fault.Field(field, "is not valid UTF-8")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "", fault.Field(field, "contains a control character")
	}
	if utf8.RuneCountInString(s) > limit {
		return "", fault.Field(field, "is longer than %d characters", limit)
	}
	return s, nil
}

func isPrintableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
