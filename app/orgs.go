package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Orgs is the use cases on organizations and projects.
type Orgs struct {
	store  ports.Store
	limits *quotas.Defaults
}

// NewOrgs returns the use cases on organizations and projects. limits are for organizations without
// limits of their own.
func NewOrgs(store ports.Store, limits *quotas.Defaults) *Orgs {
	return &Orgs{store: store, limits: limits}
}

// Show returns an organization; orgs.ErrNotFound.
func (o *Orgs) Show(ctx context.Context, at Path) (orgs.Organization, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (orgs.Organization, error) {
		return tx.Orgs().BySlug(ctx, at.Organization)
	})
}

// List returns the organizations of the installation.
func (o *Orgs) List(ctx context.Context, p Page) ([]orgs.Organization, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) ([]orgs.Organization, error) {
		return tx.Orgs().List(ctx, orgs.ID(p.After), p.Limit)
	})
}

// Address parses an address as written in the organization: a phone number without country code
// belongs to the organization's region. A fault about `value` or `name`, orgs.ErrNotFound.
func (o *Orgs) Address(ctx context.Context, at Path, value, name string) (users.Address, error) {
	if !users.IsNational(value) {
		return users.NewAddress(value, name)
	}
	org, err := o.Show(ctx, at)
	if err != nil {
		return users.Address{}, err
	}
	return users.NewAddressIn(org.Region, value, name)
}

// Projects lists the projects of an organization.
func (o *Orgs) Projects(ctx context.Context, at Path, p Page) ([]orgs.Project, error) {
	return viewAt(ctx, o.store, at, organization, func(tx ports.Tx, org orgs.Organization) ([]orgs.Project, error) {
		return tx.Orgs().Projects(ctx, org.ID, orgs.ProjectID(p.After), p.Limit)
	})
}

// ShowProject returns a project; orgs.ErrNotFound, orgs.ErrProjectNotFound.
func (o *Orgs) ShowProject(ctx context.Context, at Path) (orgs.Project, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (orgs.Project, error) {
		return tx.Orgs().Project(ctx, at.Organization, at.Project)
	})
}

// Channels lists the channels of the project, or without one those of the organization itself.
func (o *Orgs) Channels(ctx context.Context, at Path, p Page) ([]channels.Channel, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) ([]channels.Channel, error) {
		org, project, err := owner(ctx, tx, at)
		if err != nil {
			return nil, err
		}
		return tx.Channels().List(ctx, org, project, channels.ID(p.After), p.Limit)
	})
}

func organization(ctx context.Context, tx ports.Tx, at Path) (orgs.Organization, error) {
	return tx.Orgs().BySlug(ctx, at.Organization)
}

func project(ctx context.Context, tx ports.Tx, at Path) (orgs.Project, error) {
	return tx.Orgs().Project(ctx, at.Organization, at.Project)
}

// owner resolves a path of one or two levels to ids; the project is 0 if the path names none.
func owner(ctx context.Context, tx ports.Tx, at Path) (orgs.ID, orgs.ProjectID, error) {
	if at.Project == "" {
		org, err := tx.Orgs().BySlug(ctx, at.Organization)
		return org.ID, 0, err
	}
	project, err := tx.Orgs().Project(ctx, at.Organization, at.Project)
	return project.Organization, project.ID, err
}
