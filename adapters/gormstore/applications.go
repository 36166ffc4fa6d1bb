package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/orgs"
)

type applicationRow struct {
	ID             applications.ID
	OrganizationID orgs.ID
	ProjectID      orgs.ProjectID
	Slug           string
	Name           string
	Active         bool
	CreatedAt      time.Time
}

func (applicationRow) TableName() string { return "applications" }

// newApplicationRow returns the row without its id.
func newApplicationRow(a applications.Application, now time.Time) applicationRow {
	return applicationRow{OrganizationID: a.Organization, ProjectID: a.Project, Slug: a.Slug, Name: a.Name, Active: a.Active, CreatedAt: now}
}

func (r applicationRow) application() applications.Application {
	return applications.Application{ID: r.ID, Organization: r.OrganizationID, Project: r.ProjectID, Slug: r.Slug, Name: r.Name,
		Active: r.Active}
}

// applicationColumns selects the columns of an applicationRow that is embedded in another row.
func applicationColumns(a string) string {
	return prefixedColumns("application_", a, "id", "organization_id", "project_id", "slug", "name", "active")
}

type applicationRepo struct{ tx }

func (r applicationRepo) BySlug(ctx context.Context, org, project, app string) (applications.Application, error) {
	p, err := r.locate(ctx, access.Scope{Organization: org, Project: project, Application: app})
	if err != nil {
		return applications.Application{}, err
	}
	return p.application(app), nil
}

func (r applicationRepo) ByID(
	ctx context.Context, org orgs.ID, project orgs.ProjectID, id applications.ID,
) (applications.Application, error) {
	row, err := one[applicationRow](
		r.db(ctx).Where("id = ? AND project_id = ? AND organization_id = ?", id, project, org), applications.ErrNotFound)
	return row.application(), err
}

func (r applicationRepo) List(
	ctx context.Context, org orgs.ID, project orgs.ProjectID, after applications.ID, limit int,
) ([]applications.Application, error) {
	return page(r.db(ctx).Where("project_id = ? AND organization_id = ?", project, org), after, limit, applicationRow.application)
}

func (r applicationRepo) OfOrganization(ctx context.Context, org orgs.ID, after applications.ID, limit int) ([]applications.Application, error) {
	return page(r.db(ctx).Where("organization_id = ?", org), after, limit, applicationRow.application)
}

func (r applicationRepo) Create(ctx context.Context, a applications.Application) (applications.Application, error) {
	row := newApplicationRow(a, r.now())
	if err := insertNew(r.db(ctx), &row, applications.ErrSlugTaken); err != nil {
		return applications.Application{}, err
	}
	return row.application(), nil
}

func (r applicationRepo) Save(ctx context.Context, a applications.Application) error {
	row := newApplicationRow(a, r.now())
	return changed(r.db(ctx).Where("id = ? AND project_id = ? AND organization_id = ?", a.ID, a.Project, a.Organization).
		Select("*").Omit("ID", "OrganizationID", "ProjectID", "Slug", "CreatedAt").Updates(&row), applications.ErrNotFound)
}

// Delete also deletes the revoked keys of this scope: nobody can use them, and nobody could delete
// them later.
func (r applicationRepo) Delete(ctx context.Context, a applications.Application) error {
	if err := r.checkUnused(ctx, usesOfApplication(a), applications.ErrInUse, "application", a.Slug); err != nil {
		return err
	}
	err := r.db(ctx).Exec(`DELETE FROM api_keys WHERE revoked_at IS NOT NULL
		AND application_id IN (SELECT id FROM applications WHERE id = ? AND project_id = ? AND organization_id = ?)`,
		a.ID, a.Project, a.Organization).Error
	if err != nil {
		return err
	}
	return changed(r.db(ctx).Where("id = ? AND project_id = ? AND organization_id = ?", a.ID, a.Project, a.Organization).
		Delete(&applicationRow{}), applications.ErrNotFound)
}
