package names_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
)

// wide is a character of four bytes: a limit that counts bytes, or UTF-16 units, refuses it too
// early.
const wide = "𝔸"

func TestFold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ a, b string }{
		"ASCII":                     {"NEWS", "news"},
		"Latin":                     {"ÉCOLE", "école"},
		"ComposedAndDecomposed":     {"\u00c9", "e\u0301"},
		"SeveralMarksInAnyOrder":    {"a\u0323\u0302", "A\u0302\u0323"},
		"Greek":                     {"ΣΊΣΥΦΟ", "σίσυφο"},
		"Cyrillic":                  {"ЖУРНАЛ", "журнал"},
		"CapitalSharpS":             {"STRAẞE", "straße"},
		"DottedCapitalI":            {"\u0130", "I\u0307"},
		"KelvinSignIsALetterK":      {"\u212a", "k"},
		"AngstromSignIsALetterA":    {"\u212b", "å"},
		"Deseret":                   {"𐐀", "𐐨"},
		"HangulSyllableAndItsParts": {"\uac00", "\u1100\u1161"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, names.Fold(c.a), names.Fold(c.b))
		})
	}
	for name, c := range map[string]struct{ a, b string }{
		"SharpSIsNotDoubleS":          {"straße", "STRASSE"},
		"FinalSigmaIsALetterOfItsOwn": {"σ", "ς"},
		"DotlessIIsNotI":              {"ı", "I"},
		"AccentsCount":                {"ecole", "école"},
		"LigaturesAreNotTakenApart":   {"ﬁ", "fi"},
		"WhiteSpaceCounts":            {"a b", "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.NotEqual(t, names.Fold(c.a), names.Fold(c.b))
		})
	}
	t.Run("IsNFCThenLowerCase", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			s := rapid.String().Draw(t, "s")
			require.Equal(t, strings.ToLower(norm.NFC.String(s)), names.Fold(s))
			require.Equal(t, names.Fold(s), names.Fold(norm.NFD.String(s)), "two spellings of one text")
		})
	})
}

func TestLabel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"AsSent":                    {"Émile's News, no. 1", "Émile's News, no. 1"},
		"Trimmed":                   {" \t\r\n\u00a0\u2003News\u3000 ", "News"},
		"InnerWhiteSpaceStays":      {"a  b", "a  b"},
		"NotNormalized":             {"e\u0301", "e\u0301"},
		"LimitInCharacters":         {strings.Repeat(wide, names.MaxLabel), strings.Repeat(wide, names.MaxLabel)},
		"LimitCountsAfterTrimming":  {strings.Repeat(" ", 300) + "a", "a"},
		"ReplacementCharacterIsOne": {"\ufffd", "\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := names.Label("name", c.in)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
	for name, c := range map[string]struct{ in, want string }{
		"Empty":            {"", "name: is required"},
		"Blank":            {" \n\t ", "name: is required"},
		"TooLong":          {strings.Repeat(wide, names.MaxLabel+1), "name: is longer than 200 characters"},
		"NUL":              {"a\x00b", "name: contains a control character"},
		"LineFeed":         {"a\nb", "name: contains a control character"},
		"Delete":           {"a\x7fb", "name: contains a control character"},
		"C1":               {"a\u0085b", "name: contains a control character"},
		"InvalidUTF8":      {"a\xffb", "name: is not valid UTF-8"},
		"SurrogateInUTF8":  {"a\xed\xa0\x80b", "name: is not valid UTF-8"},
		"OverlongEncoding": {"a\xc0\xafb", "name: is not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := names.Label("name", c.in)
			require.Error(t, err)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
			assert.Empty(t, got)
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestOptionalLabel(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{"Empty": "", "Blank": " \t\n"} {
		t.Run(name+"IsAbsent", func(t *testing.T) {
			t.Parallel()
			got, err := names.OptionalLabel("first_name", in)
			require.NoError(t, err)
			assert.Empty(t, got)
		})
	}
	t.Run("TheLimitIsTheLabels", func(t *testing.T) {
		t.Parallel()
		_, err := names.OptionalLabel("first_name", strings.Repeat("é", names.MaxLabel))
		require.NoError(t, err)
		_, err = names.OptionalLabel("first_name", strings.Repeat("é", names.MaxLabel+1))
		require.EqualError(t, err, "first_name: is longer than 200 characters")
	})
}

func TestIdentifier(t *testing.T) {
	t.Parallel()
	t.Run("254Characters", func(t *testing.T) {
		t.Parallel()
		longest := strings.Repeat(wide, 254)
		got, err := names.Identifier("username", " "+longest+" ")
		require.NoError(t, err)
		assert.Equal(t, longest, got)
	})
	t.Run("255Characters", func(t *testing.T) {
		t.Parallel()
		_, err := names.Identifier("username", strings.Repeat("a", 255))
		require.EqualError(t, err, "username: is longer than 254 characters")
	})
	t.Run("MayHoldASlashAndSpaces", func(t *testing.T) {
		t.Parallel()
		got, err := names.Identifier("username", "ACME/ada lovelace?#%2F")
		require.NoError(t, err)
		assert.Equal(t, "ACME/ada lovelace?#%2F", got)
	})
	for name, c := range map[string]struct{ in, says string }{
		"ZeroWidthSpace":  {"ada\u200b", "username: contains the invisible character U+200B"},
		"ByteOrderMark":   {"\ufeffada", "username: contains the invisible character U+FEFF"},
		"RightToLeftMark": {"a\u202eda", "username: contains the invisible character U+202E"},
		"NoBreakSpace":    {"ada\u00a0lovelace", "username: contains the invisible character U+00A0"},
		"SoftHyphen":      {"ada\u00ad", "username: contains the invisible character U+00AD"},
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := names.Identifier("username", c.in)
			require.EqualError(t, err, c.says)
		})
	}
	for _, name := range []string{"نامه\u200cای", "👩\u200d💻", "🏴\U000e0067\U000e0062\U000e007f", "山田\u3000太郎", "Ζωή Παπαδοπούλου"} {
		t.Run("Accepts/"+name, func(t *testing.T) {
			t.Parallel()
			got, err := names.Identifier("username", name)
			require.NoError(t, err)
			assert.Equal(t, name, got)
		})
	}
	t.Run("IsRequired", func(t *testing.T) {
		t.Parallel()
		_, err := names.Identifier("username", "  ")
		require.EqualError(t, err, "username: is required")
	})
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for _, slug := range []string{"a", "0", "-", "_", "acme", "web-shop_2", strings.Repeat("a", 100)} {
		t.Run("Accepts/"+slug, func(t *testing.T) {
			t.Parallel()
			got, err := names.Slug("slug", slug)
			require.NoError(t, err)
			assert.Equal(t, slug, got)
		})
	}
	for name, slug := range map[string]string{
		"Empty": "", "Blank": " ", "UpperCase": "Acme", "Dot": "a.b", "Slash": "a/b", "InnerSpace": "a b", "Accent": "é",
		"OtherScript": "а", "FullWidthDigit": "１", "TooLong": strings.Repeat("a", 101), "Percent": "a%62", "NUL": "a\x00",
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := names.Slug("slug", slug)
			require.Error(t, err)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
}

func TestChecksHoldForEveryText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringN(190, 210, -1), rapid.Map(rapid.SliceOf(rapid.Byte()),
			func(b []byte) string { return string(b) })).Draw(t, "s")
		got, err := names.Label("name", s)
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		require.Equal(t, strings.TrimSpace(s), got)
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, utf8.RuneCountInString(got), names.MaxLabel)
		require.False(t, strings.ContainsFunc(got, unicode.IsControl))
		again, err := names.Label("name", got)
		require.NoError(t, err, "what was accepted is accepted again")
		require.Equal(t, got, again)
	})
}
