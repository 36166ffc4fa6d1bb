package statistics

import (
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
)

// Snooze says that somebody knows of a problem of an organization. It is told as before, but
// quietly.
type Snooze struct {
	Organization orgs.ID
	Problem      string    // what names it for as long as it lasts
	Seen         string    // what it was like then
	By           string    // username
	At           time.Time // when it began
	Until        time.Time // zero: until the problem is not as it was seen
}

// How long a snooze lasts that has no end, and how many an organization keeps: the latest.
const (
	MaxSnooze  = 30 * 24 * time.Hour
	MaxSnoozes = 100
)

// Holds reports whether a problem that is like this now is snoozed.
func (s Snooze) Holds(now time.Time, seen string) bool {
	if s.Until.IsZero() {
		return s.Seen == seen && now.Before(s.At.Add(MaxSnooze))
	}
	return now.Before(s.Until)
}
