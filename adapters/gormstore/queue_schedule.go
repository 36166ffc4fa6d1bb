package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

const (
	// scheduleSet is the maximum number of occurrences that one unit of work begins, cancels or
	// sweeps. SQLite rewrites the whole row of each, with its context.
	scheduleSet = 256
	// scheduleTurns is the maximum number of organizations that have a turn in one unit of work,
	// and scheduleSearch the number in which it looks for due occurrences.
	scheduleTurns, scheduleSearch = 64, 1_000
	// sweepPause is how long after a sweep an occurrence is swept again if workers hold some of its
	// deliveries, or its expansion has not ended.
	sweepPause = 5 * time.Second
)

// dueScheduled and dueSweeps select the occurrences that are due, newlyCancelled the cancellations
// that are not applied to their occurrences yet.
const (
	dueScheduled = "FROM occurrences WHERE scheduled AND send_at <= @now "
	dueSweeps    = "FROM occurrences WHERE sweep_at IS NOT NULL AND sweep_at <= @now "

	newlyCancelled = "FROM cancellations WHERE NOT applied"
)

// Schedule first reads, because most of the time there is nothing to do.
func (q queue) Schedule(ctx context.Context, limit int) (n int, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	var due bool
	err = q.view(ctx, func(t tx) error {
		return t.db(ctx).Raw("SELECT EXISTS (SELECT 1 "+dueScheduled+") OR EXISTS (SELECT 1 "+dueSweeps+") OR EXISTS (SELECT 1 "+newlyCancelled+")",
			map[string]any{"now": t.clock()}).Scan(&due).Error
	})
	if err != nil || !due {
		return 0, err
	}
	err = q.work(ctx, func(t tx) error {
		ended, err := t.applyCancellations(ctx)
		if err != nil {
			return err
		}
		begun, err := t.startScheduled(ctx, min(limit, scheduleSet), q.store.turns)
		if err != nil {
			return err
		}
		swept, err := t.sweep(ctx, limit)
		n = ended + begun + swept
		return err
	})
	return n, err
}

// cancelledRow is an occurrence with a cancellation that is not applied to its row yet.
type cancelledRow struct {
	ID                 events.OccurrenceID
	CreatedAt          time.Time
	SendAt             *time.Time
	Scheduled          bool
	ExpandedAt         *time.Time
	CursorNotification subscriptions.NotificationID
	ContextBytes       int
}

// applyCancellations marks occurrences as cancelled. It waits for the locks of those that are being
// expanded.
func (t tx) applyCancellations(ctx context.Context) (int, error) {
	rows, err := rowsOf[cancelledRow](t.db(ctx).Raw(`SELECT o.id, o.created_at, o.send_at, o.scheduled, o.expanded_at, o.cursor_notification,
			octet_length(o.context) AS context_bytes
		FROM (SELECT occurrence_id `+newlyCancelled+` ORDER BY occurrence_id LIMIT ?) AS waiting CROSS JOIN occurrences o
		WHERE o.id = waiting.occurrence_id ORDER BY o.id`+t.dialect.lockOf("o"), scheduleSet))
	if err != nil {
		return 0, err
	}
	ids, done, now := make([]events.OccurrenceID, len(rows)), newCounterChanges(), t.now()
	for i, r := range rows {
		ids[i] = r.ID
		if r.Scheduled { // Its context was counted for its scheduled time.
			done.addContext(r.ID, *r.SendAt, -r.ContextBytes)
		}
		if r.Scheduled || r.ExpandedAt == nil && r.CursorNotification == 0 && r.SendAt == nil {
			done.addContext(r.ID, now, r.ContextBytes)
		}
	}
	p := map[string]any{"ids": among(t.dialect, ids), "now": t.clock()}
	n, err := affected(t.db(ctx).Exec(`UPDATE occurrences SET scheduled = FALSE, sweep_at = @now ,
			expanded_at = CASE WHEN scheduled OR expanded_at IS NULL THEN @now ELSE expanded_at END,
			cancelled_at = (SELECT c.cancelled_at FROM cancellations c WHERE c.occurrence_id = occurrences.id)
		WHERE id @ids AND cancelled_at IS NULL`, p))
	if err != nil {
		return 0, err
	}
	if n != len(rows) {
		return 0, errConcurrentChange // Another worker has done it.
	}
	err = t.db(ctx).Exec("UPDATE cancellations SET applied = TRUE WHERE occurrence_id @ids", p).Error
	return n, errors.Join(err, t.saveCounters(ctx, done))
}

// startScheduled makes due scheduled occurrences wait for their expansion: first those that have
// waited longest, up to half of the limit. If there may be more, organizations take turns for the
// other half, so that none waits for all of another one.
func (t tx) startScheduled(ctx context.Context, limit int, turns *turns) (int, error) {
	half := (limit + 1) / 2
	n, err := t.startDue(ctx, "ORDER BY send_at, id", 0, half)
	if n > 0 {
		t.announce()
	}
	if err != nil || n < half {
		return n, err
	}
	due, last, err := t.nextScheduled(ctx, turns.scheduled())
	if err != nil {
		return n, err
	}
	for i := 0; i < len(due) && n < limit; i++ {
		more, err := t.startDue(ctx, ofOrganization, due[i], max(1, (limit-half)/len(due)))
		if n += more; err != nil {
			return n, err
		}
	}
	turns.setScheduled(last)
	return n, nil
}

// ofOrganization selects the occurrences of an organization. It has no equality: Postgres could
// read those of all organizations in the order of their times instead.
const ofOrganization = "AND organization_id BETWEEN @organization AND @organization ORDER BY organization_id, send_at, id"

// startDue starts due scheduled occurrences that are selected by a condition and an order.
func (t tx) startDue(ctx context.Context, which string, of orgs.ID, limit int) (int, error) {
	return affected(t.db(ctx).Exec(`UPDATE occurrences SET scheduled = FALSE, turn_at = @now , expanded_at = NULL WHERE id `+
		t.dialect.amongThose("SELECT id "+dueScheduled+which+" LIMIT @limit "+t.dialect.skipLocked()),
		map[string]any{"now": t.clock(), "limit": limit, "organization": of}))
}

// nextScheduled returns organizations with due scheduled occurrences, in the order of their ids,
// after a given one. It reads the first scheduled occurrence of each organization. It also returns
// the organization after which the next turn continues; 0: from the beginning.
func (t tx) nextScheduled(ctx context.Context, after orgs.ID) (due []orgs.ID, last orgs.ID, err error) {
	type row struct {
		OrganizationID orgs.ID
		Due            bool
	}
	const next = "SELECT n.id FROM occurrences n WHERE n.scheduled AND n.organization_id > "
	const first = " ORDER BY n.organization_id, n.send_at, n.id LIMIT 1"
	rows, err := rowsOf[row](t.db(ctx).Raw(`WITH RECURSIVE following (id) AS (
			SELECT (`+next+`@after`+first+`)
			UNION ALL SELECT (`+next+`o.organization_id`+first+`) FROM following f CROSS JOIN occurrences o WHERE o.id = f.id)
		SELECT o.organization_id, o.send_at <= @now AS due FROM (SELECT id FROM following LIMIT @limit ) AS w CROSS JOIN occurrences o WHERE o.id = w.id`,
		map[string]any{"after": after, "now": t.clock(), "limit": scheduleSearch}))
	for _, r := range rows {
		if len(due) == scheduleTurns {
			return due, last, err
		}
		if last = r.OrganizationID; r.Due {
			due = append(due, r.OrganizationID)
		}
	}
	if len(rows) < scheduleSearch {
		last = 0
	}
	return due, last, err
}

// sweptRow is an occurrence whose open deliveries are to be skipped.
type sweptRow struct {
	ID          events.OccurrenceID
	CancelledAt *time.Time
}

// sweep skips open deliveries of cancelled or expired occurrences. Deliveries held by workers stay:
// workers check the same before they send. A lease that ended long ago belongs to no worker.
func (t tx) sweep(ctx context.Context, limit int) (int, error) {
	rows, err := rowsOf[sweptRow](t.db(ctx).Raw("SELECT id, cancelled_at "+dueSweeps+"ORDER BY sweep_at, id LIMIT @limit "+t.dialect.skipLocked(),
		map[string]any{"now": t.clock(), "limit": scheduleSet}))
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	reasons := map[deliveries.Reason][]events.OccurrenceID{}
	for _, r := range rows {
		reason := deliveries.Expired
		if r.CancelledAt != nil {
			reason = deliveries.Cancelled
		}
		reasons[reason] = append(reasons[reason], r.ID)
	}
	done, skipped := newCounterChanges(), 0
	for _, reason := range []deliveries.Reason{deliveries.Cancelled, deliveries.Expired} {
		for _, from := range []deliveries.State{deliveries.Pending, deliveries.Retrying, deliveries.Sending} {
			n, err := t.skipOpen(ctx, reasons[reason], from, reason, limit-skipped, done)
			if skipped += n; err != nil {
				return skipped, err
			}
		}
	}
	if err := t.saveCounters(ctx, done); err != nil {
		return skipped, err
	}
	if skipped >= limit {
		return skipped, nil // There may be more of the same.
	}
	return skipped + len(rows), t.finishSweep(ctx, mapped(rows, func(r sweptRow) events.OccurrenceID { return r.ID }))
}

// skipOpen skips the deliveries of occurrences in a state that no worker holds.
func (t tx) skipOpen(
	ctx context.Context, of []events.OccurrenceID, from deliveries.State, reason deliveries.Reason, limit int, done counterChanges,
) (int, error) {
	if len(of) == 0 || limit <= 0 {
		return 0, nil
	}
	unheld := ""
	if from == deliveries.Sending {
		unheld = "AND next_at < @ended "
	}
	rows, err := rowsOf[events.OccurrenceID](t.db(ctx).Raw(skipDeliveries+`WHERE id IN (SELECT id FROM deliveries WHERE occurrence_id @of AND state = @from `+unheld+`LIMIT @limit `+t.dialect.skipLocked()+`)
		RETURNING occurrence_id`, map[string]any{"skipped": stateNumber(deliveries.Skipped), "reason": reason, "now": t.now(), "of": among(t.dialect, of),
		"from": stateNumber(from), "ended": t.after(-deliveries.MaybeAcceptedFor), "limit": limit}))
	for _, o := range rows {
		done.move(o, from, deliveries.Skipped, 1)
		done.count(o, t.now(), skippedMeasure, 1)
	}
	return len(rows), err
}

// finishSweep ends the sweep of occurrences without open deliveries. The others are swept again,
// and so are those that are not expanded yet: a scheduled one has expanded_at from the beginning.
func (t tx) finishSweep(ctx context.Context, ids []events.OccurrenceID) error {
	return t.db(ctx).Exec(`UPDATE occurrences SET sweep_at = CASE WHEN expanded_at IS NULL OR scheduled
			OR `+exists("SELECT 1 FROM deliveries d WHERE d.occurrence_id = occurrences.id AND d.state < @sent ")+` THEN @again END
		WHERE id @ids`, map[string]any{"sent": stateNumber(deliveries.Sent), "again": t.after(sweepPause), "ids": among(t.dialect, ids)}).Error
}

func (q queue) Cancelled(ctx context.Context, ids []events.OccurrenceID) (cancelled []events.OccurrenceID, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.view(ctx, func(t tx) error {
		cancelled, err = rowsOf[events.OccurrenceID](t.db(ctx).Raw("SELECT occurrence_id FROM cancellations WHERE occurrence_id ?", among(t.dialect, ids)))
		return err
	})
	return cancelled, err
}

// countScheduled counts the contexts of scheduled occurrences when they are triggered, at the day
// of their scheduled time: the retention period starts then.
func (t tx) countScheduled(ctx context.Context, fresh []*deliveries.TriggerResult) error {
	done := newCounterChanges()
	for _, f := range fresh {
		if o := f.Occurrence; o.Scheduled {
			done.addContext(o.ID, o.Options.SendAt, len(o.Context))
		}
	}
	return t.saveCounters(ctx, done)
}
