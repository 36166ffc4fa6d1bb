package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
)

// notSystem excludes the reserved organization from a query.
const notSystem = "slug <> '" + orgs.SystemSlug + "'"

type organizationRow struct {
	ID             orgs.ID
	Slug           string
	Name           string
	Revision       int64
	Quotas         string // a JSON object
	RequiresFactor bool
	DefaultRegion  string
	Searchable     string // a JSON array of paths
	CreatedAt      time.Time
}

func (organizationRow) TableName() string { return "organizations" }

func (r organizationRow) organization() (orgs.Organization, error) {
	searchable, err := searchablePaths(r.Searchable)
	return orgs.Organization{ID: r.ID, Slug: r.Slug, Name: r.Name, RequiresFactor: r.RequiresFactor, Region: r.DefaultRegion, Searchable: searchable}, err
}

type projectRow struct {
	ID             orgs.ProjectID
	OrganizationID orgs.ID
	Slug           string
	Name           string
	CreatedAt      time.Time
}

func (projectRow) TableName() string { return "projects" }

func (r projectRow) project() orgs.Project {
	return orgs.Project{ID: r.ID, Organization: r.OrganizationID, Slug: r.Slug, Name: r.Name}
}

type groupRow struct {
	ID             orgs.GroupID
	OrganizationID orgs.ID
	Name           string
	NameFold       string
}

func (groupRow) TableName() string { return "member_groups" }

func newGroupRow(id orgs.ID, name string) groupRow {
	return groupRow{OrganizationID: id, Name: name, NameFold: names.Fold(name)}
}

func (r groupRow) group() orgs.Group {
	return orgs.Group{ID: r.ID, Organization: r.OrganizationID, Name: r.Name}
}

type orgRepo struct{ tx }

func (r orgRepo) BySlug(ctx context.Context, slug string) (orgs.Organization, error) {
	return decodeOne(r.db(ctx).Where("slug = ?", slug).Where(notSystem), orgs.ErrNotFound, organizationRow.organization)
}

// withGroups is the statement of WithGroups. Its parameters are the folded name of the default
// group, the id of the other one, and the slug.
func withGroups(d dialect) string {
	return "SELECT o.id, o.slug, o.name, o.requires_factor, o.default_region, o.searchable, g.id, g.name FROM organizations AS o" +
		" LEFT JOIN member_groups AS g ON g.organization_id = o.id AND (g.name_fold = " + d.parameter(1) + " OR g.id = " + d.parameter(2) + ")" +
		" WHERE o.slug = " + d.parameter(3) + " AND o." + notSystem + " ORDER BY g.id"
}

// WithGroups does not use GORM, because every enrolment calls it.
func (r orgRepo) WithGroups(ctx context.Context, slug string, g orgs.GroupID) (o orgs.Organization, found []orgs.Group, err error) {
	err = r.sets().query(r.statementContext(ctx), withGroups(r.dialect), nil, []any{names.Fold(orgs.DefaultGroup), g, slug}, func(rows *sql.Rows) error {
		var id sql.Null[orgs.GroupID]
		var name sql.NullString
		var searchable string
		err := rows.Scan(&o.ID, &o.Slug, &o.Name, &o.RequiresFactor, &o.Region, &searchable, &id, &name)
		if err == nil {
			o.Searchable, err = searchablePaths(searchable)
		}
		if err != nil || !id.Valid {
			return err
		}
		found = append(found, orgs.Group{ID: id.V, Organization: o.ID, Name: name.String})
		return nil
	})
	if err == nil && o.ID == 0 {
		err = orgs.ErrNotFound
	}
	return o, found, err
}

func (r orgRepo) ByID(ctx context.Context, id orgs.ID) (orgs.Organization, error) {
	return decodeOne(r.db(ctx).Where("id = ?", id).Where(notSystem), orgs.ErrNotFound, organizationRow.organization)
}

func (r orgRepo) List(ctx context.Context, after orgs.ID, limit int) ([]orgs.Organization, error) {
	return decodeAll(r.db(ctx).Where(notSystem).Where("id > ?", after).Order("id").Limit(limit), organizationRow.organization)
}

func (r orgRepo) First(ctx context.Context) (orgs.Organization, error) {
	return decodeOne(r.db(ctx).Where(notSystem).Order("id"), orgs.ErrNotFound, organizationRow.organization)
}

func (r orgRepo) Only(ctx context.Context) (orgs.Organization, error) {
	rows, err := rowsOf[organizationRow](r.db(ctx).Where(notSystem).Order("id").Limit(2))
	switch {
	case err != nil:
		return orgs.Organization{}, err
	case len(rows) == 0:
		return orgs.Organization{}, orgs.ErrNotFound
	case len(rows) > 1:
		return orgs.Organization{}, orgs.ErrSeveral
	}
	return rows[0].organization()
}

func (r orgRepo) Create(ctx context.Context, o orgs.Organization) (orgs.Organization, error) {
	row := organizationRow{Slug: o.Slug, Name: o.Name, Quotas: "{}", Searchable: "[]", CreatedAt: r.now()}
	if err := insertNew(r.db(ctx), &row, orgs.ErrSlugTaken); err != nil {
		return orgs.Organization{}, err
	}
	group := newGroupRow(row.ID, orgs.DefaultGroup)
	if _, err := insert(r.db(ctx), &group); err != nil {
		return orgs.Organization{}, err
	}
	return row.organization()
}

func (r orgRepo) Rename(ctx context.Context, o orgs.Organization) error {
	return changed(r.db(ctx).Model(&organizationRow{}).Where("id = ? AND "+notSystem, o.ID).Update("name", o.Name), orgs.ErrNotFound)
}

func (r orgRepo) RequireFactor(ctx context.Context, id orgs.ID, on bool) error {
	return changed(r.db(ctx).Model(&organizationRow{}).Where("id = ? AND "+notSystem, id).Update("requires_factor", on), orgs.ErrNotFound)
}

func (r orgRepo) SetRegion(ctx context.Context, id orgs.ID, region string) error {
	return changed(r.db(ctx).Model(&organizationRow{}).Where("id = ? AND "+notSystem, id).Update("default_region", region), orgs.ErrNotFound)
}

// Revise updates the organization's row, so that of two concurrent units Postgres rejects one. It
// is retried, and sees everything that the other one wrote, in any table.
func (r orgRepo) Revise(ctx context.Context, id orgs.ID) error {
	return changed(r.db(ctx).Model(&organizationRow{}).Where("id = ? AND "+notSystem, id).Update("revision", gorm.Expr("revision + 1")), orgs.ErrNotFound)
}

func (r orgRepo) Revision(ctx context.Context, id orgs.ID) (int64, error) {
	row, err := one[revisionRow](r.db(ctx).Where("id = ? AND "+notSystem, id), orgs.ErrNotFound)
	return row.Revision, err
}

// revisionRow is the revision of an organization.
type revisionRow struct{ Revision int64 }

func (revisionRow) TableName() string { return "organizations" }

func (r orgRepo) Project(ctx context.Context, org, project string) (orgs.Project, error) {
	p, err := r.locate(ctx, access.Scope{Organization: org, Project: project})
	if err != nil {
		return orgs.Project{}, err
	}
	return orgs.Project{ID: p.ProjectID, Organization: p.OrganizationID, Slug: project, Name: p.ProjectName}, nil
}

func (r orgRepo) ProjectByID(ctx context.Context, id orgs.ID, p orgs.ProjectID) (orgs.Project, error) {
	row, err := one[projectRow](r.db(ctx).Where("id = ? AND organization_id = ?", p, id), orgs.ErrProjectNotFound)
	return row.project(), err
}

func (r orgRepo) Projects(ctx context.Context, id orgs.ID, after orgs.ProjectID, limit int) ([]orgs.Project, error) {
	return page(r.db(ctx).Where("organization_id = ?", id), after, limit, projectRow.project)
}

func (r orgRepo) CreateProject(ctx context.Context, p orgs.Project) (orgs.Project, error) {
	row := projectRow{OrganizationID: p.Organization, Slug: p.Slug, Name: p.Name, CreatedAt: r.now()}
	if err := insertNew(r.db(ctx), &row, orgs.ErrSlugTaken); err != nil {
		return orgs.Project{}, err
	}
	return row.project(), nil
}

func (r orgRepo) RenameProject(ctx context.Context, p orgs.Project) error {
	return changed(r.db(ctx).Model(&projectRow{}).Where("id = ? AND organization_id = ?", p.ID, p.Organization).Update("name", p.Name), orgs.ErrProjectNotFound)
}

func (r orgRepo) Group(ctx context.Context, id orgs.ID, name string) (orgs.Group, error) {
	row, err := one[groupRow](r.db(ctx).Where("organization_id = ? AND name_fold = ?", id, names.Fold(name)),
		orgs.ErrGroupNotFound)
	return row.group(), err
}

func (r orgRepo) GroupByID(ctx context.Context, id orgs.ID, g orgs.GroupID) (orgs.Group, error) {
	row, err := one[groupRow](r.db(ctx).Where("id = ? AND organization_id = ?", g, id), orgs.ErrGroupNotFound)
	return row.group(), err
}

func (r orgRepo) Groups(ctx context.Context, id orgs.ID, after orgs.GroupID, limit int) ([]orgs.Group, error) {
	return page(r.db(ctx).Where("organization_id = ?", id), after, limit, groupRow.group)
}

func (r orgRepo) RenameGroup(ctx context.Context, g orgs.Group) error {
	switch other, err := r.Group(ctx, g.Organization, g.Name); {
	case err == nil && other.ID != g.ID:
		return orgs.ErrGroupTaken
	case err != nil && !errors.Is(err, orgs.ErrGroupNotFound):
		return err
	}
	return changed(r.db(ctx).Model(&groupRow{}).Where("id = ? AND organization_id = ?", g.ID, g.Organization).
		Updates(map[string]any{"name": g.Name, "name_fold": names.Fold(g.Name)}), orgs.ErrGroupNotFound)
}

func (r orgRepo) DeleteGroup(ctx context.Context, g orgs.Group) error {
	var used bool
	err := r.db(ctx).Raw("SELECT EXISTS (SELECT 1 FROM member_group_links WHERE group_id = ?)", g.ID).Scan(&used).Error
	if err != nil {
		return err
	}
	if used {
		return orgs.ErrGroupInUse
	}
	return changed(r.db(ctx).Where("id = ? AND organization_id = ?", g.ID, g.Organization).Delete(&groupRow{}), orgs.ErrGroupNotFound)
}

func (r orgRepo) EnsureGroup(ctx context.Context, id orgs.ID, name string) (orgs.Group, bool, error) {
	row := newGroupRow(id, name)
	created, err := insert(r.db(ctx), &row)
	if err != nil {
		return orgs.Group{}, false, err
	}
	if created {
		return row.group(), true, nil
	}
	g, err := r.Group(ctx, id, name)
	return g, false, err
}
