// Package operators is about the people who work with the console: their passwords, how often those may be guessed wrong, their sessions,
// and what they may do where. It knows no cookie and no page; what the pages show is other packages' business.
package operators

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// The faults of this package.
var (
	ErrNotFound    = fault.New(fault.NotFound, "this user cannot sign in")
	ErrExists      = fault.New(fault.Invalid, "this user can sign in already")
	ErrCredentials = fault.New(fault.Unauthenticated, "the username and the password do not belong together, or the account is locked")
	ErrNoSession   = fault.New(fault.Unauthenticated, "nobody is signed in")
	ErrForbidden   = fault.New(fault.Forbidden, "your role does not allow this")
	ErrPassword    = fault.New(fault.Invalid, "is not your password, or the account is locked")
)

// After MaxFailures wrong passwords in a row an account is locked for LockOut, whatever password comes.
const (
	MaxFailures = 10
	LockOut     = 15 * time.Minute
)

// Account is an identity that can sign in.
type Account struct {
	User          users.User
	Hash          Hash
	Administrator bool // of the installation: may do everything everywhere
	// Organization is the one by whose invitation the password was last set; 0: by none, or by the installation's. Another password that the
	// holder chooses changes nothing about it.
	Organization orgs.ID
	Failures     int // wrong passwords since the last right one or the last lock-out
	LockedUntil  time.Time
	Changed      time.Time // when the password was set
}

// Locked tells whether the account takes no password at this moment.
func (a Account) Locked(now time.Time) bool { return now.Before(a.LockedUntil) }

// Attempt returns the account after somebody tried a password for it, and whether that lets them in. While the account is locked nothing
// does, and nothing is counted.
func (a Account) Attempt(right bool, now time.Time) (after Account, in bool) {
	switch {
	case a.Locked(now):
		return a, false
	case right:
		a.Failures, a.LockedUntil = 0, time.Time{}
		return a, true
	}
	a.Failures++
	if a.Failures >= MaxFailures {
		a.Failures, a.LockedUntil = 0, now.Add(LockOut)
	}
	return a, false
}

// Renewed is the account with another password: what was guessed wrong before does not count against it.
func (a Account) Renewed(h Hash, now time.Time) Account {
	a.Hash, a.Failures, a.LockedUntil, a.Changed = h, 0, time.Time{}, now
	return a
}

// Repository keeps who can sign in, and their sessions.
type Repository interface {
	// Account finds an account by its username, without regard to case; ErrNotFound for users who cannot sign in, too.
	Account(ctx context.Context, username string) (Account, error)
	// Save stores everything of an account but its identity, which must exist; it makes the account when there is none.
	Save(ctx context.Context, a Account) error
	// Places returns the organizations that a user belongs to, by id.
	Places(ctx context.Context, u users.ID) ([]Place, error)

	// Begin stores a new session of somebody who can sign in.
	Begin(ctx context.Context, s Session) error
	// Session finds a session with its account, whether it is over or not; ErrNoSession.
	Session(ctx context.Context, d Digest) (Session, Account, error)
	// Saw notes when a session was last used; an earlier moment never replaces a later one.
	Saw(ctx context.Context, d Digest, at time.Time) error
	// End deletes a session, if it exists.
	End(ctx context.Context, d Digest) error
	// EndAll deletes every session of a user and returns how many those were.
	EndAll(ctx context.Context, u users.ID) (int, error)
	// EndOthers deletes every session of a user but one and returns how many those were.
	EndOthers(ctx context.Context, u users.ID, keep Digest) (int, error)
	// Sessions returns the sessions of a user, over or not, the one that was used last first, at most limit.
	Sessions(ctx context.Context, u users.ID, limit int) ([]Session, error)
	// Sweep deletes the sessions and the invitations that have expired.
	Sweep(ctx context.Context, now time.Time) error

	// Invite stores an invitation in the place of those that the user had.
	Invite(ctx context.Context, i Invitation) error
	// Invitation finds an invitation with the account that it is for, over or not; of an account that does not exist yet only the identity
	// is set. ErrInvitation.
	Invitation(ctx context.Context, d Digest) (Invitation, Account, error)
	// EndInvitations deletes every invitation of a user.
	EndInvitations(ctx context.Context, u users.ID) error
	// Decide announces a decision about who can sign in as a user, or what for, in whichever organization: of two units of work that decide about one
	// user at the same time, the later sees what the earlier wrote. users.ErrNotFound.
	Decide(ctx context.Context, u users.ID) error
}
