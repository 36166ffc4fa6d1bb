package configs

// Change is a setting whose value differs from one configuration to another. Secrets are masked.
type Change struct {
	Name          string
	Before, After string
}

// Reload returns c with those settings of next that may change while the program runs. changed are
// those of them that differ; restart are the other settings that differ, which need a restart.
func (c Config) Reload(next Config) (now Config, changed, restart []Change) {
	now = c
	now.values, now.texts = c.Values(), append([]Secret(nil), c.texts...)
	for i, s := range table() {
		if c.texts[i].Reveal() == next.texts[i].Reveal() && c.values[i].Value == next.values[i].Value { // One setting may imply another.
			continue
		}
		one := Change{Name: s.Name, Before: c.values[i].Value, After: next.values[i].Value}
		if !s.Live {
			restart = append(restart, one)
			continue
		}
		if err := s.set(&now, next.texts[i].Reveal()); err != nil {
			continue // Cannot happen: next was loaded.
		}
		now.values[i], now.texts[i] = next.values[i], next.texts[i]
		changed = append(changed, one)
	}
	return now, changed, restart
}

// String describes the change.
func (c Change) String() string {
	return c.Name + ": " + orEmpty(c.Before) + " -> " + orEmpty(c.After)
}

func orEmpty(text string) string {
	if text == "" {
		return "(empty)"
	}
	return text
}
