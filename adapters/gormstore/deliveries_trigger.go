package gormstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/requests"
)

// triggerBytes is the maximum size of the contexts that one statement stores, unless a single one
// is larger.
const triggerBytes = 1 << 20

// requestSetRow is a request as one row of a rowSet.
type requestSetRow struct {
	Key            access.ID           `json:"key"`
	IdempotencyKey string              `json:"word"`
	Digest         string              `json:"digest"` // hexadecimal
	Occurrence     events.OccurrenceID `json:"occurrence"`
	Created        string              `json:"created"`
	Forgotten      string              `json:"forgotten"` // earlier requests no longer count
}

func newRequestSetRow(o events.Occurrence, r *requests.Request) requestSetRow {
	return requestSetRow{Key: r.Key, IdempotencyKey: r.IdempotencyKey, Digest: hex.EncodeToString(r.Digest[:]), Occurrence: o.ID,
		Created: timeText(o.Created), Forgotten: timeText(o.Created.Add(-requests.Lifetime))}
}

// requestSet returns the parameters for a rowSet of requestSetRow.
func (t tx) requestSet(rows []requestSetRow) map[string]any {
	return map[string]any{"set": rowSet(t.dialect, rows, "key bigint", "word text", "digest text", "occurrence bigint", "created timestamptz",
		"forgotten timestamptz")}
}

func (r deliveryRepo) StoreTime(ctx context.Context, now time.Time) (time.Time, error) {
	ahead, err := r.skewSeconds(ctx)
	return now.Add(-ahead), err
}

func (r deliveryRepo) Trigger(ctx context.Context, ts []deliveries.TriggerRequest) ([]deliveries.TriggerResult, error) {
	done := make([]deliveries.TriggerResult, len(ts))
	for i, t := range ts {
		o := &t.Occurrence
		o.Created, o.Scheduled = stamp(o.Created), !o.Options.SendAt.IsZero()
		o.Options.SendAt, o.Options.ExpiresAt = stamp(o.Options.SendAt), stamp(o.Options.ExpiresAt)
		done[i] = deliveries.TriggerResult{Occurrence: t.Occurrence, Err: t.Refusal}
	}
	if err := r.findRepeated(ctx, ts, done); err != nil {
		return nil, err
	}
	var fresh []*deliveries.TriggerResult
	var asked []*requests.Request
	for i := range done {
		if done[i].Err == nil && !done[i].Repeated {
			fresh, asked = append(fresh, &done[i]), append(asked, ts[i].Request)
		}
	}
	few, err := r.fewEntries(ctx, fresh)
	if err != nil {
		return nil, err
	}
	for begin := 0; begin < len(fresh); {
		end, size := begin+1, len(fresh[begin].Occurrence.Context)
		for end < len(fresh) && size+len(fresh[end].Occurrence.Context) <= triggerBytes {
			size += len(fresh[end].Occurrence.Context)
			end++
		}
		if err := r.store(ctx, fresh[begin:end], few); err != nil {
			return nil, err
		}
		begin = end
	}
	if len(fresh) == 0 {
		return done, nil
	}
	r.announce()
	if err := r.countScheduled(ctx, fresh); err != nil {
		return nil, err
	}
	return done, r.saveRequests(ctx, fresh, asked)
}

// occurrenceSetRow is a new occurrence as one row of a rowSet.
type occurrenceSetRow struct {
	Number      int    `json:"number"`
	Context     string `json:"context"`
	LimitTo     string `json:"limit_to"`
	Channels    string `json:"channels"`
	Correlation string `json:"correlation"`
	RequestID   string `json:"request_id"`
	Traceparent string `json:"traceparent"`
	Created     string `json:"created"`
	SendAt      string `json:"send_at,omitempty"`
	ExpiresAt   string `json:"expires_at,omitempty"`
	Priority    int    `json:"priority"`
	Large       int    `json:"large"` // 1 for true
	Recipients  *int   `json:"recipients,omitempty"`
}

// fewEntries reports whether one of these occurrences of one event names no recipients, and the
// event has few entries of lists and subscriptions. If its recipients were just counted, it has.
func (r deliveryRepo) fewEntries(ctx context.Context, fresh []*deliveries.TriggerResult) (bool, error) {
	i := slices.IndexFunc(fresh, func(f *deliveries.TriggerResult) bool { return len(f.Occurrence.Options.LimitTo) == 0 })
	if i < 0 || fresh[i].Occurrence.Recipients != nil {
		return i >= 0, nil
	}
	entries, err := r.entries(ctx, fresh[i].Occurrence)
	return entries <= deliveries.CountedEntries, err
}

// store inserts occurrences of one event, which has few entries or not, and sets their ids, in
// ascending order.
func (r deliveryRepo) store(ctx context.Context, fresh []*deliveries.TriggerResult, few bool) error {
	rows := make([]occurrenceSetRow, len(fresh))
	for i, f := range fresh {
		o, large := f.Occurrence, 0
		if deliveries.ExpansionQueueOf(o, few).Large {
			large = 1
		}
		rows[i] = occurrenceSetRow{Number: i, Context: string(o.Context), LimitTo: jsonArray(o.Options.LimitTo),
			Channels: jsonArray(o.Options.Channels), Correlation: o.CorrelationID, RequestID: o.RequestID, Traceparent: o.Traceparent, Created: timeText(o.Created),
			Priority: int(o.Priority), Large: large, Recipients: o.Recipients}
		if !o.Options.SendAt.IsZero() {
			rows[i].SendAt = timeText(o.Options.SendAt)
		}
		if !o.Options.ExpiresAt.IsZero() {
			rows[i].ExpiresAt = timeText(o.Options.ExpiresAt)
		}
	}
	first := fresh[0].Occurrence
	ids, err := rowsOf[events.OccurrenceID](r.db(ctx).Raw(`
		INSERT INTO occurrences (organization_id, project_id, application_id, event_id, context, limit_to, channels, correlation_id, request_id, traceparent,
			created_at, turn_at, cursor_notification, cursor_phase, cursor_assignment, send_at, expires_at, scheduled,
			expanded_at, sweep_at, priority, large, recipients)
		SELECT a.organization_id, a.project_id, a.id, e.id, r.context, r.limit_to, r.channels, r.correlation, r.request_id, r.traceparent, r.created, r.created, 0, 0, 0,
			r.send_at, r.expires_at, r.send_at IS NOT NULL, r.send_at, r.expires_at, r.priority, r.large = 1, r.recipients
		FROM (@rows ) AS r CROSS JOIN events e JOIN applications a ON a.id = e.application_id
		WHERE e.id = @event AND a.id = @application AND a.project_id = @project AND a.organization_id = @organization
		ORDER BY r.number RETURNING id`,
		map[string]any{"rows": rowSet(r.dialect, rows, "number bigint", "context text", "limit_to text", "channels text", "correlation text", "request_id text", "traceparent text",
			"created timestamptz", "send_at timestamptz", "expires_at timestamptz",
			"priority smallint", "large smallint", "recipients integer"), "event": first.Event, "application": first.Application, "project": first.Project,
			"organization": first.Organization}))
	if err != nil {
		return err
	}
	if len(ids) != len(fresh) {
		return events.ErrNotFound
	}
	r.grown.add(growingOccurrences, len(ids))
	slices.Sort(ids)
	for i, f := range fresh {
		f.Occurrence.ID = ids[i]
	}
	return nil
}

// findRepeated sets the results of requests that were seen before.
func (r deliveryRepo) findRepeated(ctx context.Context, ts []deliveries.TriggerRequest, done []deliveries.TriggerResult) error {
	var asked []requestSetRow
	for i, t := range ts {
		if t.Request != nil {
			asked = append(asked, newRequestSetRow(done[i].Occurrence, t.Request))
		}
	}
	if len(asked) == 0 {
		return nil
	}
	type seenRow struct {
		Key          access.ID
		Word         string
		Digest       []byte
		OccurrenceID events.OccurrenceID
	}
	seen, err := rowsOf[seenRow](r.db(ctx).Raw(r.dialect.lookUpJoined([]string{"r.api_key_id AS key", "r.word", "r.digest", "r.occurrence_id"},
		joinedTable{"requests r", "r.api_key_id = s.key AND r.word = s.word AND r.created_at > s.forgotten"}), r.requestSet(asked)))
	if err != nil || len(seen) == 0 {
		return err
	}
	found, err := decodeAll(r.db(ctx).Where("id ?", among(r.dialect, mapped(seen, func(s seenRow) events.OccurrenceID { return s.OccurrenceID }))),
		occurrenceRow.occurrence)
	if err != nil {
		return err
	}
	for i, t := range ts {
		if t.Request == nil {
			continue
		}
		for _, s := range seen {
			if s.Key != t.Request.Key || s.Word != t.Request.IdempotencyKey {
				continue
			}
			if !bytes.Equal(s.Digest, t.Request.Digest[:]) {
				done[i].Err = requests.ErrReused
				continue
			}
			at := slices.IndexFunc(found, func(o events.Occurrence) bool { return o.ID == s.OccurrenceID })
			if at >= 0 { // Otherwise it was deleted, and the request is new.
				done[i] = deliveries.TriggerResult{Occurrence: found[at], Repeated: true}
			}
		}
	}
	return nil
}

// saveRequests stores requests, and replaces expired ones. If several units store the same request
// at once, Postgres rejects all but one of them; the others are retried and find the request.
// SQLite runs them one after another. The requests are sorted, so that concurrent units do not
// deadlock.
func (r deliveryRepo) saveRequests(ctx context.Context, fresh []*deliveries.TriggerResult, asked []*requests.Request) error {
	var rows []requestSetRow
	for i, f := range fresh {
		if asked[i] != nil {
			rows = append(rows, newRequestSetRow(f.Occurrence, asked[i]))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b requestSetRow) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.IdempotencyKey, b.IdempotencyKey))
	})
	p := r.requestSet(rows)
	p["forgotten"] = slices.MaxFunc(fresh, func(a, b *deliveries.TriggerResult) int {
		return a.Occurrence.Created.Compare(b.Occurrence.Created)
	}).Occurrence.Created.Add(-requests.Lifetime)
	n, err := affected(r.db(ctx).Exec(`INSERT INTO requests (api_key_id, word, digest, occurrence_id, created_at)
		SELECT key, word, `+r.dialect.unhex("digest")+`, occurrence, created FROM (@set ) AS s WHERE TRUE ORDER BY key, word
		ON CONFLICT (api_key_id, word) DO UPDATE SET digest = excluded.digest, occurrence_id = excluded.occurrence_id,
			status = 0, answer = '', created_at = excluded.created_at WHERE requests.created_at <= `+r.dialect.castTime("@forgotten "), p))
	if err == nil && n != len(rows) {
		return errConcurrentChange
	}
	return err
}
