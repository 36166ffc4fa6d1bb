package channels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/fault"
)

// SettingsReader reads a channel's settings for its driver: it returns values of the right type,
// and collects all faults. A missing or wrong setting has the zero value. Faults are named
// `settings.NAME`, and never repeat a value, which may be a secret.
type SettingsReader struct {
	channel  Channel
	settings Settings
	known    []string
	faults   fault.Fields
}

// ReadSettings returns a reader that has already checked what every driver accepts. described are
// the driver's own settings; a channel with another one has a fault, and a driver that reads
// another one panics. A protocol that is not among these is a fault; one that does not exist is
// refused elsewhere.
func (c Channel) ReadSettings(described []Setting, protocols ...Protocol) *SettingsReader {
	r := &SettingsReader{channel: c, settings: c.Settings}
	for _, s := range described {
		r.known = append(r.known, s.Name)
	}
	if c.Protocol != "" && !slices.Contains(protocols, c.Protocol) {
		words := make([]string, len(protocols))
		for i, p := range protocols {
			words[i] = string(p)
		}
		r.faults.Addf("driver", "%s carries %s, not %s", c.Driver, strings.Join(words, " and "), c.Protocol)
	}
	for _, s := range CommonSettings() {
		r.known = append(r.known, s.Name)
	}
	r.faults.Add("", c.Settings.CheckLimits())
	return r
}

// Required reads a line of text that must not be empty.
func (r *SettingsReader) Required(name string) string {
	line := r.Line(name)
	if line == "" && !r.IsWrong(name) {
		r.Wrong(name, "is required")
	}
	return line
}

// Line reads a text without control characters; absent and empty are the same.
func (r *SettingsReader) Line(name string) string {
	text := r.Text(name)
	if strings.ContainsFunc(text, unicode.IsControl) {
		r.Wrong(name, "contains a control character")
		return ""
	}
	return text
}

// Text reads a text of any number of lines; absent and empty are the same.
func (r *SettingsReader) Text(name string) string {
	v, given := r.value(name)
	if !given {
		return ""
	}
	text, isText := v.(string)
	if !isText || !utf8.ValidString(text) {
		r.Wrong(name, "must be a string")
		return ""
	}
	return text
}

// Word reads one of several words; an absent one is the first.
func (r *SettingsReader) Word(name string, words ...string) string {
	word := r.Line(name)
	switch {
	case word == "":
		return words[0]
	case !slices.Contains(words, word):
		r.Wrong(name, "must be one of %s", fault.List(words))
	}
	return word
}

// Integer reads a whole number between two others; 0 when it is absent.
func (r *SettingsReader) Integer(name string, least, most int) int {
	v, given := r.value(name)
	if !given {
		return 0
	}
	n, err := strconv.Atoi(fmt.Sprint(v)) // A number from a variable of the environment is a string.
	if err != nil || n < least || n > most {
		r.Wrong(name, "must be a number from %d to %d", least, most)
		return 0
	}
	return n
}

// Lines reads an object whose members are texts without control characters; nil when it is absent.
func (r *SettingsReader) Lines(name string) map[string]string {
	v, given := r.value(name)
	if !given {
		return nil
	}
	object, isObject := v.(map[string]any)
	if !isObject {
		r.Wrong(name, "must be an object")
		return nil
	}
	lines := make(map[string]string, len(object))
	for member, v := range object {
		line, isText := v.(string)
		if !isText || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
			r.Wrong(name+"."+member, "must be a string without control characters")
			continue
		}
		lines[member] = line
	}
	return lines
}

// List reads an array of texts without control characters and without space around them; nil when
// it is absent. A text with commas or white space between its items is a list, too: so it comes
// from a variable of the environment.
func (r *SettingsReader) List(name string) []string {
	v, given := r.value(name)
	if !given {
		return nil
	}
	if text, isText := v.(string); isText && utf8.ValidString(text) {
		return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || unicode.IsSpace(c) || unicode.IsControl(c) })
	}
	array, isArray := v.([]any)
	if !isArray {
		r.Wrong(name, "must be a list of strings")
		return nil
	}
	var list []string
	for _, v := range array {
		line, isText := v.(string)
		if !isText || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
			r.Wrong(name, "must be a list of strings without control characters")
			return nil
		}
		list = append(list, strings.TrimSpace(line))
	}
	return list
}

// Wrong records a fault in a setting.
func (r *SettingsReader) Wrong(name, format string, args ...any) {
	r.faults.Addf("settings."+name, format, args...)
}

// Err returns all faults, including settings that the driver does not have.
func (r *SettingsReader) Err() error {
	for name := range r.settings {
		if !slices.Contains(r.known, name) {
			r.Wrong(name, "is not a setting of the driver %s", r.channel.Driver)
		}
	}
	slices.SortFunc(r.faults, func(a, b fault.FieldErrors) int { return strings.Compare(a.Name, b.Name) })
	return r.faults.Err()
}

func (r *SettingsReader) value(name string) (v any, given bool) {
	if !slices.Contains(r.known, name) {
		panic("channels: the driver " + r.channel.Driver + " reads the setting " + name + ", which it does not describe")
	}
	v = r.settings[name]
	return v, v != nil
}

// IsWrong reports whether a fault in a setting was recorded.
func (r *SettingsReader) IsWrong(name string) bool {
	return slices.ContainsFunc(r.faults, func(f fault.FieldErrors) bool { return f.Name == "settings."+name })
}
