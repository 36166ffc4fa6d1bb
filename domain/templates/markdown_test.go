package templates_test

import (
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	tokenizer "golang.org/x/net/html"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/templates"
)

// markdownOf returns a message whose body is Markdown.
func markdownOf(tb testing.TB, source string, values map[string]any) templates.Message {
	tb.Helper()
	m, err := renderMarkdown(tb, source, values)
	require.NoError(tb, err)
	return m
}

func renderMarkdown(tb testing.TB, source string, values map[string]any) (templates.Message, error) {
	tb.Helper()
	parsed, err := templates.Parse(templates.Source{Markdown: source})
	require.NoError(tb, err)
	return parsed.Render(values)
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"`a ``b` \\``c` ``d\n`` ```e":                            "<p><code>a ``b</code> `<code>c</code> <code>d </code> ```e</p>\n",
		"# Order {{order}}\n\nHello **{{name}}**.":               "<h1>Order A-7</h1>\n<p>Hello <strong>Ada &amp; Co</strong>.</p>\n",
		"{{#items}}\n- {{name}}: `{{code}}`\n{{/items}}\n":       "<ul>\n<li>Nut: <code>a_b*c*</code></li>\n<li>Bolt: <code>&lt;i&gt;</code></li>\n</ul>\n",
		"snake_{{order}}_case *{{order}}*{{order}}":              "<p>snake_A-7_case <em>A-7</em>A-7</p>\n",
		"    {{order}}\n\n```{{order}}\n{{name}}\n```":           "<pre><code>A-7\n</code></pre>\n<pre><code class=\"language-A-7\">Ada &amp; Co\n</code></pre>\n",
		"[{{name}}]({{link}} \"{{name}}\")":                      `<p><a href="https://example.org/?a=1&amp;copy;=2&amp;c=%5C%3C" title="Ada &amp; Co">Ada &amp; Co</a></p>` + "\n",
		"[a](https://example.org/{{order}}?q={{name}}#x)":        `<p><a href="https://example.org/A-7?q=Ada%20&amp;%20Co#x">a</a></p>` + "\n",
		"[a]\n\n[a]: {{link}}":                                   `<p><a href="https://example.org/?a=1&amp;copy;=2&amp;c=%5C%3C">a</a></p>` + "\n",
		"<https://example.org/{{order}}?a&amp;b>":                `<p><a href="https://example.org/A-7?a&amp;amp;b">https://example.org/A-7?a&amp;amp;b</a></p>` + "\n",
		"<{{order}}@example.org> <{{link}}>":                     "<p>&lt;A-7@example.org&gt; &lt;https://example.org/?a=1&amp;copy;=2&amp;c=\\&lt;&gt;</p>\n",
		"![{{name}}](https://example.org/{{order}}.png)":         `<p><img src="https://example.org/A-7.png" alt="Ada &amp; Co"></p>` + "\n",
		"[app](ourapp://orders/{{order}}) [up](#{{order}})":      `<p><a href="ourapp://orders/A-7">app</a> <a href="#A-7">up</a></p>` + "\n",
		"{{none}}\n\n# {{none}}":                                 "<p></p>\n<h1></h1>\n",
		"{{{raw}}}":                                              "<p><strong>bold</strong> and <!-- raw HTML omitted --></p>\n",
		"a <b>c</b>\n\n<script>x</script>\n\n&lt;i&gt;":          "<p>a <!-- raw HTML omitted -->c<!-- raw HTML omitted --></p>\n<!-- raw HTML omitted -->\n<p>&lt;i&gt;</p>\n",
		"\U000F0000 {{order}} \U000F0001 {{{mark}}} {{mark}}":    "<p>\U000F0000 A-7 \U000F0001 \U000F0000 \U000F0000</p>\n",
		"\U000F0000 &#xF0005; [x](y\U000F0000&#xF0000;{{mark}})": `<p>` + "\U000F0000 \U000F0005" + ` <a href="y%F3%B0%80%80%F3%B0%80%80%F3%B0%80%80">x</a></p>` + "\n",
	} {
		assert.Equal(t, want, markdownOf(t, source, map[string]any{"order": "A-7", "name": "Ada & Co", "link": `https://example.org/?a=1&copy;=2&c=\<`,
			"items": []any{map[string]any{"name": "Nut", "code": "a_b*c*"}, map[string]any{"name": "Bolt", "code": "<i>"}},
			"raw":   "**bold** and <i>", "mark": "\U000F0000"}).HTML, source)
	}
}

func TestMarkdownHasText(t *testing.T) {
	t.Parallel()
	m := markdownOf(t, "# Order\n\n- [{{name}}](https://example.org)\n", map[string]any{"name": "<Ada>"})
	assert.Equal(t, "Order\n\n- <Ada> (https://example.org)", m.Text)
	parsed, err := templates.Parse(templates.Source{Text: "Mine", Markdown: "# Order"})
	require.NoError(t, err)
	m, err = parsed.Render(nil)
	require.NoError(t, err)
	assert.Equal(t, templates.Message{Text: "Mine", HTML: "<h1>Order</h1>\n"}, m)
}

func TestMarkdownOrHTML(t *testing.T) {
	t.Parallel()
	_, err := templates.Parse(templates.Source{HTML: "<p>", Markdown: "x"})
	assert.EqualError(t, err, "markdown: the body is either HTML or Markdown")
	_, err = templates.Parse(templates.Source{Markdown: "a\n{{#b}}"})
	assert.ErrorContains(t, err, "markdown: line 2: ")
	parsed, err := templates.Parse(templates.Source{Markdown: "a\n{{b}} {{c}}"})
	require.NoError(t, err)
	assert.Equal(t, []string{"c (markdown, line 2)"}, parsed.MissingVariables(map[string]any{"b": "x"}))
	assert.ErrorContains(t, parsed.Check(templates.Object(map[string]*templates.Shape{"b": templates.Scalar()})), "markdown: line 2: ")
}

// hostile are values that would be elements if they were read as Markdown or HTML.
var hostile = []string{
	"[x](javascript:alert(1))", "![x](https://evil.example/p.gif)", "<https://evil.example>", "https://evil.example", "<script>alert(1)</script>",
	`<img src=x onerror=alert(1)>`, `"><a href=https://evil.example>x</a>`, `' onmouseover='x`, "# Head", "Head\n====", "> quote", "- item\n- item\n  - nested",
	"1. item", "```\ncode\n```", "    code", "`code`", "``", "*em*", "**strong**", "***", "___", "---", "|a|b|\n|-|-|\n|c|d|", "~~x~~", "line  \nbreak\\\nmore",
	"\n\n# Head\n\n", "[x]: https://evil.example\n\n[x]", "[", "](https://evil.example)", ")", "](", "\\", "&lt;script&gt;", "&#60;img&#62;", "&#x6A;", "\u2028# x",
	"javascript:alert(1)", "JaVaScRiPt:alert(1)", "javascript&#58;alert(1)", "javascript&colon;alert(1)", `javascript\:alert(1)`, "java\nscript:alert(1)",
	"\x01javascript:alert(1)", " javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "data:image/svg+xml,<svg onload=alert(1)>", "vbscript:x", "file:///etc/passwd",
	"blob:x", "//evil.example", "\U000F0000", "\U000F0001", "\U000F0002", "\x00", "\xff", "\xf3", "\xf3\xb0",
}

// places are where templates have values.
var places = []string{
	"{{a}}", "a {{a}} b", "# {{a}}", "> {{a}}", "- {{a}}\n- {{b}}", "1. {{a}}", "*{{a}}* **{{b}}** _{{a}}_", "`{{a}}`", "``{{a}}`` `", "    {{a}}", "```{{b}}\n{{a}}\n```",
	"[{{a}}]({{b}})", "[{{a}}](<{{b}}> '{{a}}')", `[x](/{{b}} "{{a}}")`, "[{{a}}](https://example.org/{{b}})", "![{{a}}]({{b}})", "[{{a}}]: {{b}}\n\n[{{a}}]", "[x][y]\n\n[y]: {{b}} \"{{a}}\"",
	"<{{a}}>", "<https://example.org/{{a}}>", "<{{a}}:{{b}}>", "<j{{a}}:x>", "<a{{a}}@example.org>", "[x](j{{a}}{{b}})", "[x](&#106;{{a}})", "[x]({{a}}:{{b}})", "<div {{a}}>{{b}}</div>", "<!-- {{a}} -->",
	"{{a}}\n{{b}}", "{{a}}\n===", "{{a}} |{{b}}\n-|-\n{{b}}|{{a}}", "\\{{a}}", "&{{a}};", "&#{{a}};", "({{a}})[{{b}}]!{{a}}", "{{#list}}\n- {{.}}\n{{/list}}\n", "![<https://example.org/{{a}}>](x)",
}

// elements returns the elements of HTML in their order, with the names of their attributes. It also
// checks the schemes of addresses.
func elements(tb testing.TB, document string) []string {
	tb.Helper()
	var found []string
	tokens := tokenizer.NewTokenizer(strings.NewReader(document))
	for {
		switch tokens.Next() {
		case tokenizer.ErrorToken:
			return found
		case tokenizer.StartTagToken, tokenizer.SelfClosingTagToken, tokenizer.EndTagToken:
			token := tokens.Token()
			tag := token.DataAtom.String() + token.Data
			for _, a := range token.Attr {
				tag += " " + a.Key
				if a.Key == "href" || a.Key == "src" {
					scheme, _, has := strings.Cut(a.Val, ":")
					if has && !strings.ContainsAny(scheme, "/?#") {
						require.Contains(tb, []string{"http", "https", "mailto", "tel"}, strings.ToLower(scheme), document)
					}
				}
			}
			found = append(found, tag)
		case tokenizer.CommentToken:
			require.Equal(tb, " raw HTML omitted ", tokens.Token().Data, document)
		case tokenizer.TextToken, tokenizer.DoctypeToken:
		}
	}
}

// TestValuesAreNoMarkdown renders every template with hostile values: the HTML has the same
// elements as with values that are words.
func TestValuesAreNoMarkdown(t *testing.T) {
	t.Parallel()
	for _, source := range places {
		parsed, err := templates.Parse(templates.Source{Markdown: source})
		require.NoError(t, err)
		elementsWith := func(a, b string) []string {
			m, err := parsed.Render(map[string]any{"a": a, "b": b, "list": []any{a, b}})
			require.NoError(t, err)
			return elements(t, m.HTML)
		}
		want := elementsWith("word", "word")
		others := hostile
		if !strings.Contains(source, "{{b}}") && !strings.Contains(source, "list") {
			others = others[:1] // It has no second value.
		}
		for _, a := range hostile {
			for _, b := range others {
				require.Equal(t, want, elementsWith(a, b), "%q with %q and %q", source, a, b)
			}
		}
	}
}

// FuzzMarkdown checks every template with every value. They are rendered within the limits, with
// the same result twice, and a value stays text.
func FuzzMarkdown(f *testing.F) {
	for i, source := range places {
		f.Add(source, hostile[i%len(hostile)], hostile[(i*7)%len(hostile)])
	}
	f.Fuzz(func(t *testing.T, source, a, b string) {
		parsed, err := templates.Parse(templates.Source{Markdown: source})
		if err != nil {
			return
		}
		values := map[string]any{"a": a, "b": b, "list": []any{a, b}}
		first, err := parsed.Render(values)
		again, errAgain := parsed.Render(values)
		require.Equal(t, err, errAgain)
		require.Equal(t, first, again)
		require.LessOrEqual(t, len(first.Text)+len(first.HTML), templates.MaxOutput)
		if err != nil || strings.Contains(source, "{{{") || strings.ContainsAny(source, "&=#^:") {
			return // Values that are asked for raw, sections, and schemes that the template has.
		}
		tame := maps.Clone(values)
		tame["a"], tame["b"] = "word", "word"
		m, err := parsed.Render(tame)
		require.NoError(t, err)
		require.Equal(t, elements(t, m.HTML), elements(t, first.HTML))
	})
}

func TestLimitsOfMarkdown(t *testing.T) {
	t.Parallel()
	half := strings.Repeat("x", templates.MaxMarkdown/2)
	items := make([]any, 10_000)
	for name, c := range map[string]struct{ source, want string }{
		"OfSource":      {half + "\n" + half, "markdown, line 1: the Markdown is larger than 32 KiB"},
		"OfSections":    {"a\n{{#items}}\n> > - a\n{{/items}}", "markdown, line 3: the Markdown is larger than 32 KiB"},
		"OfRawValues":   {"{{{half}}}\n{{{half}}}", "markdown, line 2: the Markdown is larger than 32 KiB"},
		"OfMarks":       {"{{#items}}{{none}}{{word}}{{word}}{{/items}}", "markdown, line 1: the Markdown is larger than 32 KiB"},
		"OfValues":      {strings.Repeat("{{half}}", 65), "markdown, line 1: the message is larger than 1 MiB"},
		"OfEscapes":     {strings.Repeat("{{quotes}}", 10), "markdown, as HTML: the message is larger than 1 MiB"},
		"OfAddresses":   {"[a]: {{half}}\n\n" + strings.Repeat("[a] ", 80), "markdown, as HTML: the message is larger than 1 MiB"},
		"OfDefinitions": {"[a]: x" + half + "\n\n" + strings.Repeat("[a] ", 80), "markdown, as HTML: the message is larger than 1 MiB"},
		"OfTitles":      {"[a]: x '" + half + "'\n\n" + strings.Repeat("[a] ", 80), "markdown, as HTML: the message is larger than 1 MiB"},
		"OfObjects":     {strings.Repeat("{{deep}}", 40), "markdown, line 1: the message is larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := renderMarkdown(t, c.source, map[string]any{"half": half, "items": items, "word": "x", "quotes": strings.Repeat(`"`, 30_000),
				"deep": []any{half, half}})
			require.EqualError(t, err, c.want)
			assert.Equal(t, fault.TooLarge, fault.KindOf(err))
		})
	}
	t.Run("AReportOfAThousandRowsIsRendered", func(t *testing.T) {
		t.Parallel()
		m := markdownOf(t, "{{#items}}\n- **{{.}}** {{.}} `{{.}}`\n{{/items}}\n", map[string]any{"items": slices1000()})
		assert.Equal(t, 1000, strings.Count(m.HTML, "<li>"))
	})
	t.Run("QuotesInQuotesAreRendered", func(t *testing.T) {
		t.Parallel()
		m := markdownOf(t, strings.Repeat(">", 10_000)+"{{a}}", map[string]any{"a": "x"})
		assert.Equal(t, 20, strings.Count(m.HTML, "<blockquote>"))
		assert.Contains(t, m.HTML, strings.Repeat("&gt;", 10_000-20)+"x", "a deeper quote is text")
	})
	t.Run("ListsInListsAreRendered", func(t *testing.T) {
		t.Parallel()
		indent := strings.Repeat("  ", 9)
		m := markdownOf(t, strings.Repeat("- ", 11)+"a\n"+indent+"- {{b}}\n"+indent+"  - c\n\n- d\n  - e", map[string]any{"b": "x"})
		assert.Equal(t, 11, strings.Count(m.HTML, "<ul>"))
		assert.Contains(t, m.HTML, "<li>- a</li>\n<li>x\n- c</li>", "a deeper list is text, and the list goes on")
		assert.Contains(t, m.HTML, "<p>d</p>\n<ul>\n<li>e</li>\n</ul>", "as do those around it")
	})
}

// deep returns Markdown that begins with nested blocks and continues with blank lines.
func deep(block string) string {
	return strings.Repeat(block, 1_000) + "a\n" + strings.Repeat("\n", templates.MaxMarkdown-1_000*len(block)-2)
}

// TestMemoryOfMarkdown holds: neither deep blocks nor code without an end make each line expensive.
// Each of these would take gigabytes. It is not parallel: what others allocate would count.
func TestMemoryOfMarkdown(t *testing.T) {
	for _, source := range []string{deep("- "), deep("1. "), deep("> - "), deep("- > "), deep("- 1. "), openCode} {
		parsed, err := templates.Parse(templates.Source{Markdown: source})
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = parsed.Render(nil)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(120<<20), source[:8])
	}
}

// openCode is Markdown whose every line opens code that no other line closes.
var openCode = strings.Repeat("\\``\n", templates.MaxMarkdown/4)

func slices1000() []any {
	rows := make([]any, 1_000)
	for i := range rows {
		rows[i] = "row"
	}
	return rows
}
