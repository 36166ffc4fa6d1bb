package channels

import "time"

// Condition is how a channel is, as far as it concerns what waits for it.
type Condition struct {
	Failing   bool      // it does not work on some instance
	Since     time.Time // when that began
	Until     time.Time // nothing is tried before
	Error     string    // the latest, without the channel's secrets and anybody's address
	PerSecond float64   // how many messages leave in a second; 0: no limit
	Quota     Quota     // none: no limit
	Used      Usage     // of the quota, or taken by an instance that is about to use it
	UsedUp    time.Time // nothing is left of the quota until then; zero: something may be
}
