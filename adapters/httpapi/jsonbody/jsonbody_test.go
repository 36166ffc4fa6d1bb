package jsonbody_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/domain/fault"
)

// errorList returns the fields of an Invalid error, one line each.
func errorList(t *testing.T, err error) []string {
	t.Helper()
	var e *fault.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, fault.Invalid, e.Kind())
	var lines []string
	for _, f := range e.Fields() {
		for _, m := range f.Messages {
			lines = append(lines, f.Name+": "+m)
		}
	}
	return lines
}

func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + `{}` + strings.Repeat(`}`, levels-1)
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want any
	}{
		"Null":                   {`null`, nil},
		"WhiteSpaceAround":       {" \t\r\n[ 1 , true , false , null , \"a\" ]\n", []any{json.Number("1"), true, false, nil, "a"}},
		"Empty":                  {`{"a":{},"b":[],"c":""}`, map[string]any{"a": map[string]any{}, "b": []any{}, "c": ""}},
		"EmptyWithSpace":         {`{ "a" : { } , "b" : [ ] }`, map[string]any{"a": map[string]any{}, "b": []any{}}},
		"NumbersKeepTheirForm":   {`[1.50, -0, 1E+3, 12345678901234567890, 1e308, 1e-999]`, []any{json.Number("1.50"), json.Number("-0"), json.Number("1E+3"), json.Number("12345678901234567890"), json.Number("1e308"), json.Number("1e-999")}},
		"ByteOrderMark":          {"\ufeff{}", map[string]any{}},
		"Escapes":                {`"\"\\\/\b\f\n\r\t\u00e4\uD83D\uDE00"`, "\"\\/\b\f\n\r\tä😀"},
		"EscapedName":            {`{"\u0061":1}`, map[string]any{"a": json.Number("1")}},
		"SameNameInOtherObjects": {`[{"a":1},{"a":{"a":2}}]`, []any{map[string]any{"a": json.Number("1")}, map[string]any{"a": map[string]any{"a": json.Number("2")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := jsonbody.Parse([]byte(c.text))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"Nothing":            {``, []string{"body: is missing"}},
		"OnlySpace":          {` `, []string{"body: is not JSON: line 1, column 1: unexpected end of JSON input"}},
		"Unfinished":         {"{\n\"a\": [1,\n", []string{"body: is not JSON: line 2, column 9: unexpected end of JSON input"}},
		"SyntaxError":        {"{\n  \"a\": x}", []string{"body: is not JSON: line 2, column 8: invalid character 'x' looking for beginning of value"}},
		"TrailingGarbage":    {`{} {}`, []string{"body: is not JSON: line 1, column 4: invalid character '{' after top-level value"}},
		"NUL":                {`{"a":{"b":["x\u0000"]}}`, []string{"a.b[0]: contains a NUL character"}},
		"NULInName":          {`{"a":{"b\u0000":1}}`, []string{"a.b\uFFFD: has a name that contains a NUL character"}},
		"InvalidUTF8":        {"{\"a\":\"\xff\"}", []string{"a: is not valid UTF-8"}},
		"InvalidUTF8Escaped": {"{\"a\":\"\\n\xff\"}", []string{"a: is not valid UTF-8"}},
		"InvalidUTF8InName":  {"{\"a\xff\":1}", []string{"a\uFFFD: has a name that is not valid UTF-8"}},
		"EncodedSurrogate":   {"\"\xed\xa0\x80\"", []string{"body: is not valid UTF-8"}},
		"LoneHighSurrogate":  {`{"a":"\ud800"}`, []string{"a: contains half of a surrogate pair"}},
		"LoneLowSurrogate":   {`{"a":"\udc00x"}`, []string{"a: contains half of a surrogate pair"}},
		"TwoHighSurrogates":  {`{"a":"\ud800\ud800\udc00"}`, []string{"a: contains half of a surrogate pair"}},
		"NameTwice":          {`{"a":1,"b":{"c":1,"c":2}}`, []string{"b.c: is given twice"}},
		"NameTwiceEscaped":   {`{"a":1,"\u0061":2}`, []string{"a: is given twice"}},
		"NumberTooLarge":     {`{"a":[1e308,1e309],"b":-1E+400}`, []string{"a[1]: is a number that is too large for a double", "b: is a number that is too large for a double"}},
		"NumberTooLong":      {`{"a":1` + strings.Repeat("0", 310) + `}`, []string{"a: is a number that is too large for a double"}},
		"TwoByteOrderMarks":  {"\ufeff\ufeff{}", []string{"body: is not JSON: line 1, column 1: invalid character 'ï' looking for beginning of value"}},
		"TooDeep":            {nested(jsonbody.MaxDepth + 1), []string{strings.Repeat("a.", 31) + "a: is nested deeper than 32 levels"}},
		"AllAtOnce": {"{\"a\":\"\xff\",\"b\":[\"\\u0000\"],\"a\":1}",
			[]string{"a: is not valid UTF-8", "a: is given twice", "b[0]: contains a NUL character"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := jsonbody.Parse([]byte(c.text))
			assert.ElementsMatch(t, c.want, errorList(t, err))
		})
	}
}

func TestParseDeepestNesting(t *testing.T) {
	t.Parallel()
	_, err := jsonbody.Parse([]byte(nested(jsonbody.MaxDepth)))
	assert.NoError(t, err)
}

func TestParseErrorLength(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"ManyMistakes": "[" + strings.Repeat(`"\u0000",`, 100_000) + "1]",
		"LongNames":    `{"` + strings.Repeat("a", 1<<20) + `":"\u0000"}`,
		"ManyLevels":   strings.Repeat("[", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := jsonbody.Parse([]byte(text))
			said := errorList(t, err)
			assert.LessOrEqual(t, len(said), 51)
			assert.Less(t, len(strings.Join(said, "")), 4_000)
		})
	}
}

func TestParseStrings(t *testing.T) {
	t.Parallel()
	got, err := jsonbody.ParseStrings([]byte(`["a", ""]`))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", ""}, got)

	_, err = jsonbody.ParseStrings([]byte(`["a", null, 1]`))
	assert.Equal(t, []string{"[1]: must be a string, not null", "[2]: must be a string, not a number"}, errorList(t, err))

	_, err = jsonbody.ParseStrings([]byte(`{"emails": []}`))
	assert.Equal(t, []string{"body: must be an array of strings, not an object"}, errorList(t, err))

	_, err = jsonbody.ParseStrings([]byte(`[` + strings.Repeat("1,", 100_000) + `1]`))
	assert.Len(t, errorList(t, err), 51)
}

func TestObjectTypes(t *testing.T) {
	t.Parallel()
	o, err := jsonbody.ParseObject([]byte(`{"s":"\t x\u3000","t":true,"f":false,"i":-7,"m":{"k":1.0},"l":[{"s":"y"}],"unknown":[]}`))
	require.NoError(t, err)
	assert.Equal(t, "x", o.String("s"))
	assert.True(t, o.Bool("t", false))
	assert.False(t, o.Bool("f", true))
	assert.EqualValues(t, -7, o.RequiredInteger("i"))
	m, ok := o.Map("m")
	assert.True(t, ok)
	assert.Equal(t, map[string]any{"k": json.Number("1.0")}, m)
	items := o.Objects("l")
	require.Len(t, items, 1)
	assert.Equal(t, "y", items[0].String("s"))
	assert.NoError(t, o.Err())
}

func TestObjectNull(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `{"s":null,"b":null,"i":null,"m":null,"l":null}`} {
		o, err := jsonbody.ParseObject([]byte(text))
		require.NoError(t, err)
		assert.Empty(t, o.String("s"))
		assert.True(t, o.Bool("b", true))
		_, ok := o.Integer("i")
		assert.False(t, ok)
		_, ok = o.Map("m")
		assert.False(t, ok)
		assert.Nil(t, o.Objects("l"))
		require.NoError(t, o.Err())

		o.RequiredInteger("i")
		assert.Equal(t, []string{"i: is required"}, errorList(t, o.Err()))
	}
}

// TestIntegers checks what JSON Schema calls an integer: some languages write 301 as 301.0.
func TestIntegers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"301": 301, "301.0": 301, "-4.00": -4, "3e2": 300, "1.5e1": 15, "-0.0": 0, "1e16": 1e16,
		"9223372036854775807": 9223372036854775807} {
		o, err := jsonbody.ParseObject([]byte(`{"i":` + text + `}`))
		require.NoError(t, err)
		value, ok := o.Integer("i")
		require.NoError(t, o.Err(), text)
		assert.True(t, ok, text)
		assert.Equal(t, want, value, text)
	}
	for text, complaint := range map[string]string{"0.5": "i: must be an integer", "1e-1": "i: must be an integer", "3.0e-1": "i: must be an integer",
		"9223372036854775808.0": "i: does not fit a 64-bit integer", "-1e19": "i: does not fit a 64-bit integer"} {
		o, err := jsonbody.ParseObject([]byte(`{"i":` + text + `}`))
		require.NoError(t, err)
		_, ok := o.Integer("i")
		assert.False(t, ok, text)
		assert.Equal(t, []string{complaint}, errorList(t, o.Err()), text)
	}
}

func TestObjectReportsAllErrors(t *testing.T) {
	t.Parallel()
	o, err := jsonbody.ParseObject([]byte(`{"s":1,"b":"true","i":1.5,"big":9223372036854775808,"n":"1","m":[],"l":[{"s":{}},null],"x":{}}`))
	require.NoError(t, err)
	o.String("s")
	o.Bool("b", true)
	o.Integer("i")
	o.Integer("big")
	o.RequiredInteger("n")
	o.Map("m")
	for _, item := range o.Objects("l") {
		item.String("s")
	}
	o.Objects("x")
	assert.ElementsMatch(t, []string{
		"s: must be a string, not a number",
		"b: must be true or false, not a string",
		"i: must be an integer",
		"big: does not fit a 64-bit integer",
		"n: must be an integer, not a string",
		"m: must be an object, not an array",
		"l[0].s: must be a string, not an object",
		"l[1]: must be an object, not null",
		"x: must be an array of objects, not an object",
	}, errorList(t, o.Err()))
}

func TestOnlyRefusesOtherMembers(t *testing.T) {
	t.Parallel()
	o, err := jsonbody.ParseObject([]byte(`{"context":{},"order":17,"Context":null}`))
	require.NoError(t, err)
	o.Only("context", "options")
	assert.Equal(t, []string{
		"Context: is not a member of this object, which may have context, options",
		"order: is not a member of this object, which may have context, options",
	}, errorList(t, o.Err()))
}

func TestObjectMustBeAnObject(t *testing.T) {
	t.Parallel()
	for text, kind := range map[string]string{`[]`: "an array", `"a"`: "a string", `1`: "a number", `true`: "a boolean", `null`: "null"} {
		_, err := jsonbody.ParseObject([]byte(text))
		assert.Equal(t, []string{"body: must be an object, not " + kind}, errorList(t, err))
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	o, err := jsonbody.ParseObject([]byte(`{"email":1,"items":[{}]}`))
	require.NoError(t, err)
	email := o.String("email")
	var faults fault.Fields
	if email == "" {
		faults.Addf("email", "is required")
	}
	faults.Addf("first_name", "is longer than 200 characters")
	o.Check(faults.Err())
	o.Objects("items")[0].Check(fault.Field("value", "is required"))
	o.Check(nil)
	o.Check(fault.New(fault.Invalid, "is not enough"))
	assert.Equal(t, []string{
		"email: must be a string, not a number",
		"first_name: is longer than 200 characters",
		"items[0].value: is required",
		"body: is not enough",
	}, errorList(t, o.Err()))

	other := errors.New("the database is away")
	o.Check(other)
	assert.Equal(t, other, o.Err())
}

func TestRows(t *testing.T) {
	t.Parallel()
	o, err := jsonbody.ParseObject([]byte(`{"rows":[{"a":1},7,{"a":"x"}],"none":[],"many":[{},{},{}],"wrong":{}}`))
	require.NoError(t, err)
	rows := o.Rows("rows", 3)
	require.Len(t, rows, 3)
	rows[0].String("a")
	assert.Equal(t, []string{"a: must be a string, not a number"}, errorList(t, rows[0].Err()))
	rows[1].String("a")
	assert.Equal(t, []string{"body: must be an object, not a number"}, errorList(t, rows[1].Err()))
	assert.Equal(t, "x", rows[2].String("a"))
	require.NoError(t, rows[2].Err())
	require.NoError(t, o.Err())

	o.Rows("none", 3)
	assert.Len(t, o.Rows("many", 2), 2)
	o.Rows("wrong", 2)
	o.Rows("absent", 2)
	assert.Equal(t, []string{"none: must not be empty", "many: has 3 elements; at most 2 are allowed", "wrong: must be an array of objects, not an object",
		"absent: is required"}, errorList(t, o.Err()))
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	cause := errors.New("too slow")
	o := jsonbody.Unreadable(cause)
	o.Only("a")
	o.RequiredInteger("a")
	o.Check(fault.Field("b", "is required"))
	o.Check(errors.New("another error"))
	assert.Empty(t, o.Rows("c", 1))
	assert.Equal(t, cause, o.Err())
}
