package app

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
)

// ChannelForm is what an operator enters for a channel.
type ChannelForm struct {
	Name, Protocol, Driver string // of a new one
	Preferred, Active      bool
	Pool                   string // empty: none
	Weight                 int
	// Unrestricted lets the channel connect to every address; only operators of the installation
	// may set it.
	Unrestricted bool
	// Settings are the settings as texts, by name. An empty text unsets a setting; an empty secret
	// keeps the stored one. An object is a line for each member, `Name: value`, and a list a line
	// for each item.
	Settings map[string]string
	Without  []string // the secrets to remove
	// Changes are settings as values, by name. If not nil, they replace Settings and Without: the
	// named settings change, nil removes one, and the others stay.
	Changes map[string]any
	// Outdated is set when the form showed other values than the stored ones. It is refused if it
	// changes anything.
	Outdated bool
	// Refusal is the mistakes that were found while the input was read; nil: none. The form is
	// refused with them and its own.
	Refusal error
}

// keeps reports whether a stored secret stays without being entered again.
func (f ChannelForm) keeps(secret string) bool {
	if f.Changes != nil {
		return f.Changes[secret] == nil
	}
	return f.Settings[secret] == ""
}

// applyChanges returns the old settings with the changes applied.
func (f ChannelForm) applyChanges(described []channels.Setting, was channels.Settings) (channels.Settings, fault.Fields) {
	var faults fault.Fields
	is := maps.Clone(was)
	if is == nil {
		is = channels.Settings{}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Changes)) {
		if !slices.ContainsFunc(described, func(s channels.Setting) bool { return s.Name == name }) {
			faults.Addf("settings."+name, "is not a setting of this driver")
		}
		if v := f.Changes[name]; v != nil {
			is[name] = v
		} else {
			delete(is, name)
		}
	}
	return is, faults
}

// settingTexts returns settings as texts, and the names of the secrets that are set. Secret values
// are not in it.
func settingTexts(described []channels.Setting, settings channels.Settings) (texts map[string]string, kept []string) {
	texts = map[string]string{}
	for _, s := range described {
		switch v := settings[s.Name]; {
		case s.Secret && v != nil && v != "":
			kept = append(kept, s.Name)
		case s.Secret:
		case v == nil:
			texts[s.Name] = ""
		default:
			texts[s.Name] = strings.ReplaceAll(text(v), "${", "$${")
		}
	}
	return texts, kept
}

// visibleSettings returns the settings that may be shown.
func visibleSettings(described []channels.Setting, settings channels.Settings) channels.Settings {
	shown := channels.Settings{}
	for _, s := range described {
		if v, set := settings[s.Name]; set && v != nil && !s.Secret {
			shown[s.Name] = v
		}
	}
	return shown
}

// text returns a value as an operator would type it.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			lines = append(lines, name+": "+text(v[name]))
		}
		return strings.Join(lines, "\n")
	case []any:
		lines := make([]string, len(v))
		for i, line := range v {
			lines[i] = text(line)
		}
		return strings.Join(lines, "\n")
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return "" // Impossible: it was stored as JSON.
	}
	return string(encoded)
}

// settings reads the form; was are the old settings.
func (f ChannelForm) settings(described []channels.Setting, was channels.Settings) (channels.Settings, error) {
	is, faults := f.fromTexts(described, was)
	if f.Changes != nil {
		is, faults = f.applyChanges(described, was)
	}
	if moved := f.changedDestination(described, was, is); moved != "" {
		for _, s := range described {
			if s.Secret && f.keeps(s.Name) && is[s.Name] != nil {
				faults.Addf("settings."+s.Name, "must be entered again, because %s has changed and this secret would go to the new destination", moved)
			}
		}
	}
	return is, faults.Err()
}

// fromTexts reads the settings from the texts.
func (f ChannelForm) fromTexts(described []channels.Setting, was channels.Settings) (channels.Settings, fault.Fields) {
	var faults fault.Fields
	is := channels.Settings{}
	for _, s := range described {
		typed := unixLines(f.Settings[s.Name])
		if !s.Secret {
			typed = strings.TrimSpace(typed)
		}
		if typed == "" {
			if kept := was[s.Name]; s.Secret && kept != nil && !slices.Contains(f.Without, s.Name) {
				is[s.Name] = kept
			}
			continue
		}
		v, err := value(s, typed)
		faults.Add("settings."+s.Name, err)
		is[s.Name] = v
	}
	return is, faults
}

// changedDestination names a changed setting that decides where secrets are sent; empty: none.
func (f ChannelForm) changedDestination(described []channels.Setting, was, is channels.Settings) string {
	for _, s := range described {
		if s.ResetsSecrets && text(was[s.Name]) != text(is[s.Name]) {
			return s.Name
		}
	}
	return ""
}

// value parses an entered text as the setting's kind. `${` starts a variable in the files of
// `tocsin apply`; here it would be one of the service's own environment, which must not leak, and
// so is refused.
func value(s channels.Setting, typed string) (any, error) {
	const variable, escaped = "${", "$${"
	if strings.Contains(strings.ReplaceAll(typed, escaped, ""), variable) {
		return nil, fault.New(fault.Invalid, "has ${ in it, which only tocsin apply replaces; write $${ for the characters themselves")
	}
	typed = strings.ReplaceAll(typed, escaped, variable)
	switch s.Kind {
	case channels.Integer:
		n, err := strconv.Atoi(typed)
		if err != nil {
			return nil, fault.New(fault.Invalid, "must be a whole number")
		}
		return json.Number(strconv.Itoa(n)), nil
	case channels.Number:
		if !json.Valid([]byte(typed)) || strings.ContainsAny(typed, `"[{tfn`) {
			return nil, fault.New(fault.Invalid, "must be a number such as 0.5")
		}
		return json.Number(typed), nil
	case channels.Lines:
		members := map[string]any{}
		for line := range strings.SplitSeq(typed, "\n") {
			name, v, found := strings.Cut(line, ":")
			if strings.TrimSpace(line) == "" {
				continue
			}
			if !found || strings.TrimSpace(name) == "" {
				return nil, fault.New(fault.Invalid, "must have a line NAME: VALUE for each entry")
			}
			members[strings.TrimSpace(name)] = strings.TrimSpace(v)
		}
		return members, nil
	case channels.List:
		list := []any{}
		for line := range strings.SplitSeq(typed, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				list = append(list, line)
			}
		}
		return list, nil
	case channels.Line, channels.Text, channels.Choice:
	}
	return typed, nil
}
