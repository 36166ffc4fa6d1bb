package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
)

type sessionRow struct {
	Digest          []byte
	AccountID       operators.AccountID
	CreatedAt       time.Time
	AuthenticatedAt time.Time
	Method          operators.Method
	LastSeenAt      time.Time
	ExpiresAt       time.Time
	RemoteAddress   string
	Device          []byte
}

func (sessionRow) TableName() string { return "sessions" }

func (r sessionRow) session() operators.Session {
	s := operators.Session{Account: r.AccountID, Created: r.CreatedAt.UTC(), Authenticated: r.AuthenticatedAt.UTC(), Method: r.Method,
		Seen: r.LastSeenAt.UTC(), Expires: r.ExpiresAt.UTC(), Address: r.RemoteAddress}
	copy(s.Digest[:], r.Digest)
	copy(s.Device[:], r.Device)
	return s
}

func (r operatorRepo) Begin(ctx context.Context, s operators.Session) error {
	row := sessionRow{Digest: s.Digest[:], AccountID: s.Account, CreatedAt: stamp(s.Created), AuthenticatedAt: stamp(s.Authenticated), Method: s.Method,
		LastSeenAt: stamp(s.Seen), ExpiresAt: stamp(s.Expires), RemoteAddress: s.Address, Device: s.Device[:]}
	return r.db(ctx).Create(&row).Error
}

func (r operatorRepo) Session(ctx context.Context, d operators.Digest) (operators.Session, operators.AccountAccess, error) {
	row, err := one[sessionRow](r.db(ctx).Where("digest = ?", d[:]), operators.ErrNoSession)
	if err != nil {
		return operators.Session{}, operators.AccountAccess{}, err
	}
	account, err := r.Account(ctx, row.AccountID)
	if errors.Is(err, operators.ErrNotFound) {
		err = operators.ErrNoSession
	}
	return row.session(), account, err
}

func (r operatorRepo) Touch(ctx context.Context, d operators.Digest, at time.Time) error {
	return r.db(ctx).Model(&sessionRow{}).Where("digest = ? AND last_seen_at < ?", d[:], stamp(at)).Update("last_seen_at", stamp(at)).Error
}

func (r operatorRepo) Authenticated(ctx context.Context, d operators.Digest, m operators.Method, at time.Time) error {
	return r.db(ctx).Model(&sessionRow{}).Where("digest = ?", d[:]).Updates(map[string]any{"authenticated_at": stamp(at), "method": m}).Error
}

func (r operatorRepo) End(ctx context.Context, d operators.Digest) error {
	return r.db(ctx).Where("digest = ?", d[:]).Delete(&sessionRow{}).Error
}

func (r operatorRepo) EndAll(ctx context.Context, a operators.AccountID) (int, error) {
	return affected(r.db(ctx).Where("account_id = ?", a).Delete(&sessionRow{}))
}

func (r operatorRepo) EndOthers(ctx context.Context, a operators.AccountID, keep operators.Digest) (int, error) {
	return affected(r.db(ctx).Where("account_id = ? AND digest <> ?", a, keep[:]).Delete(&sessionRow{}))
}

func (r operatorRepo) Sessions(ctx context.Context, a operators.AccountID, limit int) ([]operators.Session, error) {
	return all(r.db(ctx).Where("account_id = ?", a).Order("last_seen_at DESC, digest").Limit(limit), sessionRow.session)
}

func (r operatorRepo) Sweep(ctx context.Context, now time.Time) error {
	for _, table := range []string{"sessions", "invitations", "devices"} {
		if err := r.db(ctx).Exec("DELETE FROM "+table+" WHERE expires_at <= ?", stamp(now)).Error; err != nil {
			return err
		}
	}
	return nil
}
