package app

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// Create makes an organization with its Default group. A fault about `slug` or `name`,
// orgs.ErrSlugTaken.
func (o *Orgs) Create(ctx context.Context, by audit.Actor, slug, name string) (made orgs.Organization, err error) {
	wanted, err := orgs.New(slug, name)
	if err != nil {
		return orgs.Organization{}, err
	}
	return ports.Update(ctx, o.store, func(tx ports.Tx) (orgs.Organization, error) {
		return createOrganization(ctx, tx, by, wanted)
	})
}

// createOrganization stores a new organization; orgs.ErrSlugTaken.
func createOrganization(ctx context.Context, tx ports.Tx, by audit.Actor, o orgs.Organization) (orgs.Organization, error) {
	made, err := tx.Orgs().Create(ctx, o)
	if err != nil {
		return made, fieldOf("slug", orgs.ErrSlugTaken, err)
	}
	return made, record(ctx, tx, by, made.ID, audit.OrganizationCreated, made.Slug, nil, nameState(made.Name))
}

// OrganizationChange is a change of an organization; nil fields stay unchanged.
type OrganizationChange struct {
	Name   *string
	Region *string // of phone numbers without country code; empty: those are refused
	// Searchable are the paths of metadata that the search covers. A change has all members indexed
	// again in the background.
	Searchable *[]string
}

// Patch changes an organization, all of it or nothing; repeating it changes nothing. Faults about
// `name`, `default_region` and `searchable_metadata`, orgs.ErrNotFound.
func (o *Orgs) Patch(ctx context.Context, by audit.Actor, at Path, change OrganizationChange) (is orgs.Organization, err error) {
	var name, region string
	var searchable []string
	var faults fault.Fields
	if change.Name != nil {
		name, err = names.Label("name", *change.Name)
		faults.Add("", err)
	}
	if change.Region != nil {
		region, err = orgs.ParseRegion("default_region", *change.Region)
		faults.Add("", err)
	}
	if change.Searchable != nil {
		searchable, err = orgs.ParseSearchable("searchable_metadata", *change.Searchable)
		faults.Add("", err)
	}
	if err := faults.Err(); err != nil {
		return is, err
	}
	return updateAt(ctx, o.store, at, organization, func(tx ports.Tx, was orgs.Organization) (is orgs.Organization, err error) {
		is = was
		if change.Name != nil {
			is.Name = name
		}
		if change.Region != nil {
			is.Region = region
		}
		if change.Searchable != nil {
			is.Searchable = searchable
		}
		_, err = saveOrganization(ctx, tx, by, was, is)
		return is, err
	})
}

// saveOrganization changes the name, the region and the searchable metadata of an organization, and
// reports whether anything changed.
func saveOrganization(ctx context.Context, tx ports.Tx, by audit.Actor, was, is orgs.Organization) (changed bool, err error) {
	before, after := audit.Changed(organizationState(was), organizationState(is))
	if len(after) == 0 {
		return false, nil
	}
	if is.Name != was.Name {
		err = tx.Orgs().Rename(ctx, is)
	}
	if err == nil && is.Region != was.Region {
		err = tx.Orgs().SetRegion(ctx, is.ID, is.Region)
	}
	if err == nil && !slices.Equal(is.Searchable, was.Searchable) {
		err = tx.Orgs().SetSearchable(ctx, is.ID, is.Searchable)
	}
	if err != nil {
		return false, err
	}
	return true, record(ctx, tx, by, is.ID, audit.OrganizationUpdated, is.Slug, before, after)
}

func organizationState(o orgs.Organization) audit.State {
	return audit.State{"name": o.Name, "default_region": o.Region, "searchable_metadata": append([]string{}, o.Searchable...)} // never null
}

// CreateProject makes a project of the organization. A fault about `slug` or `name`,
// orgs.ErrNotFound, orgs.ErrSlugTaken, *quotas.Exceeded.
func (o *Orgs) CreateProject(ctx context.Context, by audit.Actor, at Path, slug, name string) (made orgs.Project, err error) {
	wanted, err := orgs.NewProject(slug, name)
	if err != nil {
		return orgs.Project{}, err
	}
	return updateAt(ctx, o.store, at, organization, func(tx ports.Tx, org orgs.Organization) (orgs.Project, error) {
		if err := tx.Orgs().Revise(ctx, org.ID); err != nil {
			return orgs.Project{}, err
		}
		wanted.Organization = org.ID
		return createProject(ctx, tx, by, o.limits, at, wanted)
	})
}

// createProject stores a new project of the path's organization; orgs.ErrSlugTaken,
// *quotas.Exceeded.
func createProject(ctx context.Context, tx ports.Tx, by audit.Actor, limits *quotas.Defaults, at Path, p orgs.Project) (orgs.Project, error) {
	made, err := tx.Orgs().CreateProject(ctx, p)
	if err != nil {
		return made, fieldOf("slug", orgs.ErrSlugTaken, err)
	}
	if err := WithinQuota(ctx, tx, limits, p.Organization, quotas.Projects); err != nil {
		return made, err
	}
	return made, record(ctx, tx, by, p.Organization, audit.ProjectCreated, projectPath(at, made), nil, nameState(made.Name))
}

// RenameProject changes the name of the path's project; repeating it changes nothing. A fault about
// `name`, orgs.ErrNotFound, orgs.ErrProjectNotFound.
func (o *Orgs) RenameProject(ctx context.Context, by audit.Actor, at Path, name string) error {
	name, err := names.Label("name", name)
	if err != nil {
		return err
	}
	return changeAt(ctx, o.store, at, project, func(tx ports.Tx, p orgs.Project) error {
		if p.Name == name {
			return nil
		}
		_, err := renameProject(ctx, tx, by, at, p, name)
		return err
	})
}

func renameProject(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, p orgs.Project, name string) (orgs.Project, error) {
	before := nameState(p.Name)
	p.Name = name
	if err := tx.Orgs().RenameProject(ctx, p); err != nil {
		return p, err
	}
	return p, record(ctx, tx, by, p.Organization, audit.ProjectUpdated, projectPath(at, p), before, nameState(name))
}

func projectPath(at Path, p orgs.Project) string {
	return Path{Organization: at.Organization, Project: p.Slug}.Object()
}
