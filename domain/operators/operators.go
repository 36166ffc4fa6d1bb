// Package operators is about the people who work with the console: their accounts and passwords,
// how often those may be guessed wrong, their sessions, and what they may do where. It knows no
// cookie and no page; what the pages show is other packages' business.
package operators

import (
	"context"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// The faults of this package.
var (
	ErrRoleNotFound = fault.New(fault.NotFound, "the user has no role in this organization")

	ErrNotFound    = fault.New(fault.NotFound, "this user cannot sign in")
	ErrExists      = fault.New(fault.Invalid, "this user can sign in already")
	ErrSeveral     = fault.New(fault.Invalid, "this user has several passwords, each for other organizations: name the organization")
	ErrCredentials = fault.New(fault.Unauthenticated, "wrong username or password")
	ErrNoSession   = fault.New(fault.Unauthenticated, "nobody is signed in")
	ErrSignOnAlone = fault.New(fault.Invalid, "this user signs in with single sign-on and has no password")
	ErrSignOnOnly  = fault.New(fault.Invalid, "this account signs in with single sign-on only")
	ErrForbidden   = fault.New(fault.Forbidden, "your role does not allow this")
	ErrPassword    = fault.New(fault.Invalid, "is not your password")
)

// AccountID identifies an account. It is positive; 0 means "not stored yet".
type AccountID int64

// Account is one way for a user to sign in, with the roles that were accepted with it. A user may
// have several accounts, which know nothing of each other: an organization that hands out a link to
// set a password decides about an account that opens that organization alone. So what one
// organization does about a username never opens, hinders or shows what another one has given to
// the same username.
type Account struct {
	ID            AccountID
	User          users.User // only the identity: id and username
	Hash          Hash       // zero: no password
	Administrator bool       // of the installation: may do everything everywhere
	// Organization is the one through whose link the password was last set, so that its people may
	// know it; 0: none's. A password that the holder changes to another one leaves it as it is.
	Organization orgs.ID
	Changed      time.Time // when the password was set
	Linked       bool      // an identity of the provider of single sign-on opens it; Save leaves this alone
}

// SignOnAlone reports whether the account has no password because its holder signs in with single
// sign-on. Nobody gives it one: it would go on opening the account when the provider does not any
// more.
func (a Account) SignOnAlone() bool { return a.Linked && a.Hash == "" }

// Renewed is the account with another password.
func (a Account) Renewed(h Hash, now time.Time) Account {
	a.Hash, a.Changed = h, now
	return a
}

// Holding is an account with the places that it opens.
type Holding struct {
	Account

	Places []Place
}

// Visitor returns the holder of the account with what they may do as things are now.
func (h Holding) Visitor() Visitor {
	return Visitor{User: h.User, Account: h.ID, Administrator: h.Administrator, Passwordless: h.Hash == "", Places: h.Places}
}

// opens reports whether the account opens the organization, and whether it opens any other.
func (h Holding) opens(org orgs.ID) (this, other bool) {
	for _, p := range h.Places {
		this, other = this || p.Organization.ID == org, other || p.Organization.ID != org
	}
	return this, other
}

// Main is the account whose password is meant when nobody names an organization: the one that makes
// its holder administrator of the installation, else the only one. ErrNotFound, ErrSeveral,
// ErrSignOnAlone.
func Main(of []Holding) (Account, error) {
	all := len(of)
	of = slices.DeleteFunc(slices.Clone(of), func(h Holding) bool { return h.SignOnAlone() })
	if all > 0 && len(of) == 0 {
		return Account{}, ErrSignOnAlone
	}
	for _, h := range of {
		if h.Administrator {
			return h.Account, nil
		}
	}
	switch len(of) {
	case 0:
		return Account{}, ErrNotFound
	case 1:
		return of[0].Account, nil
	}
	return Account{}, ErrSeveral
}

// For is the account by which a user does things in an organization: the one that opens it, else
// the one that makes them administrator of the installation; the zero Holding when there is
// neither.
func For(of []Holding, org orgs.ID) (found Holding) {
	for _, h := range of {
		if this, _ := h.opens(org); this {
			return h
		}
		if h.Administrator {
			found = h
		}
	}
	return found
}

// Hashes are the passwords of accounts.
func Hashes(hs []Holding) []Hash {
	all := make([]Hash, len(hs))
	for i, h := range hs {
		all[i] = h.Hash
	}
	return all
}

// Repository keeps who can sign in, and everything about it.
type Repository interface {
	AccountRepository
	SessionRepository
	DeviceRepository
	GuessRepository
	InvitationRepository
}

// AccountRepository keeps accounts and which organizations they open.
type AccountRepository interface {
	// Account finds an account with its places; ErrNotFound.
	Account(ctx context.Context, id AccountID) (Holding, error)
	// Accounts returns the accounts of the user with this username, without regard to case, with
	// their places, by id. Who is unknown has none.
	Accounts(ctx context.Context, username string) ([]Holding, error)
	// Save stores everything of an account but its identity, which must exist, and returns its id;
	// an account without an id is made. users.ErrNotFound, ErrNotFound.
	Save(ctx context.Context, a Account) (AccountID, error)
	// Drop deletes an account with its sessions and devices, if it exists.
	Drop(ctx context.Context, id AccountID) error
	// Accept makes an account the one that opens a member's organization, in the place of whichever
	// did before.
	Accept(ctx context.Context, m users.MemberID, a AccountID, at time.Time) error
	// Acceptance returns by which account a member has accepted, and when; the zero Acceptance when
	// by none.
	Acceptance(ctx context.Context, m users.MemberID) (Acceptance, error)
	// Visited notes that an account was used in an organization that it opens, unless that was
	// noted for a later moment.
	Visited(ctx context.Context, a AccountID, org orgs.ID, at time.Time) error
	// Appointments returns those members of an organization who have a role there, by id: at most
	// limit after the given one.
	Appointments(ctx context.Context, org orgs.ID, after users.MemberID, limit int) ([]Appointment, error)
	// Decide announces a decision about who can sign in as a user, or what for, in whichever
	// organization: of two units of work that decide about one user at the same time, the later
	// sees what the earlier wrote. users.ErrNotFound.
	Decide(ctx context.Context, u users.ID) error
}

// Appointment is that an organization gave a member a role, and when the member accepted it; zero:
// not yet.
type Appointment struct {
	Member   users.MemberID
	Username string
	Role     users.Role
	Locked   bool
	Accepted time.Time
	// What Appointments says beside, of the account that has accepted:
	Seen time.Time // in this organization, to the VisitGrain; zero: not yet
	Ways Ways
}

// Ways are how somebody can sign in to an account: whether there is one of a kind, and neither
// which, how many nor since when.
type Ways struct {
	Password, Codes, Passkey, SignOn bool
}

// VisitGrain is how exactly it is known when somebody was last seen in an organization.
const VisitGrain = time.Hour

// Acceptance is that a member has accepted what an organization gives them.
type Acceptance struct {
	Account AccountID
	At      time.Time
}
