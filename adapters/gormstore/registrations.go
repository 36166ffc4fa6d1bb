package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// registrationRow is the membership of a member in an application, with the application.
type registrationRow struct {
	ID                  applications.ID
	OrganizationID      orgs.ID
	ProjectID           orgs.ProjectID
	Slug                string
	Name                string
	ApplicationActive   bool
	Registered          bool
	CustomFields        string
	Active              bool
	EnableNotifications bool
	Locked              bool
}

func (r registrationRow) registration(m users.MemberID) (applications.Registration, error) {
	ms, err := knownMemberRow{ID: m, Locked: r.Locked, Registered: r.Registered, CustomFields: r.CustomFields, Active: r.Active,
		EnableNotifications: r.EnableNotifications}.membership(r.ID)
	return applications.Registration{Membership: ms, Registered: r.Registered, Application: applications.Application{ID: r.ID,
		Organization: r.OrganizationID, Project: r.ProjectID, Slug: r.Slug, Name: r.Name, Active: r.ApplicationActive}}, err
}

func (r applicationRepo) OfMember(
	ctx context.Context, org orgs.ID, m users.MemberID, limit int,
) ([]applications.Registration, error) {
	return decodeAll(r.db(ctx).Raw(`
		SELECT a.id, a.organization_id, a.project_id, a.slug, a.name, a.active AS application_active,
		       ms.id IS NOT NULL AS registered, ms.custom_fields, ms.active, ms.enable_notifications, l.member_id IS NOT NULL AS locked
		FROM (SELECT application_id FROM application_memberships WHERE member_id = ?
			UNION SELECT application_id FROM application_locks WHERE member_id = ?) AS known
		JOIN applications a ON a.id = known.application_id
		JOIN members m ON m.id = ? AND `+unindexed("m.organization_id")+` = a.organization_id
		LEFT JOIN application_memberships ms ON ms.member_id = m.id AND ms.application_id = a.id
		LEFT JOIN application_locks l ON l.member_id = m.id AND l.application_id = a.id
		WHERE a.organization_id = ? ORDER BY a.id LIMIT ?`, m, m, m, org, limit),
		func(row registrationRow) (applications.Registration, error) { return row.registration(m) })
}
