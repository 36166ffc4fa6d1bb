package templates_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/templates"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	render := func(t *testing.T, subject, text, html string, values map[string]any) (templates.Message, error) {
		t.Helper()
		parsed, err := templates.Parse(templates.Source{Subject: subject, Text: text, HTML: html})
		require.NoError(t, err)
		return parsed.Render(values)
	}
	long := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = i
		}
		return list
	}

	t.Run("TheLargestMessageIsRendered", func(t *testing.T) {
		t.Parallel()
		m, err := render(t, "", "{{half}}", "{{half}}", map[string]any{"half": strings.Repeat("x", templates.MaxOutput/2)})
		require.NoError(t, err)
		assert.Len(t, m.Text+m.HTML, templates.MaxOutput)
	})
	for name, c := range map[string]struct{ text, html, want string }{
		"OfValues":       {"{{half}}", "\n{{half}}x", "html, line 2: "},
		"OfEscapedText":  {"{{half}}", "{{half}}{{quote}}", "html, line 1: "},
		"OfLoops":        {"{{#list}}\n{{half}}\n{{/list}}", "", "text, line 2: "},
		"OfLiterals":     {"{{#list}}\n" + strings.Repeat("y", 1000) + "\n{{/list}}", "", "text, line 2: "},
		"OfWholeObjects": {"{{#list}}{{everything}}{{/list}}", "", "text, line 1: "},
	} {
		t.Run("AMessageThatIsTooLargeFails/"+name, func(t *testing.T) {
			t.Parallel()
			half := strings.Repeat("x", templates.MaxOutput/2)
			_, err := render(t, "", c.text, c.html, map[string]any{"half": half, "quote": "'", "list": long(2_000), "everything": []any{half}})
			require.ErrorIs(t, err, templates.ErrTooLarge)
			require.EqualError(t, err, c.want+"the message is larger than 1 MiB")
			assert.Equal(t, fault.TooLarge, fault.KindOf(err))
		})
	}
	for name, source := range map[string]string{
		"NestedLoops":        strings.Repeat("{{#list}}", 5) + strings.Repeat("{{/list}}", 5),
		"LoopsOverNothing":   "{{#list}}{{#list}}{{^list}}{{/list}}{{none}}{{/list}}{{/list}}",
		"NamesOfManyParts":   "{{#list}}{{#list}}{{" + strings.Repeat("a.", 99) + "a}}{{/list}}{{/list}}",
		"NamesInManyFrames":  strings.Repeat("{{#list.x}}{{/list.x}}{{#yes}}", 30) + "{{#list}}{{#list}}{{none}}{{/list}}{{/list}}" + strings.Repeat("{{/yes}}", 30),
		"TheSameListAsItems": "{{#list}}{{#list}}{{#list}}{{.}}{{.}}{{/list}}{{/list}}{{/list}}",
	} {
		t.Run("AMessageThatTakesTooLongFails/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := render(t, "s", source, "", map[string]any{"list": long(10_000), "yes": true})
			if name == "TheSameListAsItems" && err != nil { // Whichever limit comes first.
				return
			}
			require.ErrorIs(t, err, templates.ErrTooLong)
			require.EqualError(t, err, "text, line 1: the message takes too many steps")
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
	t.Run("AReportOfAThousandRowsIsRendered", func(t *testing.T) {
		t.Parallel()
		rows := make([]any, 1_000)
		for i := range rows {
			rows[i] = map[string]any{"a": "x", "b": map[string]any{"c": "y"}}
		}
		row := strings.Repeat("{{a}} {{b.c}} {{none}} {{outer}}\n", 10)
		_, err := render(t, "", "{{#rows}}"+row+"{{/rows}}", "", map[string]any{"rows": rows, "outer": "z"})
		require.NoError(t, err)
	})
	t.Run("ADataLoopFails", func(t *testing.T) {
		t.Parallel()
		circle := map[string]any{}
		circle["self"] = circle
		_, err := render(t, "", "{{self}}", "", circle)
		require.ErrorIs(t, err, templates.ErrNotPlain)
	})
	t.Run("ErrorNamesTheNonPlainValue", func(t *testing.T) {
		t.Parallel()
		_, err := render(t, "ok", "\n\n{{#a}}{{a.b}}{{/a}}", "", map[string]any{"a": map[string]any{"b": make(chan int)}})
		require.ErrorIs(t, err, templates.ErrNotPlain)
		require.EqualError(t, err, "text, line 3: a.b holds a value of the type chan int")
	})
}
