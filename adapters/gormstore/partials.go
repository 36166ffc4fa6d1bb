package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Partials belong to eventRepo too.

type partialRow struct {
	ID             events.PartialID
	OrganizationID orgs.ID
	Name           string
	Description    string
	TextBody       string
	HTMLBody       string
	Version        int
}

func (partialRow) TableName() string { return "partials" }

func (r partialRow) partial() events.Partial {
	return events.Partial{ID: r.ID, Organization: r.OrganizationID, Name: r.Name, Description: r.Description, Text: r.TextBody, HTML: r.HTMLBody, Version: r.Version}
}

func (r eventRepo) Partials(ctx context.Context, org orgs.ID) (events.Partials, error) {
	return all(r.db(ctx).Where("organization_id = ?", org).Order("name").Limit(events.MaxPartials), partialRow.partial)
}

// listedPartialRow is a partial without its bodies.
type listedPartialRow struct {
	Name        string
	Description string
	HasText     bool
	HasHTML     bool
	Version     int
}

func (r eventRepo) PartialList(ctx context.Context, org orgs.ID) ([]events.ListedPartial, error) {
	return all(r.db(ctx).Raw(`SELECT name, description, text_body <> '' AS has_text, html_body <> '' AS has_html, version
		FROM partials WHERE organization_id = ? ORDER BY name LIMIT ?`, org, events.MaxPartials), func(row listedPartialRow) events.ListedPartial {
		return events.ListedPartial{Name: row.Name, Description: row.Description, Text: row.HasText, HTML: row.HasHTML, Version: row.Version}
	})
}

func (r eventRepo) Partial(ctx context.Context, org orgs.ID, name string) (events.Partial, error) {
	row, err := one[partialRow](r.db(ctx).Where("organization_id = ? AND name = ?", org, name), events.ErrPartialNotFound)
	return row.partial(), err
}

func (r eventRepo) PartialsUsed(ctx context.Context, org orgs.ID, names []string) (events.Partials, error) {
	return all(r.db(ctx).Raw(`
		WITH RECURSIVE used (id) AS (
			SELECT id FROM partials WHERE organization_id = ? AND name ?
			UNION
			SELECT pp.uses_id FROM used JOIN partial_partials pp ON pp.partial_id = used.id
		)
		SELECT p.* FROM used JOIN partials p ON p.id = used.id WHERE p.organization_id = ? ORDER BY p.name`,
		org, among(r.dialect, names), org), partialRow.partial)
}

func (r eventRepo) CreatePartial(ctx context.Context, p events.Partial, by string) (events.Partial, error) {
	row := partialRow{OrganizationID: p.Organization, Name: p.Name, Description: p.Description, TextBody: p.Text, HTMLBody: p.HTML, Version: 1}
	if err := insertNew(r.db(ctx), &row, events.ErrPartialNameTaken); err != nil {
		return events.Partial{}, err
	}
	return r.savePartialVersion(ctx, row.partial(), by)
}

func (r eventRepo) SavePartial(ctx context.Context, p events.Partial, by string) (events.Partial, error) {
	var row partialRow
	err := changed(r.db(ctx).Model(&row).Clauses(clause.Returning{}).Where("id = ? AND organization_id = ?", p.ID, p.Organization).
		Updates(map[string]any{"description": p.Description, "text_body": p.Text, "html_body": p.HTML, "version": gorm.Expr("version + 1")}), events.ErrPartialNotFound)
	if err != nil {
		return events.Partial{}, err
	}
	return r.savePartialVersion(ctx, row.partial(), by)
}

// savePartialVersion stores a version of a partial and the partials that it uses.
func (t tx) savePartialVersion(ctx context.Context, p events.Partial, by string) (events.Partial, error) {
	version := partialVersionRow{PartialID: p.ID, Version: p.Version, SavedBy: by, SavedAt: t.now(), Description: p.Description, TextBody: p.Text, HTMLBody: p.HTML}
	if err := t.db(ctx).Create(&version).Error; err != nil {
		return p, err
	}
	if err := t.db(ctx).Where("partial_id = ? AND version <= ?", p.ID, p.Version-events.MaxVersions).Delete(&partialVersionRow{}).Error; err != nil {
		return p, err
	}
	names, err := p.Uses()
	if err != nil {
		return p, err
	}
	if err := t.db(ctx).Exec("DELETE FROM partial_partials WHERE partial_id = ?", p.ID).Error; err != nil || len(names) == 0 {
		return p, err
	}
	return p, t.db(ctx).Exec("INSERT INTO partial_partials (partial_id, uses_id) SELECT ?, id FROM partials WHERE organization_id = ? AND name ?",
		p.ID, p.Organization, among(t.dialect, names)).Error
}

// saveUses stores the partials that a template uses.
func (t tx) saveUses(ctx context.Context, o templateOwner, text events.Template) error {
	names, err := text.Uses()
	if err != nil {
		return err
	}
	if text.Version > 1 {
		if err := t.db(ctx).Exec("DELETE FROM template_partials WHERE template_id = ?", text.ID).Error; err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	return t.db(ctx).Exec(`INSERT INTO template_partials (template_id, partial_id)
		SELECT ?, p.id FROM applications a JOIN partials p ON p.organization_id = a.organization_id WHERE a.id = ? AND p.name ?`,
		text.ID, o.app, among(t.dialect, names)).Error
}

func (r eventRepo) DeletePartial(ctx context.Context, p events.Partial) error {
	if err := r.checkUnused(ctx, usesOfPartial(p), events.ErrPartialInUse, "partial", p.Name); err != nil {
		return err
	}
	return changed(r.db(ctx).Where("id = ? AND organization_id = ?", p.ID, p.Organization).Delete(&partialRow{}), events.ErrPartialNotFound)
}

func usesOfPartial(p events.Partial) statement {
	return stmt(`
		WITH p AS (SELECT id FROM partials WHERE id = ? AND organization_id = ?)
		SELECT 'partial' AS kind, o.name AS name, '' AS application, '' AS event
		FROM p JOIN partial_partials pp ON pp.uses_id = p.id JOIN partials o ON o.id = pp.partial_id
		UNION ALL
		SELECT 'template', '', a.slug, e.slug
		FROM p JOIN template_partials tp ON tp.partial_id = p.id JOIN templates t ON t.id = tp.template_id JOIN events e ON e.id = t.event_id
		JOIN applications a ON a.id = e.application_id
		UNION ALL
		SELECT 'template of notification', n.name, a.slug, e.slug
		FROM p JOIN template_partials tp ON tp.partial_id = p.id JOIN templates t ON t.id = tp.template_id JOIN notifications n ON n.id = t.notification_id
		JOIN events e ON e.id = n.event_id JOIN applications a ON a.id = e.application_id`, p.ID, p.Organization)
}

// partialsOf returns the partials that a template uses, directly or through others, by name.
func (t tx) partialsOf(ctx context.Context, org orgs.ID, id events.TemplateID) (events.Partials, error) {
	return all(t.db(ctx).Raw(`
		WITH RECURSIVE used (id) AS (
			SELECT partial_id FROM template_partials WHERE template_id = ?
			UNION
			SELECT pp.uses_id FROM used JOIN partial_partials pp ON pp.partial_id = used.id
		)
		SELECT p.* FROM used JOIN partials p ON p.id = used.id WHERE p.organization_id = ? ORDER BY p.name`, id, org), partialRow.partial)
}

func (r eventRepo) PartialsIncluding(ctx context.Context, p events.Partial) ([]string, error) {
	return all(r.db(ctx).Raw(`SELECT o.name FROM partials p JOIN partial_partials pp ON pp.uses_id = p.id JOIN partials o ON o.id = pp.partial_id
		WHERE p.id = ? AND p.organization_id = ? ORDER BY o.name`, p.ID, p.Organization), func(row listedPartialRow) string { return row.Name })
}

type partialUserRow struct {
	Template         templateRow `gorm:"embedded;embeddedPrefix:template_"`
	Event            eventRow    `gorm:"embedded;embeddedPrefix:event_"`
	Project          string
	Application      string
	NotificationID   int64
	NotificationName string
	ChannelName      string
	ChannelProtocol  channels.Protocol
}

func (r eventRepo) PartialUsers(ctx context.Context, p events.Partial, after events.TemplateID, limit int) ([]events.PartialUser, error) {
	return r.partialUsers(ctx, p.Organization, []events.PartialID{p.ID}, after, limit,
		prefixedColumns("template_", "t", "id", "version", "channel_id")+", "+prefixedColumns("event_", "e", "id", "application_id", "slug", "name"))
}

func (r eventRepo) PartialTemplates(
	ctx context.Context, org orgs.ID, of []events.PartialID, after events.TemplateID, limit int,
) ([]events.PartialUser, error) {
	return r.partialUsers(ctx, org, of, after, limit, prefixedColumns("template_", "t", templateColumns...)+", "+eventColumns("e"))
}

// partialUsers returns the templates that use one of some partials, with these columns of the
// templates and events.
func (r eventRepo) partialUsers(
	ctx context.Context, org orgs.ID, of []events.PartialID, after events.TemplateID, limit int, columns string,
) ([]events.PartialUser, error) {
	return all(r.db(ctx).Raw(`
		WITH RECURSIVE reach (id) AS (
			SELECT id FROM partials WHERE id ? AND organization_id = ?
			UNION
			SELECT pp.partial_id FROM reach JOIN partial_partials pp ON pp.uses_id = reach.id
		),
		found (id) AS (
			SELECT DISTINCT tp.template_id FROM reach JOIN template_partials tp ON tp.partial_id = reach.id
			WHERE tp.template_id > ? ORDER BY 1 LIMIT ?
		)
		SELECT `+columns+`,
			pr.slug AS project, a.slug AS application, COALESCE(n.id, 0) AS notification_id, COALESCE(n.name, '') AS notification_name,
			c.name AS channel_name, c.protocol AS channel_protocol
		FROM found JOIN templates t ON t.id = found.id
		LEFT JOIN notifications n ON n.id = t.notification_id JOIN events e ON e.id = COALESCE(t.event_id, n.event_id)
		JOIN applications a ON a.id = e.application_id JOIN projects pr ON pr.id = a.project_id JOIN channels c ON c.id = t.channel_id
		ORDER BY t.id`, among(r.dialect, of), org, after, limit),
		func(row partialUserRow) events.PartialUser {
			return events.PartialUser{Template: row.Template.template(), Event: row.Event.event(org), Project: row.Project, Application: row.Application,
				Notification: row.NotificationID, Name: row.NotificationName, Channel: row.ChannelName, Protocol: row.ChannelProtocol}
		})
}

// partialVersionRow is a version of a partial.
type partialVersionRow struct {
	PartialID   events.PartialID
	Version     int
	SavedBy     string
	SavedAt     time.Time
	Description string
	TextBody    string
	HTMLBody    string
}

func (partialVersionRow) TableName() string { return "partial_versions" }

// versionOfPartial holds for the versions of a partial of an organization.
const versionOfPartial = "partial_id = ? AND partial_id IN (SELECT id FROM partials WHERE id = ? AND organization_id = ?)"

func (r eventRepo) PartialVersions(ctx context.Context, p events.Partial) ([]events.PartialVersion, error) {
	return all(r.db(ctx).Select("partial_id, version, saved_by, saved_at").Where(versionOfPartial, p.ID, p.ID, p.Organization).Order("version DESC"),
		func(row partialVersionRow) events.PartialVersion { return row.version(p) })
}

func (r eventRepo) PartialVersion(ctx context.Context, p events.Partial, number int) (events.PartialVersion, error) {
	row, err := one[partialVersionRow](r.db(ctx).Where(versionOfPartial, p.ID, p.ID, p.Organization).Where("version = ?", number), events.ErrPartialVersionNotFound)
	return row.version(p), err
}

func (r partialVersionRow) version(of events.Partial) events.PartialVersion {
	of.Version, of.Description, of.Text, of.HTML = r.Version, r.Description, r.TextBody, r.HTMLBody
	return events.PartialVersion{Partial: of, By: r.SavedBy, Saved: r.SavedAt.UTC()}
}
