package delivery

import (
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Meter counts what a worker does. It is called often, by many at once, and must not block.
type Meter interface {
	// Attempted is told of every message that was handed to a provider, or was to be.
	Attempted(a Attempt)
	// Recorded is told of outcomes that were stored, and how many leases were lost to another
	// worker before.
	Recorded(outcomes []deliveries.Outcome, lost int)
	// Expanded is told of deliveries that were written, and whether they were the last of their
	// occurrence.
	Expanded(e deliveries.Expansion)
}

// Attempt is an attempt to hand a message to a provider.
type Attempt struct {
	Protocol channels.Protocol
	Became   deliveries.State // of the delivery: Sent, Retrying, Failed
	Took     time.Duration    // until the provider had answered
	// Waited is how long the delivery existed before its first attempt began; 0: it was not the
	// first.
	Waited time.Duration
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Attempted(Attempt)                  {}
func (unmetered) Recorded([]deliveries.Outcome, int) {}
func (unmetered) Expanded(deliveries.Expansion)      {}

// Resting returns the channels that rest because their provider is away, and until when.
func (w *Worker) Resting() map[channels.ID]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	all := map[channels.ID]time.Time{}
	for id, s := range w.senders {
		s.mu.Lock()
		if until := s.breaker.open(now); !until.IsZero() {
			all[id] = until
		}
		s.mu.Unlock()
	}
	return all
}

// Skew returns how far the clock of this machine is ahead of the database's, by the latest
// heartbeat.
func (w *Worker) Skew() time.Duration { return time.Duration(w.skew.Load()) }

// storeNow is the present moment by the clock of the database, as far as this instance knows it.
func (w *Worker) storeNow() time.Time { return w.clock.Now().Add(-w.Skew()) }
