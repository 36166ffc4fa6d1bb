// Package audit is about who did what: entries that record who changed something, when, from where,
// and the state before and after, even if the object has been deleted since. It knows no rules
// about changes.
package audit

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
)

// ErrNotFound says that there is no such entry, or no longer.
var ErrNotFound = fault.New(fault.NotFound, "the entry of the audit log does not exist, or is no longer kept")

// Via is the way by which a caller reached the installation.
type Via string

// The ways.
const (
	Console     Via = "console"
	CommandLine Via = "command line"
	API         Via = "API"
	Link        Via = "unsubscribe link"
)

// Actor is the author of a change, and where they came from.
type Actor struct {
	Name    string    // the username; the name of the API key; for the command line, the user of the machine
	Key     access.ID // of the API key; 0: none. Names of keys may be used again, ids are not
	Address string    // of the client; of the command line the name of the machine
	Via     Via
}

// ID identifies an entry. It is positive; 0 means "not stored yet".
type ID int64

// Entry records one change.
type Entry struct {
	ID           ID
	Organization orgs.ID // 0: of the installation
	Actor        Actor
	At           time.Time // zero when it is recorded: now
	Action       Action
	Object       string // the path of the changed object: `acme/u/ada`
	Before       State
	After        State
}

// Repository keeps entries. They never change, and only their age removes them.
type Repository interface {
	// Record stores entries, in their order, at once; states that are too long are cut
	// ([State.Text]).
	Record(ctx context.Context, es ...Entry) error
	// Search returns a batch of the entries that match a query. The rows that it reads do not
	// depend on how many there are.
	Search(ctx context.Context, q Query) (Found, error)
	// Entry returns one entry of an organization, or of the installation (0); ErrNotFound.
	Entry(ctx context.Context, org orgs.ID, id ID) (Entry, error)
	// About returns the entries about members that match a query, the newest first; those newer
	// than a cursor in the opposite order.
	About(ctx context.Context, q About) ([]Entry, error)
}
