package deliveries

import "time"

// Presence is a worker that runs, as far as anybody heard.
type Presence struct {
	Owner    string // names it among all that share the store
	Instance string // names it to operators
	Version  string // of the program
	Started  time.Time
	Seen     time.Time // when it was heard of last
}

// How often a worker is heard of, after how long without a word it is thought to be gone, and after how long it is forgotten.
const (
	PresenceInterval  = 15 * time.Second
	PresenceDoubted   = time.Minute
	PresenceForgotten = 24 * time.Hour
)

// Lost tells whether the worker was not heard of for so long that it must have died.
func (p Presence) Lost(now time.Time) bool { return now.Sub(p.Seen) > PresenceDoubted }
