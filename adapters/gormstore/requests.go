package gormstore

import (
	"bytes"
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/requests"
)

type requestRepo struct{ tx }

// requestRow is a request that was seen before.
type requestRow struct {
	APIKeyID       access.ID `gorm:"primaryKey;autoIncrement:false"`
	IdempotencyKey string    `gorm:"primaryKey;column:word"`
	Digest         []byte
	OccurrenceID   *events.OccurrenceID
	Status         int
	Answer         string
	CreatedAt      time.Time `gorm:"autoCreateTime:false"` // otherwise GORM would not update it when an expired request is replaced
}

func (requestRow) TableName() string { return "requests" }

// errNoRequest means that a request was not seen before.
var errNoRequest = errors.New("no such request")

func (r requestRepo) Begin(ctx context.Context, asked requests.Request, now time.Time) (requests.Answer, bool, error) {
	forgotten := stamp(now.Add(-requests.Lifetime))
	seen, err := one[requestRow](r.db(ctx).Where("api_key_id = ? AND word = ? AND created_at > ?", asked.Key, asked.IdempotencyKey, forgotten), errNoRequest)
	switch {
	case err == nil && (!bytes.Equal(seen.Digest, asked.Digest[:]) || seen.Status == 0):
		return requests.Answer{}, false, requests.ErrReused
	case err == nil:
		return requests.Answer{Status: seen.Status, Body: []byte(seen.Answer)}, true, nil
	case !errors.Is(err, errNoRequest):
		return requests.Answer{}, false, err
	}
	row := requestRow{APIKeyID: asked.Key, IdempotencyKey: asked.IdempotencyKey, Digest: asked.Digest[:], CreatedAt: stamp(now)}
	expired := clause.OnConflict{UpdateAll: true, Where: clause.Where{Exprs: []clause.Expression{gorm.Expr("requests.created_at <= ?", forgotten)}}}
	return requests.Answer{}, false, changed(r.db(ctx).Clauses(expired).Create(&row), errConcurrentChange)
}

func (r requestRepo) Finish(ctx context.Context, asked requests.Request, a requests.Answer) error {
	return changed(r.db(ctx).Model(&requestRow{}).Where("api_key_id = ? AND word = ?", asked.Key, asked.IdempotencyKey).
		Updates(map[string]any{"status": a.Status, "answer": string(a.Body)}), errConcurrentChange)
}
