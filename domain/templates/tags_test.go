package templates_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/templates"
)

func TestTags(t *testing.T) {
	t.Parallel()
	var example any
	require.NoError(t, json.Unmarshal([]byte(`{"order": "A-1", "paid": true, "of": {"b": 1, "a": null}, "items": [{"name": "Nut", "price": 2}],
		"codes": ["x"], "none": [], "not.one": 1, "empty": {}}`), &example))
	tags := templates.ShapeOf(example).Tags()
	assert.Equal(t, []string{"{{#codes}}{{.}}{{/codes}}", "{{empty}}", "{{#items}}{{name}} {{price}}{{/items}}", "{{#none}}{{.}}{{/none}}",
		"{{of.a}}", "{{of.b}}", "{{order}}", "{{paid}}"}, tags)
	for _, tag := range tags { // Each can be used as it stands.
		parsed, err := templates.Parse(templates.Source{Text: tag})
		require.NoError(t, err)
		assert.NoError(t, parsed.Check(templates.ShapeOf(example)), tag)
	}
}

func TestTagsAreFew(t *testing.T) {
	t.Parallel()
	many := map[string]any{}
	for i := range 1_000 {
		many[fmt.Sprint("v", i)] = 1
	}
	assert.Len(t, templates.ShapeOf(many).Tags(), 200)
	assert.Empty(t, templates.ShapeOf(nil).Tags())
	deep := any("x")
	for range 20 {
		deep = map[string]any{"a": deep}
	}
	assert.Empty(t, templates.ShapeOf(deep).Tags(), "what lies deeper than a suggestion would reach")
}
