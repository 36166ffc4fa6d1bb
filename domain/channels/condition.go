package channels

import "time"

// Condition is how a channel is, as far as it concerns what waits for it.
type Condition struct {
	Failing   bool      // it does not work on some instance
	Since     time.Time // when that began
	Until     time.Time // nothing is tried before
	Error     string    // the latest, without the channel's secrets and anybody's address
	PerSecond float64   // how many messages leave in a second; 0: no limit
}
