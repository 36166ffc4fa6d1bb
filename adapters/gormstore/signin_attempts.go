package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
)

type attemptRow struct {
	Digest       []byte `gorm:"primaryKey"`
	Failures     int
	BlockedUntil time.Time
	Refused      bool
	ForgetAt     time.Time
}

func (attemptRow) TableName() string { return "guesses" }

// forgetAtOnce is the maximum number of expired attempts that are deleted when one is stored.
const forgetAtOnce = 10

func (r operatorRepo) Attempts(ctx context.Context, key operators.Digest) (operators.Attempts, error) {
	rows, err := rowsOf[attemptRow](r.db(ctx).Where("digest = ?", key[:]))
	if err != nil || len(rows) == 0 {
		return operators.Attempts{}, err
	}
	return operators.Attempts{Failures: rows[0].Failures, Until: rows[0].BlockedUntil.UTC(), Refused: rows[0].Refused}, nil
}

func (r operatorRepo) SaveAttempts(ctx context.Context, key operators.Digest, a operators.Attempts, now time.Time) error {
	row := attemptRow{Digest: key[:], Failures: a.Failures, BlockedUntil: stamp(a.Until), Refused: a.Refused, ForgetAt: stamp(a.Expires())}
	if err := upsert(r.db(ctx), &row); err != nil {
		return err
	}
	// Concurrent units skip the rows that this one deletes.
	return r.db(ctx).Exec(`DELETE FROM guesses WHERE digest IN
		(SELECT digest FROM guesses WHERE forget_at <= ? ORDER BY forget_at LIMIT ?`+r.dialect.skipLocked()+`)`, stamp(now), forgetAtOnce).Error
}

func (r operatorRepo) ForgetAttempts(ctx context.Context, key operators.Digest) error {
	return r.db(ctx).Where("digest = ?", key[:]).Delete(&attemptRow{}).Error
}
