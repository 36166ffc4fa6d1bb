package templates_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/templates"
)

// TestParserParsesAPartialOnce checks that the second template with a partial costs no more than
// the pieces that it gets from it.
func TestParserParsesAPartialOnce(t *testing.T) {
	t.Parallel()
	long := templates.Partial{Text: strings.Repeat("x", 64<<10)}
	p := templates.NewParser(templates.Partials{"long": long, "outer": {Text: "{{> long}}"}})
	costs := func(text string) int {
		before := p.Work()
		_, err := p.Parse(templates.Source{Text: text})
		require.NoError(t, err)
		return p.Work() - before
	}
	assert.Greater(t, costs("{{> long}}"), 1_000, "it is read")
	assert.Less(t, costs("{{> outer}}"), 10)
	assert.Less(t, costs("{{> long}}"), 10)
	few, many := costs(strings.Repeat("{{> long}}", 10)), costs(strings.Repeat("{{> long}}", 1_000))
	assert.InDelta(t, 100, many/few, 10, "each use counts")
}

// TestParserForgetsPartials checks that partials which are no longer kept parsed are parsed again.
func TestParserForgetsPartials(t *testing.T) {
	t.Parallel()
	partials := templates.Partials{}
	for i := range 40 {
		partials[fmt.Sprint(i)] = templates.Partial{Text: fmt.Sprint(i, strings.Repeat("x", 60<<10))}
	}
	p := templates.NewParser(partials)
	for range 2 {
		for name := range partials {
			parsed, err := p.Parse(templates.Source{Text: "{{> " + name + "}}"})
			require.NoError(t, err)
			m, err := parsed.Render(nil)
			require.NoError(t, err)
			assert.Equal(t, partials[name].Text, m.Text)
		}
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	data := templates.Object(map[string]*templates.Shape{"a": templates.Object(map[string]*templates.Shape{"b": templates.Scalar()})})
	for text, fits := range map[string]bool{
		"plain": true, "{{a.b}}": true, "{{#a}}{{b}}{{/a}}": true, "{{c}}": false, "{{#a}}{{c}}{{/a}}": false, "{{#c}}{{a}}{{/c}}": false, "{{a.b}}{{^c}}x{{/c}}": false,
	} {
		parsed, err := templates.Parse(templates.Source{Text: text})
		require.NoError(t, err)
		assert.Equal(t, fits, parsed.Fits(data), text)
		assert.Equal(t, fits, parsed.Check(data) == nil, text)
	}
}

// TestSuggestionsAreBounded checks that a part with many unknown variables is compared with a large
// schema only a few times.
func TestSuggestionsAreBounded(t *testing.T) {
	t.Parallel()
	members := map[string]*templates.Shape{}
	for i := range 1_000 {
		members[fmt.Sprintf("name_%04d", i)] = templates.Scalar()
	}
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "{{name_%04dx}}", i)
	}
	parsed, err := templates.Parse(templates.Source{Text: text.String()})
	require.NoError(t, err)
	err = parsed.Check(templates.Object(members))
	assert.Equal(t, 20, strings.Count(err.Error(), "there is no variable"))
	assert.Equal(t, 2, strings.Count(err.Error(), "did you mean"))
}
