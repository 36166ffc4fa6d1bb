// Package audit is about who did what: entries that tell, for ever, who changed something, when, from where, and what was before and after. It
// knows no rule about what may be changed.
package audit

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
)

// Via is the way by which somebody reached us.
type Via string

// The ways.
const (
	Console     Via = "console"
	CommandLine Via = "command line"
)

// Actor is who does something, and from where.
type Actor struct {
	Name    string // the username; of the command line, who ran it is not known
	Address string // of the client; empty for the command line
	Via     Via
}

// Action is what was done, as a verb of the domain.
type Action string

// The actions.
const (
	AccountCreated       Action = "account.create"
	PasswordSet          Action = "account.password"
	SignedIn             Action = "account.sign_in"
	SignedOut            Action = "account.sign_out"
	SignedOutEverywhere  Action = "account.sign_out_everywhere"
	LockedOut            Action = "account.lock_out"
	RoleSet              Action = "member.role"
	MemberLocked         Action = "member.lock"
	MembershipLocked     Action = "membership.lock"
	NotificationsEnabled Action = "membership.enable_notifications"
	DeliveriesRetried    Action = "deliveries.retry"
)

// State is what an entry tells of its object before or after: plain data, without secrets.
type State map[string]any

// ID identifies an entry. It is positive; 0 means "not stored yet".
type ID int64

// Entry is one change.
type Entry struct {
	ID           ID
	Organization orgs.ID // 0: of the installation
	Actor        Actor
	At           time.Time
	Action       Action
	Object       string // the path of what was changed: `acme/u/ada`
	Before       State
	After        State
}

// Repository keeps entries. Nothing changes or removes them.
type Repository interface {
	// Record stores an entry.
	Record(ctx context.Context, e Entry) error
	// List returns the entries of an organization, or with 0 those of the installation itself, the newest first: at most limit, older than
	// the one with the id before (0: from the newest on).
	List(ctx context.Context, org orgs.ID, before ID, limit int) ([]Entry, error)
}
