package app

import (
	"context"
	"errors"
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
	return ports.Update(ctx, o.store, func(tx ports.Tx) (made orgs.Organization, err error) {
		if made, err = tx.Orgs().Create(ctx, wanted); err != nil {
			return made, aboutSlug(err)
		}
		return made, record(ctx, tx, by, made.ID, audit.OrganizationCreated, Path{Organization: made.Slug}.Object(), nil, nameState(made.Name))
	})
}

// OrganizationChange is what changes of an organization; what is nil stays as it is.
type OrganizationChange struct {
	Name   *string
	Region *string // whose phone numbers those without country code are; empty: they are refused
	// Searchable are paths of metadata that people are found by. Other ones than before have
	// everybody indexed anew in the background.
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
		before, after := audit.Changed(organizationState(was), organizationState(is))
		if len(after) == 0 {
			return is, nil
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
			return is, err
		}
		return is, record(ctx, tx, by, is.ID, audit.OrganizationUpdated, Path{Organization: is.Slug}.Object(), before, after)
	})
}

func regionState(region string) audit.State { return audit.State{"default_region": region} }

func searchableState(paths []string) audit.State {
	return audit.State{"searchable_metadata": append([]string{}, paths...)} // never null
}

func organizationState(o orgs.Organization) audit.State {
	return audit.State{"name": o.Name, "default_region": o.Region, "searchable_metadata": searchableState(o.Searchable)["searchable_metadata"]}
}

// CreateProject makes a project of the organization. A fault about `slug` or `name`,
// orgs.ErrNotFound, orgs.ErrSlugTaken, *quotas.Exceeded.
func (o *Orgs) CreateProject(ctx context.Context, by audit.Actor, at Path, slug, name string) (made orgs.Project, err error) {
	wanted, err := orgs.NewProject(slug, name)
	if err != nil {
		return orgs.Project{}, err
	}
	return updateAt(ctx, o.store, at, organization, func(tx ports.Tx, org orgs.Organization) (made orgs.Project, err error) {
		if err := tx.Orgs().Revise(ctx, org.ID); err != nil {
			return made, err
		}
		wanted.Organization = org.ID
		if made, err = tx.Orgs().CreateProject(ctx, wanted); err != nil {
			return made, aboutSlug(err)
		}
		if err := WithinQuota(ctx, tx, o.limits, org.ID, quotas.Projects); err != nil {
			return made, err
		}
		return made, record(ctx, tx, by, org.ID, audit.ProjectCreated, Path{Organization: org.Slug, Project: made.Slug}.Object(), nil, nameState(made.Name))
	})
}

// RenameProject gives the path's project another name; repeating it changes nothing. A fault about
// `name`, orgs.ErrNotFound, orgs.ErrProjectNotFound.
func (o *Orgs) RenameProject(ctx context.Context, by audit.Actor, at Path, name string) error {
	name, err := names.Label("name", name)
	if err != nil {
		return err
	}
	return o.store.Update(ctx, func(tx ports.Tx) error {
		p, err := tx.Orgs().Project(ctx, at.Organization, at.Project)
		if err != nil || p.Name == name {
			return err
		}
		before := nameState(p.Name)
		p.Name = name
		if err := tx.Orgs().RenameProject(ctx, p); err != nil {
			return err
		}
		return record(ctx, tx, by, p.Organization, audit.ProjectUpdated, Path{Organization: at.Organization, Project: p.Slug}.Object(), before, nameState(name))
	})
}

// aboutSlug says of a slug that is taken which field that is.
func aboutSlug(err error) error {
	if errors.Is(err, orgs.ErrSlugTaken) {
		return orgs.ErrSlugTaken.On("slug")
	}
	return err
}
