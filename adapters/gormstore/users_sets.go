package gormstore

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// These methods of userRepo are about sets of members.

func idOf(m users.Member) users.MemberID { return m.ID }

func (r userRepo) SetLocked(ctx context.Context, ms ...users.Member) error {
	of := map[bool][]users.Member{}
	for _, m := range ms {
		of[m.Locked] = append(of[m.Locked], m)
	}
	for locked, some := range of {
		err := changeAll(r.db(ctx), len(some), users.ErrNotFound, "UPDATE members SET locked = ? WHERE id ? AND "+unindexed("organization_id")+" = ?",
			locked, among(r.dialect, mapped(some, idOf)), some[0].Organization)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r userRepo) Link(ctx context.Context, g orgs.Group, ms []users.MemberID) ([]users.MemberID, error) {
	return r.memberIDs(ctx, `INSERT INTO member_group_links (member_id, group_id)
		SELECT m.id, g.id FROM members m CROSS JOIN member_groups g
		WHERE m.id ? AND `+unindexed("m.organization_id")+` = g.organization_id AND g.id = ? AND g.organization_id = ?
		ON CONFLICT DO NOTHING RETURNING member_id`, among(r.dialect, ms), g.ID, g.Organization)
}

func (r userRepo) Unlink(ctx context.Context, g orgs.Group, ms []users.MemberID) ([]users.MemberID, error) {
	return r.memberIDs(ctx, `DELETE FROM member_group_links WHERE member_id ?
		AND group_id IN (SELECT id FROM member_groups WHERE id = ? AND organization_id = ?) RETURNING member_id`,
		among(r.dialect, ms), g.ID, g.Organization)
}

// memberIDs returns the ids that a statement returns, sorted.
func (r userRepo) memberIDs(ctx context.Context, sql string, args ...any) ([]users.MemberID, error) {
	ids, err := rowsOf[users.MemberID](r.db(ctx).Raw(sql, args...))
	slices.Sort(ids)
	return ids, err
}

func (r userRepo) Used(ctx context.Context, org orgs.ID, ms []users.MemberID) ([]users.MemberID, error) {
	return rowsOf[users.MemberID](r.db(ctx).Raw(`SELECT m.id FROM members m WHERE m.id ? AND `+unindexed("m.organization_id")+` = ? AND (
		EXISTS (SELECT 1 FROM addresses a JOIN assignments s ON s.address_id = a.id WHERE a.organization_id = m.organization_id AND a.member_id = m.id)
		OR EXISTS (SELECT 1 FROM application_memberships o WHERE o.member_id = m.id) OR EXISTS (SELECT 1 FROM application_locks o WHERE o.member_id = m.id)
		OR EXISTS (SELECT 1 FROM opt_outs o WHERE o.member_id = m.id) OR EXISTS (SELECT 1 FROM acceptances o WHERE o.member_id = m.id)
		OR EXISTS (SELECT 1 FROM invitations o WHERE o.member_id = m.id) OR EXISTS (SELECT 1 FROM deliveries o WHERE o.member_id = m.id)) ORDER BY m.id`,
		among(r.dialect, ms), org))
}

// Remove leaves the rows that refer to members to the foreign keys. It updates the rows of the
// users first. So, if two organizations remove the same user at once, Postgres rejects one unit; it
// is retried and deletes the user with its last membership. Otherwise neither unit would delete the
// user.
func (r userRepo) Remove(ctx context.Context, ms ...users.Member) error {
	if len(ms) == 0 {
		return nil
	}
	set := among(r.dialect, mapped(ms, idOf))
	var identities []users.ID
	err := r.db(ctx).Raw(`UPDATE users SET username = username WHERE id IN (`+identitiesOfMembers+`) RETURNING id`, set, ms[0].Organization).Scan(&identities).Error
	if err != nil {
		return err
	}
	err = r.skipRemoved(ctx, "member_id IN (SELECT id FROM members WHERE id @members AND "+unindexed("organization_id")+" = @organization )",
		map[string]any{"members": set, "organization": ms[0].Organization})
	if err != nil {
		return err
	}
	err = changeAll(r.db(ctx), len(ms), users.ErrNotFound, "DELETE FROM members WHERE id ? AND "+unindexed("organization_id")+" = ?",
		set, ms[0].Organization)
	if err != nil {
		return err
	}
	return r.db(ctx).Exec(`DELETE FROM users WHERE id ?
		AND NOT EXISTS (SELECT 1 FROM members WHERE members.user_id = users.id)
		AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.user_id = users.id)`, among(r.dialect, identities)).Error
}

// identitiesOfMembers selects the users of members, sorted, so that concurrent units do not
// deadlock.
const identitiesOfMembers = `SELECT user_id FROM members WHERE id ? AND organization_id + 0 = ? ORDER BY user_id`
