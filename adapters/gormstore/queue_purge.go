package gormstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// Purge deletes the deliveries of the oldest occurrences first, and an occurrence when it has no
// more deliveries. On Postgres most deliveries are dropped with their partition. An error of that
// does not stop Purge from deleting other rows. The server's clock decides what is old: a machine
// whose clock is ahead must not delete what is still needed.
func (q queue) Purge(ctx context.Context, old deliveries.Expiry, limit int) (gone int, err error) {
	var ahead time.Duration
	err = q.view(ctx, func(t tx) (err error) {
		ahead, err = t.skewSeconds(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	old = old.Earlier(ahead)
	below := int64(noBound)
	if !old.Occurrences.IsZero() {
		err := q.store.call(func() (err error) {
			below, err = q.store.engine.maintainPartitions(ctx, old.Occurrences, q.store.logger)
			return err
		})
		if err != nil && ctx.Err() == nil {
			q.store.logger.WarnContext(ctx, partitionsFailed, slog.Any("error", err))
		}
	}
	err = q.work(ctx, func(t tx) error {
		gone = 0
		for _, part := range []func(most int) (int, error){
			func(most int) (int, error) { return t.purgeRequests(ctx, old.Requests, most) },
			func(most int) (int, error) { return t.purgeHours(ctx, t.now().Add(-ahead), most) },
			func(most int) (int, error) { return t.purgeChannelHours(ctx, t.now().Add(-ahead), most) },
			func(most int) (int, error) { return t.purgeFirst(ctx, "audit_entries", old.Entries, most) },
			func(most int) (int, error) { return t.purgeFirst(ctx, "mailbox_messages", old.Occurrences, most) },
		} {
			some, err := part(limit - gone)
			if gone += some; err != nil || gone >= limit {
				return err
			}
		}
		some, err := t.purgeOccurrences(ctx, old.Occurrences, below, limit-gone)
		gone += some
		return err
	})
	return gone, err
}

func (t tx) purgeRequests(ctx context.Context, before time.Time, limit int) (int, error) {
	return affected(t.db(ctx).Exec(`DELETE FROM requests WHERE (api_key_id, word) IN (
		SELECT api_key_id, word FROM requests WHERE created_at < ? ORDER BY created_at LIMIT ?)`, before.UTC(), limit))
}

// purgeFirst deletes old rows of a table that grows with time. It examines only the first rows by
// id, because newer rows have greater ids; no index by age is needed. If clocks differ by a few
// seconds, the next call deletes the rest.
func (t tx) purgeFirst(ctx context.Context, table string, before time.Time, limit int) (int, error) {
	return affected(t.db(ctx).Exec(`DELETE FROM `+table+` WHERE id IN (SELECT id FROM `+table+` WHERE id IN (
			SELECT id FROM (SELECT id, created_at FROM `+table+` WHERE id > 0 ORDER BY id LIMIT ?) AS first WHERE created_at < ?
		) ORDER BY id`+t.dialect.skipLocked()+")", limit, before.UTC()))
}

// purgeOccurrences deletes at most limit rows of the oldest finished occurrences below an id, and
// returns how many. It deletes sets, because a statement for each occurrence would read past all
// rows deleted in the same unit. Below a bound it searches by id: by age it would read past all old
// occurrences whose partition is dropped later.
func (t tx) purgeOccurrences(ctx context.Context, before time.Time, below int64, limit int) (int, error) {
	const age = "COALESCE(o.cancelled_at, o.send_at, o.created_at)"
	bound, order := "", age+", o.id"
	if below != noBound {
		bound, order = fmt.Sprintf("o.id < %d AND ", below), "o.id"
	}
	ids, err := all(t.db(ctx).Raw("SELECT o.id FROM occurrences o WHERE "+bound+age+" < "+t.dialect.castTime("? ")+` AND o.expanded_at IS NOT NULL AND NOT o.scheduled
		AND NOT `+exists("SELECT 1 FROM deliveries d WHERE d.occurrence_id = o.id AND d.state < ?")+`
		ORDER BY `+order+" LIMIT ?"+t.dialect.skipLocked(), before.UTC(), stateNumber(deliveries.Sent), limit),
		func(row occurrenceRow) events.OccurrenceID { return row.ID })
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	gone, err := affected(t.db(ctx).Exec(`DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE occurrence_id ? LIMIT ?)`,
		among(t.dialect, ids), limit))
	if err != nil || gone == limit {
		return gone, err
	}
	ids = ids[:min(len(ids), limit-gone)] // They have no other rows left.
	if err := t.db(ctx).Exec("DELETE FROM occurrence_tallies WHERE occurrence_id ?", among(t.dialect, ids)).Error; err != nil {
		return 0, err
	}
	if err := t.db(ctx).Exec("DELETE FROM cancellations WHERE occurrence_id ?", among(t.dialect, ids)).Error; err != nil {
		return 0, err
	}
	last, err := affected(t.db(ctx).Exec("DELETE FROM occurrences WHERE id ?", among(t.dialect, ids)))
	return gone + last, err
}
