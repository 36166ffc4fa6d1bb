package configs_test

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/configs"
)

var update = flag.Bool("update", false, "rewrite the generated files")

// TestGenerated checks that the documentation and the example file match the table of settings.
func TestGenerated(t *testing.T) {
	t.Parallel()
	for source, target := range map[string]string{
		"testdata/configuration.md.tmpl":    "../docs/configuration.md",
		"testdata/tocsin.example.yaml.tmpl": "tocsin.example.yaml",
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			want := render(t, source)
			if *update {
				require.NoError(t, os.WriteFile(target, want, 0o644))
			}
			got, err := os.ReadFile(target)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), "run `go generate ./configs`")
		})
	}
}

func TestExample(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("tocsin.example.yaml")
	require.NoError(t, err)
	defaults := load(t)

	t.Run("AsItIsChangesNothing", func(t *testing.T) {
		t.Parallel()
		c := load(t, "TOCSIN_CONFIG=tocsin.example.yaml")
		require.Equal(t, defaults, c)
	})
	t.Run("FullExampleHasTheDefaults", func(t *testing.T) {
		t.Parallel()
		all := regexp.MustCompile(`(?m)^#([a-z_]+:)`).ReplaceAllString(string(example), "$1")
		c := load(t, "TOCSIN_CONFIG="+file(t, "all.yaml", all))
		var fromFile []string
		for i, v := range c.Values() {
			require.Equal(t, defaults.Values()[i].Value, v.Value, v.Name)
			if strings.HasPrefix(v.Origin, "file ") {
				fromFile = append(fromFile, v.Name)
			}
		}
		for _, s := range configs.Settings() {
			require.Regexp(t, `(?m)^`+s.Name+":", all)
			require.Equal(t, s.Default != "", slices.Contains(fromFile, s.Name), s.Name)
		}
	})
}

func render(t *testing.T, source string) []byte {
	t.Helper()
	tmpl := template.New(strings.TrimPrefix(source, "testdata/")).Funcs(template.FuncMap{
		"comment": comment,
		"kebab":   func(s string) string { return strings.ReplaceAll(s, "_", "-") },
	})
	tmpl = template.Must(tmpl.ParseFiles(source))
	var b bytes.Buffer
	require.NoError(t, tmpl.Execute(&b, configs.Settings()))
	return b.Bytes()
}

// comment wraps a text into lines that begin with #.
func comment(text string) string {
	var lines []string
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 108 {
			lines, line = append(lines, line), "#"
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}
