// Package applications is about applications and what each of them records about its members. It
// knows when a membership lets notifications through, but not how they are sent.
package applications

import (
	"context"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// Errors of this package.
var (
	ErrNotFound           = fault.New(fault.NotFound, "the application does not exist")
	ErrMembershipNotFound = fault.New(fault.NotFound, "the user is not registered with the application")
	ErrSlugTaken          = fault.New(fault.Invalid, "this slug is taken")
	ErrInUse              = fault.New(fault.Invalid, "the application is in use")
)

// ID identifies an application. It is positive; 0 means "not stored yet".
type ID int64

// Application is a unit within a project; its slug is unique there.
type Application struct {
	ID           ID
	Organization orgs.ID
	Project      orgs.ProjectID
	Slug         string
	Name         string
	Active       bool
}

// New checks an operator's input for an application.
func New(slug, name string) (Application, error) {
	var faults fault.Fields
	a := Application{Active: true}
	var err error
	a.Slug, err = names.Slug("slug", slug)
	faults.Add("slug", err)
	a.Name, err = names.Label("name", name)
	faults.Add("name", err)
	return a, faults.Err()
}

// Membership is what one application records about one member (contract 2.6).
type Membership struct {
	Application         ID
	Member              users.MemberID
	CustomFields        metadata.Map
	Active              bool // mirrors the client application
	Locked              bool // no call of the contract changes it; outlives the membership
	EnableNotifications bool
}

// NewMembership returns the membership of a member who was not registered before; a lock left by an
// earlier membership still holds.
func NewMembership(app ID, m users.MemberID, locked bool) Membership {
	return Membership{Application: app, Member: m, CustomFields: metadata.Map{}, Active: true, Locked: locked, EnableNotifications: true}
}

// Register returns the membership after a register call: fields merged in, active as sent, all else
// unchanged (contract 3).
func (m Membership) Register(fields metadata.Map, active bool) (Membership, error) {
	merged, err := metadata.Merge.Apply(m.CustomFields, fields)
	if err != nil {
		var faults fault.Fields
		faults.Add("custom_fields", err)
		return Membership{}, faults.Err()
	}
	m.CustomFields, m.Active = merged, active
	return m, nil
}

// Registration is a membership with its application. Registered is false if only the lock of an
// earlier one is left.
type Registration struct {
	Application Application
	Membership  Membership
	Registered  bool
}

// Repository keeps applications and memberships.
type Repository interface {
	// BySlug finds an application by the slugs of a path; orgs.ErrNotFound, orgs.ErrProjectNotFound
	// or ErrNotFound.
	BySlug(ctx context.Context, org, project, app string) (Application, error)
	// ByID finds an application of the project; ErrNotFound.
	ByID(ctx context.Context, org orgs.ID, project orgs.ProjectID, id ID) (Application, error)
	// List returns the project's applications by id, at most limit after the given one.
	List(ctx context.Context, org orgs.ID, project orgs.ProjectID, after ID, limit int) ([]Application, error)
	// OfOrganization returns the applications of all projects of the organization by id, at most
	// limit after the given one.
	OfOrganization(ctx context.Context, org orgs.ID, after ID, limit int) ([]Application, error)
	// Create stores a new application and returns it with its id; ErrSlugTaken.
	Create(ctx context.Context, a Application) (Application, error)
	// Save stores the name and the active flag.
	Save(ctx context.Context, a Application) error
	// Delete removes an application; ErrInUse, naming what uses it: lists pinned to it, its events,
	// its members, keys scoped to it.
	Delete(ctx context.Context, a Application) error

	// Memberships returns the memberships of these members, in the order given. For a member
	// without one it returns NewMembership, and false in exist. The members are distinct.
	// users.ErrNotFound for users who are not members of the organization.
	Memberships(ctx context.Context, a Application, members []users.MemberID) (ms []Membership, exist []bool, err error)
	// OfMember returns what the organization's applications record about a member, by the
	// application's id, at most limit.
	OfMember(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]Registration, error)
	// SaveMemberships stores fields and flags but not the lock, creating the rows that are missing.
	// Their members are distinct; users.ErrNotFound as above.
	SaveMemberships(ctx context.Context, a Application, ms []Membership) error
	// SetLocked stores the lock, whether the member is registered or not.
	SetLocked(ctx context.Context, a Application, m users.MemberID, locked bool) error
	// Unregister deletes the membership, not the lock, and reports whether there was one.
	Unregister(ctx context.Context, a Application, m users.MemberID) (bool, error)
}
