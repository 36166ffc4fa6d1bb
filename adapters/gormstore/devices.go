package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
)

func (r operatorRepo) Device(ctx context.Context, d operators.Digest, now time.Time) ([]operators.AccountID, error) {
	return rowsOf[operators.AccountID](r.db(ctx).Raw("SELECT account_id FROM devices WHERE digest = ? AND expires_at > ? ORDER BY account_id", d[:], moment(now)))
}

func (r operatorRepo) Remember(ctx context.Context, d operators.Device) error {
	err := r.db(ctx).Exec(`INSERT INTO devices (account_id, digest, seen_at, expires_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (digest, account_id) DO UPDATE SET seen_at = excluded.seen_at, expires_at = excluded.expires_at`,
		d.Account, d.Digest[:], moment(d.Seen), moment(d.Expires())).Error
	if err != nil {
		return err
	}
	return r.db(ctx).Exec(`DELETE FROM devices WHERE account_id = ? AND digest NOT IN
		(SELECT digest FROM devices WHERE account_id = ? ORDER BY seen_at DESC, digest LIMIT ?)`, d.Account, d.Account, operators.MaxDevices).Error
}

func (r operatorRepo) ForgetDevices(ctx context.Context, a operators.AccountID, keep operators.Digest) error {
	return r.db(ctx).Exec("DELETE FROM devices WHERE account_id = ? AND digest <> ?", a, keep[:]).Error
}
