package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

// An application's memberships and locks belong to applicationRepo, too.

type membershipRow struct {
	Registered          bool
	CustomFields        string
	Active              bool
	EnableNotifications bool
	Locked              bool
}

func (r membershipRow) membership(app applications.ID, m users.MemberID) (applications.Membership, error) {
	if !r.Registered {
		return applications.NewMembership(app, m, r.Locked), nil
	}
	fields, err := metadata.Decode([]byte(r.CustomFields))
	if err != nil {
		return applications.Membership{}, unreadable(err, "custom fields of member %d in application %d", m, app)
	}
	return applications.Membership{Application: app, Member: m, CustomFields: fields, Active: r.Active, Locked: r.Locked,
		EnableNotifications: r.EnableNotifications}, nil
}

func (r applicationRepo) Membership(
	ctx context.Context, a applications.Application, m users.MemberID,
) (applications.Membership, bool, error) {
	row, err := one[membershipRow](r.db(ctx).Raw(`
		SELECT ms.id IS NOT NULL AS registered, ms.custom_fields, ms.active, ms.enable_notifications,
		       l.member_id IS NOT NULL AS locked
		FROM members m
		LEFT JOIN application_memberships ms ON ms.member_id = m.id AND ms.application_id = ?
		LEFT JOIN application_locks l ON l.member_id = m.id AND l.application_id = ?
		WHERE m.id = ? AND m.organization_id = ?`, a.ID, a.ID, m, a.Organization), users.ErrNotFound)
	if err != nil {
		return applications.Membership{}, false, err
	}
	ms, err := row.membership(a.ID, m)
	return ms, row.Registered, err
}

func (r applicationRepo) SaveMembership(ctx context.Context, a applications.Application, ms applications.Membership) error {
	text, err := ms.CustomFields.Encode()
	if err != nil {
		return err
	}
	return change(r.db(ctx), users.ErrNotFound, `
		INSERT INTO application_memberships (application_id, member_id, custom_fields, active, enable_notifications)
		SELECT a.id, m.id, CAST(? AS TEXT), CAST(? AS BOOLEAN), CAST(? AS BOOLEAN)
		FROM applications a JOIN members m ON m.organization_id = a.organization_id
		WHERE a.id = ? AND a.organization_id = ? AND m.id = ?
		ON CONFLICT (member_id, application_id) DO UPDATE SET
			custom_fields = excluded.custom_fields, active = excluded.active, enable_notifications = excluded.enable_notifications`,
		string(text), ms.Active, ms.EnableNotifications, a.ID, a.Organization, ms.Member)
}

func (r applicationRepo) SetLocked(ctx context.Context, a applications.Application, m users.MemberID, locked bool) error {
	if !locked {
		return r.db(ctx).Exec(`DELETE FROM application_locks WHERE application_id = ?
			AND member_id IN (SELECT id FROM members WHERE id = ? AND organization_id = ?)`, a.ID, m, a.Organization).Error
	}
	// An existing lock is written again, so that "no row" means "no such member".
	return change(r.db(ctx), users.ErrNotFound, `
		INSERT INTO application_locks (application_id, member_id)
		SELECT a.id, m.id FROM applications a JOIN members m ON m.organization_id = a.organization_id
		WHERE a.id = ? AND a.organization_id = ? AND m.id = ?
		ON CONFLICT (member_id, application_id) DO UPDATE SET member_id = excluded.member_id`, a.ID, a.Organization, m)
}

func (r applicationRepo) Unregister(ctx context.Context, a applications.Application, m users.MemberID) (bool, error) {
	res := r.db(ctx).Exec(`DELETE FROM application_memberships WHERE application_id = ?
		AND member_id IN (SELECT id FROM members WHERE id = ? AND organization_id = ?)`, a.ID, m, a.Organization)
	return res.RowsAffected > 0, res.Error
}
