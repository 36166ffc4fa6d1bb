package channels

import "time"

// Condition is the condition of a channel, as far as it concerns its waiting messages.
type Condition struct {
	Failing   bool      // it does not work on some instance
	Since     time.Time // when the outage began
	Until     time.Time // the next attempt is not before
	Error     string    // the latest, without secrets of the channel and without addresses
	PerSecond float64   // how many messages may leave in a second; 0: no limit
	Quota     Quota     // none: no limit
	Used      Usage     // of the quota, including portions that instances have taken
	UsedUp    time.Time // nothing is left of the quota until then; zero: not used up
}
