package channels

import (
	"cmp"
	"time"
)

// Condition is the condition of a channel, as far as it concerns its waiting messages.
type Condition struct {
	Outages   []Outage  // one for each instance on which it does not work, by instance
	PerSecond float64   // how many messages may leave in a second; 0: no limit
	Quota     Quota     // none: no limit
	Used      Usage     // of the quota, including portions that instances have taken
	UsedUp    time.Time // nothing is left of the quota until then; zero: not used up
	Inactive  bool      // it is an inactive member of a pool: the others take its messages
}

// Outage returns the longest outage of the channel; it reports false when there is none. A pause
// that the provider asked for is none, because the provider answered.
func (c Condition) Outage() (longest Outage, failing bool) {
	for _, o := range c.Outages {
		if o.ForAll {
			continue
		}
		if !failing || cmp.Or(o.Since.Compare(longest.Since), cmp.Compare(o.Instance, longest.Instance)) < 0 {
			longest, failing = o, true
		}
	}
	return longest, failing
}

// RequestedPause returns the longest pause that the provider asked for and that is not over; it
// reports false when there is none.
func (c Condition) RequestedPause(now time.Time) (longest Outage, paused bool) {
	for _, o := range c.Outages {
		if o.ForAll && o.Paused(now) && o.Until.After(longest.Until) {
			longest, paused = o, true
		}
	}
	return longest, paused
}
