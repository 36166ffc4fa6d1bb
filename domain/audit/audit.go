// Package audit is about who did what: entries that tell who changed something, when, from where,
// and what was before and after, whatever has become of it since. It knows no rule about what may
// be changed.
package audit

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Via is the way by which somebody reached us.
type Via string

// The ways.
const (
	Console     Via = "console"
	CommandLine Via = "command line"
	API         Via = "API"
	Link        Via = "unsubscribe link"
)

// Actor is who does something, and from where.
type Actor struct {
	Name    string    // the username; the name of the API key; of the command line, who ran it as far as the machine tells
	Key     access.ID // of the API key; 0: none. Names of keys may be used again, ids are not
	Address string    // of the client; of the command line the name of the machine
	Via     Via
}

// ID identifies an entry. It is positive; 0 means "not stored yet".
type ID int64

// Entry is one change.
type Entry struct {
	ID           ID
	Organization orgs.ID // 0: of the installation
	Actor        Actor
	At           time.Time // zero when it is recorded: now
	Action       Action
	Object       string // the path of what was changed: `acme/u/ada`
	Before       State
	After        State
}

// Repository keeps entries. Nothing changes them, and nothing but their age removes them.
type Repository interface {
	// Record stores entries, in their order, at one go; what is too long of their states is cut
	// ([State.Text]).
	Record(ctx context.Context, es ...Entry) error
	// Search returns a batch of the entries that a query asks for. How much it reads does not
	// depend on how many there are.
	Search(ctx context.Context, q Query) (Found, error)
	// About returns the entries about people that a query asks for, the newest first; newer ones
	// than a place the other way round.
	About(ctx context.Context, q About) ([]Entry, error)
}
