package metadata_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
)

// parse reads metadata that the test knows to be right.
func parse(t testing.TB, text string) metadata.Map {
	t.Helper()
	m, err := metadata.Parse([]byte(text))
	require.NoError(t, err)
	return m
}

// encode returns m as JSON.
func encode(t testing.TB, m metadata.Map) string {
	t.Helper()
	text, err := m.Encode()
	require.NoError(t, err)
	return string(text)
}

// nested returns an object with this number of levels: of objects or, below the first, of arrays.
func nested(levels int, arrays bool) string {
	if arrays {
		return `{"a":` + strings.Repeat(`[`, levels-1) + strings.Repeat(`]`, levels-1) + `}`
	}
	return strings.Repeat(`{"a":`, levels-1) + `{}` + strings.Repeat(`}`, levels-1)
}

// sized returns an object whose JSON text has this size.
func sized(bytes int) string {
	const frame = len(`{"k":""}`)
	return `{"k":"` + strings.Repeat("x", bytes-frame) + `"}`
}

// numbered returns n members of an object, without its brackets.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":"",`, i)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want metadata.Map
	}{
		"EmptyObject":        {`{}`, metadata.Map{}},
		"WhiteSpaceAround":   {" \t\r\n{ } \n", metadata.Map{}},
		"EveryKindOfValue":   {`{"n":null,"t":true,"f":false,"s":"é😀","o":{"x":{}},"a":[1,[],{}]}`, metadata.Map{"n": nil, "t": true, "f": false, "s": "é😀", "o": map[string]any{"x": map[string]any{}}, "a": []any{json.Number("1"), []any{}, map[string]any{}}}},
		"NumbersAsSent":      {`{"a":1.50,"b":-0,"c":1E+3,"d":12345678901234567890123,"e":1e308}`, metadata.Map{"a": json.Number("1.50"), "b": json.Number("-0"), "c": json.Number("1E+3"), "d": json.Number("12345678901234567890123"), "e": json.Number("1e308")}},
		"NamesKeepTheirCase": {`{"ID":1,"id":2,"":3," ":4}`, metadata.Map{"ID": json.Number("1"), "id": json.Number("2"), "": json.Number("3"), " ": json.Number("4")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := metadata.Parse([]byte(c.text))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
	for name, c := range map[string]struct{ text, want string }{
		"Nothing":         {``, "must be a JSON object"},
		"Null":            {`null`, "must be a JSON object"},
		"Array":           {`[]`, "must be a JSON object"},
		"String":          {`"{}"`, "must be a JSON object"},
		"Number":          {`1`, "must be a JSON object"},
		"Unfinished":      {`{"a":1`, "must be a JSON object"},
		"TrailingComma":   {`{"a":1,}`, "must be a JSON object"},
		"NotANumber":      {`{"a":NaN}`, "must be a JSON object"},
		"SecondValue":     {`{} {}`, "must be one JSON object and nothing after it"},
		"TextAfter":       {`{}x`, "must be one JSON object and nothing after it"},
		"BracketAfter":    {`{}}`, "must be one JSON object and nothing after it"},
		"InvalidUTF8":     {"{\"a\":\"\xff\"}", "is not valid UTF-8"},
		"NumberTooLarge":  {`{"a":[1,{"b":-1e309}]}`, "a[1].b: is a number that is too large for a double"},
		"NULInAString":    {`{"a":{"b":["x","y\u0000"]}}`, "a.b[1]: contains a NUL character"},
		"NULInAName":      {`{"a":{"b\u0000":1}}`, "a: has a member whose name contains a NUL character"},
		"NULInATopName":   {`{"\u0000":1}`, ": has a member whose name contains a NUL character"},
		"ByteOrderMark":   {"\ufeff{}", "must be a JSON object"},
		"HugelyNested":    {strings.Repeat(`{"a":`, 12_000) + `1` + strings.Repeat(`}`, 500), "must be a JSON object"},
		"Over64KiB":       {sized(metadata.MaxBytes + 1), "metadata is larger than 64 KiB"},
		"SpaceOver64KiB":  {`{}` + strings.Repeat(" ", metadata.MaxBytes), "metadata is larger than 64 KiB"},
		"ControlInString": {"{\"a\":\"\n\"}", "must be a JSON object"},
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := metadata.Parse([]byte(c.text))
			require.Error(t, err)
			said, _, _ := strings.Cut(err.Error(), ": line ") // where it is, TestParsePosition asks
			require.Equal(t, c.want, said)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	t.Run("Exactly64KiBIsAccepted", func(t *testing.T) {
		t.Parallel()
		m := parse(t, sized(metadata.MaxBytes))
		require.NoError(t, m.Check())
		assert.Len(t, encode(t, m), 65_536)
	})
	t.Run("OneByteMoreIsNot", func(t *testing.T) {
		t.Parallel()
		m := metadata.Map{"k": strings.Repeat("x", metadata.MaxBytes-len(`{"k":""}`)+1)}
		require.ErrorIs(t, m.Check(), metadata.ErrTooLarge)
		_, err := m.Encode()
		require.ErrorIs(t, err, metadata.ErrTooLarge)
	})
	for name, arrays := range map[string]bool{"Objects": false, "Arrays": true} {
		t.Run("Depth/"+name, func(t *testing.T) {
			t.Parallel()
			deepest := parse(t, nested(32, arrays))
			assert.NoError(t, deepest.Check())

			_, err := metadata.Parse([]byte(nested(33, arrays)))
			require.ErrorContains(t, err, "is nested deeper than 32 levels")
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
			assert.ErrorContains(t, metadata.Map{"b": map[string]any(deepest)}.Check(), "is nested deeper than 32 levels")
		})
	}
	t.Run("AValueAtTheDeepestLevelIsFine", func(t *testing.T) {
		t.Parallel()
		text := strings.Repeat(`{"a":`, 32) + `"x"` + strings.Repeat(`}`, 32)
		assert.Equal(t, text, encode(t, parse(t, text)))
	})
	t.Run("CheckRefusesValuesBeyondJSON", func(t *testing.T) {
		t.Parallel()
		err := metadata.Map{"f": func() {}}.Check()
		require.ErrorContains(t, err, "is not JSON")
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
	})
	for name, text := range map[string]func(n int) string{
		"Members":  func(n int) string { return `{` + strings.TrimSuffix(numbered(n), ",") + `}` },
		"Elements": func(n int) string { return `{"a":[` + strings.Repeat(`0,`, n-2) + `0]}` },
		"Deep":     func(n int) string { return `{"a":[{"b":[` + strings.Repeat(`[],`, n-4) + `{}]}]}` },
	} {
		t.Run("Values/"+name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, parse(t, text(2_000)).Check())
			_, err := metadata.Parse([]byte(text(2_001)))
			require.ErrorIs(t, err, metadata.ErrTooMany)
			stored, err := metadata.Decode([]byte(text(2_001)))
			require.NoError(t, err, "what was stored earlier stays readable")
			require.ErrorIs(t, stored.Check(), metadata.ErrTooMany)
			_, err = metadata.ParseObject([]byte(text(2_001)))
			require.NoError(t, err, "an object that is no metadata")
		})
	}
	t.Run("NilChecks", func(t *testing.T) {
		t.Parallel()
		assert.NoError(t, metadata.Map(nil).Check())
	})
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Empty":                  `{}`,
		"NumbersAsSent":          `{"a":1.50,"b":-0,"c":1E+3,"d":12345678901234567890123,"e":1e308}`,
		"HTMLIsUnchanged":        `{"a":"<b>&amp;'</b>"}`,
		"UnicodeIsUnchanged":     `{"ключ":"значение 😀"}`,
		"EmptyContainersAreKept": `{"a":[],"o":{}}`,
		"NullIsAValue":           `{"a":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, text, encode(t, parse(t, text)))
		})
	}
	t.Run("NilIsTheEmptyObject", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, `{}`, encode(t, nil))
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"Nothing": ``, "Empty": `{}`, "Members": `{"a":{"b":[1.0,null,"x"]}}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := metadata.Decode([]byte(text))
			require.NoError(t, err)
			require.NotNil(t, m)
			if text == "" {
				text = `{}`
			}
			assert.Equal(t, text, encode(t, m))
		})
	}
	t.Run("RefusesWhatEncodeNeverWrites", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{`null`, `[]`, `{`, `{}{}`} {
			_, err := metadata.Decode([]byte(text))
			assert.Error(t, err, text)
		}
	})
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b string
		want bool
	}{
		"OrderOfMembersDoesNotCount": {`{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`, true},
		"OrderOfElementsDoes":        {`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		"FormOfANumberDoes":          {`{"a":1.0}`, `{"a":1}`, false},
		"NullIsNotAbsent":            {`{"a":null}`, `{}`, false},
		"NullIsNotAbsentElsewhere":   {`{"a":null}`, `{"b":null}`, false},
		"EmptyObjectIsNotNull":       {`{"a":{}}`, `{"a":null}`, false},
		"TextIsNotANumber":           {`{"a":"1"}`, `{"a":1}`, false},
		"Deep":                       {`{"a":{"b":{"c":[{"d":1}]}}}`, `{"a":{"b":{"c":[{"d":2}]}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := parse(t, c.a), parse(t, c.b)
			assert.Equal(t, c.want, a.Equal(b))
			assert.Equal(t, c.want, b.Equal(a))
		})
	}
	t.Run("NilAndEmptyAreTheSame", func(t *testing.T) {
		t.Parallel()
		assert.True(t, metadata.Map(nil).Equal(metadata.Map{}))
		assert.True(t, metadata.Map{}.Equal(nil))
	})
}

// Not parallel: it counts allocations.
func TestCheckAllocations(t *testing.T) {
	elements := make([]any, metadata.MaxValues-1)
	for i := range elements {
		elements[i] = json.Number("0")
	}
	m := metadata.Map{strings.Repeat("k", 30_000): elements}
	allocations := testing.AllocsPerRun(5, func() { require.NoError(t, m.Check()) })
	assert.Less(t, allocations, 200.0, "a path was built for every element")
}

func TestParsePosition(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "must be a JSON object",
		"[]":                                 "must be a JSON object",
		"null":                               "must be a JSON object",
		"{":                                  "must be a JSON object: line 1, column 2: it ends too early",
		"{\r\n  \"é\": \"ü\",\r\n  \"b\": }": "must be a JSON object: line 3, column 8: invalid character '}' looking for beginning of value",
		"{\"é\" 1}":                          "must be a JSON object: line 1, column 6: invalid character '1' after object key",
		"{}\n\n{}":                           "must be one JSON object and nothing after it: line 3, column 1",
	} {
		_, err := metadata.Parse([]byte(text))
		require.EqualError(t, err, want, "%q", text)
	}
}

func TestDigestOfMetadata(t *testing.T) {
	t.Parallel()
	parsed := func(text string) metadata.Map {
		m, err := metadata.Parse([]byte(text))
		require.NoError(t, err)
		return m
	}
	digest := parsed(`{"a":{"c":1,"b":[2]},"z":null}`).Digest()
	require.Equal(t, digest, parsed(` {"z" : null, "a":{"b":[2],"c":1}}`).Digest())
	require.Equal(t, metadata.Map{}.Digest(), metadata.Map(nil).Digest())
	for _, other := range []string{`{}`, `{"a":{"c":1,"b":[2]}}`, `{"a":{"c":1.0,"b":[2]},"z":null}`, `{"a":{"c":1,"b":[2]},"z":"null"}`} {
		require.NotEqual(t, digest, parsed(other).Digest(), other)
	}
}
