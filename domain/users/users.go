// Package users is about people: the identity that the whole installation shares, what one
// organization records about its member, and the addresses that reach the member there. It knows no
// channel, list or application.
package users

import (
	"cmp"
	"context"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Errors of this package.
var (
	ErrNotFound        = fault.New(fault.NotFound, "the user is not a member of this organization")
	ErrAddressNotFound = fault.New(fault.NotFound, "the address does not exist")
	ErrChanged         = fault.New(fault.Invalid, "it was changed in the meantime: nothing was saved")
	ErrSince           = fault.New(fault.Invalid, "the search finds no user with this id; start a new search")
	ErrAmbiguous       = fault.New(fault.Conflict, "several members have this e-mail")
	ErrTooLarge        = fault.New(fault.TooLarge, "these members are too large to be read at once")
)

type (
	// ID identifies a user. Identifiers are positive; 0 means "not stored yet".
	ID int64
	// MemberID identifies a membership of a user in an organization.
	MemberID int64
	// AddressID identifies an address of a member.
	AddressID int64
)

// User is an identity, global to the installation. A username never changes and is unique without
// regard to case. Each organization sees a username in its own spelling.
type User struct {
	ID       ID
	Username string
}

// NewUser checks the username of a new identity.
func NewUser(username string) (User, error) {
	username, err := names.Identifier("username", username)
	return User{Username: username}, err
}

// Details are what one organization records about who a member is. E-mails are not unique.
type Details struct {
	Email     string
	FirstName string
	LastName  string
}

// Detail is one of the details of a person.
type Detail struct {
	Name  string // in requests, files, templates and the audit log
	Value *string

	check func(field, value string) (string, error)
}

// List returns all details in their order. Code that treats all details alike uses this list.
func (d *Details) List() []Detail {
	return []Detail{
		{"email", &d.Email, optionalEmail},
		{"first_name", &d.FirstName, names.OptionalLabel},
		{"last_name", &d.LastName, names.OptionalLabel},
	}
}

// DetailNames returns the names of all details in their order.
func DetailNames() []string {
	var all []string
	for _, d := range new(Details).List() {
		all = append(all, d.Name)
	}
	return all
}

// NewDetails checks details, which are given by their names. All of them may be missing: register
// requires none.
func NewDetails(given func(name string) string) (Details, error) {
	var faults fault.Fields
	var details Details
	for _, d := range details.List() {
		value, err := d.check(d.Name, given(d.Name))
		faults.Add(d.Name, err)
		*d.Value = value
	}
	return details, faults.Err()
}

// optionalEmail checks an e-mail that may be missing.
func optionalEmail(field, value string) (string, error) {
	if strings.TrimSpace(value) == "" {
		return "", nil
	}
	return ParseEmail(field, value)
}

// With returns d with those of the given details that are not blank.
func (d Details) With(given Details) Details {
	all := d.List()
	for i, other := range given.List() {
		*all[i].Value = cmp.Or(*other.Value, *all[i].Value)
	}
	return d
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

// Member is a user in one organization, with everything that organization recorded about the user.
type Member struct {
	ID           MemberID
	Organization orgs.ID
	User         User
	Details

	Role         Role
	CustomFields metadata.Map
	Groups       []string // by name
	Locked       bool
}

// Memory estimates how many bytes of memory a member or an enrollment takes that was read from a
// text of this length: what all of them take, and for each value of the custom fields its place in
// a map. The text is counted twice, because values may be copies of it.
func Memory(text int, fields metadata.Map) int { return 512 + 2*text + 128*fields.Count() }

// Ambiguous is ErrAmbiguous about members with the same e-mail. It names up to limit of them.
func Ambiguous(ms []Member, limit int) error {
	named := make([]string, 0, len(ms))
	for _, m := range ms[:min(len(ms), limit)] {
		named = append(named, m.User.Username)
	}
	more := ""
	if len(ms) > limit {
		more = " and others"
	}
	return ErrAmbiguous.With("%s: give one of their usernames: %s%s", ErrAmbiguous.Error(), strings.Join(named, ", "), more)
}

// Repository keeps identities and members.
type Repository interface {
	// Ensure returns the identities with these usernames, in the order given, and creates those
	// that are missing. The usernames are distinct without regard to case.
	Ensure(ctx context.Context, us []User) (found []User, created []bool, err error)
	// EnsureMembers makes the users of ms members of the organization, with the username as spelled
	// there, the details and the custom fields, unless they are members, and returns all as stored,
	// in the order given. Groups are not linked. The users are distinct.
	EnsureMembers(ctx context.Context, org orgs.ID, ms []Member) (stored []Member, created []bool, err error)
	// Matches returns the users whom enrollments with these keys may mean: the identities that have
	// a key as their username, with their membership in the organization, and for each key the
	// member of the organization with the lowest id that has it as their e-mail but not as their
	// username. The keys are distinct. ErrTooLarge when there are several keys, and the members
	// take more than maxBytes of Memory; 0: there is no limit.
	Matches(ctx context.Context, org orgs.ID, keys []string, maxBytes int) ([]Match, error)
	// MatchedBytes returns how many bytes of custom fields Matches would return. It reads none of
	// them.
	MatchedBytes(ctx context.Context, org orgs.ID, keys []string) (int, error)
	// Enroll writes what a plan says, and gives ids to what is new. The plan was made in the same
	// unit of work.
	Enroll(ctx context.Context, w Writes) error
	// ByUsername finds a member by the username alone; ErrNotFound.
	ByUsername(ctx context.Context, org orgs.ID, username string) (Member, error)
	// ByEmail returns the members with this recorded e-mail, by id, at most limit. Members
	// whose username is this e-mail are left out.
	ByEmail(ctx context.Context, org orgs.ID, email string, limit int) ([]Member, error)
	// ByID finds a member of the organization; ErrNotFound.
	ByID(ctx context.Context, org orgs.ID, id MemberID) (Member, error)
	// ByIDs returns the members of the organization among these, by id. ErrTooLarge when there are
	// several ids, and the members take more than maxBytes of Memory; 0: there is no limit.
	ByIDs(ctx context.Context, org orgs.ID, ids []MemberID, maxBytes int) ([]Member, error)
	// Search returns a page of the members that a query asks for. How much it reads does not depend
	// on how many members there are. ErrSince.
	Search(ctx context.Context, org orgs.ID, q Query) (Found, error)
	// Index indexes about limit members who wait for it, and returns how many, and of which
	// organization: those written together with others, then all members where the index is being
	// built. Organizations take turns: it is the next one after a given one, or the first. 0:
	// nothing is left to do. A member who is written alone is indexed at once.
	Index(ctx context.Context, after orgs.ID, limit int) (done int, of orgs.ID, err error)
	// Unindexed reports whether Index has work. latest changes whenever more work was added.
	Unindexed(ctx context.Context) (waits bool, latest int64, err error)
	// Indexing returns the progress of the organization's search index.
	Indexing(ctx context.Context, org orgs.ID) (Indexing, error)
	// Count returns how many members match a query, without its cursor and limit, and reports
	// whether there may be more: it counts up to limit, and may stop earlier if many have to be
	// read.
	Count(ctx context.Context, org orgs.ID, q Query, limit int) (n int, more bool, err error)
	// List returns members with their groups by id, at most limit after the given one.
	List(ctx context.Context, org orgs.ID, after MemberID, limit int) ([]Member, error)
	// Fitting returns how many of the members that List would return fit in a batch, because their
	// custom fields may be large, at least one, and reports whether there may be more after them.
	Fitting(ctx context.Context, org orgs.ID, after MemberID, limit int) (n int, more bool, err error)
	// SaveDetails stores the member's details.
	SaveDetails(ctx context.Context, m Member) error
	// SaveFields stores the member's custom fields.
	SaveFields(ctx context.Context, m Member) error
	// SetLocked stores the locks of members of one organization; ErrNotFound when one of them is
	// none.
	SetLocked(ctx context.Context, ms ...Member) error
	// SetRole stores the member's role.
	SetRole(ctx context.Context, m Member) error
	// Link adds members to a group and returns the ones that were new, by id; users who are not
	// members of the group's organization are skipped.
	Link(ctx context.Context, g orgs.Group, ms []MemberID) ([]MemberID, error)
	// Unlink removes members from a group and returns the ones that it removed, by id.
	Unlink(ctx context.Context, g orgs.Group, ms []MemberID) ([]MemberID, error)
	// Used returns those of these members, by id, on whom something depends: an address is assigned
	// to a channel, an application has registered or blocked them, they opted out, can sign in or
	// were invited to, or a message was made for them.
	Used(ctx context.Context, org orgs.ID, ms []MemberID) ([]MemberID, error)
	// Remove ends memberships of one organization with everything that depends on them: addresses,
	// their assignments, list entries and subscriptions, application memberships and locks, groups;
	// and the identities whose last membership this was and who cannot sign in. ErrNotFound when
	// one of them is not a member.
	Remove(ctx context.Context, ms ...Member) error
}
