package gormstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
)

// totpRow is an authenticator app. Its secret is sealed for this account.
type totpRow struct {
	AccountID  operators.AccountID
	Secret     string
	LastPeriod int64
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

func (totpRow) TableName() string { return "totp_factors" }

// sealContext returns what the encrypted secret is bound to. A secret that is copied to the row of
// another account cannot be decrypted.
func (r totpRow) sealContext() string {
	return fmt.Sprintf("authenticator app of account %d", r.AccountID)
}

type recoveryRow struct {
	AccountID operators.AccountID
	Digest    []byte
}

func (recoveryRow) TableName() string { return "recovery_codes" }

type passkeyRow struct {
	ID           factors.PasskeyID
	AccountID    operators.AccountID
	Handle       []byte
	CredentialID []byte
	Name         string
	Record       string
	Blocked      bool
	CreatedAt    time.Time
	LastUsedAt   *time.Time
}

func (passkeyRow) TableName() string { return "passkeys" }

func (r passkeyRow) passkey() factors.Passkey {
	return factors.Passkey{ID: r.ID, Account: r.AccountID, Handle: r.Handle, Credential: r.CredentialID, Name: r.Name, Record: []byte(r.Record),
		Blocked: r.Blocked, Created: r.CreatedAt.UTC(), Used: timeOf(r.LastUsedAt)}
}

// stepRow is a step. Its held data is sealed for this token.
type stepRow struct {
	Digest    []byte
	Purpose   factors.Purpose
	AccountID *operators.AccountID
	Held      string
	ExpiresAt time.Time
}

func (stepRow) TableName() string { return "sign_in_steps" }

func (r stepRow) sealContext() string { return fmt.Sprintf("sign-in step %x", r.Digest) }

type factorRepo struct{ tx }

func (r factorRepo) Enabled(ctx context.Context, a operators.AccountID) (factors.Enabled, error) {
	type heldRow struct {
		TOTP     bool
		Passkeys int
		Recovery int
	}
	row, err := one[heldRow](r.db(ctx).Raw(`
		SELECT EXISTS (SELECT 1 FROM totp_factors WHERE account_id = @account) AS totp,
			(SELECT COUNT(*) FROM passkeys WHERE account_id = @account) AS passkeys,
			(SELECT COUNT(*) FROM recovery_codes WHERE account_id = @account) AS recovery`, map[string]any{"account": a}), factors.ErrNotFound)
	return factors.Enabled(row), err
}

func (r factorRepo) TOTP(ctx context.Context, a operators.AccountID) (factors.TOTP, error) {
	row, err := one[totpRow](r.db(ctx).Where("account_id = ?", a), factors.ErrNotFound)
	if err != nil {
		return factors.TOTP{}, err
	}
	secret, err := r.secret(row)
	return factors.TOTP{Account: row.AccountID, Secret: secret, Last: row.LastPeriod, Created: row.CreatedAt.UTC(), Used: timeOf(row.LastUsedAt)}, err
}

func (r factorRepo) SaveTOTP(ctx context.Context, t factors.TOTP) error {
	row := totpRow{AccountID: t.Account, LastPeriod: t.Last, CreatedAt: stamp(t.Created), LastUsedAt: nullTime(t.Used)}
	if err := r.sealSecret(&row, t.Secret); err != nil {
		return err
	}
	if err := r.db(ctx).Where("account_id = ?", t.Account).Delete(&totpRow{}).Error; err != nil {
		return err
	}
	return r.db(ctx).Create(&row).Error
}

func (r factorRepo) UseTOTP(ctx context.Context, t factors.TOTP) error {
	return changed(r.db(ctx).Model(&totpRow{}).Where("account_id = ?", t.Account).
		Updates(map[string]any{"last_period": t.Last, "last_used_at": nullTime(t.Used)}), factors.ErrNotFound)
}

func (r factorRepo) RemoveTOTP(ctx context.Context, a operators.AccountID) error {
	return changed(r.db(ctx).Where("account_id = ?", a).Delete(&totpRow{}), factors.ErrNotFound)
}

func (r factorRepo) StaleTOTP(ctx context.Context, after operators.AccountID, limit int) ([]factors.Stale, error) {
	current, err := r.keys.Prefix()
	if err != nil {
		return nil, errNoFactorKey
	}
	type staleTOTPRow struct {
		AccountID operators.AccountID
		Username  string
		Secret    string // the beginning
	}
	return all(r.db(ctx).Raw(`
		SELECT f.account_id, u.username, substr(f.secret, 1, 64) AS secret
		FROM totp_factors f JOIN accounts a ON a.id = f.account_id JOIN users u ON u.id = a.user_id
		WHERE f.account_id > ? AND substr(f.secret, 1, ?) <> ? ORDER BY f.account_id LIMIT ?`, after, len(current), current, limit),
		func(row staleTOTPRow) factors.Stale {
			return factors.Stale{Account: row.AccountID, Username: row.Username, Key: seal.KeyID(row.Secret)}
		})
}

func (r factorRepo) ReencryptTOTP(ctx context.Context, a operators.AccountID) (bool, error) {
	current, err := r.keys.Prefix()
	if err != nil {
		return false, errNoFactorKey
	}
	row, err := one[totpRow](r.db(ctx).Where("account_id = ?", a), factors.ErrNotFound)
	if err != nil || strings.HasPrefix(row.Secret, current) {
		return false, err
	}
	secret, err := r.secret(row)
	if err != nil {
		return false, err
	}
	if err := r.sealSecret(&row, secret); err != nil {
		return false, err
	}
	return true, changed(r.db(ctx).Model(&totpRow{}).Where("account_id = ?", a).Update("secret", row.Secret), factors.ErrNotFound)
}

func (r factorRepo) SetRecoveryCodes(ctx context.Context, a operators.AccountID, ds []operators.Digest) error {
	if err := r.db(ctx).Exec("DELETE FROM recovery_codes WHERE account_id = ?", a).Error; err != nil || len(ds) == 0 {
		return err
	}
	return r.db(ctx).Create(mapped(ds, func(d operators.Digest) recoveryRow { return recoveryRow{AccountID: a, Digest: d[:]} })).Error
}

func (r factorRepo) UseRecoveryCode(ctx context.Context, a operators.AccountID, d operators.Digest) error {
	return changed(r.db(ctx).Where("account_id = ? AND digest = ?", a, d[:]).Delete(&recoveryRow{}), factors.ErrNotFound)
}

func (r factorRepo) Passkeys(ctx context.Context, a operators.AccountID) ([]factors.Passkey, error) {
	return all(r.db(ctx).Where("account_id = ?", a).Order("id").Limit(factors.MaxPasskeys), passkeyRow.passkey)
}

func (r factorRepo) Passkey(ctx context.Context, credential []byte) (factors.Passkey, error) {
	row, err := one[passkeyRow](r.db(ctx).Where("credential_id = ?", credential), factors.ErrNotFound)
	return row.passkey(), err
}

func (r factorRepo) AddPasskey(ctx context.Context, p factors.Passkey) (factors.Passkey, error) {
	row := passkeyRow{AccountID: p.Account, Handle: p.Handle, CredentialID: p.Credential, Name: p.Name, Record: string(p.Record), Blocked: p.Blocked,
		CreatedAt: stamp(p.Created), LastUsedAt: nullTime(p.Used)}
	err := insertNew(r.db(ctx), &row, factors.ErrExists)
	p.ID = row.ID
	return p, err
}

func (r factorRepo) UsePasskey(ctx context.Context, p factors.Passkey) error {
	return changed(r.db(ctx).Model(&passkeyRow{}).Where("id = ? AND account_id = ?", p.ID, p.Account).
		Updates(map[string]any{"record": string(p.Record), "blocked": p.Blocked, "last_used_at": nullTime(p.Used)}), factors.ErrNotFound)
}

func (r factorRepo) RenamePasskey(ctx context.Context, a operators.AccountID, id factors.PasskeyID, name string) error {
	return changed(r.db(ctx).Model(&passkeyRow{}).Where("id = ? AND account_id = ?", id, a).Update("name", name), factors.ErrNotFound)
}

func (r factorRepo) RemovePasskey(ctx context.Context, a operators.AccountID, id factors.PasskeyID) error {
	return changed(r.db(ctx).Where("id = ? AND account_id = ?", id, a).Delete(&passkeyRow{}), factors.ErrNotFound)
}

func (r factorRepo) RemoveAll(ctx context.Context, a operators.AccountID) error {
	for _, table := range []string{"totp_factors", "passkeys", "recovery_codes"} {
		if err := r.db(ctx).Exec("DELETE FROM "+table+" WHERE account_id = ?", a).Error; err != nil {
			return err
		}
	}
	return nil
}

func (r factorRepo) Begin(ctx context.Context, s factors.Step) error {
	row := stepRow{Digest: s.Digest[:], Purpose: s.Purpose, AccountID: orNull(s.Account), ExpiresAt: stamp(s.Expires)}
	if len(s.Data) > 0 {
		held, err := r.keys.Seal(s.Data, row.sealContext())
		if err != nil {
			return errNoFactorKey
		}
		row.Held = held
	}
	return r.db(ctx).Create(&row).Error
}

func (r factorRepo) Step(ctx context.Context, d operators.Digest) (factors.Step, error) {
	row, err := one[stepRow](r.db(ctx).Where("digest = ?", d[:]), factors.ErrStep)
	if err != nil {
		return factors.Step{}, err
	}
	s := factors.Step{Digest: d, Purpose: row.Purpose, Account: orZero(row.AccountID), Expires: row.ExpiresAt.UTC()}
	if row.Held != "" {
		if s.Data, err = r.keys.Open(row.Held, row.sealContext()); err != nil { // The key has changed since.
			return factors.Step{}, factors.ErrStep
		}
	}
	return s, nil
}

func (r factorRepo) End(ctx context.Context, d operators.Digest) (bool, error) {
	n, err := affected(r.db(ctx).Where("digest = ?", d[:]).Delete(&stepRow{}))
	return n > 0, err
}

func (r factorRepo) EndSteps(ctx context.Context, a operators.AccountID, of ...factors.Purpose) error {
	steps := r.db(ctx).Where("account_id = ?", a)
	if len(of) > 0 {
		steps = steps.Where("purpose IN ?", of)
	}
	return steps.Delete(&stepRow{}).Error
}

func (r factorRepo) Sweep(ctx context.Context, now time.Time) error {
	return r.db(ctx).Exec("DELETE FROM sign_in_steps WHERE expires_at <= ?", stamp(now)).Error
}

// errNoFactorKey is the error of operations that need the current key, for all factors.
var errNoFactorKey = factors.ErrSealed.With("secret_key is not configured")

// sealSecret encrypts a secret into a row.
func (r factorRepo) sealSecret(row *totpRow, s factors.Secret) (err error) {
	if row.Secret, err = r.keys.Seal([]byte(string(s)), row.sealContext()); err != nil {
		return errNoFactorKey
	}
	return nil
}

// secret decrypts a row's secret.
func (r factorRepo) secret(row totpRow) (factors.Secret, error) {
	text, err := r.keys.Open(row.Secret, row.sealContext())
	if err != nil {
		return "", factors.ErrSealed.With("the authenticator app of account %d cannot be used: its secret is encrypted under the key %q (%s)", row.AccountID, seal.KeyID(row.Secret), err.Error())
	}
	return factors.Secret(text), nil
}
