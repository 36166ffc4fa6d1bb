package channels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Settings are a driver's settings as the operator wrote them: a JSON object.
type Settings map[string]any

// String returns the names of the settings and no values: a value may be a secret.
func (s Settings) String() string {
	return "{" + strings.Join(slices.Sorted(maps.Keys(s)), ", ") + "}"
}

// Format prints no values, whatever the verb.
func (s Settings) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// Equal reports whether both are the same.
func (s Settings) Equal(other Settings) bool {
	a, errA := json.Marshal(s)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && (bytes.Equal(a, b) || len(s) == 0 && len(other) == 0)
}

// CheckSettings checks the settings that every driver accepts; the driver checks the others.
func (c Channel) CheckSettings() error { return c.Settings.CheckLimits() }
