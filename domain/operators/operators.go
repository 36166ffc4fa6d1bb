// Package operators is about the users of the console: their accounts and passwords, the limits on
// wrong passwords, their sessions, and their rights. It knows no cookie and no page.
package operators

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/text/language"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// Errors of this package.
var (
	ErrRoleNotFound = fault.New(fault.NotFound, "the user has no role in this organization")

	ErrNotFound         = fault.New(fault.NotFound, "this user cannot sign in")
	ErrExists           = fault.New(fault.Invalid, "this user can sign in already")
	ErrSeveralPasswords = fault.New(fault.Invalid, "this user has several passwords, each for other organizations: name the organization")
	ErrNotAdministrator = fault.New(fault.Invalid, "this user is not an administrator of the installation")
	ErrCredentials      = fault.New(fault.Unauthenticated, "wrong username or password")
	ErrNoSession        = fault.New(fault.Unauthenticated, "nobody is signed in")
	ErrNoPassword       = fault.New(fault.Invalid, "this user signs in with single sign-on and has no password")
	ErrSingleSignOnOnly = fault.New(fault.Invalid, "this account signs in with single sign-on only")
	ErrForbidden        = fault.New(fault.Forbidden, "your role does not allow this")
	ErrPassword         = fault.New(fault.Invalid, "is not your password")
)

// AccountID identifies an account. It is positive; 0 means "not stored yet".
type AccountID int64

// Account is one way for a user to sign in, with the roles that were accepted with it. A user may
// have several accounts, which are independent: an organization that hands out a link to set a
// password controls only an account that opens that organization alone. So an organization can
// neither open, block nor see what another one has given to the same username.
type Account struct {
	ID            AccountID
	User          users.User // only the identity: id and username
	Hash          Hash       // zero: no password
	Administrator bool       // of the installation: may do everything everywhere
	// Organization is the one through whose link the password was last set, so that its people may
	// know it; 0: none's. A password that the holder changes to another one leaves it as it is.
	Organization orgs.ID
	Changed      time.Time // when the password was set
	Issuer       string    // of the single sign-on identity that opens it; empty: none does. Save does not change this
	Language     string    // of the pages that its holder sees, a BCP 47 tag; empty: the browser decides
}

// Linked reports whether an identity of single sign-on opens the account.
func (a Account) Linked() bool { return a.Issuer != "" }

// SingleSignOnOnly reports whether the account has no password because its holder signs in with
// single sign-on. Such an account never gets one: a password would still open it after the provider
// has closed it.
func (a Account) SingleSignOnOnly() bool { return a.Linked() && a.Hash == "" }

// WithPassword returns the account with another password.
func (a Account) WithPassword(h Hash, now time.Time) Account {
	a.Hash, a.Changed = h, now
	return a
}

// maxLanguage is the length of the longest tag of a language, in bytes.
const maxLanguage = 35

// WithLanguage returns the account with another language of the pages that its holder sees: a BCP
// 47 tag, empty where the browser decides. A malformed tag is Invalid.
func (a Account) WithLanguage(tag string) (Account, error) {
	if tag != "" {
		if _, err := language.Parse(tag); err != nil || len(tag) > maxLanguage {
			return Account{}, fault.Field("language", "is not a language")
		}
	}
	a.Language = tag
	return a, nil
}

// AccountAccess is an account with the organizations that it opens.
type AccountAccess struct {
	Account

	Organizations []OrganizationAccess
}

// Principal returns the holder of the account with their present rights.
func (h AccountAccess) Principal() Principal {
	return Principal{User: h.User, Account: h.ID, Administrator: h.Administrator, Passwordless: h.Hash == "", Language: h.Language, Organizations: h.Organizations}
}

// opens reports whether the account opens the organization, and whether it opens any other.
func (h AccountAccess) opens(org orgs.ID) (this, other bool) {
	for _, p := range h.Organizations {
		this, other = this || p.Organization.ID == org, other || p.Organization.ID != org
	}
	return this, other
}

// DefaultAccount returns the account to use when no organization is named: the one that makes its
// holder administrator of the installation, else the only one. ErrNotFound, ErrSeveralPasswords,
// ErrNoPassword.
func DefaultAccount(of []AccountAccess) (Account, error) {
	all := len(of)
	of = slices.DeleteFunc(slices.Clone(of), func(h AccountAccess) bool { return h.SingleSignOnOnly() })
	if all > 0 && len(of) == 0 {
		return Account{}, ErrNoPassword
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
	return Account{}, ErrSeveralPasswords
}

// AccountFor returns the account with which a user acts in an organization: the one that opens it,
// else the one that makes them administrator of the installation; the zero AccountAccess when there
// is neither.
func AccountFor(of []AccountAccess, org orgs.ID) (found AccountAccess) {
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

// Hashes returns the passwords of accounts.
func Hashes(hs []AccountAccess) []Hash {
	all := make([]Hash, len(hs))
	for i, h := range hs {
		all[i] = h.Hash
	}
	return all
}

// NewestPasswordFirst returns accounts of one user by when their passwords were set, the newest
// first. Where one password is that of several accounts, it opens the first: whoever has just set
// the password of one account opens that one, and does not learn whether another account has the
// same.
func NewestPasswordFirst(of []AccountAccess) []AccountAccess {
	return slices.SortedFunc(slices.Values(of), func(a, b AccountAccess) int {
		return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(b.ID, a.ID))
	})
}

// PasswordTime returns the time to store with a new password of a user with these accounts: later
// than those of their other passwords, also where the clocks of instances differ.
func PasswordTime(of []AccountAccess, now time.Time) time.Time {
	for _, h := range of {
		if !now.After(h.Changed) {
			now = h.Changed.Add(time.Microsecond) // Stores keep no shorter times.
		}
	}
	return now
}

// Repository keeps who can sign in, and everything about it.
type Repository interface {
	AccountRepository
	SessionRepository
	DeviceRepository
	AttemptRepository
	InvitationRepository
}

// AccountRepository keeps accounts and which organizations they open.
type AccountRepository interface {
	// Account finds an account with its organizations; ErrNotFound.
	Account(ctx context.Context, id AccountID) (AccountAccess, error)
	// Accounts returns the accounts of the user with this username, without regard to case, with
	// their organizations, by id. An unknown user has none.
	Accounts(ctx context.Context, username string) ([]AccountAccess, error)
	// Save stores everything of an account but its identity, which must exist, and returns its id;
	// an account without an id is created. users.ErrNotFound, ErrNotFound.
	Save(ctx context.Context, a Account) (AccountID, error)
	// DeleteAccount deletes an account with its sessions and devices, if it exists.
	DeleteAccount(ctx context.Context, id AccountID) error
	// Accept makes an account the one that opens a member's organization, instead of the earlier
	// one.
	Accept(ctx context.Context, m users.MemberID, a AccountID, at time.Time) error
	// Acceptance returns the account with which a member has accepted, and when; the zero
	// Acceptance if the member has not accepted.
	Acceptance(ctx context.Context, m users.MemberID) (Acceptance, error)
	// RecordVisit records that an account was used in an organization that it opens, unless a later
	// use is recorded.
	RecordVisit(ctx context.Context, a AccountID, org orgs.ID, at time.Time) error
	// GrantedRoles returns those members of an organization who have a role there, by id: at most
	// limit after the given one.
	GrantedRoles(ctx context.Context, org orgs.ID, after users.MemberID, limit int) ([]GrantedRole, error)
	// LockUser locks a user for decisions about who can sign in as the user, and what for, in all
	// organizations: of two units of work that decide about one user, the later sees what the
	// earlier wrote. users.ErrNotFound.
	LockUser(ctx context.Context, u users.ID) error
}

// GrantedRole is the role that an organization gave a member, and when the member accepted it;
// zero: not yet.
type GrantedRole struct {
	Member   users.MemberID
	Username string
	Role     users.Role
	Locked   bool
	Accepted time.Time
	// Only GrantedRoles sets these, for the account that has accepted:
	Seen    time.Time // in this organization, to the VisitResolution; zero: not yet
	Methods SignInMethods
}

// SignInMethods are the kinds of methods by which a user can sign in to an account.
type SignInMethods struct {
	Password, Codes, Passkey, SignOn bool
}

// VisitResolution is the precision of when a user was last seen in an organization.
const VisitResolution = time.Hour

// Acceptance records that a member has accepted the role in an organization.
type Acceptance struct {
	Account AccountID
	At      time.Time
}
