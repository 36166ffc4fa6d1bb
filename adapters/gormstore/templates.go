package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

type templateRow struct {
	ID        events.TemplateID
	ChannelID channels.ID
	Subject   string
	TextBody  string
	HTMLBody  string
}

func (r templateRow) template() events.Template {
	return events.Template{ID: r.ID, Channel: r.ChannelID, Subject: r.Subject, Text: r.TextBody, HTML: r.HTMLBody}
}

// templateOwner is what a template belongs to: an event or a notification.
type templateOwner struct {
	table  string // of the owner
	column string // that refers to it
	id     int64
	app    applications.ID
}

func (r eventRepo) Templates(ctx context.Context, e events.Event) ([]events.Template, error) {
	return r.templatesOf(ctx, ofEvent(e))
}

func (r eventRepo) SaveTemplate(ctx context.Context, e events.Event, t events.Template) (events.Template, error) {
	return r.saveTemplate(ctx, ofEvent(e), t)
}

func (r subscriptionRepo) Templates(ctx context.Context, n subscriptions.Notification) ([]events.Template, error) {
	return r.templatesOf(ctx, ofNotification(n))
}

func (r subscriptionRepo) SaveTemplate(ctx context.Context, n subscriptions.Notification, t events.Template) (events.Template, error) {
	return r.saveTemplate(ctx, ofNotification(n), t)
}

func ofEvent(e events.Event) templateOwner {
	return templateOwner{table: "events", column: "event_id", id: int64(e.ID), app: e.Application}
}

func ofNotification(n subscriptions.Notification) templateOwner {
	return templateOwner{table: "notifications", column: "notification_id", id: int64(n.ID), app: n.Application}
}

func (t tx) templatesOf(ctx context.Context, o templateOwner) ([]events.Template, error) {
	return all(t.db(ctx).Raw(`SELECT t.id, t.channel_id, t.subject, t.text_body, t.html_body
		FROM templates t JOIN `+o.table+` o ON o.id = t.`+o.column+`
		WHERE o.id = ? AND o.application_id = ? ORDER BY t.channel_id`, o.id, o.app), templateRow.template)
}

// saveTemplate returns channels.ErrNotFound unless the owner exists and its project or organization has the channel.
func (t tx) saveTemplate(ctx context.Context, o templateOwner, text events.Template) (events.Template, error) {
	row, err := one[templateRow](t.db(ctx).Raw(`
		INSERT INTO templates (`+o.column+`, channel_id, subject, text_body, html_body)
		SELECT o.id, c.id, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT)
		FROM `+o.table+` o JOIN applications a ON a.id = o.application_id
		JOIN channels c ON c.organization_id = a.organization_id AND (c.project_id IS NULL OR c.project_id = a.project_id)
		WHERE o.id = ? AND o.application_id = ? AND c.id = ?
		ON CONFLICT (`+o.column+`, channel_id) DO UPDATE SET
			subject = excluded.subject, text_body = excluded.text_body, html_body = excluded.html_body
		RETURNING id, channel_id, subject, text_body, html_body`,
		text.Subject, text.Text, text.HTML, o.id, o.app, text.Channel), channels.ErrNotFound)
	return row.template(), err
}
