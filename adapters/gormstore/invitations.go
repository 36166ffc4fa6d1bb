package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

type invitationRow struct {
	Digest        []byte
	MemberID      users.MemberID `gorm:"primaryKey;autoIncrement:false"`
	Installation  bool
	ResetsFactors bool
	ExpiresAt     time.Time
}

func (invitationRow) TableName() string { return "invitations" }

// invitedRow is an invitation with its recipient and address.
type invitedRow struct {
	Invitation invitationRow `gorm:"embedded"`
	UserID     users.ID
	Username   string
	PlaceID    orgs.ID
	PlaceSlug  string
	PlaceName  string
	Role       users.Role
	Locked     bool
}

func (r invitedRow) invited() operators.Invited {
	i := operators.Invited{
		Invitation: operators.Invitation{Member: r.Invitation.MemberID, Installation: r.Invitation.Installation, Resets: r.Invitation.ResetsFactors, Expires: r.Invitation.ExpiresAt.UTC()},
		User:       users.User{ID: r.UserID, Username: r.Username},
		Access: operators.OrganizationAccess{Organization: orgs.Organization{ID: r.PlaceID, Slug: r.PlaceSlug, Name: r.PlaceName},
			Role: r.Role, Locked: r.Locked},
	}
	copy(i.Digest[:], r.Invitation.Digest)
	return i
}

func (r operatorRepo) Invite(ctx context.Context, i operators.Invitation) error {
	return upsert(r.db(ctx), &invitationRow{Digest: i.Digest[:], MemberID: i.Member, Installation: i.Installation, ResetsFactors: i.Resets, ExpiresAt: stamp(i.Expires)})
}

func (r operatorRepo) Invitation(ctx context.Context, d operators.Digest) (operators.Invited, error) {
	row, err := one[invitedRow](r.db(ctx).Raw(`SELECT i.digest, i.member_id, i.installation, i.resets_factors, i.expires_at, u.id AS user_id, u.username,
			o.id AS place_id, o.slug AS place_slug, o.name AS place_name, m.role, m.locked
		FROM invitations i JOIN members m ON m.id = i.member_id JOIN users u ON u.id = m.user_id JOIN organizations o ON o.id = m.organization_id
		WHERE i.digest = ?`, d[:]), operators.ErrInvitation)
	return row.invited(), err
}

func (r operatorRepo) EndInvitations(ctx context.Context, u users.ID, to []orgs.ID) error {
	if len(to) == 0 {
		return nil
	}
	return r.db(ctx).Exec("DELETE FROM invitations WHERE member_id IN (SELECT id FROM members WHERE user_id = ? AND organization_id ?)",
		u, among(r.dialect, to)).Error
}

// grantedRoleRow is a member with a role and when it was accepted.
type grantedRoleRow struct {
	ID         users.MemberID
	Username   string
	Role       users.Role
	Locked     bool
	AcceptedAt *time.Time
	SeenAt     *time.Time
	Password   bool
	Codes      bool
	Passkey    bool
	SignOn     bool
}

func (r grantedRoleRow) grantedRole() operators.GrantedRole {
	return operators.GrantedRole{Member: r.ID, Username: r.Username, Role: r.Role, Locked: r.Locked, Accepted: timeOf(r.AcceptedAt),
		Seen: timeOf(r.SeenAt), Methods: operators.SignInMethods{Password: r.Password, Codes: r.Codes, Passkey: r.Passkey, SignOn: r.SignOn}}
}

func (r operatorRepo) GrantedRoles(ctx context.Context, org orgs.ID, after users.MemberID, limit int) ([]operators.GrantedRole, error) {
	return all(r.db(ctx).Raw(`SELECT m.id, m.username, m.role, m.locked, c.accepted_at, c.seen_at,
			COALESCE(a.password_hash, '') <> '' AS password,
			`+exists("SELECT 1 FROM totp_factors f WHERE f.account_id = c.account_id")+` AS codes,
			`+exists("SELECT 1 FROM passkeys f WHERE f.account_id = c.account_id")+` AS passkey,
			`+exists("SELECT 1 FROM identities f WHERE f.account_id = c.account_id")+` AS sign_on
		FROM members m LEFT JOIN acceptances c ON c.member_id = m.id LEFT JOIN accounts a ON a.id = c.account_id
		WHERE m.id `+r.dialect.amongThose("SELECT r.id FROM members r WHERE r.organization_id = ? AND r.role > '' AND r.role <> 'member'")+`
			AND m.id > ? ORDER BY m.id LIMIT ?`, org, after, limit), grantedRoleRow.grantedRole)
}
