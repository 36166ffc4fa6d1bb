package console

import (
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/domain/channels"
)

// settingsView is the fields of a channel's settings, made from what its driver says of them.
type settingsView struct {
	Form      form
	Described []channels.Setting
	Kept      []string // the secrets that are set
}

// settingField is the name of a setting's field: as the faults of drivers name it.
func settingField(name string) string { return "settings." + name }

func settingName(field string) (name string, is bool) { return strings.CutPrefix(field, "settings.") }

// Shown are the names of the fields.
func (v settingsView) Shown() []string {
	shown := []string{"name", "protocol", "preferred", "active", "pool", "weight", "test_to"}
	for _, s := range v.Described {
		shown = append(shown, settingField(s.Name))
	}
	return shown
}

// Fields are the fields that somebody has to see, in the order of the driver.
func (v settingsView) Fields() []settingView { return v.fields(false) }

// Folded are the fields that may be left alone: they have a default, and it counts.
func (v settingsView) Folded() []settingView { return v.fields(true) }

func (v settingsView) fields(folded bool) []settingView {
	var all []settingView
	for _, s := range v.Described {
		f := settingView{s, v.Form, slices.Contains(v.Kept, s.Name)}
		if f.folded() == folded {
			all = append(all, f)
		}
	}
	return all
}

// settingView is one field.
type settingView struct {
	channels.Setting

	Form form
	Set  bool // a secret that there is
}

func (v settingView) folded() bool {
	return v.Default != "" && !v.Required && !v.Set && v.Form.Value(v.Field()) == "" && len(v.Form.Faults(v.Field())) == 0
}

// settingLabel is what a setting is called.
func settingLabel(name string) words.Setting { return words.Setting(name) }

// Label is what forms call the setting.
func (v settingView) Label() words.Setting { return settingLabel(v.Name) }

// Field is the name of the field.
func (v settingView) Field() string { return settingField(v.Name) }

// Must reports whether something has to be typed.
func (v settingView) Must() bool { return v.Required && !v.Set }

// Long reports whether the field has lines.
func (v settingView) Long() bool {
	return v.Kind == channels.Text || v.Kind == channels.Lines || v.Kind == channels.List
}

// Hint says what belongs into the field.
func (v settingView) Hint() words.Phrase {
	hint := words.Of("%s", words.Told(v.Help))
	if v.Kind == channels.Lines {
		hint = words.Of("%s A line NAME: VALUE for each.", hint)
	}
	if v.Default != "" {
		hint = words.Of("%s Default: %s.", hint, v.Default)
	}
	switch {
	case v.Set:
		hint = words.Of("%s It is set and never shown; leave the field empty to keep it.", hint)
	case v.Secret:
		hint = words.Of("%s It is stored encrypted and never shown again.", hint)
	}
	return hint
}

// Options are the choices of a field that has some.
func (v settingView) Options() []option {
	all := []option{{"", words.Of("Default")}}
	for _, word := range v.Words {
		all = append(all, option{word, word})
	}
	return all
}
