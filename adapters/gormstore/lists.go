package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

type listRow struct {
	ID             lists.ID
	OrganizationID orgs.ID
	ProjectID      orgs.ProjectID
	Name           string
	NameFold       string
	ApplicationID  *applications.ID
	CreatedAt      time.Time
}

func (listRow) TableName() string { return "distribution_lists" }

// newListRow returns the row without its id.
func newListRow(l lists.List, now time.Time) listRow {
	return listRow{OrganizationID: l.Organization, ProjectID: l.Project, Name: l.Name, NameFold: names.Fold(l.Name),
		ApplicationID: orNull(l.Application), CreatedAt: now}
}

func (r listRow) list() lists.List {
	return lists.List{ID: r.ID, Organization: r.OrganizationID, Project: r.ProjectID, Name: r.Name,
		Application: orZero(r.ApplicationID)}
}

type listRepo struct{ tx }

func (r listRepo) ByID(ctx context.Context, org orgs.ID, project orgs.ProjectID, id lists.ID) (lists.List, error) {
	row, err := one[listRow](
		r.db(ctx).Where("id = ? AND project_id = ? AND organization_id = ?", id, project, org), lists.ErrNotFound)
	return row.list(), err
}

func (r listRepo) ByName(ctx context.Context, org orgs.ID, project orgs.ProjectID, name string) (lists.List, error) {
	row, err := one[listRow](r.db(ctx).
		Where("project_id = ? AND name_fold = ? AND organization_id = ?", project, names.Fold(name), org), lists.ErrNotFound)
	return row.list(), err
}

func (r listRepo) List(
	ctx context.Context, org orgs.ID, project orgs.ProjectID, after lists.ID, limit int,
) ([]lists.List, error) {
	return page(r.db(ctx).Where("project_id = ? AND organization_id = ?", project, org), after, limit, listRow.list)
}

func (r listRepo) OfOrganization(ctx context.Context, org orgs.ID, after lists.ID, limit int) ([]lists.List, error) {
	return page(r.db(ctx).Where("organization_id = ?", org), after, limit, listRow.list)
}

func (r listRepo) OfMember(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]lists.List, error) {
	return all(r.db(ctx).Where(`organization_id = ? AND id IN (SELECT e.list_id FROM list_entries e
		JOIN assignments s ON s.id = e.assignment_id JOIN addresses a ON a.id = s.address_id
		WHERE a.organization_id = ? AND a.member_id = ?)`, org, org, m).Order("id").Limit(limit), listRow.list)
}

func (r listRepo) Create(ctx context.Context, l lists.List) (lists.List, error) {
	row := newListRow(l, r.now())
	if err := insertNew(r.db(ctx), &row, lists.ErrNameTaken); err != nil {
		return lists.List{}, err
	}
	return row.list(), nil
}

func (r listRepo) Save(ctx context.Context, l lists.List) error {
	switch other, err := r.ByName(ctx, l.Organization, l.Project, l.Name); {
	case err == nil && other.ID != l.ID:
		return lists.ErrNameTaken
	case err != nil && !errors.Is(err, lists.ErrNotFound):
		return err
	}
	row := newListRow(l, r.now())
	return changed(r.db(ctx).Where("id = ? AND project_id = ? AND organization_id = ?", l.ID, l.Project, l.Organization).
		Select("*").Omit("ID", "OrganizationID", "ProjectID", "CreatedAt").Updates(&row), lists.ErrNotFound)
}

func (r listRepo) Users(ctx context.Context, l lists.List, app applications.ID) ([]string, error) {
	return r.uses(ctx, usesOfList(l, app))
}

func (r listRepo) Delete(ctx context.Context, l lists.List) error {
	if err := r.checkUnused(ctx, usesOfList(l, 0), lists.ErrInUse, "distribution list", l.Name); err != nil {
		return err
	}
	return changed(r.db(ctx).Where("id = ? AND project_id = ? AND organization_id = ?", l.ID, l.Project, l.Organization).
		Delete(&listRow{}), lists.ErrNotFound)
}
