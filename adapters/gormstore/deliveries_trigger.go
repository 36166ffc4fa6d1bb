package gormstore

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

type requestRow struct {
	APIKeyID       access.ID `gorm:"column:api_key_id"`
	IdempotencyKey string    `gorm:"column:word"`
	Digest         []byte
	OccurrenceID   events.OccurrenceID
	CreatedAt      time.Time
}

func (requestRow) TableName() string { return "requests" }

// errNoRequest says that a request is new.
var errNoRequest = errors.New("the request was not seen before")

func (r deliveryRepo) Trigger(
	ctx context.Context, o events.Occurrence, request *deliveries.Request,
) (stored events.Occurrence, repeated bool, err error) {
	o.Created = stamp(o.Created)
	if request != nil {
		stored, err = r.earlier(ctx, o, request)
		if !errors.Is(err, errNoRequest) {
			return stored, err == nil, err
		}
	}
	row, err := one[occurrenceRow](r.db(ctx).Raw(`
		INSERT INTO occurrences (organization_id, project_id, application_id, event_id, context, limit_to, channels, correlation_id,
			created_at, turn_at, cursor_notification, cursor_phase, cursor_assignment)
		SELECT a.organization_id, a.project_id, a.id, e.id, CAST(@context AS TEXT), CAST(@limit_to AS TEXT), CAST(@channels AS TEXT),
			CAST(@correlation AS TEXT), `+r.dialect.moment("@created ")+`, `+r.dialect.moment("@created ")+`, 0, 0, 0
		FROM events e JOIN applications a ON a.id = e.application_id
		WHERE e.id = @event AND a.id = @application AND a.project_id = @project AND a.organization_id = @organization RETURNING id`,
		map[string]any{"context": string(o.Context), "limit_to": jsonArray(o.Options.LimitTo), "channels": jsonArray(o.Options.Channels),
			"correlation": o.CorrelationID, "created": o.Created, "event": o.Event, "application": o.Application, "project": o.Project,
			"organization": o.Organization}), events.ErrNotFound)
	if err != nil {
		return events.Occurrence{}, false, err
	}
	o.ID = row.ID
	r.announce()
	if request == nil {
		return o, false, nil
	}
	return o, false, r.remember(ctx, o, request)
}

// earlier returns the occurrence that a request has triggered before; errNoRequest, events.ErrKeyReused.
func (r deliveryRepo) earlier(ctx context.Context, o events.Occurrence, request *deliveries.Request) (events.Occurrence, error) {
	row, err := one[requestRow](r.db(ctx).Where("api_key_id = ? AND word = ? AND created_at > ?", request.Key, request.IdempotencyKey,
		o.Created.Add(-deliveries.RequestLifetime)), errNoRequest)
	if err != nil {
		return events.Occurrence{}, err
	}
	if !bytes.Equal(row.Digest, request.Digest[:]) {
		return events.Occurrence{}, events.ErrKeyReused
	}
	return decodeOne(r.db(ctx).Where("id = ?", row.OccurrenceID), errNoRequest, occurrenceRow.occurrence)
}

// remember keeps a request in the place of one whose time is over. Of parallel equal requests Postgres lets one get this far and
// refuses the others, which then run again and find it; on SQLite they come one after another.
func (r deliveryRepo) remember(ctx context.Context, o events.Occurrence, request *deliveries.Request) error {
	return change(r.db(ctx), errVanished, `INSERT INTO requests (api_key_id, word, digest, occurrence_id, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (api_key_id, word) DO UPDATE SET digest = excluded.digest, occurrence_id = excluded.occurrence_id,
			created_at = excluded.created_at WHERE requests.created_at <= ?`,
		request.Key, request.IdempotencyKey, request.Digest[:], o.ID, o.Created, o.Created.Add(-deliveries.RequestLifetime))
}
