package schemas_test

import (
	"fmt"
	"strings"
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
}
