package templates_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/templates"
)

// shelf returns the partials of an organization.
func shelf() templates.Partials {
	return templates.Partials{
		"footer": {Text: "-- \n{{organization.name}}\n", HTML: "<hr>{{organization.name}}\n"},
		"shell":  {Text: "{{$content}}Nothing{{/content}}\n{{> footer}}", HTML: "<html><title>{{$title}}News{{/title}}</title>\n{{$content}}\n{{/content}}\n{{> footer}}</html>"},
		"wide":   {HTML: "{{<shell}}{{$title}}Wide{{/title}}{{$content}}<table>{{$content}}{{/content}}</table>{{/content}}{{/shell}}"},
		"row":    {HTML: "<i>{{name}}</i>"},
		"mute":   {Text: "x"},
	}
}

func with(tb testing.TB, of templates.Source, values map[string]any) templates.Message {
	tb.Helper()
	parsed, err := templates.ParseWith(of, shelf())
	require.NoError(tb, err)
	m, err := parsed.Render(values)
	require.NoError(tb, err)
	return m
}

func TestPartials(t *testing.T) {
	t.Parallel()
	values := map[string]any{"organization": map[string]any{"name": "Acme & Co"}, "name": "<Ada>", "items": []any{map[string]any{"name": "<1>"}, map[string]any{"name": "2"}}}
	for name, c := range map[string]struct {
		of         templates.Source
		text, html string
	}{
		"InText":     {templates.Source{Text: "Hi\n{{> footer}}\nBye"}, "Hi\n-- \nAcme & Co\nBye", ""},
		"InHTML":     {templates.Source{Text: "x", HTML: "<p>\n{{>footer}}\n</p>"}, "x", "<p>\n<hr>Acme &amp; Co\n</p>"},
		"InASection": {templates.Source{Text: "x", HTML: "{{#items}}{{> row }}{{/items}}"}, "x", "<i>&lt;1&gt;</i><i>2</i>"},
		"ALayout": {templates.Source{Text: "{{<shell}}\n{{$content}}\nHi {{name}}\n{{/content}}\n{{/shell}}", HTML: "{{<shell}}{{$content}}<p>{{name}}</p>{{/content}}{{/shell}}"},
			"Hi <Ada>\n\n-- \nAcme & Co", "<html><title>News</title>\n<p>&lt;Ada&gt;</p><hr>Acme &amp; Co</html>"},
		"ALayoutInALayout": {templates.Source{Text: "x", HTML: "{{<wide}}{{$content}}{{name}}{{/content}}{{$title}}Mine{{/title}}{{/wide}}"},
			"x", "<html><title>Mine</title>\n&lt;Ada&gt;<hr>Acme &amp; Co</html>"},
		"ALayoutIsAPartial": {templates.Source{Text: "{{> shell}}"}, "Nothing\n-- \nAcme & Co", ""},
		"OnlyABlock":        {templates.Source{Text: "{{$a}}{{name}}{{/a}}"}, "<Ada>", ""},
		"OtherDelimiters":   {templates.Source{Text: "{{=<% %>=}}<%> footer%>"}, "-- \nAcme & Co", ""},
		"MarkdownInALayout": {templates.Source{Text: "x", Markdown: "{{<shell}}{{$title}}*{{name}}*{{/title}}{{$content}}\n# Hi **{{name}}**\n{{/content}}{{/shell}}"},
			"x", "<html><title><em>&lt;Ada&gt;</em></title>\n<h1>Hi <strong>&lt;Ada&gt;</strong></h1>\n<hr>Acme &amp; Co</html>\n"},
		"APartialInMarkdown": {templates.Source{Text: "x", Markdown: "# Hi\n\n{{> footer}}\n\nand {{> row}}"},
			"x", "<h1>Hi</h1>\n<hr>Acme &amp; Co\n<p>and <i>&lt;Ada&gt;</i></p>\n"},
		"NoPartialInATag": {templates.Source{Text: "x", Markdown: "![a{{> row}}b](x{{> row}}) [c](y \"{{> row}}\")"},
			"x", "<p><img src=\"x\" alt=\"ab\"> <a href=\"y\" title=\"\">c</a></p>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, templates.Message{Text: c.text, HTML: c.html}, with(t, c.of, values))
		})
	}
	t.Run("TheTextIsMadeOfTheHTML", func(t *testing.T) {
		t.Parallel()
		m := with(t, templates.Source{Markdown: "{{<shell}}{{$content}}\nHi **{{name}}**\n{{/content}}{{/shell}}"}, values)
		assert.Equal(t, "Hi <Ada>\n\n----\n\nAcme & Co", m.Text)
	})
}

func TestPartialsAreRefused(t *testing.T) {
	t.Parallel()
	loop := templates.Partials{"a": {Text: "\n{{> b}}"}, "b": {Text: "{{<c}}{{$x}}{{> a}}{{/x}}{{/c}}"}, "c": {Text: "{{$x}}{{/x}}"}, "bad": {Text: "{{#x}}"}}
	deep, many := templates.Partials{"d0": {Text: "x"}}, templates.Partials{"m0": {HTML: ""}}
	for i := range templates.MaxInclusion {
		deep["d"+strconv.Itoa(i+1)] = templates.Partial{Text: "{{> d" + strconv.Itoa(i) + "}}"}
		many["m"+strconv.Itoa(i+1)] = templates.Partial{Text: strings.Repeat("{{> m"+strconv.Itoa(i)+"}}", 100)}
	}
	bomb := templates.Partials{"e": {Text: "x"}, "m": {Text: strings.Repeat("{{<e}}{{/e}}", 5_400)}}
	many["m0"] = templates.Partial{Text: "{{! nothing }}"}
	for name, c := range map[string]struct {
		text string
		of   templates.Partials
		want string
	}{
		"AnUnknownName":   {"\n{{> foter}}", shelf(), `line 2: there is no partial "foter", did you mean "footer"?`},
		"AnUnknownLayout": {"{{<shel}}{{/shel}}", shelf(), `line 1: there is no partial "shel", did you mean "shell"?`},
		"MissingBody":     {"{{> row}}", shelf(), `line 1: partial "row" has no text`},
		"MissingBlock": {"{{<shell}}{{$contents}}x{{/contents}}{{/shell}}", shelf(),
			`line 1: partial "shell" has no block "contents", did you mean "content"?`},
		"TextOutsideTheBlocks": {"{{<shell}}\nHello\n{{/shell}}", shelf(), "line 1: what is in a layout belongs into one of its blocks: {{$ name}}…{{/ name}}"},
		"ABlockTwice":          {"{{<shell}}{{$content}}x{{/content}}{{$content}}y{{/content}}{{/shell}}", shelf(), `line 1: block "content" is filled twice`},
		"APartialInItself":     {"{{> a}}", loop, `partial "b", line 1: partial "a" includes itself: a → b → a`},
		"ADeepInclusion":       {"{{> d8}}", deep, `partial "d1", line 1: partials include each other deeper than 8: d8 → d7 → d6 → d5 → d4 → d3 → d2 → d1 → d0`},
		"TooManyInclusions":    {"{{> m7}}", many, `partial "m1", line 1: the template is too large with its partials`},
		"TooManyBlocks":        {"{{<m}}" + blocks(16_000) + "{{/m}}", bomb, `line 1: more than 100 blocks of layout "m" are filled`},
		"InvalidPartial":       {"{{> bad}}", loop, `partial "bad", line 1: section "x" is never closed`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := templates.ParseWith(templates.Source{Text: c.text}, c.of)
			require.EqualError(t, err, "text: "+c.want)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
	require.EqualError(t, templates.NewParser(loop).CheckPartial("a"), `text: partial "b", line 1: partial "a" includes itself: a → b → a`)
	require.NoError(t, templates.NewParser(loop).CheckPartial("c"))
	nested := templates.Partials{"n": {Text: strings.Repeat("{{#a}}", 20) + strings.Repeat("{{/a}}", 20)}}
	_, err := templates.ParseWith(templates.Source{Text: strings.Repeat("{{#a}}", 20) + "{{> n}}" + strings.Repeat("{{/a}}", 20)}, nested)
	assert.EqualError(t, err, `text: partial "n", line 1: sections are nested deeper than 32`)
}

func TestVariablesOfPartials(t *testing.T) {
	t.Parallel()
	parsed, err := templates.ParseWith(templates.Source{Text: "{{> footer}}", Markdown: "{{<shell}}{{$content}}\n{{nme}}{{/content}}{{/shell}}"}, shelf())
	require.NoError(t, err)
	require.EqualError(t, parsed.Check(templates.Object(map[string]*templates.Shape{"name": templates.Scalar()})),
		`text: partial "footer", line 2: there is no variable "organization.name", did you mean "name"?; `+
			`markdown: line 2: there is no variable "nme", did you mean "name"?, partial "footer", line 1: there is no variable "organization.name", did you mean "name"?`)
	assert.Equal(t, []string{`organization.name (text, partial "footer", line 2)`, "nme (markdown, line 2)", `organization.name (markdown, partial "footer", line 1)`},
		parsed.MissingVariables(nil))
	uses, err := templates.Uses(templates.Source{Subject: "{{> b}}", Text: "{{#x}}{{> a}}{{/x}}", HTML: "{{<shell}}{{$content}}{{> a}}{{/content}}{{/shell}}"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "shell"}, uses)
	_, err = templates.Uses(templates.Source{Text: "{{#x}}"})
	require.ErrorContains(t, err, "text: line 1")
}

func TestPartialsAreWithinTheLimits(t *testing.T) {
	t.Parallel()
	list := make([]any, 3_000)
	for name, c := range map[string]struct {
		of   templates.Source
		with string
		want error
	}{
		"Bytes":      {templates.Source{HTML: "{{#list}}{{> p}}{{/list}}"}, strings.Repeat("x", 1_000), templates.ErrTooLarge},
		"InMarkdown": {templates.Source{Markdown: "{{#list}}{{> p}}{{/list}}"}, strings.Repeat("x", 1_000), templates.ErrTooLarge},
		"Steps":      {templates.Source{HTML: "{{#list}}{{#list}}{{> p}}{{/list}}{{/list}}"}, "{{none}}", templates.ErrTooLong},
		"Markdown":   {templates.Source{Markdown: "{{#list}}{{<p}}{{$b}}" + strings.Repeat("x", 100) + "{{/b}}{{/p}}{{/list}}"}, "{{$b}}{{/b}}", templates.ErrTooMuch},
		"Reading":    {templates.Source{Markdown: "{{#list}}{{#two}}{{<p}}{{$b}}{{/b}}{{/p}}{{/two}}{{/list}}"}, "{{$b}}{{/b}}", templates.ErrTooLong},
		"Unseen":     {templates.Source{Markdown: "{{#list}}{{<p}}{{$b}}[x]: {{long}}{{/b}}{{/p}}{{/list}}"}, "{{$b}}{{/b}}", templates.ErrTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := templates.ParseWith(c.of, templates.Partials{"p": {HTML: c.with}})
			require.NoError(t, err)
			_, err = parsed.Render(map[string]any{"list": list, "two": []any{1, 2}, "long": strings.Repeat("x", 20_000)})
			require.ErrorIs(t, err, c.want)
		})
	}
}

// TestHostileValuesInPartials renders what would be elements, in a layout and in an island.
func TestHostileValuesInPartials(t *testing.T) {
	t.Parallel()
	for _, value := range hostile {
		values := map[string]any{"name": value, "organization": map[string]any{"name": value}}
		m := with(t, templates.Source{Markdown: "{{> row}} ![{{> row}}](x)\n\n{{<shell}}{{$content}}{{name}}{{/content}}{{/shell}}"}, values)
		empty := with(t, templates.Source{Markdown: "{{> row}} ![{{> row}}](x)\n\n{{<shell}}{{$content}}{{name}}{{/content}}{{/shell}}"},
			map[string]any{"name": "x", "organization": map[string]any{"name": "x"}})
		assert.Equal(t, strings.Count(empty.HTML, "<"), strings.Count(m.HTML, "<"), value)
		assert.Equal(t, strings.Count(empty.HTML, `"`), strings.Count(m.HTML, `"`), value)
	}
}

// blocks returns count empty blocks with distinct names.
func blocks(count int) string {
	var all strings.Builder
	for i := range count {
		all.WriteString("{{$a" + strconv.Itoa(i) + "}}{{/a" + strconv.Itoa(i) + "}}")
	}
	return all.String()
}

// TestFillsAreNotCopied counts what putting a layout into a template takes: what fills the layout
// is not copied for each of the layouts that it consists of.
func TestFillsAreNotCopied(t *testing.T) { //nolint:paralleltest // It counts what the process does.
	const layouts = 5_000
	work := func(fills int) float64 {
		of := templates.Source{Text: "{{<m}}" + blocks(fills) + "{{/m}}"}
		with := templates.Partials{"e": {Text: "x"}, "m": {Text: strings.Repeat("{{<e}}{{/e}}", layouts) + blocks(fills)}}
		return testing.AllocsPerRun(1, func() {
			_, err := templates.ParseWith(of, with)
			assert.NoError(t, err)
		})
	}
	assert.Less(t, work(templates.MaxFills)-work(1), float64(layouts))
}

// TestFillsCount refuses a template whose layouts are few and whose fills are many.
func TestFillsCount(t *testing.T) {
	t.Parallel()
	with := templates.Partials{"b": {Text: blocks(templates.MaxFills)}, "n": {Text: strings.Repeat("{{<b}}"+blocks(templates.MaxFills)+"{{/b}}", 30)}}
	_, err := templates.ParseWith(templates.Source{Text: "{{> n}}{{> n}}{{> n}}"}, with)
	require.NoError(t, err)
	_, err = templates.ParseWith(templates.Source{Text: strings.Repeat("{{> n}}", 4)}, with)
	require.EqualError(t, err, `text: partial "n", line 1: the template is too large with its partials`)
}
