// Package installation is about the installation as a whole: whether it sends messages, and whether
// anything in it may be changed.
package installation

import (
	"context"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
)

// ErrReadOnly says that nothing can be changed for now.
var ErrReadOnly = fault.New(fault.Unavailable, "the installation is read-only for maintenance")

// RetryAfter is how long a caller should wait after ErrReadOnly.
const RetryAfter = 30 * time.Second

// State is the state that all instances of an installation share.
type State struct {
	Held     time.Time // since when nothing is sent; zero: messages are sent
	ReadOnly time.Time // since when nothing may be changed; zero: it may
	Notice   string    // the operator's message for users who try to change something
}

// Sends reports whether messages may leave. The outcome of an attempt is a change, so nothing is
// sent while nothing may be changed.
func (s State) Sends() bool { return s.Held.IsZero() && s.ReadOnly.IsZero() }

// String returns the unusual states in words; empty: there are none.
func (s State) String() string {
	var said []string
	if !s.Held.IsZero() {
		said = append(said, "nothing is sent since "+s.Held.Format(time.RFC3339)+", until it is released")
	}
	if !s.ReadOnly.IsZero() {
		said = append(said, "it is read-only since "+s.ReadOnly.Format(time.RFC3339))
	}
	return strings.Join(said, "; ")
}

// Writable returns nil when something may be changed; ErrReadOnly.
func (s State) Writable() error {
	switch {
	case s.ReadOnly.IsZero():
		return nil
	case s.Notice != "":
		return ErrReadOnly.With("the installation is read-only for maintenance: %s", s.Notice)
	}
	return ErrReadOnly
}

// Backlog is the remaining work of an occurrence.
type Backlog struct {
	ID        events.OccurrenceID
	Since     time.Time // when it was to be sent
	Expanding bool      // some of its recipients are not known yet
	Messages  int       // that are open
}

// Repository keeps the state.
type Repository interface {
	// State returns the state.
	State(ctx context.Context) (State, error)
	// Lock returns the state and locks it until the unit of work ends.
	Lock(ctx context.Context) (State, error)
	// SetState stores the state.
	SetState(ctx context.Context, s State) error
	// Backlogs examines the next occurrences of all organizations by id, at most limit after the
	// given one, for the operator of the installation. It returns those with remaining work, and
	// the last one that it examined, 0 at the end. Cancelled ones have no work.
	Backlogs(ctx context.Context, after events.OccurrenceID, limit int) ([]Backlog, events.OccurrenceID, error)
}
