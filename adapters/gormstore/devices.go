package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
)

type deviceRow struct {
	AccountID operators.AccountID `gorm:"primaryKey;autoIncrement:false"`
	Digest    []byte              `gorm:"primaryKey"`
	SeenAt    time.Time
	ExpiresAt time.Time
}

func (deviceRow) TableName() string { return "devices" }

func (r operatorRepo) Device(ctx context.Context, d operators.Digest, now time.Time) ([]operators.AccountID, error) {
	return rowsOf[operators.AccountID](r.db(ctx).Raw("SELECT account_id FROM devices WHERE digest = ? AND expires_at > ? ORDER BY account_id", d[:], stamp(now)))
}

func (r operatorRepo) Remember(ctx context.Context, d operators.Device) error {
	row := deviceRow{AccountID: d.Account, Digest: d.Digest[:], SeenAt: stamp(d.Seen), ExpiresAt: stamp(d.Expires())}
	if err := upsert(r.db(ctx), &row); err != nil {
		return err
	}
	return r.db(ctx).Exec(`DELETE FROM devices WHERE account_id = ? AND digest NOT IN
		(SELECT digest FROM devices WHERE account_id = ? ORDER BY seen_at DESC, digest LIMIT ?)`, d.Account, d.Account, operators.MaxDevices).Error
}

func (r operatorRepo) ForgetDevices(ctx context.Context, a operators.AccountID, keep operators.Digest) error {
	return r.db(ctx).Where("account_id = ? AND digest <> ?", a, keep[:]).Delete(&deviceRow{}).Error
}
