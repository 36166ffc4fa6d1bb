package operators

import (
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// Need is what a page or an action asks of whoever wants it.
type Need int

// The needs, each of which includes those before it.
const (
	Anybody       Need = iota // nothing, not even being signed in
	SignedIn                  // to be signed in
	Viewer                    // to see an organization
	Operator                  // to look after its members and deliveries
	Administrator             // everything in it
	Installation              // to be administrator of the installation
)

// FactorRule is whose requirement of a second factor a page or an action is under.
type FactorRule int

// The rules.
const (
	NoFactor           FactorRule = iota // nobody's
	InstallationFactor                   // the installation's, of its administrators
	OrganizationFactor                   // that, and the one of the organization that the path names, of whoever opens it
)

// Factor is the rule that goes with a need.
func (n Need) Factor() FactorRule {
	switch {
	case n <= SignedIn:
		return NoFactor
	case n == Installation:
		return InstallationFactor
	}
	return OrganizationFactor
}

// rights is what each role may do in its organization. A member may do nothing.
var rights = map[users.Role]Need{users.RoleViewer: Viewer, users.RoleOperator: Operator, users.RoleAdministrator: Administrator}

// Above reports whether one role may do more than another.
func Above(one, other users.Role) bool { return rights[one] > rights[other] }

// Place is an organization that an account opens, because its holder has accepted what the
// organization gives them.
type Place struct {
	Organization orgs.Organization
	Role         users.Role
	Locked       bool      // as a member of it
	Seen         time.Time // when its holder was last seen there, to the VisitGrain; zero: not yet
}

// HasRole reports whether the holder has a role there, locked or not.
func (p Place) HasRole() bool { return rights[p.Role] >= Viewer }

// right is what the place lets its holder do.
func (p Place) right() Need {
	if p.Locked {
		return SignedIn
	}
	return max(rights[p.Role], SignedIn)
}

// Visitor is whoever asks for a page. The zero Visitor is nobody.
type Visitor struct {
	User          users.User
	Account       AccountID
	Administrator bool      // of the installation
	Passwordless  bool      // passkeys or the provider alone open their account
	Places        []Place   // that the account opens; an administrator of the installation has every place
	Authenticated time.Time // when they last showed who they are
	Method        Method    // how
}

// Recent reports whether the visitor has shown who they are so recently that they may change what
// opens doors.
func (v Visitor) Recent(now time.Time) bool {
	return v.User.ID != 0 && now.Before(v.Authenticated.Add(Recent))
}

// May reports whether the visitor fulfils a need, in the organization with this slug where the need
// is about one.
func (v Visitor) May(org string, n Need) bool { return v.Authorize(org, n) == nil }

// Authorize answers whether the visitor fulfils a need: ErrNoSession for nobody, orgs.ErrNotFound
// where the visitor sees nothing of the organization, whether it exists or not, ErrForbidden where
// the role is too low.
func (v Visitor) Authorize(org string, n Need) error {
	switch {
	case n == Anybody:
		return nil
	case v.User.ID == 0:
		return ErrNoSession
	case v.Administrator || n == SignedIn:
		return nil
	case n == Installation:
		return ErrForbidden
	}
	i := slices.IndexFunc(v.Places, func(p Place) bool { return p.Organization.Slug == org && p.right() >= Viewer })
	if i < 0 {
		return orgs.ErrNotFound
	}
	if v.Places[i].right() < n {
		return ErrForbidden
	}
	return nil
}

// Right is the most that the visitor may do in the organization with this slug.
func (v Visitor) Right(org string) Need {
	switch {
	case v.User.ID == 0:
		return Anybody
	case v.Administrator:
		return Installation
	}
	for _, p := range v.Places {
		if p.Organization.Slug == org {
			return p.right()
		}
	}
	return SignedIn
}

// Visible are the organizations that the visitor sees because of a role there.
func (v Visitor) Visible() []Place {
	return slices.DeleteFunc(slices.Clone(v.Places), func(p Place) bool { return p.right() < Viewer })
}

// Organization is the organization with this slug, where it is one of the visitor's places.
func (v Visitor) Organization(slug string) (orgs.Organization, bool) {
	for _, p := range v.Places {
		if p.Organization.Slug == slug {
			return p.Organization, true
		}
	}
	return orgs.Organization{}, false
}
