package channels

import (
	"cmp"
	"slices"
	"time"
)

// Condition is the condition of a channel, as far as it concerns its waiting messages.
type Condition struct {
	Outages   []Outage  // one for each instance on which it does not work, by instance
	PerSecond float64   // how many messages may leave in a second; 0: no limit
	Quota     Quota     // none: no limit
	Used      Usage     // of the quota, including portions that instances have taken
	UsedUp    time.Time // nothing is left of the quota until then; zero: not used up
}

// Outage returns the longest outage of the channel; it reports false when there is none.
func (c Condition) Outage() (longest Outage, failing bool) {
	if len(c.Outages) == 0 {
		return longest, false
	}
	return slices.MinFunc(c.Outages, func(a, b Outage) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Instance, b.Instance))
	}), true
}
