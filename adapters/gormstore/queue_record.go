package gormstore

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// outcomeRow is an outcome as one row of a rowSet.
type outcomeRow struct {
	ID       deliveries.ID     `json:"id"`
	State    int               `json:"state"`
	Reason   deliveries.Reason `json:"reason"`
	Error    string            `json:"error"`
	Next     string            `json:"next"`  // as a time
	Delay    float64           `json:"delay"` // from now on, in seconds
	Attempts int               `json:"attempts"`
	Unsure   bool              `json:"unsure"`
	To       *channels.ID      `json:"taker"` // nil: it stays with its channel
	Why      int               `json:"because"`
}

func (t tx) newOutcomeRow(o deliveries.Outcome) outcomeRow {
	r := outcomeRow{ID: o.ID, State: stateNumber(o.State), Reason: o.Reason, Error: storable(o.Error),
		Next: timeText(o.Next), Attempts: o.Attempts, Unsure: o.MaybeAccepted, To: orNull(o.To), Why: int(o.Why)}
	if o.State.Open() {
		r.Delay = o.Next.Sub(t.now()).Seconds()
	}
	return r
}

// Record runs one statement for sent deliveries with the same number of attempts, which are most,
// and one for all others. A delivery without a new error keeps its last one, which explains the
// earlier attempts. That of a delivery without an attempt says why it waited, and goes when it is
// sent.
func (q queue) Record(ctx context.Context, owner string, outcomes []deliveries.Outcome) (lost int, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	sent := map[int][]deliveries.ID{} // by attempts
	var others []deliveries.Outcome
	for _, o := range outcomes {
		if o.State == deliveries.Sent && o.Error == "" {
			sent[o.Attempts] = append(sent[o.Attempts], o.ID)
		} else {
			others = append(others, o)
		}
	}
	err = q.workSmall(ctx, func(t tx) error {
		now := t.now()
		var ends []recordedOutcome
		for attempts, ids := range sent {
			found, err := scanned(t.db(ctx).Raw(`UPDATE deliveries SET state = @sent , attempts = @attempts , owner = '', finished_at = @now ,
				last_error = CASE WHEN attempts = 0 THEN '' ELSE last_error END
				WHERE id @ids AND `+unindexed("state")+` = @sending AND owner = @owner RETURNING id, occurrence_id, channel_id, state, created_at`, map[string]any{
				"sent": stateNumber(deliveries.Sent), "attempts": attempts, "now": now, "ids": among(t.dialect, ids),
				"sending": stateNumber(deliveries.Sending), "owner": owner}), len(ids), scanRecordedOutcome)
			if err != nil {
				return err
			}
			ends = append(ends, found...)
		}
		found, err := t.record(ctx, owner, others, now)
		if err != nil {
			return err
		}
		ends = append(ends, found...)
		stored, err := t.countStored(ctx, owner, outcomes, ends)
		if err != nil {
			return err
		}
		lost = len(outcomes) - len(ends) - stored
		return t.countRecordedOutcomes(ctx, ends, now)
	})
	return lost, err
}

// countStored returns how many repeated outcomes without an end had been stored before.
func (t tx) countStored(ctx context.Context, owner string, outcomes []deliveries.Outcome, ends []recordedOutcome) (stored int, err error) {
	ended := map[deliveries.ID]bool{}
	for _, e := range ends {
		ended[e.id] = true
	}
	attempts := map[int][]deliveries.ID{}
	for _, o := range outcomes {
		if o.Repeated && !ended[o.ID] {
			attempts[o.Attempts] = append(attempts[o.Attempts], o.ID)
		}
	}
	for made, ids := range attempts {
		n := 0
		err := t.db(ctx).Raw("SELECT COUNT(*) FROM deliveries WHERE id @ids AND attempts >= @made AND NOT (state = @sending AND owner = @owner )", map[string]any{
			"ids": among(t.dialect, ids), "made": made, "sending": stateNumber(deliveries.Sending), "owner": owner}).Scan(&n).Error
		if err != nil {
			return 0, err
		}
		stored += n
	}
	return stored, nil
}

// record stores outcomes of any kind. A worker has a slightly older state of the pool: if the
// channel that shall take over a delivery is now deleted, inactive or not in the pool of the
// channel of its assignment, the delivery stays with its channel. It may return to the channel of
// its assignment also from another pool, and while a third member sends for that channel.
func (t tx) record(ctx context.Context, owner string, outcomes []deliveries.Outcome, now time.Time) ([]recordedOutcome, error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	p := map[string]any{"sent": stateNumber(deliveries.Sent), "now": now, "sending": stateNumber(deliveries.Sending), "owner": owner,
		"outcomes": rowSet(t.dialect, mapped(outcomes, t.newOutcomeRow), "id bigint", "state smallint", "reason text", "error text",
			"next timestamptz", "delay double precision", "attempts integer", "unsure boolean", "taker bigint", "because smallint")}
	named, before := "", ""
	if t.dialect == onPostgres { // Postgres could read all deliveries to join them with the outcomes.
		named, before = "deliveries.id @ids AND ", " AND d.id @ids "
		p["ids"] = among(t.dialect, mapped(outcomes, func(o deliveries.Outcome) deliveries.ID { return o.ID }))
	}
	return scanned(t.db(ctx).Raw(`UPDATE deliveries SET state = r.state, reason = r.reason, attempts = r.attempts, owner = '', next_at = `+t.nextOf("r")+`,
			unsure = deliveries.unsure AND r.takes IS NULL OR r.unsure, channel_id = COALESCE(r.takes, deliveries.channel_id),
			named_channel_id = CASE WHEN r.takes IS NULL THEN deliveries.named_channel_id ELSE COALESCE(deliveries.named_channel_id, deliveries.channel_id) END,
			moved_from = CASE WHEN r.takes IS NULL THEN deliveries.moved_from ELSE deliveries.channel_id END,
			why = CASE WHEN r.takes IS NULL THEN deliveries.why ELSE r.because END,
			last_error = CASE WHEN r.error = '' THEN deliveries.last_error ELSE r.error END,
			finished_at = CASE WHEN r.state >= @sent THEN `+t.dialect.castTime("@now ")+` END
		FROM (SELECT o.*, t.id AS takes FROM (@outcomes ) AS o
			LEFT JOIN deliveries d ON o.taker IS NOT NULL AND d.id = o.id`+before+`
			LEFT JOIN channels c ON c.id = COALESCE(d.named_channel_id, d.channel_id)
			LEFT JOIN channels t ON t.id = o.taker AND (t.id = d.named_channel_id AND `+takesBack("t", "d.channel_id")+` OR t.active AND `+samePool("t", "c")+`)) AS r
		WHERE `+named+`deliveries.id = r.id AND `+unindexed("deliveries.state")+` = @sending AND deliveries.owner = @owner
		RETURNING deliveries.id, deliveries.occurrence_id, deliveries.channel_id, deliveries.state, deliveries.created_at`, p), len(outcomes), scanRecordedOutcome)
}

// nextOf returns the expression for the time when a delivery is retried, from a row of outcomeRow.
func (t tx) nextOf(row string) string {
	if t.serverClock {
		return "now() + make_interval(secs => " + row + ".delay)"
	}
	return row + ".next"
}

// recordedOutcome is an outcome that was stored. A postponed or skipped delivery has one, too.
type recordedOutcome struct {
	id         deliveries.ID
	occurrence events.OccurrenceID
	channel    channels.ID // that it used
	state      deliveries.State
	created    time.Time // when the delivery was inserted or requeued
}

func scanRecordedOutcome(rows *sql.Rows) (e recordedOutcome, err error) {
	var state int
	err = rows.Scan(&e.id, &e.occurrence, &e.channel, &state, &e.created)
	e.state = stateOf(state)
	return e, err
}

// countRecordedOutcomes updates the counters for stored outcomes. The hand-off time starts when
// the occurrence was triggered, or at its scheduled time, or when the delivery was requeued. A
// requeued delivery is one that is newer than the end of the expansion.
func (t tx) countRecordedOutcomes(ctx context.Context, ends []recordedOutcome, now time.Time) error {
	seen := map[events.OccurrenceID]occurrenceRow{}
	for _, e := range ends {
		seen[e.occurrence] = occurrenceRow{}
	}
	if len(seen) == 0 {
		return nil
	}
	rows, err := rowsOf[occurrenceRow](t.db(ctx).Select("id", "created_at", "send_at", "expanded_at").
		Where("id ?", among(t.dialect, slices.Sorted(maps.Keys(seen)))))
	if err != nil {
		return err
	}
	for _, row := range rows {
		seen[row.ID] = row
	}
	done := newCounterChanges()
	for _, e := range ends {
		o, begun := seen[e.occurrence], e.created
		if o.ExpandedAt == nil || !begun.After(*o.ExpandedAt) {
			begun = o.CreatedAt
			if o.SendAt != nil {
				begun = *o.SendAt
			}
		}
		done.end(e.occurrence, e.state, now.Sub(begun), now)
	}
	if err := t.saveCounters(ctx, done); err != nil {
		return err
	}
	return t.addChannelHours(ctx, ends, now)
}
