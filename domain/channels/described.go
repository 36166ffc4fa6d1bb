package channels

import "slices"

// Kind is what the value of a setting is.
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

// Setting describes one of a driver's settings, for those who make forms and documents. What is
// wrong with a value the driver alone says.
type Setting struct {
	Name     string
	Kind     Kind
	Required bool
	Default  string // in words; empty: none
	Help     string // a sentence
	Words    []string
	Secret   bool // never shown again
	// Leads is set where the setting says whom the secrets are told: whoever changes it has to know
	// them, or a secret that was written once could be sent to somebody else by everybody who may
	// change a setting.
	Leads bool
	// Target is set where the setting decides what is connected to.
	Target bool
}

// CommonSettings describes the settings that every driver accepts.
func CommonSettings() []Setting {
	return []Setting{
		{Name: SettingConcurrency, Kind: Integer, Default: "16", Help: "How many messages are under way at once, 1 to 256: on all instances together, or without it 16 on each."},
		{Name: SettingRatePerSecond, Kind: Number, Help: "How many messages are handed over per second by all instances together, above 0; 0.5 is one every two seconds."},
		{Name: SettingQuotaPerDay, Kind: Integer, Help: "How many attempts all instances together make in a day (UTC); what is left waits for the next one. 0 is no quota."},
		{Name: SettingQuotaPerMonth, Kind: Integer, Help: "How many attempts all instances together make in a month (UTC); what is left waits for the next one. 0 is no quota."},
	}
}

// Secrets are the names of those settings that are secret.
func Secrets(described []Setting) []string {
	var names []string
	for _, s := range described {
		if s.Secret {
			names = append(names, s.Name)
		}
	}
	return names
}

// Retargeted reports whether settings that decide what is connected to differ.
func Retargeted(described []Setting, was, is Settings) bool {
	return slices.ContainsFunc(described, func(s Setting) bool {
		return s.Target && !(Settings{s.Name: was[s.Name]}).Equal(Settings{s.Name: is[s.Name]})
	})
}
