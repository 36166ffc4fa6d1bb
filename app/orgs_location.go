package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// maxSearched is how many organizations SearchOrganizations searches.
const maxSearched = 20_000

// Location is a position in an organization, with the first projects of the organization and the
// first applications of the project. A project or an application that does not exist is the zero
// value.
type Location struct {
	Organization orgs.Organization
	Project      orgs.Project
	Application  applications.Application
	Projects     []orgs.Project
	Applications []applications.Application
}

// Locate returns the location of a path. If the path names no existing project or application,
// those of like are used, or else the first ones. It lists at most limit of each kind;
// orgs.ErrNotFound.
func (o *Orgs) Locate(ctx context.Context, at, like Path, limit int) (Location, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (found Location, err error) {
		if found.Organization, err = tx.Orgs().BySlug(ctx, at.Organization); err != nil {
			return found, err
		}
		org := found.Organization.ID
		if found.Projects, err = tx.Orgs().Projects(ctx, org, 0, limit); err != nil {
			return found, err
		}
		if found.Project, err = projectOf(ctx, tx, org, at, like); err != nil || found.Project.ID == 0 {
			return found, err
		}
		if found.Applications, err = tx.Applications().List(ctx, org, found.Project.ID, 0, limit); err != nil {
			return found, err
		}
		at.Project = found.Project.Slug
		if at.Application == "" && like.Project == at.Project {
			at.Application = like.Application
		}
		found.Application, err = applicationOf(ctx, tx, at, found.Applications)
		return found, err
	})
}

// projectOf returns the project that a path names, or that of the other path, or that of the
// organization's first application, or the first one.
func projectOf(ctx context.Context, tx ports.Tx, org orgs.ID, at, like Path) (orgs.Project, error) {
	for _, slug := range []string{at.Project, like.Project} {
		if slug == "" {
			continue
		}
		p, err := tx.Orgs().Project(ctx, at.Organization, slug)
		if !errors.Is(err, orgs.ErrProjectNotFound) {
			return p, err
		}
	}
	if first, err := tx.Applications().OfOrganization(ctx, org, 0, 1); err != nil {
		return orgs.Project{}, err
	} else if len(first) > 0 {
		return tx.Orgs().ProjectByID(ctx, org, first[0].Project)
	}
	first, err := tx.Orgs().Projects(ctx, org, 0, 1)
	if err != nil || len(first) == 0 {
		return orgs.Project{}, err
	}
	return first[0], nil
}

// applicationOf returns the application that a path names, or else the first one.
func applicationOf(ctx context.Context, tx ports.Tx, at Path, first []applications.Application) (applications.Application, error) {
	if at.Application != "" {
		a, err := application(ctx, tx, at)
		if !errors.Is(err, applications.ErrNotFound) {
			return a, err
		}
	}
	if len(first) == 0 {
		return applications.Application{}, nil
	}
	return first[0], nil
}

// SearchOrganizations returns the first organizations of the installation whose name or slug
// contains the words of a text, and one more than the limit if there are more. It searches the
// first 20,000.
func (o *Orgs) SearchOrganizations(ctx context.Context, text string, limit int) ([]orgs.Organization, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (found []orgs.Organization, err error) {
		for after, seen := orgs.ID(0), 0; seen < maxSearched && len(found) <= limit; {
			some, err := tx.Orgs().List(ctx, after, MaxNamed)
			if err != nil {
				return found, err
			}
			found = append(found, matchingNames(some, limit-len(found), text, func(o orgs.Organization) string { return o.Name + " " + o.Slug })...)
			if len(some) < MaxNamed {
				return found, nil
			}
			after, seen = some[len(some)-1].ID, seen+len(some)
		}
		return found, nil
	})
}
