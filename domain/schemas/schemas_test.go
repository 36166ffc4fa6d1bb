package schemas_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/schemas"
)

const order = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["number"], "additionalProperties": false,
	"properties": {"number": {"type": "integer", "minimum": 1}, "mail": {"type": "string", "format": "email"},
		"lines": {"type": "array", "items": {"$ref": "#/$defs/line"}}, "a/b~": {"type": "string", "pattern": "^x+$"}},
	"$defs": {"line": {"type": "object", "properties": {"price": {"type": "number"}, "text": {"$ref": "#/$defs/text"}}}, "text": {"maxLength": 3}}}`

func TestCheck(t *testing.T) {
	t.Parallel()
	s, err := schemas.Parse(order)
	require.NoError(t, err)
	for text, want := range map[string][]string{
		`{"number": 17, "mail": "ada@example.org", "lines": [{"price": 1.5, "text": "abc"}], "a/b~": "xx"}`: nil,
		`{"number": 1.0}`: nil,
		`{}`:              {"missing property 'number'"},
		`{"number": "17", "order": 17}`: {
			"/number: got string, want integer", "additional properties 'order' not allowed"},
		`{"number": 0, "lines": [{"price": 1}, {"price": "1", "text": "abcd"}]}`: {
			"/lines/1/price: got string, want number", "/lines/1/text: maxLength: got 4, want 3", "/number: minimum: got 0, want 1"},
		`{"number": 1, "a/b~": "y"}`:       {"/a~1b~0: 'y' does not match pattern '^x+$'"},
		`{"number": 1, "mail": "ada@"}`:    {"/mail: 'ada@' is not valid email: invalid domain: label must be 1 to 63 characters long"},
		`{"number": 1e-999999}`:            {"holds a number that cannot be checked: 1e-999999"},
		`{"number": 1, "lines": [1e9999]}`: {"holds a number that cannot be checked: 1e9999"},
	} {
		assert.ElementsMatch(t, want, s.Check([]byte(text)), text)
	}
}

func TestMistakeLimits(t *testing.T) {
	t.Parallel()
	s, err := schemas.Parse(`{"additionalProperties": {"pattern": "^x$"}}`)
	require.NoError(t, err)
	var data strings.Builder
	for i := range 100 {
		fmt.Fprintf(&data, `,"k%d":%q`, i, strings.Repeat("y", 1_000))
	}
	said := s.Check([]byte("{" + data.String()[1:] + "}"))
	assert.Len(t, said, 50)
	assert.Less(t, len(strings.Join(said, "")), 50*400)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	doubled := `{"$defs": {"d0": {}`
	for i := range 40 { // Which is looked at 2^40 times.
		doubled += fmt.Sprintf(`, "d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i+1, i, i)
	}
	doubled += `}, "$ref": "#/$defs/d40"}`
	for text, want := range map[string]string{
		``:                 "must be a JSON Schema",
		`[]`:               "which is an object",
		`true`:             "which is an object",
		`{"type": "text"}`: "is not a JSON Schema: /type: value must be one of",
		`{"properties": {"a": {"pattern": "("}}}`:                                 "is not a JSON Schema: /properties/a/pattern",
		`{"$ref": "https://example.org/x.json"}`:                                  "must be a JSON Pointer into the schema",
		`{"$ref": "file:///etc/passwd"}`:                                          "must be a JSON Pointer into the schema",
		`{"$ref": "#/$defs/x"}`:                                                   `has a $ref to "#/$defs/x", where nothing is`,
		`{"$schema": "https://example.org/x.json"}`:                               "is not available: a schema stands alone",
		`{"allOf": [{"$id": "https://example.org/a"}]}`:                           "holds $id, which is not allowed",
		`{"$anchor": "a"}`:                                                        "holds $anchor, which is not allowed",
		`{"properties": {"a": {"$ref": "#"}}}`:                                    `refers to itself at "#"`,
		`{"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}`: `refers to itself at "#/$defs/a"`,
		`{"minimum": 1e-999999}`:                                                  `holds a number that cannot be checked at "#/minimum"`,
		doubled:                                                                   "has more than 5000 parts",
		`{"a": ` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`:        "is nested deeper than 64 levels",
		`{"title": "` + strings.Repeat("x", schemas.MaxBytes) + `"}`:              "is longer than 64 KiB",
	} {
		_, err := schemas.Parse(text)
		require.ErrorContains(t, err, want, text)
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
	}
	_, err := schemas.Parse(`{"$id": "https://example.org/a", "properties": {"$id": {"type": "string"}, "$ref": {"type": "string"}}}`)
	assert.NoError(t, err, "names of properties are no keywords")
}

func TestExpensiveData(t *testing.T) {
	t.Parallel()
	s, err := schemas.Parse(`{"properties": {"a": {"items": {"anyOf": [` + strings.Repeat(`{"type": "string"},`, 900) + `{}]}}}}`)
	require.NoError(t, err)
	data := func(n int) []byte { return []byte(`{"a": [1` + strings.Repeat(",1", n-1) + "]}") }
	assert.Empty(t, s.Check(data(100)))
	assert.Equal(t, []string{"is too large to be checked against the schema of its event"}, s.Check(data(1_000)))

	// Each comparison computes with hundreds of digits.
	s, err = schemas.Parse(`{"items": {"enum": [` + strings.Repeat(`1e-400,`, 190) + `1]}}`)
	require.NoError(t, err)
	numbers := func(n int) []byte { return []byte(`[1` + strings.Repeat(",1e-399", n) + "]") }
	assert.NotEqual(t, []string{"is too large to be checked against the schema of its event"}, s.Check(numbers(1)))
	assert.Equal(t, []string{"is too large to be checked against the schema of its event"}, s.Check(numbers(90)))
	_, err = schemas.Parse(`{"items": {"enum": [` + strings.Repeat(`1e-400,`, 2_000) + `1]}}`)
	require.ErrorContains(t, err, "has more than 5000 parts")
}

func TestPatternsThatAreRefused(t *testing.T) {
	t.Parallel()
	names := func(n int, name func(int) string) (all string) {
		for i := range n {
			all += fmt.Sprintf(`%q: {},`, name(i))
		}
		return `{"patternProperties": {` + all + `"z": {}}}`
	}
	for text, want := range map[string]string{
		`{"properties": {"s": {"pattern": "^` + strings.Repeat("(?:a?){1000}", 100) + `$"}}}`: `has a pattern of more than 3000 instructions at "#/properties/s/pattern"`,
		`{"properties": {"s": {"pattern": "(?:(?:(?:(?:a+b*){0,2}){3,}c){2}){80}"}}}`:         `has a pattern of more than 3000 instructions at "#/properties/s/pattern"`,
		`{"items": [{"patternProperties": {"(a/b){999}": {}}}]}`:                              `is not a JSON Schema`,
		`{"allOf": [{"patternProperties": {"(a/b){999}": {}}}]}`:                              `at "#/allOf/0/patternProperties/(a~1b){999}"`,
		`{"propertyNames": {"pattern": "[` + strings.Repeat("a", 5_000) + `]"}}`:              `has a pattern of more than 4096 bytes at "#/propertyNames/pattern"`,
		// The parser would look at each character of such a range, in thousands of ranges.
		`{"pattern": "(?i)` + strings.Repeat(`[a-\\x{10ffff}]`, 200) + `"}`:      `has patterns that need more than 4000000 steps together, which the one at "#/pattern" exceeds`,
		`{"pattern": "(?si)` + strings.Repeat(`[a-􏿿]`, 200) + `"}`:               `has patterns that need more than 4000000 steps together`,
		`{"pattern": "` + strings.Repeat(`\\pL`, 800) + `"}`:                     `has patterns that need more than 4000000 steps together`,
		names(20, func(i int) string { return fmt.Sprintf("%d(?:a?){999}", i) }): `has patterns that need more than 4000000 steps together`,
	} {
		_, err := schemas.Parse(text)
		require.ErrorContains(t, err, want, text)
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
	}
	for _, text := range []string{
		`{"pattern": "^.{1,1000}$"}`, `{"pattern": "(?i)^[a-zà-ÿ0-9._%+-]+@[a-z0-9.-]+$"}`, `{"pattern": "^[\\p{L}\\p{N} '-]+$"}`,
		`{"properties": {"pattern": {"type": "string"}}}`, names(500, func(i int) string { return fmt.Sprintf("^x-%d$", i) }),
		`{"allOf": [` + strings.Repeat(`{"pattern": "^(?:a?){999}$"},`, 500) + `{}]}`, // one pattern, which is compiled once
	} {
		_, err := schemas.Parse(text)
		assert.NoError(t, err, text)
	}
}

func TestPatternsThatWorkTooLong(t *testing.T) {
	t.Parallel()
	const tooLarge = "is too large to be checked against the patterns in the schema of its event"
	// The matches of these texts end at their beginning, but are counted as if they did not.
	text := func(n int) string { return strings.Repeat("b", n) }
	long := strings.Repeat("a", 100)
	for name, c := range map[string]struct{ schema, small, large string }{
		"a long text":        {`{"properties": {"s": {"pattern": "^(?:a?){1000}a*$"}}}`, `{"s": "aaa"}`, `{"s": "` + text(9_000) + `"}`},
		"a text in allOf":    {`{"allOf": [` + strings.Repeat(`{"pattern": "^(?:a?){1000}a*$"},`, 20) + `{}]}`, `"a"`, `"` + text(1_000) + `"`},
		"a text in $ref":     {`{"$defs": {"a": {"pattern": "^(?:a?){1000}a*$"}}, "allOf": [` + strings.Repeat(`{"$ref": "#/$defs/a"},`, 20) + `{}]}`, `"a"`, `"` + text(1_000) + `"`},
		"many texts":         {`{"items": {"pattern": "^(?:a?){1000}$"}}`, `["aaa"]`, `["` + text(1_000) + `"` + strings.Repeat(`,"`+text(1_000)+`"`, 10) + `]`},
		"not":                {`{"items": {"not": {"pattern": "^(?:a?){1000}c"}}}`, `["aaa"]`, `["` + text(1_000) + `"` + strings.Repeat(`,"`+text(1_000)+`"`, 10) + `]`},
		"patternProperties":  {`{"patternProperties": {"^(?:a?){1000}$": {}}}`, `{"a": 1}`, `{"` + text(9_000) + `": 1}`},
		"propertyNames":      {`{"propertyNames": {"pattern": "^(?:a?){1000}a*$"}}`, `{"a": 1}`, `{"` + text(9_000) + `": 1}`},
		"expressions":        {`{"items": {"format": "regex"}}`, `["(a|b)"` + strings.Repeat(`,"(a|b)"`, 100) + `]`, `["(a|b)"` + strings.Repeat(`,"(a|b)`+long+`"`, 2_000) + `]`},
		"a large expression": {`{"format": "regex"}`, `"(?i)[a-z]"`, `"(?i)` + strings.Repeat(`[a-\\x{10ffff}]`, 200) + `"`},
	} {
		s, err := schemas.Parse(c.schema)
		require.NoError(t, err, name)
		assert.Empty(t, s.Check([]byte(c.small)), name)
		assert.Equal(t, []string{tooLarge}, s.Check([]byte(c.large)), name)
		assert.Empty(t, s.Check([]byte(c.small)), "%s: each check has its own steps", name)
	}
	for _, c := range []struct{ schema, data string }{
		{`{"properties": {"s": {"pattern": "^[\\s\\S]{1,1000}$"}}}`, `{"s": "` + strings.Repeat("ü", 1_000) + `"}`},
		{`{"items": {"pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}}`, `["6ba7b810-9dad-11d1-80b4-00c04fd430c8"` + strings.Repeat(`,"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`, 5_000) + `]`},
	} {
		s, err := schemas.Parse(c.schema)
		require.NoError(t, err)
		assert.Empty(t, s.Check([]byte(c.data)), c.schema)
	}
	s, err := schemas.Parse(`{"format": "regex"}`)
	require.NoError(t, err)
	assert.Equal(t, []string{"'(?:a{1000}){2}' is not valid regex: error parsing regexp: invalid repeat count: `{2}`"}, s.Check([]byte(`"(?:a{1000}){2}"`)))
	assert.Equal(t, []string{"'(?:ab?c){1000}' is not valid regex: it is too long or repeats too much"}, s.Check([]byte(`"(?:ab?c){1000}"`)))
}

func TestConcurrentChecks(t *testing.T) {
	t.Parallel()
	s, err := schemas.Parse(`{"pattern": "^(?:a?){1000}$"}`)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { assert.Empty(t, s.Check([]byte(`"`+strings.Repeat("a", 500)+`"`))) })
	}
	all.Wait()
}

func TestSizeOfPatterns(t *testing.T) {
	t.Parallel()
	size := func(text string) int {
		s, err := schemas.Parse(text)
		require.NoError(t, err)
		return s.Size()
	}
	assert.Greater(t, size(`{"pattern": "^(?:a?){1000}$"}`), 2_000*200)
	assert.Greater(t, size(`{"pattern": "`+strings.Repeat(`\\pL`, 100)+`"}`), 100*5_000)
	assert.Greater(t, size(`{"allOf": [`+strings.Repeat("{},", 1_000)+`true]}`), 1_000*800)
}
