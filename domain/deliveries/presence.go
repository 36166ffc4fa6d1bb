package deliveries

import "time"

// Presence is a running worker, by its latest heartbeat.
type Presence struct {
	Owner    string // unique among all that share the store
	Instance string // its name for operators
	Version  string // of the program
	Started  time.Time
	Seen     time.Time // the latest heartbeat, by the clock of the reader's machine
	// Skew is how far the clock of its machine was ahead of the database's at that moment.
	Skew time.Duration
}

// How often a worker sends a heartbeat, after how long without one it counts as gone, and after how
// long it is removed.
const (
	PresenceInterval  = 15 * time.Second
	PresenceTimeout   = time.Minute
	PresenceRetention = 24 * time.Hour
)

// SkewTolerated is how far a machine's clock may differ from the database's before an operator
// should act.
const SkewTolerated = 2 * time.Second

// Skewed reports whether the clock of the worker's machine is wrong by more than SkewTolerated.
func (p Presence) Skewed() bool { return p.Skew.Abs() > SkewTolerated }

// Ahead returns the error of the worker's clock in words: `1m30s ahead of the database's`.
func (p Presence) Ahead() string {
	which := "ahead of"
	if p.Skew < 0 {
		which = "behind"
	}
	return p.Skew.Abs().Round(time.Second).String() + " " + which + " the database's"
}

// Lost reports whether the worker's last heartbeat is so old that it must have died.
func (p Presence) Lost(now time.Time) bool { return now.Sub(p.Seen) > PresenceTimeout }
