// Package users is about people: the identity that the whole installation shares, the membership that one
// organization has of it, and the addresses that reach the member there. It knows no channel, list or application.
package users

import (
	"context"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
)

// The faults of this package.
var (
	ErrNotFound        = fault.New(fault.NotFound, "the user is not a member of this organization")
	ErrAddressNotFound = fault.New(fault.NotFound, "the address does not exist")
	ErrChanged         = fault.New(fault.Invalid, "it was changed meanwhile: nothing was saved")
	ErrSharedIdentity  = fault.New(fault.Forbidden,
		"the user belongs to another organization too, so first_name and last_name cannot be changed from here")
)

// Identifiers. They are positive; 0 means "not stored yet".
type (
	ID        int64
	MemberID  int64
	AddressID int64
)

// User is an identity, global to the installation. Username and email never change. Usernames are unique
// without regard to case, e-mails are not unique.
type User struct {
	ID        ID
	Username  string
	Email     string
	FirstName string
	LastName  string
}

// NewUser checks the fields of a new identity. The e-mail may be missing (register does not require it).
func NewUser(username, email, first, last string) (User, error) {
	var faults fault.Fields
	u := User{}
	var err error
	u.Username, err = names.Identifier("username", username)
	faults.Add("username", err)
	if strings.TrimSpace(email) != "" {
		u.Email, err = ParseEmail("email", email)
		faults.Add("email", err)
	}
	u.FirstName, err = names.OptionalLabel("first_name", first)
	faults.Add("first_name", err)
	u.LastName, err = names.OptionalLabel("last_name", last)
	faults.Add("last_name", err)
	return u, faults.Err()
}

// Renamed returns u with the names that are not blank, and whether that changes anything.
func (u User) Renamed(first, last string) (User, bool) {
	r := u
	if first != "" {
		r.FirstName = first
	}
	if last != "" {
		r.LastName = last
	}
	return r, r != u
}

// Role is what a member may do in the console.
type Role string

// The roles (decisions 3).
const (
	RoleMember        Role = "member"
	RoleViewer        Role = "viewer"
	RoleOperator      Role = "operator"
	RoleAdministrator Role = "administrator"
)

// ParseRole reads a role's name.
func ParseRole(field, s string) (Role, error) {
	switch r := Role(s); r {
	case RoleMember, RoleViewer, RoleOperator, RoleAdministrator:
		return r, nil
	}
	return "", fault.Field(field, "must be one of member, viewer, operator, administrator")
}

// Member is a user in one organization, with everything that organization recorded about the person.
type Member struct {
	ID           MemberID
	Organization orgs.ID
	User         User
	Role         Role
	CustomFields metadata.Map
	Groups       []string // by name
	Locked       bool
}

// Repository keeps identities and members.
type Repository interface {
	// Ensure returns the identities with these usernames, in the order given; those that are missing it creates from what
	// is given. The usernames are distinct without regard to case.
	Ensure(ctx context.Context, us []User) (found []User, created []bool, err error)
	// EnsureMembers makes the users members of the organization unless they are, and returns them in the order given. Groups are
	// not linked. The users are distinct.
	EnsureMembers(ctx context.Context, org orgs.ID, us []User) (ms []Member, created []bool, err error)
	// Find returns the member with this username, else the one with this e-mail (of several the lowest id); ErrNotFound.
	Find(ctx context.Context, org orgs.ID, usernameOrEmail string) (Member, error)
	// ByID finds a member of the organization; ErrNotFound.
	ByID(ctx context.Context, org orgs.ID, id MemberID) (Member, error)
	// Those returns the members of the organization among these, by id.
	Those(ctx context.Context, org orgs.ID, ids []MemberID) ([]Member, error)
	// Search returns a stretch of the members that a query asks for. How much it reads does not depend on how many members there are.
	Search(ctx context.Context, org orgs.ID, q Query) (Found, error)
	// List returns members with their groups by id, at most limit after the given one.
	List(ctx context.Context, org orgs.ID, after MemberID, limit int) ([]Member, error)
	// BelongsElsewhere tells whether the member's identity is a member of another organization too.
	BelongsElsewhere(ctx context.Context, m Member) (bool, error)
	// Rename stores the first and last name of an identity.
	Rename(ctx context.Context, u User) error
	// SaveFields stores the member's custom fields.
	SaveFields(ctx context.Context, m Member) error
	// SetLocked stores the locks of members of one organization; ErrNotFound when one of them is none.
	SetLocked(ctx context.Context, ms ...Member) error
	// SetRole stores the member's role.
	SetRole(ctx context.Context, m Member) error
	// Link puts members into a group and returns those who were not in it, by id; whoever is no member of the group's organization is left out.
	Link(ctx context.Context, g orgs.Group, ms []MemberID) ([]MemberID, error)
	// Unlink takes members out of a group and returns those who were in it, by id.
	Unlink(ctx context.Context, g orgs.Group, ms []MemberID) ([]MemberID, error)
	// Remove ends memberships of one organization with all that hangs on them: addresses, their assignments, list entries and subscriptions,
	// application memberships and locks, groups; and the identities whose last membership this was and who cannot sign in. ErrNotFound
	// when one of them is none.
	Remove(ctx context.Context, ms ...Member) error
}
