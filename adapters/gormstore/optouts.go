package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

type optOutRow struct {
	MemberID       users.MemberID
	NotificationID subscriptions.NotificationID
	AddressKey     string
}

func (optOutRow) TableName() string { return "opt_outs" }

type unsubscriptionRow struct {
	Organization string
	Application  string
	Notification string
	Out          bool
	Username     string

	OrganizationID   orgs.ID
	OrganizationSlug string
	ProjectSlug      string
	ApplicationSlug  string
}

// Unsubscription requires that the member and the notification belong to the same organization.
func (r deliveryRepo) Unsubscription(ctx context.Context, o deliveries.OptOut) (deliveries.Unsubscription, error) {
	row, err := one[unsubscriptionRow](r.db(ctx).Raw(`SELECT org.name AS organization, a.name AS application, n.name AS notification, m.username,
			org.id AS organization_id, org.slug AS organization_slug, p.slug AS project_slug, a.slug AS application_slug, EXISTS (SELECT 1 FROM opt_outs
			WHERE member_id = m.id AND notification_id = n.id AND address_key = @address ) AS out
		FROM members m JOIN organizations org ON org.id = m.organization_id
		JOIN applications a ON a.organization_id = org.id JOIN projects p ON p.id = a.project_id JOIN notifications n ON n.application_id = a.id
		WHERE m.id = @member AND n.id = @notification `, map[string]any{"address": o.AddressKey, "member": o.Member, "notification": o.Notification}),
		deliveries.ErrLinkOutdated)
	return deliveries.Unsubscription{OptOut: o, Organization: row.Organization, Application: row.Application, Notification: row.Notification,
		Out: row.Out, Username: row.Username, OrganizationID: row.OrganizationID,
		Place: access.Scope{Organization: row.OrganizationSlug, Project: row.ProjectSlug, Application: row.ApplicationSlug}}, err
}

// SetOptOut does nothing if the member or the notification is deleted.
func (r deliveryRepo) SetOptOut(ctx context.Context, o deliveries.OptOut, out bool) (changed bool, err error) {
	if !out {
		n, err := affected(r.db(ctx).Where("member_id = ? AND notification_id = ? AND address_key = ?", o.Member, o.Notification, o.AddressKey).
			Delete(&optOutRow{}))
		return n > 0, err
	}
	n, err := affected(r.db(ctx).Exec(`INSERT INTO opt_outs (member_id, notification_id, address_key, created_at)
		SELECT m.id, n.id, CAST(? AS TEXT), `+r.dialect.castTime("? ")+`
		FROM members m JOIN applications a ON a.organization_id = m.organization_id JOIN notifications n ON n.application_id = a.id
		WHERE m.id = ? AND n.id = ? ON CONFLICT DO NOTHING`, o.AddressKey, r.now(), o.Member, o.Notification))
	return n > 0, err
}
