package operators

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// InvitationLife is how long an invitation may be used.
const InvitationLife = 24 * time.Hour

// WelcomePath is where the console answers links with an invitation's token, which follows it.
const WelcomePath = "/console/welcome/"

// Errors of invitations.
var (
	ErrInvitation          = fault.New(fault.NotFound, "this link is not valid or has expired; ask for a new one")
	ErrNoRole              = fault.New(fault.Invalid, "the user has no role in this organization: give them one first")
	ErrAccepted            = fault.New(fault.Invalid, "your account already includes this organization")
	ErrNewPasswordRequired = fault.New(fault.Invalid, "your password was set through another organization: choose another one")
)

// Invitation lets the holder of its token accept, once, the role that an organization gave a
// member.
type Invitation struct {
	Digest       Digest
	Member       users.MemberID
	Installation bool // an administrator of the installation invites
	Resets       bool // with a new password the account starts without its lost second factor
	Expires      time.Time
}

// Invited is an invitation with its user, and the organization that it gives access to.
type Invited struct {
	Invitation

	User   users.User // only the identity
	Access OrganizationAccess
}

// NewInvitation makes an invitation and returns its token, which is shown only once and never
// stored.
func NewInvitation(m users.Member, byInstallation bool, now time.Time) (i Invitation, token string) {
	token = NewToken()
	return Invitation{Digest: sha256.Sum256([]byte(token)), Member: m.ID, Installation: byInstallation, Expires: now.Add(InvitationLife)}, token
}

// Valid reports whether the invitation is valid: it is not too old, and there is still a role to
// accept. A role counts even while its holder is locked: the lock may be lifted.
func (i Invited) Valid(now time.Time) bool {
	return now.Before(i.Expires) && i.Access.HasRole()
}

// Account returns which of the user's accounts gets the password when the invitation is accepted.
// The operator who hands out an invitation could use it, so it must not open more than the
// organization can give: it is the account that opens only this organization, else one that the
// organization made and that opens nothing, else a new one. An invitation by an administrator of
// the installation, who may do everything anyway, is for any account that opens the organization,
// so that people with several organizations can be helped. An organization sets no password of an
// account that the provider of single sign-on opens.
func (i Invited) Account(of []AccountAccess) Account {
	org := i.Access.Organization.ID
	of = slices.DeleteFunc(slices.Clone(of), func(h AccountAccess) bool { return h.SingleSignOnOnly() || (h.Linked() && !i.Installation) })
	best := slices.IndexFunc(of, func(h AccountAccess) bool {
		this, other := h.opens(org)
		return this && (i.Installation || !other && !h.Administrator)
	})
	if best < 0 {
		best = slices.IndexFunc(of, func(h AccountAccess) bool {
			return i.Installation && h.Organization == 0 || !h.Administrator && h.Organization == org && len(h.Organizations) == 0
		})
	}
	if best < 0 {
		return Account{User: i.User}
	}
	return of[best].Account
}

// Origin returns the organization from which the new password comes; 0: none.
func (i Invited) Origin() orgs.ID {
	if i.Installation {
		return 0
	}
	return i.Access.Organization.ID
}

// NeedsNewPassword reports whether a signed-in user must choose a new password before their account
// opens the organization: it was opened by the link of another organization, whose operators may
// know its password, or have a passkey of it.
func (i Invited) NeedsNewPassword(a Account) bool {
	return !a.SingleSignOnOnly() && a.Organization != 0 && a.Organization != i.Access.Organization.ID
}

// InvitationRepository keeps invitations.
type InvitationRepository interface {
	// Invite stores an invitation and replaces the member's earlier one.
	Invite(ctx context.Context, i Invitation) error
	// Invitation finds an invitation, over or not; ErrInvitation.
	Invitation(ctx context.Context, d Digest) (Invited, error)
	// EndInvitations deletes the invitations of a user to these organizations.
	EndInvitations(ctx context.Context, u users.ID, to []orgs.ID) error
}
