package templates_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/templates"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	line := templates.Object(map[string]*templates.Shape{"name": templates.Scalar(), "price": templates.Scalar()})
	shape := templates.Object(map[string]*templates.Shape{
		"user": templates.Object(map[string]*templates.Shape{"first_name": templates.Scalar(), "custom_fields": nil}),
		"context": templates.Object(map[string]*templates.Shape{
			"order": templates.Scalar(), "lines": {List: true, Item: line}, "notes": {List: true, Item: templates.Scalar()}, "anything": {List: true},
			"extra": {Open: true, Members: map[string]*templates.Shape{"gift": templates.Scalar()}},
			"both":  {List: true, Item: line, Members: map[string]*templates.Shape{"name": templates.Scalar()}},
		}),
	})
	for text, want := range map[string][]string{
		"{{ user.first_name }} {{ context.order }} {{{ context.order }}} {{& context.order }}":                         nil,
		"{{ user.custom_fields.a.b.c }}{{ context.extra.whatever.it.is }}":                                             nil,
		"{{# context.lines }}{{ name }} {{ price }} {{ . }} {{ context.order }}{{/ context.lines }}":                   nil,
		"{{# context }}{{ order }}{{# user }}{{ first_name }}{{/ user }}{{/ context }}":                                nil,
		"{{# context.notes }}{{ . }}{{/ context.notes }}{{^ context.lines }}{{ user.first_name }}{{/ context.lines }}": nil,
		"{{# context.anything }}{{ whatever }}{{/ context.anything }}{{# context.both }}{{ x }}{{/ context.both }}":    nil,
		"{{# user.custom_fields }}{{ whatever }}{{/ user.custom_fields }}":                                             nil,
		"Hello\n{{ user.frist_name }}":                        {`line 2: there is no variable "user.frist_name", did you mean "user.first_name"?`},
		"{{ first_name }}":                                    {`line 1: there is no variable "first_name", did you mean "user.first_name"?`},
		"{{ order }}{{ order }}":                              {`line 1: there is no variable "order", did you mean "context.order"?`},
		"{{ context.order.number }}":                          {`line 1: there is no variable "context.order.number"`},
		"{{ context.lines.name }}":                            {`line 1: there is no variable "context.lines.name", did you mean "context.both.name"?`},
		"{{# contxt.lines }}{{ name }}{{/ contxt.lines }}":    {`line 1: there is no variable "contxt.lines", did you mean "context.lines"?`},
		"{{^ context.line }}none{{/ context.line }}":          {`line 1: there is no variable "context.line", did you mean "context.lines"?`},
		"{{# context.lines }}{{ prise }}{{/ context.lines }}": {`line 1: there is no variable "prise", did you mean "price"?`},
		"{{# context.order }}{{ name }}{{/ context.order }}":  {`line 1: there is no variable "name", did you mean "context.both.name"?`},
		"{{^ context.lines }}{{ name }}{{/ context.lines }}":  {`line 1: there is no variable "name", did you mean "context.both.name"?`},
		"{{ a }}\n{{ b }}":                                    {`line 1: there is no variable "a"`, `line 2: there is no variable "b"`},
	} {
		parsed, err := templates.Parse(templates.Source{Text: text})
		require.NoError(t, err)
		err = parsed.Check(shape)
		if want == nil {
			assert.NoError(t, err, text)
			continue
		}
		var said *fault.Error
		require.ErrorAs(t, err, &said, text)
		require.Len(t, said.Fields(), 1, text)
		assert.Equal(t, "text", said.Fields()[0].Name, text)
		assert.Equal(t, want, said.Fields()[0].Messages, text)
	}

	t.Run("EachPartIsNamed", func(t *testing.T) {
		t.Parallel()
		parsed, err := templates.Parse(templates.Source{Subject: "{{ a }}", Text: "{{ b }}", HTML: "{{ c }}"})
		require.NoError(t, err)
		var said *fault.Error
		require.ErrorAs(t, parsed.Check(shape), &said)
		var parts []string
		for _, f := range said.Fields() {
			parts = append(parts, f.Name)
		}
		assert.Equal(t, []string{"subject", "text", "html"}, parts)
	})

	t.Run("FirstOfManyErrorsAreReported", func(t *testing.T) {
		t.Parallel()
		var text strings.Builder
		for i := range 100 {
			fmt.Fprintf(&text, "{{ unknown%d }}", i)
		}
		parsed, err := templates.Parse(templates.Source{Text: text.String()})
		require.NoError(t, err)
		var said *fault.Error
		require.ErrorAs(t, parsed.Check(shape), &said)
		assert.Len(t, said.Fields()[0].Messages, 20)
	})

	t.Run("UnknownObjectsMayHaveAnything", func(t *testing.T) {
		t.Parallel()
		parsed, err := templates.Parse(templates.Source{Subject: "{{ a.b }}", Text: "{{# c }}{{ d }}{{/ c }}"})
		require.NoError(t, err)
		assert.NoError(t, parsed.Check(nil))
	})
}

func TestBlanks(t *testing.T) {
	t.Parallel()
	parsed, err := templates.Parse(templates.Source{Subject: "{{ context.titel }} {{ context.titel }} {{ context.title }}", Text: "a\n{{ context.none.of }}{{ context.null }}{{ context.empty }}", HTML: "{{# context.lines }}{{ name }}{{ price }}{{/ context.lines }}{{^ context.gone }}{{# context.gone }}{{ context.more }}{{/ context.gone }}{{/ context.gone }}"})
	require.NoError(t, err)
	values := data(t, `{"context": {"title": "t", "null": null, "empty": "", "lines": [{"name": "a", "price": 1}, {"name": "b"}]}}`)
	assert.Equal(t, []string{"context.titel (subject, line 1)", "context.none.of (text, line 2)", "context.null (text, line 2)", "price (html, line 1)"}, parsed.MissingVariables(values))
	many, err := templates.Parse(templates.Source{HTML: strings.Repeat("{{ a }}", 3) + func() (all string) {
		for i := range 40 {
			all += "{{ v" + strconv.Itoa(i) + " }}"
		}
		return all
	}()})
	require.NoError(t, err)
	assert.Len(t, many.MissingVariables(nil), 20)
	endless, err := templates.Parse(templates.Source{Subject: "{{ a }}", Text: strings.Repeat("{{# l }}", 20) + strings.Repeat("{{/ l }}", 20), HTML: "{{ b }}"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a (subject, line 1)"}, endless.MissingVariables(data(t, `{"l": [1, 2, 3, 4, 5, 6, 7, 8]}`)), "it ends where a message would")
}
