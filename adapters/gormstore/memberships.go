package gormstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

// An application's memberships and locks belong to applicationRepo too.

// membershipRow has JSON tags because memberships go to the database as a rowSet.
type membershipRow struct {
	ID                  int64          `json:"-"`
	MemberID            users.MemberID `json:"member_id"`
	CustomFields        string         `json:"custom_fields"`
	Active              bool           `json:"active"`
	EnableNotifications bool           `json:"enable_notifications"`
}

func newMembershipRow(ms applications.Membership) (membershipRow, error) {
	text, err := ms.CustomFields.Encode()
	return membershipRow{MemberID: ms.Member, CustomFields: string(text), Active: ms.Active, EnableNotifications: ms.EnableNotifications}, err
}

func (r membershipRow) membership(app applications.ID, locked bool) (applications.Membership, error) {
	fields, err := metadata.Decode([]byte(r.CustomFields))
	if err != nil {
		return applications.Membership{}, unreadable(err, "custom fields of member %d in application %d", r.MemberID, app)
	}
	return applications.Membership{Application: app, Member: r.MemberID, CustomFields: fields, Active: r.Active, Locked: locked,
		EnableNotifications: r.EnableNotifications}, nil
}

// knownMemberRow is a member with the membership in an application, if there is one.
type knownMemberRow struct {
	ID                  users.MemberID
	Locked              bool
	Registered          bool
	CustomFields        string
	Active              bool
	EnableNotifications bool
}

func (r knownMemberRow) membership(app applications.ID) (applications.Membership, error) {
	if !r.Registered {
		return applications.NewMembership(app, r.ID, r.Locked), nil
	}
	return membershipRow{MemberID: r.ID, CustomFields: r.CustomFields, Active: r.Active, EnableNotifications: r.EnableNotifications}.membership(app, r.Locked)
}

func (r applicationRepo) Memberships(
	ctx context.Context, a applications.Application, members []users.MemberID,
) ([]applications.Membership, []bool, error) {
	known, err := rowsOf[knownMemberRow](r.db(ctx).Raw(`
		SELECT m.id, EXISTS (SELECT 1 FROM application_locks l WHERE l.member_id = m.id AND l.application_id = ?) AS locked,
			ms.id IS NOT NULL AS registered, ms.custom_fields, ms.active, ms.enable_notifications
		FROM members m LEFT JOIN application_memberships ms ON ms.member_id = m.id AND ms.application_id = ?
		WHERE m.id ? AND `+unindexed("m.organization_id")+` = ?`, a.ID, a.ID, among(r.dialect, members), a.Organization))
	if err != nil {
		return nil, nil, err
	}
	of := make(map[users.MemberID]knownMemberRow, len(known))
	for _, row := range known {
		of[row.ID] = row
	}
	all, exist := make([]applications.Membership, len(members)), make([]bool, len(members))
	for i, m := range members {
		row, is := of[m]
		if !is {
			return nil, nil, users.ErrNotFound
		}
		if all[i], err = row.membership(a.ID); err != nil {
			return nil, nil, err
		}
		exist[i] = row.Registered
	}
	return all, exist, nil
}

func (r applicationRepo) SaveMemberships(ctx context.Context, a applications.Application, all []applications.Membership) error {
	if len(all) == 0 {
		return nil
	}
	rows := make([]membershipRow, len(all))
	for i, ms := range all {
		var err error
		if rows[i], err = newMembershipRow(ms); err != nil {
			return err
		}
	}
	slices.SortFunc(rows, func(a, b membershipRow) int { return cmp.Compare(a.MemberID, b.MemberID) }) // see ensure
	return changeAll(r.db(ctx), len(rows), users.ErrNotFound, `
		INSERT INTO application_memberships (application_id, member_id, custom_fields, active, enable_notifications)
		SELECT a.id, s.member_id, s.custom_fields, s.active, s.enable_notifications FROM (?) AS s CROSS JOIN applications a
		WHERE a.id = ? AND a.organization_id = ? AND a.organization_id = (SELECT m.organization_id FROM members m WHERE m.id = s.member_id)
		ON CONFLICT (member_id, application_id) DO UPDATE SET
			custom_fields = excluded.custom_fields, active = excluded.active, enable_notifications = excluded.enable_notifications`,
		rowSet(r.dialect, rows, "member_id bigint", "custom_fields text", "active boolean", "enable_notifications boolean"), a.ID, a.Organization)
}

func (r applicationRepo) SetLocked(ctx context.Context, a applications.Application, m users.MemberID, locked bool) error {
	if !locked {
		return r.db(ctx).Exec(`DELETE FROM application_locks WHERE application_id = ?
			AND member_id IN (SELECT id FROM members WHERE id = ? AND `+unindexed("organization_id")+` = ?)`, a.ID, m, a.Organization).Error
	}
	// An existing lock is updated too, so that no affected row means that there is no such member.
	return change(r.db(ctx), users.ErrNotFound, `
		INSERT INTO application_locks (application_id, member_id)
		SELECT a.id, m.id FROM applications a JOIN members m ON `+unindexed("m.organization_id")+` = a.organization_id
		WHERE a.id = ? AND a.organization_id = ? AND m.id = ?
		ON CONFLICT (member_id, application_id) DO UPDATE SET member_id = excluded.member_id`, a.ID, a.Organization, m)
}

func (r applicationRepo) Unregister(ctx context.Context, a applications.Application, m users.MemberID) (bool, error) {
	n, err := affected(r.db(ctx).Exec(`DELETE FROM application_memberships WHERE application_id = ?
		AND member_id IN (SELECT id FROM members WHERE id = ? AND `+unindexed("organization_id")+` = ?)`, a.ID, m, a.Organization))
	return n > 0, err
}
