package deliveries

import "time"

// Presence is a worker that runs, by its latest heartbeat.
type Presence struct {
	Owner    string // names it among all that share the store
	Instance string // names it to operators
	Version  string // of the program
	Started  time.Time
	Seen     time.Time // of the latest heartbeat, by the clock of the machine that asks
	// Skew is how far the clock of its machine was ahead of the database's at that moment.
	Skew time.Duration
}

// How often a worker sends a heartbeat, after how long without one it is thought to be gone, and
// after how long it is removed.
const (
	PresenceInterval  = 15 * time.Second
	PresenceDoubted   = time.Minute
	PresenceForgotten = 24 * time.Hour
)

// SkewTolerated is how far the clock of a machine may be from the database's before somebody should
// look after it.
const SkewTolerated = 2 * time.Second

// Skewed reports whether the clock of the worker's machine is wrong by more than SkewTolerated.
func (p Presence) Skewed() bool { return p.Skew.Abs() > SkewTolerated }

// Ahead says how wrong the clock of the worker's machine is: `1m30s ahead of the database's`.
func (p Presence) Ahead() string {
	which := "ahead of"
	if p.Skew < 0 {
		which = "behind"
	}
	return p.Skew.Abs().Round(time.Second).String() + " " + which + " the database's"
}

// Lost reports whether the worker was not seen for so long that it must have died.
func (p Presence) Lost(now time.Time) bool { return now.Sub(p.Seen) > PresenceDoubted }
