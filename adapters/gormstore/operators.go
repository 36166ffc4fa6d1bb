package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// accountRow is what is kept of somebody who can sign in, beside the identity.
type accountRow struct {
	UserID         users.ID
	PasswordHash   operators.Hash
	Administrator  bool
	OrganizationID *orgs.ID
	FailedAttempts int
	LockedUntil    *time.Time
	ChangedAt      time.Time
}

func (accountRow) TableName() string { return "credentials" }

func (r accountRow) account(u userRow) operators.Account {
	return operators.Account{User: u.user(), Hash: r.PasswordHash, Administrator: r.Administrator, Organization: orZero(r.OrganizationID), Failures: r.FailedAttempts,
		LockedUntil: momentOf(r.LockedUntil), Changed: r.ChangedAt.UTC()}
}

// namedAccountRow is an account with its identity.
type namedAccountRow struct {
	User        userRow    `gorm:"embedded"`
	Credentials accountRow `gorm:"embedded"`
}

func (r namedAccountRow) account() operators.Account { return r.Credentials.account(r.User) }

const accountColumns = `u.id, u.username, u.email, u.first_name, u.last_name,
	c.user_id, c.password_hash, c.administrator, c.organization_id, c.failed_attempts, c.locked_until, c.changed_at`

type sessionRow struct {
	Digest        []byte
	UserID        users.ID
	CreatedAt     time.Time
	LastSeenAt    time.Time
	ExpiresAt     time.Time
	RemoteAddress string
}

func (sessionRow) TableName() string { return "sessions" }

func (r sessionRow) session() operators.Session {
	s := operators.Session{User: r.UserID, Created: r.CreatedAt.UTC(), Seen: r.LastSeenAt.UTC(), Expires: r.ExpiresAt.UTC(), Address: r.RemoteAddress}
	copy(s.Digest[:], r.Digest)
	return s
}

type operatorRepo struct{ tx }

func (r operatorRepo) Account(ctx context.Context, username string) (operators.Account, error) {
	row, err := one[namedAccountRow](r.accounts(ctx, "u.username_fold = ?", names.Fold(username)), operators.ErrNotFound)
	return row.account(), err
}

func (r operatorRepo) accounts(ctx context.Context, condition string, args ...any) *gorm.DB {
	return r.db(ctx).Raw("SELECT "+accountColumns+" FROM users u JOIN credentials c ON c.user_id = u.id WHERE "+condition, args...)
}

func (r operatorRepo) Save(ctx context.Context, a operators.Account) error {
	return change(r.db(ctx), users.ErrNotFound, `
		INSERT INTO credentials (user_id, password_hash, administrator, organization_id, failed_attempts, locked_until, changed_at)
		SELECT id, CAST(@hash AS TEXT), CAST(@administrator AS BOOLEAN), CAST(@organization AS BIGINT), CAST(@failures AS INTEGER), `+r.dialect.moment("@locked ")+`,
			`+r.dialect.moment("@changed ")+` FROM users WHERE id = @user
		ON CONFLICT (user_id) DO UPDATE SET password_hash = excluded.password_hash, administrator = excluded.administrator,
			organization_id = excluded.organization_id,
			failed_attempts = excluded.failed_attempts, locked_until = excluded.locked_until, changed_at = excluded.changed_at`,
		map[string]any{"hash": string(a.Hash), "administrator": a.Administrator, "organization": orNull(a.Organization), "failures": a.Failures, "locked": moment(a.LockedUntil),
			"changed": moment(a.Changed), "user": a.User.ID})
}

func (r operatorRepo) Places(ctx context.Context, u users.ID) ([]operators.Place, error) {
	type placeRow struct {
		ID     orgs.ID
		Slug   string
		Name   string
		Role   users.Role
		Locked bool
	}
	return all(r.db(ctx).Raw("SELECT o.id, o.slug, o.name, m.role, m.locked FROM members m JOIN organizations o ON o.id = m.organization_id"+
		" WHERE m.user_id = ? AND o."+notSystem+" ORDER BY o.id", u), func(p placeRow) operators.Place {
		return operators.Place{Organization: orgs.Organization{ID: p.ID, Slug: p.Slug, Name: p.Name}, Role: p.Role, Locked: p.Locked}
	})
}

func (r operatorRepo) Begin(ctx context.Context, s operators.Session) error {
	row := sessionRow{Digest: s.Digest[:], UserID: s.User, CreatedAt: stamp(s.Created), LastSeenAt: stamp(s.Seen),
		ExpiresAt: stamp(s.Expires), RemoteAddress: s.Address}
	return r.db(ctx).Create(&row).Error
}

func (r operatorRepo) Session(ctx context.Context, d operators.Digest) (operators.Session, operators.Account, error) {
	row, err := one[sessionRow](r.db(ctx).Where("digest = ?", d[:]), operators.ErrNoSession)
	if err != nil {
		return operators.Session{}, operators.Account{}, err
	}
	account, err := one[namedAccountRow](r.accounts(ctx, "u.id = ?", row.UserID), operators.ErrNoSession)
	return row.session(), account.account(), err
}

func (r operatorRepo) Saw(ctx context.Context, d operators.Digest, at time.Time) error {
	return r.db(ctx).Exec("UPDATE sessions SET last_seen_at = ? WHERE digest = ? AND last_seen_at < ?", moment(at), d[:], moment(at)).Error
}

func (r operatorRepo) End(ctx context.Context, d operators.Digest) error {
	return r.db(ctx).Exec("DELETE FROM sessions WHERE digest = ?", d[:]).Error
}

func (r operatorRepo) EndAll(ctx context.Context, u users.ID) (int, error) {
	return affected(r.db(ctx).Exec("DELETE FROM sessions WHERE user_id = ?", u))
}

func (r operatorRepo) EndOthers(ctx context.Context, u users.ID, keep operators.Digest) (int, error) {
	return affected(r.db(ctx).Exec("DELETE FROM sessions WHERE user_id = ? AND digest <> ?", u, keep[:]))
}

func (r operatorRepo) Sessions(ctx context.Context, u users.ID, limit int) ([]operators.Session, error) {
	return all(r.db(ctx).Where("user_id = ?", u).Order("last_seen_at DESC, digest").Limit(limit), sessionRow.session)
}

func (r operatorRepo) Sweep(ctx context.Context, now time.Time) error {
	if err := r.db(ctx).Exec("DELETE FROM sessions WHERE expires_at <= ?", moment(now)).Error; err != nil {
		return err
	}
	return r.db(ctx).Exec("DELETE FROM invitations WHERE expires_at <= ?", moment(now)).Error
}
