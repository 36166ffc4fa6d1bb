package metadata_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/metadata"
)

func TestCondition(t *testing.T) {
	t.Parallel()
	m, err := metadata.Parse([]byte(`{"plan":"free","seats":1.50,"big":1e300,"on":true,"gone":null,"empty":"","a":{"b":{"c":"deep"},"b.c":"dotted"},"a.b":{"d":"x"},
		"tags":["red",7,["inner"],{"k":"v"}],"<&>\"\\":"q\"<é>\u2028"}`))
	require.NoError(t, err)
	text, err := m.Encode()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		path, text string
		holds      bool
	}{
		"NoConditions":                {"", "whatever", true},
		"AString":                     {"plan", "free", true},
		"WithRegardToCase":            {"plan", "Free", false},
		"NotAPart":                    {"plan", "fre", false},
		"ANumberAsItWasSent":          {"seats", "1.50", true},
		"NotAnEqualNumber":            {"seats", "1.5", false},
		"ANumberThatFitsNowhere":      {"big", "1e300", true},
		"ABoolean":                    {"on", "true", true},
		"Null":                        {"gone", "null", true},
		"AnyValue":                    {"gone", "", true},
		"AnyObject":                   {"a", "", true},
		"AnEmptyString":               {"empty", "", true},
		"AnEmptyStringIsNoOtherValue": {"empty", "null", false},
		"Deep":                        {"a.b.c", "deep", true},
		"DotsInAName":                 {"a.b.c", "dotted", true},
		"DotsInAnOuterName":           {"a.b.d", "x", true},
		"AnObjectReadsAsNothing":      {"a.b", "map[c:deep]", false},
		"AnElement":                   {"tags", "red", true},
		"ANumberAmongElements":        {"tags", "7", true},
		"NotAnElementOfAnElement":     {"tags", "inner", false},
		"NoPathIntoAnArray":           {"tags.k", "v", false},
		"Escaped":                     {`<&>"\`, "q\"<é>\u2028", true},
		"NoSuchMember":                {"b", "", false},
		"NoSuchPath":                  {"a.x.c", "", false},
		"OnlyADot":                    {".", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := metadata.Condition{Path: c.path, Text: c.text}
			assert.Equal(t, c.holds, asked.Matches(m))
			if c.holds {
				for _, trace := range asked.Substrings() {
					assert.Contains(t, string(text), trace, "what is looked for first is there")
				}
			}
		})
	}
}

// BenchmarkALongPath is about a path that was made to slow a search: any of the members could begin
// it, at any of its dots.
func BenchmarkALongPath(b *testing.B) {
	m := metadata.Map{}
	for i := range 100 {
		m[strings.Repeat(".", i)] = map[string]any{"plan": "free"}
	}
	asked := metadata.Condition{Path: strings.Repeat(".", 64<<10) + "plan"}
	for b.Loop() {
		if asked.Matches(m) {
			b.Fatal("nothing is there")
		}
	}
}
