package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
)

type guessRow struct {
	Digest       []byte `gorm:"primaryKey"`
	Failures     int
	BlockedUntil time.Time
	Refused      bool
	ForgetAt     time.Time
}

func (guessRow) TableName() string { return "guesses" }

// forgetAtOnce is how many expired guesses are deleted with each one stored.
const forgetAtOnce = 10

func (r operatorRepo) Guesses(ctx context.Context, key operators.Digest) (operators.Guesses, error) {
	rows, err := rowsOf[guessRow](r.db(ctx).Where("digest = ?", key[:]))
	if err != nil || len(rows) == 0 {
		return operators.Guesses{}, err
	}
	return operators.Guesses{Failures: rows[0].Failures, Until: rows[0].BlockedUntil.UTC(), Refused: rows[0].Refused}, nil
}

func (r operatorRepo) SaveGuesses(ctx context.Context, key operators.Digest, g operators.Guesses, now time.Time) error {
	row := guessRow{Digest: key[:], Failures: g.Failures, BlockedUntil: stamp(g.Until), Refused: g.Refused, ForgetAt: stamp(g.Forget())}
	if err := upsert(r.db(ctx), &row); err != nil {
		return err
	}
	// Concurrent units delete other expired guesses.
	return r.db(ctx).Exec(`DELETE FROM guesses WHERE digest IN
		(SELECT digest FROM guesses WHERE forget_at <= ? ORDER BY forget_at LIMIT ?`+r.dialect.skipLocked()+`)`, moment(now), forgetAtOnce).Error
}

func (r operatorRepo) ForgetGuesses(ctx context.Context, key operators.Digest) error {
	return r.db(ctx).Where("digest = ?", key[:]).Delete(&guessRow{}).Error
}
