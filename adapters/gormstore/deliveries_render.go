package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// renderInputRow is a deliveries.RenderInput without its occurrence, by source table.
type renderInputRow struct {
	Organization organizationRow `gorm:"embedded;embeddedPrefix:organization_"`
	Project      projectRow      `gorm:"embedded;embeddedPrefix:project_"`
	Application  applicationRow  `gorm:"embedded;embeddedPrefix:application_"`
	Event        eventRow        `gorm:"embedded;embeddedPrefix:event_"`
	Notification notificationRow `gorm:"embedded;embeddedPrefix:notification_"`
	Channel      channelRow      `gorm:"embedded;embeddedPrefix:channel_"`
	Template     templateRow     `gorm:"embedded;embeddedPrefix:template_"`
	Partials     bool            // whether the template uses some
}

func (r renderInputRow) input(o events.Occurrence) deliveries.RenderInput {
	organization := orgs.Organization{ID: r.Organization.ID, Slug: r.Organization.Slug, Name: r.Organization.Name}
	return deliveries.RenderInput{Occurrence: o, Organization: organization, Project: r.Project.project(), Application: r.Application.application(),
		Event: r.Event.event(r.Organization.ID), Notification: r.Notification.notification(), Channel: r.Channel.channel(), Template: r.Template.template()}
}

func (r deliveryRepo) RenderInput(
	ctx context.Context, o events.Occurrence, n subscriptions.NotificationID, t events.TemplateID,
) (deliveries.RenderInput, error) {
	row, err := one[renderInputRow](r.db(ctx).Raw(`
		SELECT `+prefixedColumns("organization_", "org", "id", "slug", "name")+", "+prefixedColumns("project_", "p", "id", "organization_id", "slug", "name")+`,
			`+applicationColumns("a")+", "+prefixedColumns("event_", "e", "id", "application_id", "slug", "name", "description", "active")+`,
			`+notificationColumns()+", "+
		prefixedColumns("channel_", "c", "id", "organization_id", "project_id", "name", "protocol", "driver", "preferred", "active")+`,
			`+prefixedColumns("template_", "t", templateColumns...)+`,
			EXISTS (SELECT 1 FROM template_partials tp WHERE tp.template_id = t.id) AS partials
		FROM notifications n JOIN events e ON e.id = n.event_id JOIN applications a ON a.id = e.application_id
		JOIN projects p ON p.id = a.project_id JOIN organizations org ON org.id = p.organization_id
		JOIN templates t ON t.notification_id = n.id OR t.event_id = e.id
		JOIN channels c ON c.id = t.channel_id
		WHERE n.id = ? AND e.id = ? AND a.id = ? AND org.id = ? AND t.id = ?`,
		n, o.Event, o.Application, o.Organization, t), deliveries.ErrNotFound)
	in := row.input(o)
	if err == nil && row.Partials {
		in.Partials, err = r.partialsOf(ctx, o.Organization, t)
	}
	return in, err
}
