package delivery

import (
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Meter counts what a worker does. It is called often and concurrently, and must not block.
type Meter interface {
	// Attempted counts a message that was handed to a provider or failed before.
	Attempted(a Attempt)
	// Recorded counts outcomes that were stored, and leases that were lost to another worker
	// before.
	Recorded(outcomes []deliveries.Outcome, lost int)
	// Expanded counts deliveries that were written, and occurrences that have all of theirs.
	Expanded(e deliveries.Expansion)
	// ExpansionFailed counts an expansion of an occurrence that failed. It is tried again.
	ExpansionFailed()
}

// Attempt is an attempt to hand a message to a provider, or a delivery that failed without one.
type Attempt struct {
	Protocol channels.Protocol
	Became   deliveries.State // the new state of the delivery: Sent, Retrying, Failed
	Took     time.Duration    // until the provider answered
	Untried  bool             // it failed before the provider had it: a broken template, or a host that is gone
	// Waited is how long the delivery waited for its first attempt; 0: this was a later attempt.
	Waited time.Duration
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Attempted(Attempt)                  {}
func (unmetered) Recorded([]deliveries.Outcome, int) {}
func (unmetered) Expanded(deliveries.Expansion)      {}
func (unmetered) ExpansionFailed()                   {}

// Pause is a pause of a channel because of its provider.
type Pause struct {
	Until  time.Time
	Reason PauseReason
}

// PauseReason is why a channel is paused because of its provider.
type PauseReason string

// Reasons of pauses.
const (
	Unreachable PauseReason = "unreachable" // attempts keep failing
	Requested   PauseReason = "requested"   // the provider asked for the pause
)

// PausedChannels returns the channels that are paused because of their provider.
func (w *Worker) PausedChannels() map[channels.ID]Pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	all := map[channels.ID]Pause{}
	for id, s := range w.senders {
		s.mu.Lock()
		if until := s.breaker.open(now); !until.IsZero() {
			all[id] = Pause{until, s.breaker.reason()}
		}
		s.mu.Unlock()
	}
	return all
}

// Skew returns how far the clock of this machine is ahead of the database's clock, measured at the
// latest heartbeat.
func (w *Worker) Skew() time.Duration { return time.Duration(w.skew.Load()) }

// storeNow returns the time by the database's clock, as far as this instance knows it.
func (w *Worker) storeNow() time.Time { return w.clock.Now().Add(-w.Skew()) }
