package operators

import (
	_ "embed" // for the list of common passwords
	"strings"
	"unicode"
	"unicode/utf8"
)

// commonPasswords holds the most common passwords in lower case, one on each line. They are those
// of Django's CommonPasswordValidator (5.2, BSD license, see common-passwords.LICENSE) that have
// four characters or more.
//
//go:embed common-passwords.txt
var commonPasswords string

// isCommon reports whether a password is on the list of the most common ones, whatever the case of
// its letters. A password also counts as common when it is a word of the list with digits or signs
// around it that are no longer than the word.
func isCommon(password string) bool {
	folded := strings.ToLower(password)
	if isListed(folded) {
		return true
	}
	word := strings.TrimFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) })
	return 2*utf8.RuneCountInString(word) >= utf8.RuneCountInString(folded) && isListed(word)
}

// isListed reports whether a text is a line of the list; it holds no line break. Reading the whole
// list takes a thousandth of the time of a hash.
func isListed(text string) bool {
	return strings.HasPrefix(commonPasswords, text+"\n") || strings.Contains(commonPasswords, "\n"+text+"\n")
}
