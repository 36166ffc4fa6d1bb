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

// locate looks up the slugs of a path with one statement. It returns the not-found error of the
// first missing level.
func (t tx) locate(ctx context.Context, path access.Scope) (place, error) {
	p, err := one[place](t.db(ctx).Raw(`
		SELECT o.id AS organization_id, p.id AS project_id, p.name AS project_name,
		       a.id AS application_id, a.name AS application_name, a.active AS application_active
		FROM organizations o
		LEFT JOIN projects p ON p.organization_id = o.id AND p.slug = ?
		LEFT JOIN applications a ON a.project_id = p.id AND a.slug = ?
		WHERE o.slug = ? AND `+"o."+notSystem, path.Project, path.Application, path.Organization), orgs.ErrNotFound)
	switch {
	case err != nil:
		return place{}, err
	case path.Project != "" && p.ProjectID == 0:
		return place{}, orgs.ErrProjectNotFound
	case path.Application != "" && p.ApplicationID == 0:
		return place{}, applications.ErrNotFound
	}
	return p, nil
}
