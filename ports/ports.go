// Package ports combines the domain's ports: the store, and the clock. It states what every backend
// must guarantee (test/conformance proves it) and does not know the backends.
package ports

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

// ErrUnavailable says that the store cannot be reached or is too busy; nothing was written and a
// retry may help.
var ErrUnavailable = fault.New(fault.Unavailable, "the database is not available")

// Those of its causes that operators have to know.
var (
	ErrReadOnly = ErrUnavailable.With("the database is read-only")
	ErrFull     = ErrUnavailable.With("the disk of the database is full")
	ErrReplaced = ErrUnavailable.With("the file of the database was removed or replaced; stop this instance")
)

// Store keeps everything. It is safe for concurrent use.
type Store interface {
	// View runs fn on one consistent snapshot. fn must not write.
	View(ctx context.Context, fn func(Tx) error) error
	// Update runs fn as a unit of work: all of it is kept, durably, when fn returns nil, and
	// nothing otherwise. Of two units that write the same row, the later one starts from what the
	// earlier one left. fn may run more than once, so inside it touch only the Tx and the result.
	// Under a context of Within, View and Update are parts of a unit.
	Update(ctx context.Context, fn func(Tx) error) error
	// Queue returns the pending work: occurrences to expand, deliveries to send.
	Queue() deliveries.Queue
	// Ready returns nil when the store answers and its schema is the one this program works with.
	Ready(ctx context.Context) error
	// Writable returns nil when the store takes writes. It tries one that changes nothing.
	// ErrReadOnly, ErrFull, ErrReplaced.
	Writable(ctx context.Context) error
}

// Tx gives access to the repositories within one View or Update.
type Tx interface {
	Orgs() orgs.Repository
	Users() users.Repository
	Addresses() users.AddressRepository
	Channels() channels.Repository
	Assignments() channels.AssignmentRepository
	Applications() applications.Repository
	Lists() lists.Repository
	Events() events.Repository
	Subscriptions() subscriptions.Repository
	Deliveries() deliveries.Repository
	Mailbox() deliveries.MailboxRepository
	Statistics() statistics.Repository
	Keys() access.Repository
	Operators() operators.Repository
	Factors() factors.Repository
	SignOn() signon.Repository
	Audit() audit.Repository
	Imports() imports.Repository
	Requests() requests.Repository
	Installation() installation.Repository
}

// Clock returns the time, so that tests can change it.
type Clock interface {
	Now() time.Time
}
