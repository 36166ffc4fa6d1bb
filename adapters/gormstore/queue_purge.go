package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// Purge takes the deliveries of one occurrence at a time, and the occurrence itself with the last of them.
func (q queue) Purge(ctx context.Context, old deliveries.Expiry, limit int) (gone int, err error) {
	err = q.work(ctx, func(t tx) error {
		gone = 0
		for _, part := range []func(most int) (int, error){
			func(most int) (int, error) { return t.purgeRequests(ctx, old.Requests, most) },
			func(most int) (int, error) { return t.purgeHours(ctx, most) },
			func(most int) (int, error) { return t.purgeFirst(ctx, "audit_entries", old.Entries, most) },
			func(most int) (int, error) { return t.purgeFirst(ctx, "mailbox_messages", old.Occurrences, most) },
		} {
			some, err := part(limit - gone)
			if gone += some; err != nil || gone >= limit {
				return err
			}
		}
		for gone < limit {
			some, err := t.purgeOccurrence(ctx, old.Occurrences, limit-gone)
			if gone += some; err != nil || some == 0 {
				return err
			}
		}
		return nil
	})
	return gone, err
}

func (t tx) purgeRequests(ctx context.Context, before time.Time, limit int) (int, error) {
	return affected(t.db(ctx).Exec(`DELETE FROM requests WHERE (api_key_id, word) IN (
		SELECT api_key_id, word FROM requests WHERE created_at < ? ORDER BY created_at LIMIT ?)`, before.UTC(), limit))
}

// purgeFirst deletes old rows of a table to which rows are added as time goes by. It looks at the first of them only, by their key: later ones have
// greater ids, so that no index by age is needed. What clocks disagree about by a few seconds goes with the next.
func (t tx) purgeFirst(ctx context.Context, table string, before time.Time, limit int) (int, error) {
	return affected(t.db(ctx).Exec(`DELETE FROM `+table+` WHERE id IN (SELECT id FROM `+table+` WHERE id IN (
			SELECT id FROM (SELECT id, created_at FROM `+table+` WHERE id > 0 ORDER BY id LIMIT ?) AS first WHERE created_at < ?
		) ORDER BY id`+t.dialect.skipLocked()+")", limit, before.UTC()))
}

// purgeOccurrence deletes of the oldest occurrence that is over at most limit rows, and returns how many.
func (t tx) purgeOccurrence(ctx context.Context, before time.Time, limit int) (int, error) {
	row, err := one[occurrenceRow](t.db(ctx).Raw(`SELECT o.id FROM occurrences o WHERE o.created_at < ? AND o.expanded_at IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.occurrence_id = o.id AND d.state < ?)
		ORDER BY o.created_at, o.id LIMIT 1`+t.dialect.skipLocked(), before.UTC(), number(deliveries.Sent)), events.ErrOccurrenceNotFound)
	if errors.Is(err, events.ErrOccurrenceNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	gone, err := affected(t.db(ctx).Exec(`DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE occurrence_id = ? LIMIT ?)`, row.ID, limit))
	if err != nil || gone == limit {
		return gone, err
	}
	if err := t.db(ctx).Exec("DELETE FROM occurrence_tallies WHERE occurrence_id = ?", row.ID).Error; err != nil {
		return 0, err
	}
	last, err := affected(t.db(ctx).Exec("DELETE FROM occurrences WHERE id = ?", row.ID))
	return gone + last, err
}
