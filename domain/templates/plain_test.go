package templates_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/templates"
)

// plainOf returns the text of a message whose template has only HTML.
func plainOf(tb testing.TB, html string) string {
	tb.Helper()
	parsed, err := templates.Parse(templates.Source{HTML: html})
	require.NoError(tb, err)
	m, err := parsed.Render(map[string]any{"name": "Ada & Co <x>", "link": "https://example.org/?a=1&b=2", "items": []any{"one", "two"}})
	require.NoError(tb, err)
	return m.Text
}

func TestTextOfHTML(t *testing.T) {
	t.Parallel()
	for html, want := range map[string]string{
		"<p>Hello <b>{{name}}</b>,\n   good   morning.</p><p>Bye</p>":                        "Hello Ada & Co <x>, good morning.\n\nBye",
		"<h1>Order</h1>text<br>more<div>a</div><div>b</div>":                                 "Order\n\ntext\nmore\na\nb",
		"<table><tr><th>Qty</th><th>Name</th></tr><tr><td>1</td><td>Nut</td></tr></table>":   "Qty Name\n1 Nut",
		"<ul>{{#items}}<li>{{.}}</li>{{/items}}</ul>after":                                   "- one\n- two\n\nafter",
		"<ol><li>a<ul><li>x</li></ul></li><li>b</li></ol>":                                   "1. a\n  - x\n2. b",
		`<a href="{{link}}">Follow it</a> now`:                                               "Follow it (https://example.org/?a=1&b=2) now",
		`<a href="https://example.org">https://example.org</a>`:                              "https://example.org",
		`<a href="mailto:ada@example.org">ada@example.org</a> <a href="#top">up</a>`:         "ada@example.org up",
		`<a href="https://example.org"><img src="x.png" alt="Our shop"></a>`:                 "Our shop (https://example.org)",
		`<a href="https://example.org"><img src="x.png"></a>`:                                "https://example.org",
		`<a href="javascript:alert(1)">x</a>`:                                                "x",
		"<head><title>T</title><style>p{}</style></head><body><script>1</script>b<!-- c -->": "b",
		"<pre>a\n  b</pre><p>c</p>":                                                          "a\n  b\n\nc",
		"<pre>Total: <b>5</b>\nVAT: <b>1</b></pre>":                                          "Total: 5\nVAT: 1",
		"x<pre>\n<i>a</i>\n\n\n<i>b</i>\n</pre>y":                                            "x\n\na\n\n\nb\n\ny",
		"<p>x</p><br><br><pre>\r\n\r\na<br>b</pre>\n\n\ny":                                   "x\n\n\na\nb\n\ny",
		"x<pre><code>a\n</code></pre>y":                                                      "x\n\na\n\ny",
		"<pre>a\n<div>b\n</div>c</pre>":                                                      "a\nb\nc",
		"a<noscript><p>b</p></noscript><iframe><p>c</p></iframe><noembed>d</noembed>":        "a",
		"<noframes><b>a</b></noframes>b":                                                     "b",
		"<p>above</p><hr><p>below</p>":                                                       "above\n\n----\n\nbelow",
		"<p>&nbsp;</p><p></p><p>only</p>":                                                    "only",
		"<style>p{}":                                                                         "",
	} {
		assert.Equal(t, want, plainOf(t, html), html)
	}
}

// TestAuditedTexts checks that the text of a template is never replaced, and that a
// template without HTML has none to make one from.
func TestAuditedTexts(t *testing.T) {
	t.Parallel()
	for _, template := range [][2]string{{"as it is", "<p>else</p>"}, {"{{none}}", "<p>else</p>"}, {"", ""}} {
		parsed, err := templates.Parse(templates.Source{Text: template[0], HTML: template[1]})
		require.NoError(t, err)
		m, err := parsed.Render(map[string]any{})
		require.NoError(t, err)
		assert.Equal(t, strings.ReplaceAll(template[0], "{{none}}", ""), m.Text)
	}
}

// TestPlainTextLimit holds: HTML that may be sent is sent, if need be without its text.
func TestPlainTextLimit(t *testing.T) {
	t.Parallel()
	parsed, err := templates.Parse(templates.Source{HTML: "<p>" + strings.Repeat("x", 200<<10) + "</p>{{#items}}" + strings.Repeat("y", 200<<10) + "{{/items}}"})
	require.NoError(t, err)
	m, err := parsed.Render(map[string]any{"items": []any{1, 2, 3}})
	require.NoError(t, err)
	assert.NotEmpty(t, m.HTML)
	assert.Empty(t, m.Text)
	// The marks of items are longer than their tags.
	assert.Empty(t, plainOf(t, strings.Repeat("<ul>", 32)+strings.Repeat("<li>", 200_000/4)))
}

// FuzzTextOfHTML checks that the text of every HTML is within the limit of a message, and valid if
// the HTML is.
func FuzzTextOfHTML(f *testing.F) {
	f.Add("<p>a<br>b<ul><li>c<a href='https://x'>d</a></ul><pre>\n</pre><td>e")
	f.Add("<li><li></ul></ol></a><a><a href=x><hr><title>")
	f.Fuzz(func(t *testing.T, html string) {
		parsed, err := templates.Parse(templates.Source{HTML: html})
		if err != nil {
			return
		}
		m, err := parsed.Render(nil)
		if err != nil {
			return
		}
		assert.LessOrEqual(t, len(m.Text)+len(m.HTML), templates.MaxOutput)
		if utf8.ValidString(html) {
			assert.True(t, utf8.ValidString(m.Text))
		}
	})
}

// BenchmarkTextOfHTML converts a message of 3 KB to text.
func BenchmarkTextOfHTML(b *testing.B) {
	html := "<table>" + strings.Repeat(`<tr><td>1</td><td><a href="https://example.org/p?a=1&amp;b=2">A parcel</a> is insured.</td></tr>`, 30) + "</table>"
	b.SetBytes(int64(len(html)))
	for b.Loop() {
		plainOf(b, html)
	}
}
