package channels

import (
	"bytes"
	"encoding/json"
)

// Settings are a driver's settings as the operator wrote them: a JSON object.
type Settings map[string]any

// Equal tells whether both say the same.
func (s Settings) Equal(other Settings) bool {
	a, errA := json.Marshal(s)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && (bytes.Equal(a, b) || len(s) == 0 && len(other) == 0)
}

// CheckSettings checks the settings that every driver accepts; the others are the driver's to check.
func (c Channel) CheckSettings() error { return c.Settings.CheckLimits() }
