package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

type accountRow struct {
	ID             operators.AccountID
	UserID         users.ID
	PasswordHash   operators.Hash
	Administrator  bool
	OrganizationID *orgs.ID
	ChangedAt      time.Time
	Language       string
}

func (accountRow) TableName() string { return "accounts" }

func newAccountRow(a operators.Account) accountRow {
	return accountRow{ID: a.ID, UserID: a.User.ID, PasswordHash: a.Hash, Administrator: a.Administrator, OrganizationID: orNull(a.Organization), ChangedAt: stamp(a.Changed),
		Language: a.Language}
}

// accountPlaceRow is an account with its user and one of the organizations where it has a role, if
// any.
type accountPlaceRow struct {
	Account   accountRow `gorm:"embedded"`
	Username  string
	Issuer    string
	PlaceID   *orgs.ID
	PlaceSlug string
	PlaceName string
	Requires  bool
	Role      users.Role
	Locked    bool
	SeenAt    *time.Time
}

func (r accountPlaceRow) account() operators.Account {
	return operators.Account{ID: r.Account.ID, User: users.User{ID: r.Account.UserID, Username: r.Username}, Hash: r.Account.PasswordHash,
		Administrator: r.Account.Administrator, Organization: orZero(r.Account.OrganizationID), Changed: r.Account.ChangedAt.UTC(), Issuer: r.Issuer,
		Language: r.Account.Language}
}

func (r accountPlaceRow) place() operators.OrganizationAccess {
	return operators.OrganizationAccess{Organization: orgs.Organization{ID: orZero(r.PlaceID), Slug: r.PlaceSlug, Name: r.PlaceName, RequiresFactor: r.Requires}, Role: r.Role, Locked: r.Locked,
		Seen: timeOf(r.SeenAt)}
}

// operatorRepo uses several tables: this file has the accounts, other files the rest.
type operatorRepo struct{ tx }

func (r operatorRepo) Account(ctx context.Context, id operators.AccountID) (operators.AccountAccess, error) {
	found, err := r.accountsWhere(ctx, "a.id = ?", id)
	if err != nil || len(found) == 0 {
		return operators.AccountAccess{}, orMissing(err, operators.ErrNotFound)
	}
	return found[0], nil
}

func (r operatorRepo) Accounts(ctx context.Context, username string) ([]operators.AccountAccess, error) {
	return r.accountsWhere(ctx, "u.username_fold = ?", names.Fold(username))
}

// accountsWhere reads accounts that meet a condition, with their organizations, in one statement.
func (r operatorRepo) accountsWhere(ctx context.Context, condition string, arg any) (all []operators.AccountAccess, err error) {
	rows, err := rowsOf[accountPlaceRow](r.db(ctx).Raw(`
		SELECT a.id, a.user_id, a.password_hash, a.administrator, a.organization_id, a.changed_at, a.language, u.username,
			COALESCE((SELECT i.issuer FROM identities i WHERE i.account_id = a.id), '') AS issuer,
			o.id AS place_id, COALESCE(o.slug, '') AS place_slug, COALESCE(o.name, '') AS place_name, COALESCE(o.requires_factor, FALSE) AS requires,
			COALESCE(m.role, '') AS role, COALESCE(m.locked, FALSE) AS locked, c.seen_at
		FROM users u JOIN accounts a ON a.user_id = u.id LEFT JOIN acceptances c ON c.account_id = a.id
			LEFT JOIN members m ON m.id = c.member_id LEFT JOIN organizations o ON o.id = m.organization_id
		WHERE `+condition+` ORDER BY a.id, o.id`, arg))
	for _, row := range rows {
		if len(all) == 0 || all[len(all)-1].ID != row.Account.ID {
			all = append(all, operators.AccountAccess{Account: row.account()})
		}
		if row.PlaceID != nil {
			last := &all[len(all)-1]
			last.Organizations = append(last.Organizations, row.place())
		}
	}
	return all, err
}

func (r operatorRepo) Save(ctx context.Context, a operators.Account) (operators.AccountID, error) {
	row := newAccountRow(a)
	if a.ID != 0 {
		return a.ID, changed(r.db(ctx).Select("PasswordHash", "Administrator", "OrganizationID", "ChangedAt", "Language").Updates(&row), operators.ErrNotFound)
	}
	if err := r.LockUser(ctx, a.User.ID); err != nil { // It returns ErrNotFound for a missing user.
		return 0, err
	}
	err := r.db(ctx).Create(&row).Error
	return row.ID, err
}

func (r operatorRepo) DeleteAccount(ctx context.Context, id operators.AccountID) error {
	return r.db(ctx).Where("id = ?", id).Delete(&accountRow{}).Error
}

// acceptanceRow is the account that accepted a role, without the time when it was last seen.
type acceptanceRow struct {
	MemberID   users.MemberID
	AccountID  operators.AccountID
	AcceptedAt time.Time
}

func (acceptanceRow) TableName() string { return "acceptances" }

func (r operatorRepo) Accept(ctx context.Context, m users.MemberID, a operators.AccountID, at time.Time) error {
	seen := clause.Assignments(map[string]any{"seen_at": gorm.Expr("CASE WHEN acceptances.account_id = excluded.account_id THEN acceptances.seen_at END")})
	return r.db(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "member_id"}},
		DoUpdates: append(clause.AssignmentColumns([]string{"account_id", "accepted_at"}), seen...)}).
		Create(&acceptanceRow{MemberID: m, AccountID: a, AcceptedAt: stamp(at)}).Error
}

func (r operatorRepo) RecordVisit(ctx context.Context, a operators.AccountID, org orgs.ID, at time.Time) error {
	return r.db(ctx).Exec(`UPDATE acceptances SET seen_at = ? WHERE account_id = ? AND (seen_at IS NULL OR seen_at < ?)
		AND EXISTS (SELECT 1 FROM members m WHERE m.id = acceptances.member_id AND m.organization_id = ?)`, stamp(at), a, stamp(at), org).Error
}

func (r operatorRepo) Acceptance(ctx context.Context, m users.MemberID) (operators.Acceptance, error) {
	rows, err := rowsOf[acceptanceRow](r.db(ctx).Where("member_id = ?", m))
	if err != nil || len(rows) == 0 {
		return operators.Acceptance{}, err
	}
	return operators.Acceptance{Account: rows[0].AccountID, At: rows[0].AcceptedAt.UTC()}, nil
}

// LockUser locks the row of the user by an update that changes nothing, so that of two concurrent
// units Postgres rejects one.
func (r operatorRepo) LockUser(ctx context.Context, u users.ID) error {
	return changed(r.db(ctx).Table("users").Where("id = ?", u).Update("username", gorm.Expr("username")), users.ErrNotFound)
}

// orMissing returns missing when nothing was found.
func orMissing(err, missing error) error {
	if err != nil {
		return err
	}
	return missing
}
