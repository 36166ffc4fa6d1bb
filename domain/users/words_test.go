package users_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

// named returns a member with only a last name.
func named(last string) users.Member { return users.Member{Details: users.Details{LastName: last}} }

// finds reports whether a search finds a member.
func finds(m users.Member, addresses, searchable []string, text string) bool {
	words := users.Words(m, addresses, searchable)
	terms := users.Terms(text)
	for _, term := range terms {
		if !slices.ContainsFunc(words, func(w string) bool { return term <= w && w < term+users.PrefixEnd }) {
			return false
		}
	}
	return len(terms) > 0
}

func TestWords(t *testing.T) {
	t.Parallel()
	ada := users.Member{User: users.User{Username: "ada_k"}, Details: users.Details{Email: "Ada.King@mail.example.org", FirstName: "Ada Augusta", LastName: "King-Noël"},
		CustomFields: metadata.Map{"external_id": "00-17", "team": []any{"Night", "Day"}, "secret": "hidden"}}
	addresses, searchable := []string{"+4930123456", "https://chat.example.net/ada"}, []string{"external_id", "team"}
	for _, text := range []string{
		"ada", "AUG", "king", "king-n", "noel", "ada_", "k", "ada.king@mail", "king@mail.example.org", "example.org", "mail.exa", "+49 30 123456", "030 123456", "030/12", "(030) 12345",
		"0049 30 123456", "4930", "3012", "chat", "example.net/a", "00-17", "17", "night", "day", "ada king night",
	} {
		assert.True(t, finds(ada, addresses, searchable, text), text)
	}
	for _, text := range []string{"", "  ", "%", "@", "ugust", "ing", "org", "hidden", "ada x", "30 123456", "\x00"} {
		assert.False(t, finds(ada, addresses, searchable, text), text)
	}
}

// TestTermsOfDigits is about phone numbers, and ids that look like phone numbers.
func TestTermsOfDigits(t *testing.T) {
	t.Parallel()
	member := users.Member{CustomFields: metadata.Map{"external_id": []any{"0000123456", "0012345678", "00-17-0042", "00017", "0815-4711b", "customer 09-99-99", "0711-4711-4711-0815-4711-0815", "０４２１ ５５５５"}}}
	addresses := []string{"+4930123456", "+12125550123", "+39066982"}
	for _, text := range []string{
		"0000123456", "00001", "0012345678", "00123", "00-17", "00-17-0042", "00017", "0815-4711", "0815 4711", "08154711", "0815-4711b", "09-99-9", "customer 09-99", "0711-4711", "0711-4711-4711-0815-4711", "0421 5555", "+49 (0)30 123456", "+49(0)30/123456", "0049 (0)30 123456",
		"004930123456", "00493012345", "0012125550123", "001 212 555", "00390 66982", "+39 06 6982",
	} {
		assert.True(t, finds(member, addresses, []string{"external_id"}, text), "%s: %q", text, users.Terms(text))
	}
	for _, text := range []string{"0000999", "+49 (0)31", "0049 (0)31", "0012345679", "0815-4711c"} {
		assert.False(t, finds(member, addresses, []string{"external_id"}, text), text)
	}
}

func TestWordsAreFolded(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"Müller", "MÜLLER", "Mu\u0308ller", "muller", "Mueller", "Ｍüller"}, {"Größe", "groesse", "GROSSE"}, {"Ægir", "aegir", "agir"}, {"Łukasz", "lukasz"}, {"Ørsted", "oersted", "orsted"},
		{"O'Brien", "O’Brien", "obrien"}, {"Ёлкин", "Елкин"}, {"ΣΊΣΥΦΟΣ", "σισυφος"}, {"山田", "山田"}, {"가나", "\u1100\u1161\u1102\u1161"}, {"ｶﾞｰﾄﾞ", "ガード"}, {"ﬁn", "fin"},
	} {
		for _, stored := range same {
			for _, asked := range same {
				assert.True(t, finds(named(stored), nil, nil, asked), "%s by %s", stored, asked)
			}
		}
	}
	assert.False(t, finds(named("が"), nil, nil, "か"), "marks of other scripts count")
	assert.True(t, finds(named("山田太郎"), nil, nil, "太郎"), "a script without spaces has words everywhere")
}

func TestWordsSortExactMatchesFirst(t *testing.T) {
	t.Parallel()
	begins := func(last string) string {
		words := users.Words(users.Member{Details: users.Details{FirstName: "Ann", LastName: last}}, nil, nil)
		return words[slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "ann") })]
	}
	order := []string{begins("Adler"), begins("Zorn"), users.Words(named("Anna"), nil, nil)[0]}
	assert.True(t, slices.IsSorted(order), order)
}

func TestWordsAreBounded(t *testing.T) {
	t.Parallel()
	many := make([]any, 500)
	for i := range many {
		many[i] = strings.Repeat(string(rune('a'+i%26)), 1+i) + " " + strings.Repeat("太", 300)
	}
	words := users.Words(users.Member{CustomFields: metadata.Map{"m": many}}, nil, []string{"m"})
	assert.Len(t, words, 100)
	for _, w := range words {
		assert.LessOrEqual(t, len([]rune(w)), 64+1+24)
	}
	assert.Len(t, users.Terms("a b c d e f g h i j"), 8)
	assert.Equal(t, []string{"a"}, users.Terms("a A Ä"), "each once")
}

func TestParseText(t *testing.T) {
	t.Parallel()
	text, err := users.ParseText("q", " a b ")
	require.NoError(t, err)
	assert.Equal(t, "a b", text)
	for _, wrong := range []string{strings.Repeat("ä", 201), "a\x00", "\xff"} {
		_, err := users.ParseText("q", wrong)
		assert.Equal(t, fault.Invalid, fault.KindOf(err), wrong)
	}
}

// TestNumbersDisplaceNoWords is about a member with more words than are indexed.
func TestNumbersDisplaceNoWords(t *testing.T) {
	t.Parallel()
	many := make([]any, 48)
	for i := range many {
		many[i] = fmt.Sprintf("0815-40%02d", i)
	}
	m := users.Member{CustomFields: metadata.Map{"ids": many, "external_id": "K-77"}}
	assert.True(t, finds(m, nil, []string{"ids", "external_id"}, "K-77"))
}

// TestTermsOfNumbers is about searches while the user is typing a number.
func TestTermsOfNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[+0]{0,3}[0-9./ -]{1,24}[x1]?`).Draw(t, "name")
		typed := name[:rapid.IntRange(1, len(name)).Draw(t, "typed")]
		if len(users.Terms(typed)) == 0 {
			return
		}
		require.True(t, finds(named(name), nil, nil, typed), "%q by %q: %q, %q", name, typed, users.Terms(typed), users.Words(named(name), nil, nil))
	})
}

// TestTermsPrefixes is about searches while the user is typing.
func TestTermsPrefixes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.RuneFrom([]rune("aeouüßéÉœ-.@'x1太か")), 1, 12, -1).Draw(t, "name")
		typed := []rune(name)
		typed = typed[:rapid.IntRange(1, len(typed)).Draw(t, "typed")]
		if len(users.Terms(string(typed))) == 0 || strings.Contains(name, "@") {
			return
		}
		require.True(t, finds(named(name), nil, nil, string(typed)), "%q by %q: %q", name, string(typed), users.Words(named(name), nil, nil))
		for _, w := range users.Words(named(name), nil, nil) {
			require.Regexp(t, `^[^ ]+ `, w, "a word has no space")
		}
	})
}
