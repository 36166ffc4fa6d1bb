package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// letterRow is everything of a letter but its occurrence, by the tables that it comes from.
type letterRow struct {
	Organization struct {
		ID   orgs.ID
		Slug string
		Name string
	} `gorm:"embedded;embeddedPrefix:organization_"`
	Project struct {
		ID   orgs.ProjectID
		Slug string
		Name string
	} `gorm:"embedded;embeddedPrefix:project_"`
	Application struct {
		ID     applications.ID
		Slug   string
		Name   string
		Active bool
	} `gorm:"embedded;embeddedPrefix:application_"`
	Event struct {
		ID          events.ID
		Slug        string
		Name        string
		Description string
		Active      bool
	} `gorm:"embedded;embeddedPrefix:event_"`
	Notification struct {
		ID     subscriptions.NotificationID
		Name   string
		ListID *lists.ID
		Active bool
	} `gorm:"embedded;embeddedPrefix:notification_"`
	Channel struct {
		ID        channels.ID
		ProjectID *orgs.ProjectID
		Name      string
		Protocol  channels.Protocol
		Driver    string
		Preferred bool
		Active    bool
	} `gorm:"embedded;embeddedPrefix:channel_"`
	Template templateRow `gorm:"embedded;embeddedPrefix:template_"`
}

func (r letterRow) letter(o events.Occurrence) deliveries.Letter {
	org, project, app := r.Organization.ID, r.Project.ID, r.Application.ID
	l := deliveries.Letter{Occurrence: o,
		Organization: orgs.Organization(r.Organization),
		Project:      orgs.Project{ID: project, Organization: org, Slug: r.Project.Slug, Name: r.Project.Name},
		Application: applications.Application{ID: app, Organization: org, Project: project, Slug: r.Application.Slug, Name: r.Application.Name,
			Active: r.Application.Active},
		Event: events.Event{ID: r.Event.ID, Organization: org, Application: app, Slug: r.Event.Slug, Name: r.Event.Name,
			Description: r.Event.Description, Active: r.Event.Active},
		Notification: subscriptions.Notification{ID: r.Notification.ID, Application: app, Event: r.Event.ID, Name: r.Notification.Name,
			List: orZero(r.Notification.ListID), Active: r.Notification.Active},
		Channel: channels.Channel{ID: r.Channel.ID, Organization: org, Project: orZero(r.Channel.ProjectID), Name: r.Channel.Name,
			Protocol: r.Channel.Protocol, Driver: r.Channel.Driver, Preferred: r.Channel.Preferred, Active: r.Channel.Active},
		Template: r.Template.template(),
	}
	return l
}

func (r deliveryRepo) Letter(
	ctx context.Context, o events.Occurrence, n subscriptions.NotificationID, t events.TemplateID,
) (deliveries.Letter, error) {
	row, err := one[letterRow](r.db(ctx).Raw(`
		SELECT org.id AS organization_id, org.slug AS organization_slug, org.name AS organization_name,
			p.id AS project_id, p.slug AS project_slug, p.name AS project_name,
			a.id AS application_id, a.slug AS application_slug, a.name AS application_name, a.active AS application_active,
			e.id AS event_id, e.slug AS event_slug, e.name AS event_name, e.description AS event_description, e.active AS event_active,
			n.id AS notification_id, n.name AS notification_name, n.list_id AS notification_list_id, n.active AS notification_active,
			c.id AS channel_id, c.project_id AS channel_project_id, c.name AS channel_name, c.protocol AS channel_protocol,
			c.driver AS channel_driver, c.preferred AS channel_preferred, c.active AS channel_active,
			t.id AS template_id, t.version AS template_version, t.channel_id AS template_channel_id, t.subject AS template_subject, t.text_body AS template_text_body,
			t.html_body AS template_html_body
		FROM notifications n JOIN events e ON e.id = n.event_id JOIN applications a ON a.id = e.application_id
		JOIN projects p ON p.id = a.project_id JOIN organizations org ON org.id = p.organization_id
		JOIN templates t ON t.notification_id = n.id OR t.event_id = e.id
		JOIN channels c ON c.id = t.channel_id
		WHERE n.id = ? AND e.id = ? AND a.id = ? AND org.id = ? AND t.id = ?`,
		n, o.Event, o.Application, o.Organization, t), deliveries.ErrNotFound)
	return row.letter(o), err
}
