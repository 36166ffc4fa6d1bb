package templates_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/templates"
)

// FuzzTemplate checks every template with all data. Nothing panics. A parsed template renders
// within the limits or fails with an error of this package, with the same result twice. Escaped
// values never become markup.
func FuzzTemplate(f *testing.F) {
	f.Add("Hello {{name}}", `{"name": "<Ada>"}`)
	f.Add("{{#a}}\n {{b.c}}\r\n{{/a}}{{^a}}x{{/a}}", `{"a": [1, {"b": {"c": "'"}}]}`)
	f.Add("{{=<% %>=}}<%{x}%><%& x %>{{x}}<%! note %>", `{"x": "&"}`)
	f.Add("{{#.}}{{.}}{{/.}}{{{.}}}", `{"a": {"b": [null, true, 1.50]}}`)
	f.Add("  {{#a}}\n  {{/a", `{}`)
	f.Add(strings.Repeat("{{#l}}", 6)+"{{.}}"+strings.Repeat("{{/l}}", 6), `{"l": [1,2,3,4,5,6,7,8,9,0]}`)
	f.Fuzz(func(t *testing.T, source, values string) {
		var m map[string]any
		if json.Unmarshal([]byte(values), &m) != nil {
			return
		}
		parsed, err := templates.Parse(templates.Source{Subject: source, Text: source, HTML: source})
		if err != nil {
			require.Contains(t, err.Error(), "html: line ")
			return
		}
		first, err := parsed.Render(m)
		again, errAgain := parsed.Render(m)
		require.Equal(t, err, errAgain)
		require.Equal(t, first, again)
		if err != nil {
			require.True(t, errors.Is(err, templates.ErrTooLarge) || errors.Is(err, templates.ErrTooLong), err)
			return
		}
		require.LessOrEqual(t, len(first.Subject)+len(first.Text)+len(first.HTML), templates.MaxOutput)
		require.NotContains(t, first.Subject, "\n")
		if !strings.ContainsAny(source, `<>"'&{=`) {
			require.Equal(t, source, first.HTML, "a template without tags is shown as it is")
		}
		if plain := !strings.ContainsAny(source, "<&=") && !strings.Contains(source, "{{{"); plain {
			require.NotContains(t, first.HTML, "<", "a value became markup")
		}
	})
}
