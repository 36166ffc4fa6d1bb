// Package lists is about distribution lists: named groups of recipients within a project, which may
// be pinned to one of its applications. A list holds assignments; it does not know who is notified
// through them.
package lists

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// MaxAdd is how many e-mail addresses one add call takes (decisions 5).
const MaxAdd = 10_000

// MaxHolders is how many addresses of users one add call puts on a list: several users may have the
// same e-mail address.
const MaxHolders = 20_000

// Errors of this package.
var (
	ErrNotFound    = fault.New(fault.NotFound, "the distribution list does not exist")
	ErrNameTaken   = fault.New(fault.Invalid, "a distribution list with this name exists already")
	ErrUnknown     = fault.New(fault.Invalid, "there is no distribution list with this name in the project")
	ErrPinned      = fault.New(fault.Invalid, "the distribution list is pinned to another application")
	ErrRepinned    = fault.New(fault.Invalid, "the distribution list is used by notifications of another application")
	ErrApplication = fault.New(fault.Invalid, "there is no application with this id in the project")
	ErrInUse       = fault.New(fault.Invalid, "the distribution list is in use")
	ErrNoChannel   = fault.New(fault.Invalid, "there is no preferred EMAIL channel to reach these addresses by")
)

// ID identifies a list. It is positive; 0 means "not stored yet".
type ID int64

// List is a named group of recipients; its name is unique in the project without regard to case.
type List struct {
	ID           ID
	Organization orgs.ID
	Project      orgs.ProjectID
	Name         string
	Application  applications.ID // the one it is pinned to; 0: not pinned
}

// New checks what a caller says of a list.
func New(name string) (List, error) {
	name, err := names.Label("name", name)
	return List{Name: name}, err
}

// Serves reports whether an application may use the list: it is pinned to that application or to
// none.
func (l List) Serves(app applications.ID) bool { return l.Application == 0 || l.Application == app }

// Recipient is a member of a list as it is listed (contract 2.4). ID and Active are its
// assignment's.
type Recipient struct {
	ID       channels.AssignmentID
	Address  string
	Username string
	Channel  string
	Active   bool
}

// Repository keeps lists and their entries.
type Repository interface {
	// ByID finds a list of the project; ErrNotFound.
	ByID(ctx context.Context, org orgs.ID, project orgs.ProjectID, id ID) (List, error)
	// ByName finds a list of the project by its name, without regard to case; ErrNotFound.
	ByName(ctx context.Context, org orgs.ID, project orgs.ProjectID, name string) (List, error)
	// List returns the project's lists by id, at most limit after the given one.
	List(ctx context.Context, org orgs.ID, project orgs.ProjectID, after ID, limit int) ([]List, error)
	// OfOrganization returns the lists of all projects of the organization by id, at most limit
	// after the given one.
	OfOrganization(ctx context.Context, org orgs.ID, after ID, limit int) ([]List, error)
	// OfMember returns the lists of the organization that a member is on with any assignment by id,
	// at most limit.
	OfMember(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]List, error)
	// Create stores a new list and returns it with its id; ErrNameTaken.
	Create(ctx context.Context, l List) (List, error)
	// Save stores the name's spelling and the pin; ErrNameTaken.
	Save(ctx context.Context, l List) error
	// Users names the notifications that use the list but belong to events of applications other
	// than app; with app 0, all that use it. At most 10.
	Users(ctx context.Context, l List, app applications.ID) ([]string, error)
	// Delete removes a list and its entries; ErrInUse, naming the notifications that use it.
	Delete(ctx context.Context, l List) error

	// Recipients returns the list's members by id, at most limit after the given one.
	Recipients(ctx context.Context, l List, after channels.AssignmentID, limit int) ([]Recipient, error)
	// Search returns a batch of the list's members that a query asks for.
	Search(ctx context.Context, l List, q Query) (Found, error)
	// Add puts assignments on the list and returns those that were not on it.
	Add(ctx context.Context, l List, as []channels.AssignmentID) ([]channels.AssignmentID, error)
	// Remove takes assignments off the list and returns, by id, those that were on it.
	Remove(ctx context.Context, l List, as []channels.AssignmentID) ([]Recipient, error)
	// RemoveFromPinned takes a member's assignments off every list that is pinned to the
	// application and returns how many entries that were.
	RemoveFromPinned(ctx context.Context, a applications.Application, m users.MemberID) (int, error)
}
