package statistics

import (
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
)

// Snooze hides a problem of an organization that an operator knows about.
type Snooze struct {
	Organization orgs.ID
	Problem      string    // identifies the problem for as long as it lasts
	Seen         string    // its state at that time
	By           string    // username
	At           time.Time // when it began
	Until        time.Time // zero: until the problem is not as it was seen
}

// How long a snooze without an end lasts, and how many an organization keeps: the latest.
const (
	MaxSnooze  = 30 * 24 * time.Hour
	MaxSnoozes = 100
)

// Active reports whether a problem that is like this now is snoozed.
func (s Snooze) Active(now time.Time, seen string) bool {
	if s.Until.IsZero() {
		return s.Seen == seen && now.Before(s.At.Add(MaxSnooze))
	}
	return now.Before(s.Until)
}
