package users_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/users"
)

// email returns a valid address with this number of characters.
func email(characters int) string {
	const local, end = "ada@", ".example"
	return local + strings.Repeat("é", characters-len(local)-len(end)) + end
}

func TestParseEmail(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"Plain": "ada@example.org", "SpellingIsKept": "Ada.LOVELACE@Example.ORG", "PlusAndSigns": "a+b_c-d'e!#$%&*/=?^`{|}~@example.org",
		"DomainWithoutADot": "root@localhost", "AddressLiteral": "ada@[192.0.2.1]", "International": "añá@dömäin.example",
		"QuotedSpace": `"ada lovelace"@example.org`, "QuotedAt": `"ada@home"@example.org`, "QuotedQuote": `"a\"b"@example.org`,
		"Longest": email(254), "LongestLocalPart": strings.Repeat("a", 64) + "@example.org", "LongestLabel": "ada@" + strings.Repeat("a", 63) + ".example",
		"HyphensInside": "ada@a--b.x-y.example",
	} {
		t.Run("Accepts/"+name, func(t *testing.T) {
			t.Parallel()
			got, err := users.ParseEmail("email", " \t"+s+"\r\n")
			require.NoError(t, err)
			assert.Equal(t, s, got)
		})
	}
	for name, s := range map[string]string{
		"NoDomain": "ada@", "NoAt": "ada", "NoLocalPart": "@example.org", "EmptyQuotedLocalPart": `""@example.org`,
		"DisplayName": "Ada <ada@example.org>", "QuotedDisplayName": `"Ada" <ada@example.org>`, "AngleBrackets": "<ada@example.org>",
		"CommentAfter": "ada@example.org (Ada)", "CommentBefore": "(Ada) ada@example.org", "CommentWithin": "ada@(home)example.org",
		"TwoAddresses": "ada@example.org,bob@example.org", "TwoAts": "ada@home@example.org", "Group": "all:ada@example.org;",
		"Mailto": "mailto:ada@example.org", "InnerSpace": "ada lovelace@example.org", "SpaceBeforeAt": "ada @example.org",
		"SpaceAfterAt": "ada@ example.org", "SpaceInDomain": "ada@example. org", "LeadingDot": ".ada@example.org",
		"TrailingDot": "ada.@example.org", "DoubleDot": "a..b@example.org", "DomainLeadingDot": "ada@.example.org",
		"DomainDoubleDot": "ada@example..org", "UnnecessaryQuotes": `"ada"@example.org`, "OpenLiteral": "ada@[192.0.2.1",
		"HeaderInjection": "ada@example.org\r\nBcc: bob@example.org", "Tab": "ada\t@example.org", "NUL": "ada\x00@example.org",
		"InvalidUTF8": "ada\xff@example.org", "TooLong": email(255), "LocalPartTooLong": strings.Repeat("a", 65) + "@example.org",
		"LocalPartOfTooManyBytes": strings.Repeat("é", 33) + "@example.org", "LabelTooLong": "ada@" + strings.Repeat("a", 64) + ".example",
		"HyphenBeforeALabel": "a@-x.test", "HyphenAfterALabel": "a@x-.test", "HyphenAtTheEnd": "a@x.test-",
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := users.ParseEmail("to[2]", s)
			assert.Equal(t, []string{"to[2]"}, complaints(t, err))
		})
	}
	t.Run("IsRequired", func(t *testing.T) {
		t.Parallel()
		_, err := users.ParseEmail("email", " ")
		require.EqualError(t, err, "email: is required")
	})
}

func TestNewAddressDerivesTheType(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value, want string
		kind        users.AddressType
	}{
		"Email":                        {" Ada@Example.org ", "Ada@Example.org", users.Email},
		"EmailWithPlusInFront":         {"+ada@example.org", "+ada@example.org", users.Email},
		"LongestEmail":                 {email(254), email(254), users.Email},
		"EmailTooLongToBeOne":          {email(255), email(255), users.Generic},
		"EmailWithDisplayName":         {"Ada <ada@example.org>", "Ada <ada@example.org>", users.Generic},
		"PhoneE164":                    {"+14155552671", "+14155552671", users.Phone},
		"PhoneWithSpacesAndSigns":      {"+1 (415) 555-26.71", "+14155552671", users.Phone},
		"PhoneWithTrunkZero":           {"+49 (0)30 123456", "+4930123456", users.Phone},
		"PhoneThatKeepsItsZero":        {"+39 06 12345678", "+390612345678", users.Phone},
		"PhoneNotPublic":               {"+80012345678", "+80012345678", users.Phone},
		"PhonePossibleThoughNotIssued": {"+1 200 555 0100", "+12005550100", users.Phone},
		"PhoneTooShort":                {"+12", "+12", users.Generic},
		"PhoneTooLong":                 {"+1415555267112345678", "+1415555267112345678", users.Generic},
		"PhoneOfNoCountry":             {"+999123456789", "+999123456789", users.Generic},
		"OnlyAPlus":                    {"+", "+", users.Generic},
		"PlusAndAWord":                 {"+general", "+general", users.Generic},
		"DigitsOfAChat":                {"4155552671", "4155552671", users.Generic},
		"ANegativeNumberOfAChat":       {"-1001234567890", "-1001234567890", users.Generic},
		"FewDigits":                    {"0123", "0123", users.Generic},
		"IPv4":                         {"192.168.10.20", "192.168.10.20", users.Generic},
		"Date":                         {"2024-11-22", "2024-11-22", users.Generic},
		"DigitsAndLetters":             {"0123456-abc", "0123456-abc", users.Generic},
		"PhoneWithFullWidthPlus":       {"＋14155552671", "＋14155552671", users.Generic},
		"TelURI":                       {"tel:+14155552671", "tel:+14155552671", users.Generic},
		"HTTP":                         {"http://example.org", "http://example.org", users.URL},
		"HTTPS":                        {"https://example.org:8443/hook?a=b#c", "https://example.org:8443/hook?a=b#c", users.URL},
		"UpperCaseScheme":              {"HTTPS://Example.ORG/Hook", "HTTPS://Example.ORG/Hook", users.URL},
		"IPv6Host":                     {"http://[::1]:8080/", "http://[::1]:8080/", users.URL},
		"HTTPWithoutHost":              {"http://", "http://", users.Generic},
		"HTTPWithPortOnly":             {"http://:8080/", "http://:8080/", users.Generic},
		"HTTPWithUserOnly":             {"http://ada@/", "http://ada@/", users.Generic},
		"HTTPOpaque":                   {"http:example.org", "http:example.org", users.Generic},
		"HTTPWithASpace":               {"https://exa mple.org", "https://exa mple.org", users.Generic},
		"OtherScheme":                  {"ftp://example.org", "ftp://example.org", users.Generic},
		"NoScheme":                     {"//example.org/hook", "//example.org/hook", users.Generic},
		"Mailto":                       {"mailto:ada@example.org", "mailto:ada@example.org", users.Generic},
		"SlackChannel":                 {"#general", "#general", users.Generic},
		"SlackUser":                    {"U024BE7LH", "U024BE7LH", users.Generic},
		"Longest":                      {strings.Repeat("𝔸", 2048), strings.Repeat("𝔸", 2048), users.Generic},
		"LongestURL":                   {"https://example.org/" + strings.Repeat("a", 2028), "https://example.org/" + strings.Repeat("a", 2028), users.URL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := users.NewAddress(c.value, "")
			require.NoError(t, err)
			assert.Equal(t, users.Address{Value: c.want, Name: string(c.kind), Type: c.kind}, a)
		})
	}
}

func TestNewAddress(t *testing.T) {
	t.Parallel()
	t.Run("PhoneNumberIsDerivedOnce", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			value := rapid.StringMatching(`\+[1-9][0-9]{0,2}[ -/(0)]{0,3}[0-9 ()./-]{3,14}( ext\. ?[0-9]{1,4})?`).Draw(t, "value")
			a, err := users.NewAddress(value, "")
			require.NoError(t, err)
			again, err := users.NewAddress(a.Value, "")
			require.NoError(t, err)
			require.Equal(t, a, again)
			if a.Type == users.Phone {
				require.Regexp(t, `^\+[1-9][0-9]{1,18}$`, a.Value)
			}
		})
	})
	for name, c := range map[string]struct{ region, value, want string }{
		"Area":         {"DE", "030 123456", "+4930123456"},
		"TrunkZero":    {"AT", "06641234567", "+436641234567"},
		"AnotherWay":   {"DE", "0049 30 123456", "+4930123456"},
		"Brackets":     {"US", " (415) 555-2671 ", "+14155552671"},
		"ZeroIsKept":   {"IT", "06 12345678", "+390612345678"},
		"CountryCode":  {"DE", "+1 415 555 2671", "+14155552671"},
		"Impossible":   {"US", "415-555-26711", ""},
		"OtherFormat":  {"US", "030 12", "030 12"},
		"OnlyDigits":   {"US", "4155552671", "4155552671"},
		"NegativeChat": {"US", "-1001234567890", "-1001234567890"},
		"IPv4":         {"DE", "192.168.10.20", "192.168.10.20"},
		"Date":         {"DE", "2024-11-22", "2024-11-22"},
		"NoDate":       {"DE", "2024-13-22", "+4920241322"},
	} {
		t.Run("OfARegion/"+name, func(t *testing.T) {
			t.Parallel()
			a, err := users.NewAddressIn(c.region, c.value, "")
			if c.want == "" {
				require.EqualError(t, err, "value: is no phone number of US, the region of numbers without a country code here")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, a.Value)
		})
	}
	for name, value := range map[string]string{"PhoneWithoutPlus": "004930123456", "PhoneOfOnesOwnCountry": "030 123456", "PhoneWithArea": "(415) 555-2671",
		"PhoneWithSlash": "0664/1234567", "PhoneWithDots": "415.555.2671", "PhoneOfOneLongPart": "030 12345678901", "PhoneWithTrunkZero": "06641234567", "HyphenInDomain": "a@-x.test",
		"LongLocalPart": strings.Repeat("a", 65) + "@example.org"} {
		t.Run("RefusesWhatNobodyReceives/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := users.NewAddress(value, "x")
			assert.Equal(t, []string{"value"}, complaints(t, err))
		})
	}
	for value, says := range map[string]string{
		"0049 30 123456":   "value: is a phone number that starts with 00: write + instead, as in +49 30 123456",
		"030 123456":       "value: is a phone number without its country code: write it as +49 30 123456",
		"x@y.de\u200b":     "value: contains the invisible character U+200B",
		"#gen\u00a0eral":   "value: contains the invisible character U+00A0",
		"\u202a+493012345": "value: contains the invisible character U+202A",
	} {
		t.Run("Says/"+value, func(t *testing.T) {
			t.Parallel()
			_, err := users.NewAddress(value, "x")
			assert.EqualError(t, err, says)
		})
	}
	for name, value := range map[string]string{"Empty": "", "Blank": " \n ", "TooLong": strings.Repeat("𝔸", 2049), "NUL": "#a\x00b",
		"LineFeed": "#a\nb", "InvalidUTF8": "#a\xff"} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := users.NewAddress(value, "x")
			assert.Equal(t, []string{"value"}, complaints(t, err))
		})
	}
	t.Run("TheNameIsALabel", func(t *testing.T) {
		t.Parallel()
		a, err := users.NewAddress("#general", " At work ")
		require.NoError(t, err)
		assert.Equal(t, "At work", a.Name)
		_, err = users.NewAddress("", strings.Repeat("é", 201))
		assert.Equal(t, []string{"value", "name"}, complaints(t, err))
	})
	t.Run("ABlankNameDefaultsToTheType", func(t *testing.T) {
		t.Parallel()
		a, err := users.NewAddress("+14155552671", " ")
		require.NoError(t, err)
		assert.Equal(t, "phone", a.Name)
	})
	t.Run("TheAddressOfPOSTIsNamedEmail", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, users.Address{Value: "Ada@example.org", Name: "email", Type: users.Email}, users.NewEmailAddress("Ada@example.org"))
	})
}

// key returns the key of the address of a value.
func key(t testing.TB, value string) string {
	t.Helper()
	a, err := users.NewAddress(value, "")
	require.NoError(t, err)
	return a.Key()
}

func TestAddressKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("𝔸", users.MaxAddress-1)
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"EmailWithoutRegardToCase":     {"Ada@Example.org", "ada@example.ORG", true},
		"EmailComposedAndDecomposed":   {"\u00c9mile@example.org", "e\u0301mile@example.org", true},
		"PhoneHoweverItWasWritten":     {"+1 (415) 555-2671", "+14155552671", true},
		"URLToTheLetter":               {"https://example.org/a", "https://example.org/A", false},
		"GenericToTheLetter":           {"#general", "#General", false},
		"GenericComposition":           {"\u00e9", "e\u0301", false},
		"LongValuesToTheLastCharacter": {long + "𝔸", long + "𝔹", false},
		"LongValueIsItself":            {long, long, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.same, key(t, c.a) == key(t, c.b))
		})
	}
	t.Run("NoValueLooksLikeTheKeyOfALongOne", func(t *testing.T) {
		t.Parallel()
		assert.NotEqual(t, key(t, long), key(t, key(t, long)))
	})
	t.Run("TheNameDoesNotCount", func(t *testing.T) {
		t.Parallel()
		a := users.Address{ID: 1, Member: 2, Value: "#a", Name: "x", Type: users.Generic}
		b := users.Address{ID: 3, Member: 4, Value: "#a", Name: "y", Type: users.Generic}
		assert.Equal(t, a.Key(), b.Key())
	})
	t.Run("FitsEveryIndex", func(t *testing.T) {
		t.Parallel()
		assert.LessOrEqual(t, len(key(t, strings.Repeat("𝔸", users.MaxAddress))), 1_016)
		assert.LessOrEqual(t, len(key(t, email(254))), 1_016)
		expanding := strings.Repeat("\U0001d160", 16) + "@" + strings.Repeat("\U0001d160", 229) + ".example" // twelve bytes each in NFC
		assert.LessOrEqual(t, len(key(t, expanding)), 1_016)
	})
	t.Run("EqualTextsHaveEqualKeysAndOthersDoNot", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			values := rapid.OneOf(rapid.String(), rapid.StringN(250, 260, -1), rapid.StringN(1_000, 1_100, -1),
				rapid.StringMatching(`[a-zA-Zé]{1,3}@[a-zA-Z]{1,3}`), rapid.StringMatching(`sha256:[0-9a-f]{64}`))
			a, errA := users.NewAddress(values.Draw(t, "a"), "")
			b, errB := users.NewAddress(values.Draw(t, "b"), "")
			if errA != nil || errB != nil {
				return
			}
			same := a.Value == b.Value
			if a.Type == users.Email && b.Type == users.Email {
				same = names.Fold(a.Value) == names.Fold(b.Value)
			}
			require.Equal(t, same, a.Key() == b.Key(), "%q %q", a.Value, b.Value)
		})
	})
}
