package blueprint_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/blueprint"
	"github.com/tocsin/tocsin/domain/fault"
)

// FuzzParse checks that Parse ends without a panic for any text; an error is a mistake with its
// place in the file, and a result can be stored as JSON and located.
func FuzzParse(f *testing.F) {
	demo, err := os.ReadFile("../../configs/demo.yaml")
	require.NoError(f, err)
	f.Add(demo)
	for _, text := range []string{
		"", "~", "[]", "a: b", everyMember, "organizations: [&a {<<: *a}]", "organizations: &a [*a]", "organizations: [{channels: [{settings: &a {a: *a}}]}]",
		"organizations: [{<<: [{slug: a}, {slug: b}], slug: c}]", `{"organizations": [{"slug": "a\u0000b"}]}`, "organizations: [{channels: [{settings: {a: ${HOST}, b: $${, c: ${}}}]}]",
		"organizations: [{channels: [{settings: {a: 1e400, b: 0x1F, c: 0o7, d: .inf, e: 99999999999999999999, f: !!float 1, g: !!int x}}]}]",
		"organizations:\n- slug: !!str 7\n  name: !x y\n  ? [a]\n  : b\n", "--- a\n--- b\n", "%YAML 1.1\n---\na: 1", "organizations: [{slug: a, slug: b}]",
		"organizations: [{channels: [{active: !!bool x, preferred: !!null y}]}]", "organizations: !!seq {a: b}", "\xfe\xffa", "a: *b", "? a\n: b\n? a\n", "<<: 1",
		"organizations: [{channels: [{settings: {? !!binary aGk= : 1, ~: 2, 3: 4, 2026-01-01: x}}]}]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := blueprint.Parse("f", text, environ())
		var mistakes blueprint.Mistakes
		if err != nil {
			require.ErrorAs(t, err, &mistakes)
			require.NotEmpty(t, mistakes)
			for _, m := range mistakes {
				require.NotEmpty(t, m.Message)
				require.LessOrEqual(t, m.Line, strings.Count(string(text), "\n")+strings.Count(string(text), "\r")+2)
			}
			return
		}
		_, err = json.Marshal(file.Blueprint)
		require.NoError(t, err)
		located := file.Locate(fault.Field("organizations[0].channels[0].settings.a", "is wrong"))
		require.ErrorAs(t, located, &mistakes)
		require.Positive(t, mistakes[0].Line)
	})
}
