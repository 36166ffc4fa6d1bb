package schemas_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/schemas"
	"github.com/tocsin/tocsin/domain/templates"
)

func TestShape(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema, template string
		unknown          bool
	}{
		"AProperty":              {`{"properties": {"a": {}}}`, "{{ a }}", false},
		"NoProperty":             {`{"properties": {"a": {}}}`, "{{ b }}", true},
		"NothingKnown":           {`{"required": ["a"]}`, "{{ b.c }}", false},
		"AnythingIsAllowed":      {`{"properties": {"a": {}}, "additionalProperties": true}`, "{{ b }}", false},
		"ASchemaOfOthers":        {`{"properties": {"a": {}}, "additionalProperties": {"type": "string"}}`, "{{ b }}", false},
		"APattern":               {`{"properties": {"a": {}}, "patternProperties": {"^x": {}}}`, "{{ x1 }}", false},
		"NothingAllowed":         {`{"additionalProperties": false}`, "{{ a }}", true},
		"AnyMemberOfAFreeObject": {`{"properties": {"a": {"type": "object"}}}`, "{{ a.b }}", false},
		"NoMemberOfAText":        {`{"properties": {"a": {"type": ["string", "null"]}}}`, "{{ a.b }}", true},
		"AMemberOfAMember":       {`{"properties": {"a": {"properties": {"b": {}}}}}`, "{{ a.b }}", false},
		"NoMemberOfAMember":      {`{"properties": {"a": {"properties": {"b": {}}}}}`, "{{ a.c }}", true},
		"AReference":             {`{"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"properties": {"b": {}}}}}`, "{{ a.b }}", false},
		"ReferenceToNothing":     {`{"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"properties": {"b": {}}}}}`, "{{ a.c }}", true},
		"AllOf":                  {`{"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}, {"required": ["a"]}]}`, "{{ a }}{{ b }}", false},
		"NotInAllOf":             {`{"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}`, "{{ c }}", true},
		"AnyOf":                  {`{"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}`, "{{ a }}{{ b }}", false},
		"OneOf":                  {`{"oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"properties": {"b": {}}}}}]}`, "{{ a }}{{ a.b }}", false},
		"Then":                   {`{"if": {"properties": {"a": {}}}, "then": {"properties": {"b": {}}}, "else": {"properties": {"c": {}}}}`, "{{ a }}{{ b }}{{ c }}", false},
		"DependentSchemas":       {`{"dependentSchemas": {"a": {"properties": {"b": {}}}}}`, "{{ b }}", false},
		"Items":                  {`{"properties": {"l": {"items": {"properties": {"a": {}}}}}}`, "{{# l }}{{ a }}{{/ l }}", false},
		"NotInItems":             {`{"properties": {"l": {"items": {"properties": {"a": {}}}}}}`, "{{# l }}{{ b }}{{/ l }}", true},
		"ItemsOfAnArray":         {`{"properties": {"l": {"type": "array", "items": {"properties": {"a": {}}}}}}`, "{{# l }}{{ b }}{{/ l }}", true},
		"AnyItems":               {`{"properties": {"l": {"type": "array"}}}`, "{{# l }}{{ b }}{{/ l }}", false},
		"ItemsOneByOne":          {`{"properties": {"l": {"prefixItems": [{"properties": {"a": {}}}]}}}`, "{{# l }}{{ b }}{{/ l }}", false},
		"ItemsOfAnOlderDraft":    {`{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"l": {"items": {"properties": {"a": {}}}}}}`, "{{# l }}{{ b }}{{/ l }}", true},
		"AListOrAnObject":        {`{"properties": {"l": {"items": {"properties": {"a": {}}}, "properties": {"b": {}}}}}`, "{{# l }}{{ c }}{{/ l }}", false},
		"AMemberOfAListIsNot":    {`{"properties": {"l": {"type": "array", "items": {"properties": {"a": {}}}}}}`, "{{ l.a }}", true},
		"RepeatedReference":      {`{"properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"properties": {"c": {}}}}}`, "{{ a.c }}{{ b.c }}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := schemas.Parse(c.schema)
			require.NoError(t, err)
			parsed, err := templates.Parse(templates.Source{Text: c.template})
			require.NoError(t, err)
			err = parsed.Check(s.Shape())
			assert.Equal(t, c.unknown, err != nil, "%v", err)
		})
	}
}
