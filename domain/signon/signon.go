// Package signon is about single sign-on: the identities of an identity provider, the accounts that
// they open, and the roles that the provider's groups give. It knows no protocol and no page; the
// Provider port talks to the provider.
package signon

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

// Errors of this package.
var (
	ErrOff          = fault.New(fault.NotFound, "single sign-on is not set up here")
	ErrUnavailable  = fault.New(fault.Unavailable, "the sign-in service cannot be reached at the moment; try again in a minute")
	ErrRefused      = fault.New(fault.Forbidden, "the sign-in service did not let you sign in")
	ErrAnswer       = fault.New(fault.Forbidden, "the answer of the sign-in service was not accepted")
	ErrBrowser      = fault.New(fault.Forbidden, "this sign-in was not begun in this browser, was used before, or took too long; please begin again")
	ErrUsername     = fault.New(fault.Forbidden, "the sign-in service does not say a username that can be used here")
	ErrTaken        = fault.New(fault.Forbidden, "this username belongs to another account of this installation")
	ErrReserved     = fault.New(fault.Forbidden, "this username is kept for the emergency account, which signs in with its password")
	ErrNoRole       = fault.New(fault.Forbidden, "you have no access here: none of your groups has a role")
	ErrOtherAccount = fault.New(fault.Forbidden, "you have signed in as somebody else; sign in again with the account that you are using")
	ErrNotRecent    = fault.New(fault.Forbidden, "the sign-in service does not say that you have just signed in there")
	ErrNotFound     = fault.New(fault.NotFound, "no identity of the provider is linked to this account")
	ErrLinked       = fault.New(fault.Invalid, "this identity of the provider is linked to another account")
	ErrReplayed     = fault.New(fault.Invalid, "this logout token was used before")
)

// Skew is how much the clock of the provider may differ from ours.
const Skew = time.Minute

// Subject identifies an identity permanently: the provider's name for it, and the provider.
// Usernames may change; this does not.
type Subject struct {
	Issuer string
	ID     string
}

// MaxSubject is how long the name of an identity may be in bytes (OpenID Connect Core 1.0, section
// 2).
const MaxSubject = 255

// Identity is a user as described by the provider.
type Identity struct {
	Subject

	Username      string
	Details       users.Details // an e-mail only where the provider has verified it
	Groups        []string
	Session       string    // what the provider calls its session; empty: it does not say
	Authenticated time.Time // when they last showed the provider who they are; zero: it does not say
}

// RecentFor reports whether the user signed in at the provider after they were sent there.
func (i Identity) RecentFor(sent time.Time) bool { return !i.Authenticated.Before(sent.Add(-Skew)) }

// AuthenticatedAt is when a session that begins now counts as last authenticated. A provider may
// remember the user and ask for nothing, so the provider's own moment counts; if it gives none, the
// authentication does not count as recent.
func (i Identity) AuthenticatedAt(now time.Time) time.Time {
	switch {
	case i.Authenticated.IsZero():
		return now.Add(-operators.Recent)
	case i.Authenticated.After(now):
		return now
	}
	return i.Authenticated
}

// Link records that an identity opens an account.
type Link struct {
	Subject

	Account operators.AccountID
	Linked  time.Time
	Used    time.Time // zero: never
}

// Session is the provider's session from which a session here came.
type Session struct {
	Subject

	Digest   operators.Digest
	Provider string // what the provider calls its session; empty: it does not say
}

// Logout is what a provider has ended: one of its sessions, or all of an identity. One of the two
// may be empty.
type Logout struct {
	Issuer  string
	Subject string
	Session string
	Token   string // what the provider calls this message; it uses no name twice
	Expires time.Time
}

// Digest returns the stored form of a logout token, so that it counts once.
func (l Logout) Digest() operators.Digest { return sha256.Sum256([]byte(l.Issuer + "\x00" + l.Token)) }

// Repository keeps which identities open which accounts, and which sessions came from the provider.
type Repository interface {
	// Link finds which account an identity opens; ErrNotFound.
	Link(ctx context.Context, s Subject) (Link, error)
	// Of returns the identity that opens an account; ErrNotFound.
	Of(ctx context.Context, a operators.AccountID) (Link, error)
	// SaveLink stores that an identity opens an account, and replaces the identity that opened
	// it before; ErrLinked when it opens another account.
	SaveLink(ctx context.Context, l Link) error
	// Unlink deletes the link of an account; ErrNotFound.
	Unlink(ctx context.Context, a operators.AccountID) error
	// RecordUse notes when an identity last signed in.
	RecordUse(ctx context.Context, s Subject, at time.Time) error

	// SaveSession stores where a session came from, and replaces what was stored for it before.
	SaveSession(ctx context.Context, s Session) error
	// Sessions returns the sessions that a logout concerns, at most limit.
	Sessions(ctx context.Context, l Logout, limit int) ([]Session, error)
	// EndSessions deletes every session of an account that came from the provider and returns how
	// many those were.
	EndSessions(ctx context.Context, a operators.AccountID) (int, error)

	// UseToken notes that a logout token was used and forgets those that have expired; ErrReplayed
	// when it was used before.
	UseToken(ctx context.Context, l Logout, now time.Time) error
}
