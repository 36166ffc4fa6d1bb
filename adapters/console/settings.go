package console

import (
	"slices"
	"strings"

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
	shown := []string{"name", "protocol", "preferred", "active"}
	for _, s := range v.Described {
		shown = append(shown, settingField(s.Name))
	}
	return shown
}

// Fields are the fields in the order of the driver.
func (v settingsView) Fields() []settingView {
	var all []settingView
	for _, s := range v.Described {
		all = append(all, settingView{s, v.Form, slices.Contains(v.Kept, s.Name)})
	}
	return all
}

// settingView is one field.
type settingView struct {
	channels.Setting

	Form form
	Set  bool // a secret that there is
}

// Field is the name of the field.
func (v settingView) Field() string { return settingField(v.Name) }

// Must reports whether something has to be typed.
func (v settingView) Must() bool { return v.Required && !v.Set }

// Long reports whether the field has lines.
func (v settingView) Long() bool {
	return v.Kind == channels.Text || v.Kind == channels.Lines || v.Kind == channels.List
}

// Hint says what belongs into the field.
func (v settingView) Hint() string {
	hint := v.Help
	if v.Kind == channels.Lines {
		hint += " A line NAME: VALUE for each."
	}
	if v.Default != "" {
		hint += " Default: " + v.Default + "."
	}
	switch {
	case v.Set:
		hint += " It is set and never shown; leave the field empty to keep it."
	case v.Secret:
		hint += " It is stored encrypted and never shown again."
	}
	return hint
}

// Options are the choices of a field that has some.
func (v settingView) Options() []option {
	all := []option{{"", "Default"}}
	for _, word := range v.Words {
		all = append(all, option{word, word})
	}
	return all
}
