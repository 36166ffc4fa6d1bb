package operators

import (
	"crypto/sha256"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// InvitationLife is how long an invitation may be used.
const InvitationLife = 24 * time.Hour

// The faults of invitations and of what administrators of an organization may not do with accounts.
var (
	ErrInvitation = fault.New(fault.NotFound, "this link is not valid, or not any more; ask for another one")
	ErrNoRole     = fault.New(fault.Invalid, "the user has no role in this organization: there would be nothing to sign in for")
	ErrShared     = fault.New(fault.Forbidden,
		"the account is more than this organization's: only an administrator of the installation may have a password set for it")
	ErrForeign = fault.New(fault.Forbidden,
		"the account was made by another organization: only an administrator of the installation may give it a role here")
)

// Invitation lets whoever has its token set somebody's password, once.
type Invitation struct {
	Digest       Digest
	User         users.ID
	Organization orgs.ID // whose member is invited
	Installation bool    // an administrator of the installation invites
	Expires      time.Time
}

// NewInvitation makes an invitation and returns its token, which is shown once and kept nowhere.
func NewInvitation(m users.Member, byInstallation bool, now time.Time) (i Invitation, token string) {
	token = NewToken()
	return Invitation{Digest: sha256.Sum256([]byte(token)), User: m.User.ID, Organization: m.Organization, Installation: byInstallation,
		Expires: now.Add(InvitationLife)}, token
}

// Valid tells whether the invitation still holds, as far as its age is concerned.
func (i Invitation) Valid(now time.Time) bool { return now.Before(i.Expires) }

// MayInvite answers whether the officer of an organization may have a password set for an account, zero where there is none yet, whose holder
// belongs to these places. A password opens everything that the account may do anywhere; so where that is more than what is the officer's to give,
// it is refused: to an account of the installation's administrator, and to one with a role in another organization too. A role counts even while
// its holder is locked there: the lock may be lifted. ErrNoRole, ErrShared.
func (o Officer) MayInvite(a Account, places []Place, org orgs.ID) error {
	var here, elsewhere bool
	for _, p := range places {
		if rights[p.Role] >= Viewer {
			here, elsewhere = here || p.Organization.ID == org, elsewhere || p.Organization.ID != org
		}
	}
	switch {
	case !here:
		return ErrNoRole
	case o.Right < Installation && (a.Administrator || elsewhere):
		return ErrShared
	}
	return nil
}

// MayGrant answers whether the officer may give the holder of an account, zero where there is none yet, a role in an organization. Whoever made
// an account may know its password. So one that another organization made is given nothing here: else that one could make accounts for people
// whom it expects to get a role elsewhere. ErrForeign.
func (o Officer) MayGrant(a Account, org orgs.ID) error {
	if o.Right < Installation && a.Organization != 0 && a.Organization != org {
		return ErrForeign
	}
	return nil
}
