package operators

import (
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// AccessLevel is what a page or an action requires of its caller.
type AccessLevel int

// The access levels, each of which includes those before it.
const (
	Everyone      AccessLevel = iota // nothing, not even being signed in
	SignedIn                         // to be signed in
	Viewer                           // to see an organization
	Operator                         // to manage its members and deliveries
	Administrator                    // everything in it
	Installation                     // to be administrator of the installation
)

// FactorRule is which requirement of a second factor applies to a page or an action.
type FactorRule int

// The rules.
const (
	NoFactor           FactorRule = iota // none
	InstallationFactor                   // the installation's, of its administrators
	OrganizationFactor                   // that, and the one of the path's organization, of every user who opens it
)

// Factor returns the rule for an access level.
func (n AccessLevel) Factor() FactorRule {
	switch {
	case n <= SignedIn:
		return NoFactor
	case n == Installation:
		return InstallationFactor
	}
	return OrganizationFactor
}

// rights are the access levels of each role in its organization. A member has none.
var rights = map[users.Role]AccessLevel{users.RoleViewer: Viewer, users.RoleOperator: Operator, users.RoleAdministrator: Administrator}

// Outranks reports whether one role has more rights than another.
func Outranks(one, other users.Role) bool { return rights[one] > rights[other] }

// OrganizationAccess is an organization that an account opens, because its holder has accepted a
// role there.
type OrganizationAccess struct {
	Organization orgs.Organization
	Role         users.Role
	Locked       bool      // as a member of it
	Seen         time.Time // when its holder was last seen there, to the VisitResolution; zero: not yet
}

// HasRole reports whether the holder has a role there, locked or not.
func (p OrganizationAccess) HasRole() bool { return rights[p.Role] >= Viewer }

// level returns the access level of its holder in the organization.
func (p OrganizationAccess) level() AccessLevel {
	if p.Locked {
		return SignedIn
	}
	return max(rights[p.Role], SignedIn)
}

// Principal is the user who requests a page. The zero Principal is not signed in.
type Principal struct {
	User          users.User
	Account       AccountID
	Administrator bool                 // of the installation
	Passwordless  bool                 // only passkeys or the provider open their account
	Language      string               // that they chose for the pages; empty: the browser decides
	Organizations []OrganizationAccess // that the account opens; an administrator of the installation has all of them
	Authenticated time.Time            // when they last confirmed their identity
	Method        Method               // how
}

// Recent reports whether the principal has confirmed their identity so recently that they may
// change security settings.
func (p Principal) Recent(now time.Time) bool {
	return p.User.ID != 0 && now.Before(p.Authenticated.Add(Recent))
}

// May reports whether the principal has an access level, in the organization with this slug if the
// level is about one.
func (p Principal) May(org string, n AccessLevel) bool { return p.Authorize(org, n) == nil }

// Authorize returns why the principal lacks an access level: ErrNoSession for the zero Principal,
// orgs.ErrNotFound if the principal sees nothing of the organization, whether it exists or not,
// ErrForbidden if the role is too low.
func (p Principal) Authorize(org string, n AccessLevel) error {
	switch {
	case n == Everyone:
		return nil
	case p.User.ID == 0:
		return ErrNoSession
	case p.Administrator || n == SignedIn:
		return nil
	case n == Installation:
		return ErrForbidden
	}
	i := slices.IndexFunc(p.Organizations, func(at OrganizationAccess) bool { return at.Organization.Slug == org && at.level() >= Viewer })
	if i < 0 {
		return orgs.ErrNotFound
	}
	if p.Organizations[i].level() < n {
		return ErrForbidden
	}
	return nil
}

// Level returns the highest right of the principal in the organization with this slug.
func (p Principal) Level(org string) AccessLevel {
	switch {
	case p.User.ID == 0:
		return Everyone
	case p.Administrator:
		return Installation
	}
	for _, at := range p.Organizations {
		if at.Organization.Slug == org {
			return at.level()
		}
	}
	return SignedIn
}

// Visible returns the organizations that the principal sees because of a role there.
func (p Principal) Visible() []OrganizationAccess {
	return slices.DeleteFunc(slices.Clone(p.Organizations), func(at OrganizationAccess) bool { return at.level() < Viewer })
}

// Organization returns the organization with this slug, if it is one of the principal's
// organizations.
func (p Principal) Organization(slug string) (orgs.Organization, bool) {
	for _, at := range p.Organizations {
		if at.Organization.Slug == slug {
			return at.Organization, true
		}
	}
	return orgs.Organization{}, false
}
