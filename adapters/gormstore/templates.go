package gormstore

import (
	"context"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

type templateRow struct {
	ID        events.TemplateID
	Version   int
	ChannelID channels.ID
	Subject   string
	TextBody  string
	HTMLBody  string

	MarkdownBody string
}

// templateColumns are the columns of a templateRow.
var templateColumns = []string{"id", "version", "channel_id", "subject", "text_body", "html_body", "markdown_body"}

func (r templateRow) template() events.Template {
	return events.Template{ID: r.ID, Version: r.Version, Channel: r.ChannelID, Subject: r.Subject, Text: r.TextBody, HTML: r.HTMLBody, Markdown: r.MarkdownBody}
}

// templateOwner is the owner of a template: an event or a notification.
type templateOwner struct {
	table  string // of the owner
	column string // that refers to it
	id     int64
	app    applications.ID
}

func (r eventRepo) Templates(ctx context.Context, e events.Event) ([]events.Template, error) {
	return r.templatesOf(ctx, ofEvent(e))
}

func (r eventRepo) SaveTemplate(ctx context.Context, e events.Event, t events.Template, by string) (events.Template, error) {
	return r.saveTemplate(ctx, ofEvent(e), t, by)
}

func (r subscriptionRepo) Templates(ctx context.Context, n subscriptions.Notification) ([]events.Template, error) {
	return r.templatesOf(ctx, ofNotification(n))
}

func (r subscriptionRepo) SaveTemplate(
	ctx context.Context, n subscriptions.Notification, t events.Template, by string,
) (events.Template, error) {
	return r.saveTemplate(ctx, ofNotification(n), t, by)
}

func ofEvent(e events.Event) templateOwner {
	return templateOwner{table: "events", column: "event_id", id: int64(e.ID), app: e.Application}
}

func ofNotification(n subscriptions.Notification) templateOwner {
	return templateOwner{table: "notifications", column: "notification_id", id: int64(n.ID), app: n.Application}
}

func (t tx) templatesOf(ctx context.Context, o templateOwner) ([]events.Template, error) {
	return all(t.db(ctx).Raw("SELECT "+qualifiedColumns("t", templateColumns)+`
		FROM templates t JOIN `+o.table+` o ON o.id = t.`+o.column+`
		WHERE o.id = ? AND o.application_id = ? ORDER BY t.channel_id`, o.id, o.app), templateRow.template)
}

// saveTemplate returns channels.ErrNotFound if the owner does not exist, or its project and
// organization do not have the channel, and events.ErrTemplatesTooLarge.
func (t tx) saveTemplate(ctx context.Context, o templateOwner, text events.Template, by string) (events.Template, error) {
	row, err := one[templateRow](t.db(ctx).Raw(`
		INSERT INTO templates (`+o.column+`, channel_id, subject, text_body, html_body, markdown_body)
		SELECT o.id, c.id, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT)
		FROM `+o.table+` o JOIN applications a ON a.id = o.application_id
		JOIN channels c ON c.organization_id = a.organization_id AND `+channelOf("a.project_id")+`
		WHERE o.id = ? AND o.application_id = ? AND c.id = ?
		ON CONFLICT (`+o.column+`, channel_id) DO UPDATE SET
			subject = excluded.subject, text_body = excluded.text_body, html_body = excluded.html_body,
			markdown_body = excluded.markdown_body, version = templates.version + 1
		RETURNING `+strings.Join(templateColumns, ", "),
		text.Subject, text.Text, text.HTML, text.Markdown, o.id, o.app, text.Channel), channels.ErrNotFound)
	if err != nil {
		return events.Template{}, err
	}
	var together int64
	if err := t.db(ctx).Raw(`SELECT sum(octet_length(subject) + octet_length(text_body) + octet_length(html_body) + octet_length(markdown_body))
		FROM templates WHERE `+o.column+" = ?", o.id).Scan(&together).Error; err != nil {
		return events.Template{}, err
	}
	if together > events.MaxTemplates {
		return events.Template{}, events.ErrTemplatesTooLarge
	}
	version := versionRow{TemplateID: row.ID, Version: row.Version, SavedBy: by, SavedAt: t.now(), Subject: row.Subject, TextBody: row.TextBody, HTMLBody: row.HTMLBody,
		MarkdownBody: row.MarkdownBody}
	if err := t.db(ctx).Create(&version).Error; err != nil {
		return events.Template{}, err
	}
	if err := t.db(ctx).Exec("DELETE FROM template_versions WHERE template_id = ? AND version <= ?", row.ID, row.Version-events.MaxVersions).Error; err != nil {
		return events.Template{}, err
	}
	return row.template(), t.saveUses(ctx, o, row.template())
}

func (r eventRepo) DeleteTemplate(ctx context.Context, e events.Event, c channels.ID) error {
	return r.deleteTemplate(ctx, ofEvent(e), c)
}

func (r subscriptionRepo) DeleteTemplate(ctx context.Context, n subscriptions.Notification, c channels.ID) error {
	return r.deleteTemplate(ctx, ofNotification(n), c)
}

func (t tx) deleteTemplate(ctx context.Context, o templateOwner, c channels.ID) error {
	return change(t.db(ctx), events.ErrTemplateNotFound, "DELETE FROM templates WHERE channel_id = ? AND "+o.column+" IN (SELECT id FROM "+o.table+
		" WHERE id = ? AND application_id = ?)", c, o.id, o.app)
}

// versionRow is a version of a template.
type versionRow struct {
	TemplateID events.TemplateID
	Version    int
	SavedBy    string
	SavedAt    time.Time
	Subject    string
	TextBody   string
	HTMLBody   string

	MarkdownBody string
}

func (versionRow) TableName() string { return "template_versions" }

func (r versionRow) version() events.Version {
	return events.Version{Template: events.Template{ID: r.TemplateID, Version: r.Version, Subject: r.Subject, Text: r.TextBody, HTML: r.HTMLBody,
		Markdown: r.MarkdownBody},
		By: r.SavedBy, Saved: r.SavedAt.UTC()}
}

// versionOf selects the versions of a template of an application of an organization.
const versionOf = `template_id = ? AND template_id IN (SELECT t.id FROM templates t LEFT JOIN notifications n ON n.id = t.notification_id
	JOIN events e ON e.id = COALESCE(t.event_id, n.event_id) JOIN applications a ON a.id = e.application_id WHERE t.id = ? AND a.id = ? AND a.organization_id = ?)`

func (r eventRepo) Versions(ctx context.Context, a applications.Application, id events.TemplateID) ([]events.Version, error) {
	return all(r.db(ctx).Select("template_id, version, saved_by, saved_at").Where(versionOf, id, id, a.ID, a.Organization).Order("version DESC"), versionRow.version)
}

func (r eventRepo) Version(ctx context.Context, a applications.Application, id events.TemplateID, number int) (events.Version, error) {
	row, err := one[versionRow](r.db(ctx).Where(versionOf, id, id, a.ID, a.Organization).Where("version = ?", number), events.ErrVersionNotFound)
	return row.version(), err
}
