package users_test

import (
	"net/mail"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/users"
)

// hyphenAtAnEnd matches an address with a label in its domain that begins or ends with a hyphen:
// net/mail takes it, no name server does. An address literal, "[…", has no labels.
var hyphenAtAnEnd = regexp.MustCompile(`@(-|[^@\[][^@]*\.-|[^@\[][^@]*-\.|[^@\[][^@]*-$)[^@]*$`)

// TestDotAtomAddresses checks that the fast path for plain addresses gives the results of net/mail:
// an e-mail address is one that its parser accepts without a name and formats the same way, in a
// domain that can exist, and without invisible characters.
func TestDotAtomAddresses(t *testing.T) {
	t.Parallel()
	byParser := func(s string) bool {
		s = strings.TrimSpace(s)
		if _, found := names.Invisible(s); found {
			return false
		}
		a, err := mail.ParseAddress(s)
		return err == nil && a.Name == "" && !strings.ContainsFunc(s, unicode.IsControl) && !hyphenAtAnEnd.MatchString(s) &&
			(a.Address == s || (&mail.Address{Address: a.Address}).String() == "<"+s+">")
	}
	part := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("aZ09.!#$%&'*+-/=?^_`{|}~@")), 1, 6, -1),
		rapid.StringOfN(rapid.RuneFrom([]rune(" \t\"\\()<>[],;:@.é\u00a0\x7f\x01a")), 1, 2, -1),
		rapid.SampledFrom([]string{"@", "@", ".", "..", "=?utf-8?q?=41?=", "example.org", `"a b"`, "[192.0.2.1]"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), "")
		_, err := users.ParseEmail("email", s)
		assert.Equal(t, byParser(s), err == nil, "%q", s)
	})
}
