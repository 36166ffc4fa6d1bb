package channels

import "slices"

// Kind is the type of a setting's value.
type Kind string

// The kinds.
const (
	Line    Kind = "line"    // of text
	Text    Kind = "text"    // of any number of lines
	Integer Kind = "integer" // a whole number
	Number  Kind = "number"
	Choice  Kind = "choice" // one of several words
	Lines   Kind = "lines"  // an object of lines of text
	List    Kind = "list"   // an array of lines of text
)

// Setting describes one of a driver's settings, for forms and documents. Only the driver checks its
// value.
type Setting struct {
	Name     string
	Kind     Kind
	Required bool
	Default  string // in words; empty: none
	Help     string // a sentence
	Words    []string
	Secret   bool // never shown again
	// ResetsSecrets is set if the setting decides who gets the secrets: its author has to enter
	// them again. Otherwise every operator who may change a setting could send a stored secret
	// elsewhere.
	ResetsSecrets bool
	// Target is set if the setting decides which host is connected to.
	Target bool
}

// CommonSettings describes the settings that every driver accepts.
func CommonSettings() []Setting {
	return []Setting{
		{Name: SettingConcurrency, Kind: Integer, Default: "16", Help: "How many messages are under way at once, 1 to 256: on all instances together, or without it 16 on each."},
		{Name: SettingRatePerSecond, Kind: Number, Help: "How many messages are handed over per second by all instances together, 0.0000116 (one a day) or more; 0.5 is one every two seconds."},
		{Name: SettingQuotaPerDay, Kind: Integer, Help: "How many attempts all instances together make in a day (UTC); what is left waits for the next one. 0 is no quota."},
		{Name: SettingQuotaPerMonth, Kind: Integer, Help: "How many attempts all instances together make in a month (UTC); what is left waits for the next one. 0 is no quota."},
	}
}

// Secrets returns the names of the secret settings.
func Secrets(described []Setting) []string {
	var names []string
	for _, s := range described {
		if s.Secret {
			names = append(names, s.Name)
		}
	}
	return names
}

// Retargeted reports whether settings that decide which host is connected to differ.
func Retargeted(described []Setting, was, is Settings) bool {
	return slices.ContainsFunc(described, func(s Setting) bool {
		return s.Target && !(Settings{s.Name: was[s.Name]}).Equal(Settings{s.Name: is[s.Name]})
	})
}
