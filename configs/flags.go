package configs

import (
	"strings"

	"github.com/spf13/pflag"
)

// Flags registers --config and the flags of the settings that every command uses.
func Flags(fs *pflag.FlagSet) {
	fs.String(configFlag, "", "Configuration file (YAML), else $"+configEnv)
	register(fs, false)
}

// ServerFlags registers the flags of the settings that only the server uses.
func ServerFlags(fs *pflag.FlagSet) { register(fs, true) }

func register(fs *pflag.FlagSet, server bool) {
	for _, s := range Settings() {
		if s.Server != server {
			continue
		}
		if s.Flag() != "" {
			f := fs.VarPF(&flagValue{text: s.Default, form: s.Form}, s.Flag(), "", usage(s.About))
			if s.Form == "bool" {
				f.NoOptDefVal = "true"
			}
		}
		if s.Secret {
			fs.Var(&flagValue{form: "path"}, fileFlag(s), "File that holds the "+strings.ReplaceAll(s.Name, "_", " "))
		}
	}
}

// flagValue keeps the text of a flag. Load parses it, to report it together with all other
// mistakes.
type flagValue struct{ text, form string }

func (v *flagValue) String() string        { return v.text }
func (v *flagValue) Type() string          { return v.form }
func (v *flagValue) Set(text string) error { v.text = text; return nil }

func fileFlag(s Setting) string { return strings.ReplaceAll(s.FileName(), "_", "-") }

// usage returns the first sentence of a description for a terminal: without Markdown, and without
// quotes, because pflag takes quoted words for the name of the value.
func usage(about string) string {
	sentence, _, _ := strings.Cut(about, ". ")
	return strings.TrimSuffix(strings.ReplaceAll(sentence, "`", ""), ".")
}
