package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/signon"
)

// identityRow links an identity of a provider to an account.
type identityRow struct {
	AccountID  operators.AccountID
	Issuer     string
	Subject    string
	LinkedAt   time.Time
	LastUsedAt *time.Time
}

func (identityRow) TableName() string { return "identities" }

func (r identityRow) link() signon.Link {
	return signon.Link{Subject: signon.Subject{Issuer: r.Issuer, ID: r.Subject}, Account: r.AccountID, Linked: r.LinkedAt.UTC(), Used: timeOf(r.LastUsedAt)}
}

// providerSessionRow links a session to the session of the provider that started it.
type providerSessionRow struct {
	Digest          []byte
	Issuer          string
	Subject         string
	ProviderSession string
}

func (providerSessionRow) TableName() string { return "provider_sessions" }

// logoutTokenRow is a logout token that was used.
type logoutTokenRow struct {
	ExpiresAt time.Time
	Digest    []byte
}

func (logoutTokenRow) TableName() string { return "logout_tokens" }

func (r providerSessionRow) session() signon.Session {
	s := signon.Session{Subject: signon.Subject{Issuer: r.Issuer, ID: r.Subject}, Provider: r.ProviderSession}
	copy(s.Digest[:], r.Digest)
	return s
}

type signonRepo struct{ tx }

func (r signonRepo) Link(ctx context.Context, s signon.Subject) (signon.Link, error) {
	row, err := one[identityRow](r.db(ctx).Where("issuer = ? AND subject = ?", s.Issuer, s.ID), signon.ErrNotFound)
	return row.link(), err
}

func (r signonRepo) Of(ctx context.Context, a operators.AccountID) (signon.Link, error) {
	row, err := one[identityRow](r.db(ctx).Where("account_id = ?", a), signon.ErrNotFound)
	return row.link(), err
}

func (r signonRepo) SaveLink(ctx context.Context, l signon.Link) error {
	if err := r.db(ctx).Where("account_id = ?", l.Account).Delete(&identityRow{}).Error; err != nil {
		return err
	}
	row := identityRow{AccountID: l.Account, Issuer: l.Issuer, Subject: l.ID, LinkedAt: stamp(l.Linked), LastUsedAt: nullTime(l.Used)}
	return insertNew(r.db(ctx), &row, signon.ErrLinked)
}

func (r signonRepo) Unlink(ctx context.Context, a operators.AccountID) error {
	return changed(r.db(ctx).Where("account_id = ?", a).Delete(&identityRow{}), signon.ErrNotFound)
}

func (r signonRepo) RecordUse(ctx context.Context, s signon.Subject, at time.Time) error {
	return changed(r.db(ctx).Model(&identityRow{}).Where("issuer = ? AND subject = ?", s.Issuer, s.ID).Update("last_used_at", stamp(at)), signon.ErrNotFound)
}

func (r signonRepo) SaveSession(ctx context.Context, s signon.Session) error {
	if err := r.db(ctx).Where("digest = ?", s.Digest[:]).Delete(&providerSessionRow{}).Error; err != nil {
		return err
	}
	return r.db(ctx).Create(&providerSessionRow{Digest: s.Digest[:], Issuer: s.Issuer, Subject: s.ID, ProviderSession: s.Provider}).Error
}

func (r signonRepo) Sessions(ctx context.Context, l signon.Logout, limit int) ([]signon.Session, error) {
	found := r.db(ctx).Where("issuer = ?", l.Issuer)
	if l.Subject != "" {
		found = found.Where("subject = ?", l.Subject)
	}
	if l.Session != "" {
		found = found.Where("provider_session = ?", l.Session)
	}
	if l.Subject == "" && l.Session == "" {
		return nil, nil
	}
	return all(found.Order("digest").Limit(limit), providerSessionRow.session)
}

func (r signonRepo) EndSessions(ctx context.Context, a operators.AccountID) (int, error) {
	return affected(r.db(ctx).Exec("DELETE FROM sessions WHERE account_id = ? AND digest IN (SELECT digest FROM provider_sessions)", a))
}

func (r signonRepo) UseToken(ctx context.Context, l signon.Logout, now time.Time) error {
	if err := r.db(ctx).Exec("DELETE FROM logout_tokens WHERE expires_at <= ?", stamp(now)).Error; err != nil {
		return err
	}
	digest := l.Digest()
	return insertNew(r.db(ctx), &logoutTokenRow{Digest: digest[:], ExpiresAt: stamp(l.Expires)}, signon.ErrReplayed)
}
