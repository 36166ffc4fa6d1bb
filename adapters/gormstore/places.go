package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/orgs"
)

// place has the ids for the slugs of a path. A level that is not in the path or does not exist is
// zero.
type place struct {
	OrganizationID    orgs.ID
	ProjectID         orgs.ProjectID
	ProjectName       string
	ApplicationID     applications.ID
	ApplicationName   string
	ApplicationActive bool
}

// placeColumns selects a place from placeTables.
const placeColumns = `o.id AS organization_id, p.id AS project_id, p.name AS project_name,
		       a.id AS application_id, a.name AS application_name, a.active AS application_active`

// placeTables looks up the slugs of a project and an application. The organization's is in the
// condition of the query.
const placeTables = `organizations o
		LEFT JOIN projects p ON p.organization_id = o.id AND p.slug = ?
		LEFT JOIN applications a ON a.project_id = p.id AND a.slug = ?`

// locate looks up the slugs of a path with one statement. It returns the not-found error of the
// first missing level.
func (t tx) locate(ctx context.Context, path access.Scope) (place, error) {
	p, err := one[place](t.db(ctx).Raw(`
		SELECT `+placeColumns+`
		FROM `+placeTables+`
		WHERE o.slug = ? AND `+"o."+notSystem, path.Project, path.Application, path.Organization), orgs.ErrNotFound)
	if err != nil {
		return place{}, err
	}
	return p, p.missing(path)
}

// missing returns the not-found error of the first level of the path, below the organization, that
// does not exist.
func (p place) missing(path access.Scope) error {
	switch {
	case path.Project != "" && p.ProjectID == 0:
		return orgs.ErrProjectNotFound
	case path.Application != "" && p.ApplicationID == 0:
		return applications.ErrNotFound
	}
	return nil
}

// application returns the application of the place, whose slug is that of the path.
func (p place) application(slug string) applications.Application {
	return applications.Application{ID: p.ApplicationID, Organization: p.OrganizationID, Project: p.ProjectID, Slug: slug,
		Name: p.ApplicationName, Active: p.ApplicationActive}
}
