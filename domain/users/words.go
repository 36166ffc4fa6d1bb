package users

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/unicode/norm"

	"github.com/tocsin/tocsin/domain/fault"
)

// Limits of what people are found by.
const (
	MaxText  = 200 // characters of what is searched for
	maxTerms = 8   // words of it that count
	maxWords = 100 // that one member is found by
	maxWord  = 64  // characters of a word that count
	maxName  = 24  // characters of a name that put members with the same word in order
)

// PrefixEnd sorts after every word with a prefix when it is appended to the prefix.
const PrefixEnd = "\U0010FFFF"

// ParseText checks the text of a search.
func ParseText(field, s string) (string, error) {
	s = strings.TrimSpace(s)
	switch {
	case !utf8.ValidString(s):
		return "", fault.Field(field, "is not valid UTF-8")
	case utf8.RuneCountInString(s) > MaxText:
		return "", fault.Field(field, "is longer than %d characters", MaxText)
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", fault.Field(field, "contains a control character")
	}
	return s, nil
}

// Terms returns the words of a search text, each once, folded like Words. A member matches when
// each term begins one of the member's words. A number in groups of digits is one term. A text
// without letters and digits has none.
func Terms(text string) []string {
	if number, rest := numberDigits(text); number != "" && rest == "" {
		if len(number) >= internationalNumber {
			number = strings.TrimPrefix(number, internationalPrefix)
		}
		return []string{number}
	}
	var all []string
	for part := range strings.FieldsFuncSeq(fold(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		term := prefix(strings.TrimLeftFunc(part, func(r rune) bool { return !isLetter(r) }), maxWord)
		if term != "" && !slices.Contains(all, term) && len(all) < maxTerms {
			all = append(all, term)
		}
	}
	return all
}

// MatchesText reports whether each term of a text begins a word of a name.
func MatchesText(name, text string) bool {
	terms, words := Terms(text), wordSet{seen: map[string]bool{}}
	words.add(name)
	words.addNumbers()
	for _, term := range terms {
		if !slices.ContainsFunc(words.words, func(w string) bool { return strings.HasPrefix(w, term) }) {
			return false
		}
	}
	return len(terms) > 0
}

// Lengths of numbers, in digits.
const (
	minNumber           = 5
	maxNumber           = 20 // more do not count
	internationalNumber = 9  // From here on, 00 is the prefix of a country code.
	internationalPrefix = "00"
)

// numberDigits returns the digits of the number with which a text begins, and what follows it. The
// number may be written in groups: a phone number with or without its country code, or an id that
// begins with 0. In +49 (0)30 123456, the zero in parentheses belongs to the number without the
// country code. It returns no digits if there are fewer than minNumber.
func numberDigits(text string) (digits, rest string) {
	text = strings.TrimSpace(text)
	if text == "" || !strings.ContainsRune("+0(", rune(text[0])) {
		return "", text
	}
	number := text[:len(text)-len(strings.TrimLeft(text, "0123456789+ ()/.-"))]
	written := number
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, internationalPrefix) {
		written = strings.Replace(written, "(0)", "", 1)
	}
	digits = strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, written)
	if len(digits) < minNumber {
		digits = ""
	}
	return digits[:min(len(digits), maxNumber)], text[len(number):]
}

// Words are what a member is found by: every part of the names, of the username, of the e-mail and
// the other addresses, and of the metadata with these names, each with what follows it in the same
// word: `ada.king@example.org` is found by `king@ex`. A word is found by its beginning and not by
// what is inside it. Scripts that are written without spaces have no words: there every character
// begins one.
//
// Each word is followed by a space and the beginning of the member's name. So an index over
// words lists members with exactly the searched word first, and sorts members with the same word by
// name.
func Words(m Member, addresses, searchable []string) []string {
	found := wordSet{seen: map[string]bool{}}
	for _, s := range []string{m.FirstName, m.LastName, m.User.Username, m.Email} {
		found.add(s)
	}
	for _, a := range addresses {
		found.add(a)
		found.addPhone(a)
	}
	for _, name := range searchable {
		for _, s := range m.CustomFields.Texts(name) {
			found.add(s)
		}
	}
	name := " " + prefix(strings.TrimSpace(fold(m.LastName+" "+m.FirstName)), maxName)
	found.addNumbers()
	words := make([]string, len(found.words))
	for i, w := range found.words {
		words[i] = w + name
	}
	slices.Sort(words)
	return words
}

// wordSet are words, each once.
type wordSet struct {
	words   []string
	seen    map[string]bool
	numbers []string // that are also words, when there is room for them
}

func (c *wordSet) word(w string) {
	if w = prefix(w, maxWord); w != "" && !c.seen[w] && len(c.words) < maxWords {
		c.seen[w] = true
		c.words = append(c.words, w)
	}
}

// add adds the words of a text. The last part of a domain is left out: it identifies no member.
func (c *wordSet) add(text string) {
	text = fold(prefix(text, MaxText))
	c.noteNumber(text)
	for part := range strings.FieldsSeq(text) {
		c.noteNumber(part)
		domain := strings.LastIndexByte(part, '@')
		before := rune(0)
		for i, r := range part {
			begins := isLetter(r) && (!isLetter(before) || unspaced(r))
			if begins && (domain <= 0 || i <= domain || strings.Contains(part[i:], ".")) {
				c.word(part[i:])
			}
			before = r
		}
	}
}

// noteNumber notes the number with which a text begins, as Terms reads it.
func (c *wordSet) noteNumber(text string) {
	if number, _ := numberDigits(text); number != "" {
		c.numbers = append(c.numbers, number, strings.TrimPrefix(number, internationalPrefix))
	}
}

// addNumbers adds the numbers, after all other words.
func (c *wordSet) addNumbers() {
	for _, number := range c.numbers {
		c.word(number)
	}
}

// addPhone adds the ways in which a number is dialed within its country.
func (c *wordSet) addPhone(value string) {
	if !strings.HasPrefix(value, "+") {
		return
	}
	if n, err := phonenumbers.Parse(value, ""); err == nil {
		national := phonenumbers.GetNationalSignificantNumber(n)
		c.word(national)
		c.word("0" + national)
	}
}

// isLetter reports whether a word can begin with a character.
func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// unspaced reports whether a character is of a script that is written without spaces.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// spellings are letters that Unicode does not take apart, in letters that people type for them.
var spellings = strings.NewReplacer("ß", "ss", "æ", "a", "œ", "o", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ħ", "h", "ı", "i", "ς", "σ",
	"'", "", "’", "", "ʼ", "", "`", "", "´", "")

// fold is the form in which words are compared: without regard to case, width, and the marks of
// Latin, Greek and Cyrillic letters. An e after a, o or u does not count, so that Müller, Mueller
// and Muller are one name.
func fold(s string) string {
	if !plain(s) {
		s = unmarked(spellings.Replace(strings.ToLower(norm.NFKC.String(s))))
	} else {
		s = strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(s), "'", ""), "`", "")
	}
	var b strings.Builder
	b.Grow(len(s))
	before := rune(0)
	for _, r := range s {
		if r == 'e' && (before == 'a' || before == 'o' || before == 'u') {
			before = 0
			continue
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// plain reports whether a text is ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unmarked is a text without the marks of letters whose marks do not count.
func unmarked(s string) string {
	bare := false
	kept := strings.Map(func(r rune) rune {
		if !unicode.Is(unicode.Mn, r) {
			bare = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
			return r
		}
		if bare {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
	return norm.NFC.String(kept)
}

// prefix returns the beginning of a text. Its length is limited to most characters.
func prefix(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}
