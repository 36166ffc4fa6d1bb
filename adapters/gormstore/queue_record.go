package gormstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// outcomeRow is an outcome as one row of a rowSet.
type outcomeRow struct {
	ID       deliveries.ID     `json:"id"`
	State    int               `json:"state"`
	Reason   deliveries.Reason `json:"reason"`
	Error    string            `json:"error"`
	Next     string            `json:"next"`
	Attempts int               `json:"attempts"`
}

// momentFormat is how the SQLite driver writes times, which Postgres reads, too.
const momentFormat = "2006-01-02 15:04:05.999999999-07:00"

func newOutcomeRow(o deliveries.Outcome) outcomeRow {
	return outcomeRow{ID: o.ID, State: number(o.State), Reason: o.Reason, Error: storable(o.Error),
		Next: o.Next.UTC().Truncate(time.Microsecond).Format(momentFormat), Attempts: o.Attempts}
}

// storable makes a text of any origin one that every database keeps.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// Record is one statement for those that were sent, which most are, and one for the others. A delivery keeps its last error when it gets
// no new one: what made it take three attempts stays to be seen.
func (q queue) Record(ctx context.Context, owner string, outcomes []deliveries.Outcome) (lost int, err error) {
	sent := map[int][]deliveries.ID{} // by attempts
	var others []deliveries.Outcome
	for _, o := range outcomes {
		if o.State == deliveries.Sent && o.Error == "" {
			sent[o.Attempts] = append(sent[o.Attempts], o.ID)
		} else {
			others = append(others, o)
		}
	}
	err = q.work(ctx, func(t tx) error {
		now, done := t.now(), newChanges()
		lost = len(outcomes)
		for attempts, ids := range sent {
			noted, err := recorded(t.db(ctx).Raw(`UPDATE deliveries SET state = @sent , attempts = @attempts , owner = '', finished_at = @now
				WHERE id @ids AND state = @sending AND owner = @owner RETURNING occurrence_id, state, created_at`, map[string]any{
				"sent": number(deliveries.Sent), "attempts": attempts, "now": now, "ids": among(t.dialect, ids),
				"sending": number(deliveries.Sending), "owner": owner}), now, done)
			if err != nil {
				return err
			}
			lost -= noted
		}
		noted, err := t.record(ctx, owner, others, now, done)
		lost -= noted
		return errors.Join(err, t.keep(ctx, done))
	})
	return lost, err
}

// record notes outcomes of any kind and returns how many.
func (t tx) record(ctx context.Context, owner string, outcomes []deliveries.Outcome, now time.Time, done changes) (int, error) {
	if len(outcomes) == 0 {
		return 0, nil
	}
	return recorded(t.db(ctx).Raw(`UPDATE deliveries SET state = r.state, reason = r.reason, attempts = r.attempts, owner = '', next_at = r.next,
			last_error = CASE WHEN r.error = '' THEN deliveries.last_error ELSE r.error END,
			finished_at = CASE WHEN r.state >= @sent THEN `+t.dialect.moment("@now ")+` END
		FROM (@outcomes ) AS r WHERE deliveries.id = r.id AND deliveries.state = @sending AND deliveries.owner = @owner
		RETURNING deliveries.occurrence_id, deliveries.state, deliveries.created_at`,
		map[string]any{"sent": number(deliveries.Sent), "now": now, "sending": number(deliveries.Sending), "owner": owner,
			"outcomes": rowSet(t.dialect, mapped(outcomes, newOutcomeRow), "id bigint", "state smallint", "reason text", "error text",
				"next timestamptz", "attempts integer")}), now, done)
}

// recorded runs a statement that ends attempts, notes what that changes, and returns how many they were.
func recorded(statement *gorm.DB, now time.Time, done changes) (n int, err error) {
	rows, err := statement.Rows()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for ; rows.Next(); n++ {
		var occurrence events.OccurrenceID
		var state int
		var created time.Time
		if err := rows.Scan(&occurrence, &state, &created); err != nil {
			return 0, err
		}
		done.end(occurrence, deliveries.States()[state], created, now)
	}
	return n, rows.Err()
}
