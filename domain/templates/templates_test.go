package templates_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/templates"
)

// data reads a JSON object as the data of an occurrence are read: numbers stay as they were sent.
func data(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	require.NoError(t, d.Decode(&m))
	return m
}

func text(t testing.TB, source, values string) string {
	t.Helper()
	parsed, err := templates.Parse(templates.Source{Text: source})
	require.NoError(t, err)
	m, err := parsed.Render(data(t, values))
	require.NoError(t, err)
	return m.Text
}

func html(t testing.TB, source, values string) string {
	t.Helper()
	parsed, err := templates.Parse(templates.Source{HTML: source})
	require.NoError(t, err)
	m, err := parsed.Render(data(t, values))
	require.NoError(t, err)
	return m.HTML
}

func TestRender(t *testing.T) {
	t.Parallel()
	t.Run("EscapesInTheHTMLOnly", func(t *testing.T) {
		t.Parallel()
		const source = `{{name}} {{{name}}} {{&name}}`
		parsed, err := templates.Parse(templates.Source{Subject: source, Text: source, HTML: source})
		require.NoError(t, err)
		m, err := parsed.Render(data(t, `{"name": "<b>&\"'"}`))
		require.NoError(t, err)
		const plain = `<b>&"' <b>&"' <b>&"'`
		assert.Equal(t, templates.Message{Subject: plain, Text: plain, HTML: `&lt;b&gt;&amp;&quot;&#39; <b>&"' <b>&"'`}, m)
	})
	t.Run("TheSubjectIsOneLine", func(t *testing.T) {
		t.Parallel()
		parsed, err := templates.Parse(templates.Source{Subject: " Order \n {{order}}\r\n"})
		require.NoError(t, err)
		m, err := parsed.Render(data(t, `{"order": "7\r\nBcc: eve@example.org\u2028x\u0085\u0000\ty"}`))
		require.NoError(t, err)
		assert.Equal(t, "Order 7 Bcc: eve@example.org x y", m.Subject)
	})
	t.Run("ALongSubjectIsCut", func(t *testing.T) {
		t.Parallel()
		parsed, err := templates.Parse(templates.Source{Subject: "{{s}}"})
		require.NoError(t, err)
		longest := strings.Repeat("ü", templates.MaxSubject)
		m, err := parsed.Render(map[string]any{"s": longest})
		require.NoError(t, err)
		assert.Equal(t, longest, m.Subject)
		m, err = parsed.Render(map[string]any{"s": longest + "ü"})
		require.NoError(t, err)
		assert.Equal(t, strings.Repeat("ü", templates.MaxSubject-1)+"…", m.Subject)
	})
	t.Run("NumbersComeAsTheyWereSent", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, "1.50 1e3 12345678901234567890 -0", text(t, "{{a}} {{b}} {{c}} {{d}}", `{"a": 1.50, "b": 1e3, "c": 12345678901234567890, "d": -0}`))
	})
	t.Run("PlainGoValuesComeAsText", func(t *testing.T) {
		t.Parallel()
		parsed, err := templates.Parse(templates.Source{Text: "{{i}} {{l}} {{f}} {{b}} {{m.k}} {{#s}}{{.}};{{/s}}"})
		require.NoError(t, err)
		m, err := parsed.Render(map[string]any{"i": 7, "l": int64(-8), "f": 2.5, "b": true, "m": map[string]string{"k": "v"}, "s": []string{"x", "y"}})
		require.NoError(t, err)
		assert.Equal(t, "7 -8 2.5 true v x;y;", m.Text)
	})
	t.Run("MapsAndListsComeAsJSON", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, `is {"a":"<","b":2.0} [1,"x"]`, text(t, "is {{object}} {{list}}", `{"object": {"b": 2.0, "a": "<"}, "list": [1, "x"]}`))
		assert.Equal(t, `{&quot;a&quot;:&quot;&lt;&quot;}`, html(t, "{{object}}", `{"object": {"a": "<"}}`))
	})
	t.Run("TheDataAreNotChanged", func(t *testing.T) {
		t.Parallel()
		const values = `{"list": [{"a": 1}, {"a": 2}], "object": {"b": "x"}}`
		m := data(t, values)
		parsed, err := templates.Parse(templates.Source{Text: "{{#list}}{{a}}{{/list}}{{#object}}{{b}}{{/object}}"})
		require.NoError(t, err)
		for range 2 {
			_, err = parsed.Render(m)
			require.NoError(t, err)
		}
		assert.Equal(t, data(t, values), m)
	})
	t.Run("FindsNoMethodsFieldsOrFunctions", func(t *testing.T) {
		t.Parallel()
		called := false
		values := map[string]any{"object": object{Secret: "s"}, "call": func() string { called = true; return "x" }}
		for _, source := range []string{"{{object}}", "{{call}}"} {
			parsed, err := templates.Parse(templates.Source{Text: source})
			require.NoError(t, err)
			_, err = parsed.Render(values)
			require.ErrorIs(t, err, templates.ErrNotPlain)
		}
		parsed, err := templates.Parse(templates.Source{Text: "{{object.Secret}}{{object.Method}}{{#call}}{{/call}}{{#object}}{{Secret}}{{Method}}{{/object}}"})
		require.NoError(t, err)
		m, err := parsed.Render(values)
		require.NoError(t, err)
		assert.Empty(t, m.Text)
		assert.False(t, called)
	})
	t.Run("NilDataHaveNoNames", func(t *testing.T) {
		t.Parallel()
		parsed, err := templates.Parse(templates.Source{Text: "({{a}}{{#a}}x{{/a}})"})
		require.NoError(t, err)
		m, err := parsed.Render(nil)
		require.NoError(t, err)
		assert.Equal(t, "()", m.Text)
	})
}

type object struct{ Secret string }

func (object) Method() string { return "called" }

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"AnUnclosedTag":             {"a\nb {{name", `line 2: a tag is not closed with "}}"`},
		"AnUnclosedRawTag":          {"{{{name}}", `line 1: a tag is not closed with "}}}"`},
		"AnUnclosedDelimiterTag":    {"{{=<% %>}}", `line 1: a tag is not closed with "=}}"`},
		"AnUnclosedSection":         {"\n{{#a}}\n\n{{#b}}{{/b}}\n", `line 2: section "a" is never closed`},
		"AnUnclosedInvertedSection": {"{{^a}}", `line 1: section "a" is never closed`},
		"TheWrongSectionClosed":     {"{{#a}}\n{{#b}}\n{{/a}}{{/b}}", `line 3: section "a" is closed while "b" of line 2 is open`},
		"ASectionThatWasNotOpened":  {"x\r\n{{/a}}", `line 2: section "a" is closed but was not opened`},
		"NoName":                    {"{{ }}", "line 1: a tag has no name"},
		"NoNameOfASection":          {"{{#}}{{/}}", "line 1: a tag has no name"},
		"AHelperOfHandlebars":       {"{{#if paid}}x{{/if}}", `line 1: "if paid" is not a name: names have no spaces`},
		"AFilterOfJinja":            {"{{ name | upper }}", `line 1: "name | upper" is not a name: names have no spaces`},
		"AnEmptyPart":               {"{{a..b}}", `line 1: "a..b" has an empty part`},
		"ALeadingDot":               {"{{.a}}", `line 1: ".a" has an empty part`},
		"APartial":                  {"{{> footer}}", `line 1: there is no partial "footer"`},
		"ADynamicPartial":           {"{{>*footer}}", `line 1: there is no partial "*footer"`},
		"AParent":                   {"\n{{<base}}{{/base}}", `line 2: there is no partial "base"`},
		"OneDelimiter":              {"{{=<%=}}", `line 1: "<%" does not name two delimiters`},
		"ThreeDelimiters":           {"{{=a b c=}}", `line 1: "a b c" does not name two delimiters`},
		"ADelimiterWithEquals":      {"{{=<= =>=}}", `line 1: "<= =>" does not name two delimiters`},
		"ALongName":                 {"{{" + strings.Repeat("n", templates.MaxName+1) + "}}", `line 1: "` + strings.Repeat("n", 60) + `…" is longer than 200 bytes`},
		"DeepNesting":               {strings.Repeat("{{#a}}\n", templates.MaxNesting+1), "line 33: sections are nested deeper than 32"},
		"TheLineAfterAComment":      {"{{! one\ntwo\n}}{{a b}}", `line 3: "a b" is not a name: names have no spaces`},
		"TheLineAfterAStandalone":   {"{{#a}}\n{{/a}}\n{{", `line 3: a tag is not closed with "}}"`},
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := templates.Parse(templates.Source{HTML: c.source})
			require.EqualError(t, err, "html: "+c.want)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
	t.Run("NamesEveryPartAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := templates.Parse(templates.Source{Subject: "{{", Text: "{{#a}}", HTML: "\n{{>b}}"})
		var e *fault.Error
		require.ErrorAs(t, err, &e)
		require.EqualError(t, e, `subject: line 1: a tag is not closed with "}}"; text: line 1: section "a" is never closed; `+
			`html: line 2: there is no partial "b"`)
		for _, f := range e.Fields() {
			assert.ErrorIs(t, f.Cause, templates.ErrNotParsed, f.Name)
		}
	})
	t.Run("AcceptsTheDeepestNesting", func(t *testing.T) {
		t.Parallel()
		source := strings.Repeat("{{#a}}", templates.MaxNesting) + "x" + strings.Repeat("{{/a}}", templates.MaxNesting)
		assert.Equal(t, "x", text(t, source, `{"a": true}`))
	})
	t.Run("ALineOfManyTagsIsReadLikeManyLines", func(t *testing.T) {
		t.Parallel()
		// Looking back to the beginning of the line at each of them would take minutes.
		source := strings.Repeat(" ", 300_000) + strings.Repeat("{{!}}", 300_000)
		assert.Equal(t, strings.Repeat(" ", 300_000), text(t, source, `{}`))
	})
}
