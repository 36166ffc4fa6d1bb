package gormstore

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/requests"
)

type requestRepo struct{ tx }

// answeredRow is a request that was seen before.
type answeredRow struct {
	Digest []byte
	Status int
	Answer string
}

// errNoRequest means that a request was not seen before.
var errNoRequest = errors.New("no such request")

func (r requestRepo) Begin(ctx context.Context, asked requests.Request, now time.Time) (requests.Answer, bool, error) {
	forgotten := stamp(now.Add(-requests.Lifetime))
	seen, err := one[answeredRow](r.db(ctx).Raw("SELECT digest, status, answer FROM requests WHERE api_key_id = ? AND word = ? AND created_at > ?",
		asked.Key, asked.IdempotencyKey, forgotten), errNoRequest)
	switch {
	case err == nil && (!bytes.Equal(seen.Digest, asked.Digest[:]) || seen.Status == 0):
		return requests.Answer{}, false, requests.ErrReused
	case err == nil:
		return requests.Answer{Status: seen.Status, Body: []byte(seen.Answer)}, true, nil
	case !errors.Is(err, errNoRequest):
		return requests.Answer{}, false, err
	}
	n, err := affected(r.db(ctx).Exec(`INSERT INTO requests (api_key_id, word, digest, status, answer, created_at) VALUES (?, ?, ?, 0, '', ?)
		ON CONFLICT (api_key_id, word) DO UPDATE SET digest = excluded.digest, occurrence_id = NULL, status = 0, answer = '',
			created_at = excluded.created_at WHERE requests.created_at <= ?`,
		asked.Key, asked.IdempotencyKey, asked.Digest[:], stamp(now), forgotten))
	if err == nil && n != 1 {
		err = errVanished
	}
	return requests.Answer{}, false, err
}

func (r requestRepo) Finish(ctx context.Context, asked requests.Request, a requests.Answer) error {
	return change(r.db(ctx), errVanished, "UPDATE requests SET status = ?, answer = ? WHERE api_key_id = ? AND word = ?",
		a.Status, string(a.Body), asked.Key, asked.IdempotencyKey)
}
