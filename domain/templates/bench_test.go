package templates_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/templates"
)

// BenchmarkRender renders a message as shops send it, 2.8 KB of HTML with a table of five rows, and
// its text.
func BenchmarkRender(b *testing.B) {
	text := "Hello {{user.first_name}},\n\nyour order {{context.order}} is on its way:\n{{#context.items}}\n  {{quantity}} x {{name}}\n{{/context.items}}\n"
	html := "<h1>Order {{context.order}}</h1>\n<p>Hello {{user.first_name}} {{user.last_name}},</p>\n<table>\n{{#context.items}}\n" +
		"<tr><td>{{quantity}}</td><td>{{name}}</td><td>{{price}} {{context.currency}}</td></tr>\n{{/context.items}}\n</table>\n" +
		"{{#context.tracking_url}}<a href=\"{{context.tracking_url}}\">Follow it</a>{{/context.tracking_url}}{{^context.tracking_url}}No tracking.{{/context.tracking_url}}\n"
	html += strings.Repeat("<p>A parcel is insured until it is handed over.</p>\n", (2_800-len(html))/50)
	items := make([]any, 5)
	for i := range items {
		items[i] = map[string]any{"quantity": i + 1, "name": fmt.Sprintf("Screw M%d <zinc & steel>", i), "price": "1.20"}
	}
	values := map[string]any{
		"user":    map[string]any{"first_name": "Ada", "last_name": "Lovelace"},
		"context": map[string]any{"order": "A-1007", "currency": "EUR", "items": items, "tracking_url": "https://example.org/t/1?a=b&c=d"},
	}
	parsed, err := templates.Parse(templates.Source{Subject: "Order {{context.order}}", Text: text, HTML: html})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parsed.Render(values); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWorst renders what uses up all steps: the longest that one message can take.
func BenchmarkWorst(b *testing.B) {
	list := make([]any, 10_000)
	parsed, err := templates.Parse(templates.Source{Text: "{{#list}}{{#list}}{{list.none}}{{/list}}{{/list}}"})
	require.NoError(b, err)
	for b.Loop() {
		_, err := parsed.Render(map[string]any{"list": list})
		require.ErrorIs(b, err, templates.ErrTooLong)
	}
}

// BenchmarkParse parses the longest template that is stored.
func BenchmarkParse(b *testing.B) {
	source := strings.Repeat("{{#a}}\n {{b.c}} text {{/a}}\n", (256<<10)/28)
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := templates.Parse(templates.Source{HTML: source}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMarkdown renders the message of a shop from Markdown.
func BenchmarkMarkdown(b *testing.B) {
	source := "# Order {{context.order}}\n\nHello **{{user.first_name}}**,\n\n{{#context.items}}\n- {{quantity}} × {{name}}\n{{/context.items}}\n\n[Follow it]({{context.tracking_url}})\n\n" +
		strings.Repeat("A parcel is insured until it is handed over.\n\n", 50)
	items := make([]any, 5)
	for i := range items {
		items[i] = map[string]any{"quantity": i + 1, "name": "Screw <zinc & steel>"}
	}
	values := map[string]any{"user": map[string]any{"first_name": "Ada"},
		"context": map[string]any{"order": "A-1007", "items": items, "tracking_url": "https://example.org/t/1?a=b&c=d"}}
	parsed, err := templates.Parse(templates.Source{Subject: "Order {{context.order}}", Markdown: source})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parsed.Render(values); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWorstMarkdown renders Markdown that takes the most time or memory that one message can
// take.
func BenchmarkWorstMarkdown(b *testing.B) {
	for name, source := range map[string]string{
		"Lists":  deep("- "),
		"Code":   openCode,
		"Quotes": strings.Repeat("> ", templates.MaxMarkdown/2),
		"Links":  strings.Repeat("[](", templates.MaxMarkdown/3),
	} {
		b.Run(name, func(b *testing.B) {
			parsed, err := templates.Parse(templates.Source{Markdown: source})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parsed.Render(nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
