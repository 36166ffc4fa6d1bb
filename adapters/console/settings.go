package console

import (
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/domain/channels"
)

// settingsView is the form fields for a channel's settings, as its driver describes them.
type settingsView struct {
	Form     form
	Settings []channels.Setting
	Stored   []string // the names of secrets with a stored value
}

// settingField returns the name of a setting's form field, as in the faults of drivers.
func settingField(name string) string { return "settings." + name }

func settingName(field string) (name string, ok bool) { return strings.CutPrefix(field, "settings.") }

// FieldNames returns the names of all fields of the form.
func (v settingsView) FieldNames() []string {
	shown := []string{"name", "protocol", "preferred", "active", "pool", "weight", "test_to"}
	for _, s := range v.Settings {
		shown = append(shown, settingField(s.Name))
	}
	return shown
}

// Fields returns the fields that are always shown, in the order of the driver.
func (v settingsView) Fields() []settingView { return v.fields(false) }

// Defaulted returns the fields with a default in use, which the page collapses.
func (v settingsView) Defaulted() []settingView { return v.fields(true) }

func (v settingsView) fields(folded bool) []settingView {
	var all []settingView
	for _, s := range v.Settings {
		f := settingView{s, v.Form, slices.Contains(v.Stored, s.Name)}
		if f.usesDefault() == folded {
			all = append(all, f)
		}
	}
	return all
}

// settingView is one field.
type settingView struct {
	channels.Setting

	Form form
	Set  bool // a secret with a stored value
}

func (v settingView) usesDefault() bool {
	return v.Default != "" && !v.Required && !v.Set && v.Form.Value(v.Field()) == "" && len(v.Form.Faults(v.Field())) == 0
}

// settingLabel returns the label of a setting.
func settingLabel(name string) words.Setting { return words.Setting(name) }

// Label returns the label of the setting.
func (v settingView) Label() words.Setting { return settingLabel(v.Name) }

// Field returns the name of the field.
func (v settingView) Field() string { return settingField(v.Name) }

// Mandatory reports whether a value is required.
func (v settingView) Mandatory() bool { return v.Required && !v.Set }

// Multiline reports whether the field is a text area.
func (v settingView) Multiline() bool {
	return v.Kind == channels.Text || v.Kind == channels.Lines || v.Kind == channels.List
}

// Hint describes the value of the field.
func (v settingView) Hint() words.Phrase {
	hint := words.Of("%s", words.Message(v.Help))
	if v.Kind == channels.Lines {
		hint = words.Of("%s A line NAME: VALUE for each.", hint)
	}
	if v.Default != "" {
		hint = words.Of("%s Default: %s.", hint, v.Default)
	}
	switch {
	case v.Set:
		hint = words.Of("%s A value is set, and never shown. Leave the field empty to keep it.", hint)
	case v.Secret:
		hint = words.Of("%s It is stored encrypted and never shown again.", hint)
	}
	return hint
}

// Options returns the options of a field with fixed values.
func (v settingView) Options() []option {
	all := []option{{"", words.Of("Default")}}
	for _, word := range v.Words {
		all = append(all, option{word, word})
	}
	return all
}
