// Package orgs is about organizations, their projects and their groups: how they are named and
// found. It knows nothing of their contents.
package orgs

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/quotas"
)

// Reserved names (decisions 3 and 4).
const (
	SystemSlug   = "system"  // the reserved organization: never listed, never selectable, for callers it does not exist
	DefaultGroup = "Default" // the group that every organization is created with
)

// Errors of this package.
var (
	ErrNotFound        = fault.New(fault.NotFound, "the organization does not exist")
	ErrSeveral         = fault.New(fault.Invalid, "there are several organizations, and none was named")
	ErrProjectNotFound = fault.New(fault.NotFound, "the project does not exist")
	ErrGroupNotFound   = fault.New(fault.NotFound, "the group does not exist in this organization")
	ErrGroupTaken      = fault.New(fault.Invalid, "a group with this name exists already")
	ErrGroupInUse      = fault.New(fault.Invalid, "the group still has members")
	ErrGroupDefault    = fault.New(fault.Invalid, "the group Default belongs to the service: it cannot be renamed or deleted")
	ErrReserved        = fault.New(fault.Invalid, "the slug system is reserved")
	ErrSlugTaken       = fault.New(fault.Invalid, "this slug is taken")
)

type (
	// ID identifies an organization. Identifiers are positive; 0 means "not stored yet".
	ID int64
	// ProjectID identifies a project of an organization.
	ProjectID int64
	// GroupID identifies a group of an organization.
	GroupID int64
)

// Organization is a tenant: nothing of one is visible in another.
type Organization struct {
	ID             ID
	Slug           string
	Name           string
	RequiresFactor bool     // of everyone with a role there: a second factor
	Region         string   // of phone numbers without country code, such as DE; empty: they are refused
	Searchable     []string // paths of metadata that members are found by, in addition to ExternalID
}

// New checks an operator's input for an organization.
func New(slug, name string) (Organization, error) {
	var o Organization
	var faults fault.Fields
	o.Slug, o.Name = named(slug, name, &faults)
	if o.Slug == SystemSlug {
		faults.Add("slug", ErrReserved)
	}
	return o, faults.Err()
}

// ParseRegion checks the region of phone numbers without country code: two letters of ISO 3166, or
// nothing.
func ParseRegion(field, s string) (string, error) {
	s = strings.ToUpper(strings.TrimSpace(s))
	if s != "" && phonenumbers.GetCountryCodeForRegion(s) == 0 {
		return "", fault.Field(field, "is not a region of phone numbers: two letters of ISO 3166, such as DE")
	}
	return s, nil
}

// ExternalID is the metadata that members are always found by.
const ExternalID = "external_id"

// Limits of what is searchable.
const (
	MaxSearchable     = 10  // paths
	maxSearchablePath = 200 // characters of each
)

// ParseSearchable checks the paths of metadata that members are found by. Each counts once.
func ParseSearchable(field string, paths []string) ([]string, error) {
	found := []string{}
	for _, p := range paths {
		p = strings.TrimSpace(p)
		switch {
		case p == "" || p == ExternalID || slices.Contains(found, p):
			continue
		case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
			return nil, fault.Field(field, "contains a control character")
		case utf8.RuneCountInString(p) > maxSearchablePath:
			return nil, fault.Field(field, "has a name longer than %d characters", maxSearchablePath)
		case len(found) == MaxSearchable:
			return nil, fault.Field(field, "may have at most %d kinds of metadata", MaxSearchable)
		}
		found = append(found, p)
	}
	return found, nil
}

// NewProject checks an operator's input for a project.
func NewProject(slug, name string) (Project, error) {
	var p Project
	var faults fault.Fields
	p.Slug, p.Name = named(slug, name, &faults)
	return p, faults.Err()
}

func named(slug, name string, faults *fault.Fields) (validSlug, validName string) {
	validSlug, err := names.Slug("slug", slug)
	faults.Add("slug", err)
	validName, err = names.Label("name", name)
	faults.Add("name", err)
	return validSlug, validName
}

// Project is a part of an organization; its slug is unique there.
type Project struct {
	ID           ProjectID
	Organization ID
	Slug         string
	Name         string
}

// Group is a free label of members; its name is unique in the organization without regard to case.
type Group struct {
	ID           GroupID
	Organization ID
	Name         string
}

// NewGroup checks the name of a group.
func NewGroup(org ID, name string) (Group, error) {
	name, err := names.Label("name", name)
	return Group{Organization: org, Name: name}, err
}

// IsDefault reports whether the group is the one that every organization is created with. Enrolling
// looks for it by its name.
func (g Group) IsDefault() bool { return names.Fold(g.Name) == names.Fold(DefaultGroup) }

// Repository keeps organizations, projects and groups. No method ever returns the system
// organization.
type Repository interface {
	// BySlug returns ErrNotFound when there is none.
	BySlug(ctx context.Context, slug string) (Organization, error)
	// ByID returns ErrNotFound when there is none.
	ByID(ctx context.Context, id ID) (Organization, error)
	// List returns organizations by id, at most limit after the given one.
	List(ctx context.Context, after ID, limit int) ([]Organization, error)
	// First returns the organization with the lowest id; ErrNotFound when there is none.
	First(ctx context.Context) (Organization, error)
	// Only returns the organization when there is exactly one; ErrNotFound, ErrSeveral.
	Only(ctx context.Context) (Organization, error)
	// Create stores a new organization with its Default group and returns it with its id;
	// ErrSlugTaken.
	Create(ctx context.Context, o Organization) (Organization, error)
	// Rename stores the name of the organization with o.ID.
	Rename(ctx context.Context, o Organization) error
	// Quotas returns the limits of the organization that differ from the installation's;
	// ErrNotFound.
	Quotas(ctx context.Context, id ID) (quotas.Limits, error)
	// SetQuotas stores the limits of the organization that differ from the installation's;
	// ErrNotFound.
	SetQuotas(ctx context.Context, id ID, own quotas.Limits) error
	// Count counts what the organization has of what a quota is about: quotas.Channels, Keys,
	// Lists, Groups or Imports.
	Count(ctx context.Context, id ID, n quotas.Name) (int64, error)
	// SetRegion stores the region of phone numbers without country code; ErrNotFound.
	SetRegion(ctx context.Context, id ID, region string) error
	// SetSearchable stores the paths of metadata that members are found by, and has the index
	// rebuilt; ErrNotFound.
	SetSearchable(ctx context.Context, id ID, paths []string) error
	// RequireFactor stores whether the organization requires a second factor; ErrNotFound.
	RequireFactor(ctx context.Context, id ID, on bool) error
	// Revise announces a change of the organization's structure (projects, channels, lists,
	// applications, events). It serializes the units of work that revise one organization: the
	// later one sees what the earlier one wrote.
	Revise(ctx context.Context, id ID) error
	// Revision returns the number of calls of Revise: while it stays, the structure is unchanged.
	// ErrNotFound.
	Revision(ctx context.Context, id ID) (int64, error)

	// Project finds a project by the slugs of a path; ErrNotFound or ErrProjectNotFound.
	Project(ctx context.Context, org, project string) (Project, error)
	// ProjectByID finds a project of the organization; ErrProjectNotFound.
	ProjectByID(ctx context.Context, id ID, p ProjectID) (Project, error)
	// Projects lists an organization's projects by id, at most limit after the given one.
	Projects(ctx context.Context, id ID, after ProjectID, limit int) ([]Project, error)
	// CreateProject stores a new project and returns it with its id; ErrSlugTaken.
	CreateProject(ctx context.Context, p Project) (Project, error)
	// RenameProject stores the name of the project with p.ID in p.Organization.
	RenameProject(ctx context.Context, p Project) error

	// Group finds a group by its name, without regard to case; ErrGroupNotFound.
	Group(ctx context.Context, id ID, name string) (Group, error)
	// EnsureGroup returns the group of this name, created when it is missing.
	EnsureGroup(ctx context.Context, id ID, name string) (g Group, created bool, err error)
	// WithGroups finds an organization with the Default group and the group with this id (0: none),
	// as far as it has them; ErrNotFound.
	WithGroups(ctx context.Context, slug string, g GroupID) (Organization, []Group, error)
	// GroupByID finds a group of the organization; ErrGroupNotFound.
	GroupByID(ctx context.Context, id ID, g GroupID) (Group, error)
	// Groups lists an organization's groups by id, at most limit after the given one.
	Groups(ctx context.Context, id ID, after GroupID, limit int) ([]Group, error)
	// RenameGroup stores the name of the group with g.ID in g.Organization; ErrGroupTaken.
	RenameGroup(ctx context.Context, g Group) error
	// DeleteGroup removes a group; ErrGroupInUse while it has members.
	DeleteGroup(ctx context.Context, g Group) error
}
