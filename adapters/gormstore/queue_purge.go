package gormstore

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Purge deletes the deliveries of the oldest occurrences first, and an occurrence when it has no
// more deliveries. On Postgres most deliveries are dropped with their partition. An error of that
// does not stop Purge from deleting other rows. The server's clock decides what is old: a machine
// whose clock is ahead must not delete what is still needed. It also folds hourly statistics, which
// count only if there may be more of them to fold.
func (q queue) Purge(ctx context.Context, old deliveries.Expiry, limit int) (gone int, err error) {
	var ahead time.Duration
	var loose bool
	err = q.view(ctx, func(t tx) (err error) {
		if ahead, err = t.skewSeconds(ctx); err != nil {
			return err
		}
		return t.db(ctx).Raw("SELECT EXISTS (SELECT 1 " + looseHours + ")").Scan(&loose).Error
	})
	if err != nil {
		return 0, err
	}
	if loose {
		err := q.work(ctx, func(t tx) (err error) {
			gone, err = t.foldHours(ctx, limit)
			return err
		})
		if err != nil || gone == limit {
			return gone, err
		}
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
			func(most int) (int, error) {
				return t.purgeAged(ctx, agedEntries, old.Entries, most, &q.store.lookedEntries)
			},
			func(most int) (int, error) {
				return t.purgeAged(ctx, agedMessages, old.Occurrences, most, &q.store.lookedMessages)
			},
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

// agedTable is a table whose rows become old one after another.
type agedTable struct {
	name string
	// order is that of an index in which an organization's rows become old.
	order        string
	installation bool // whether it has rows of the installation, too
}

var (
	agedEntries  = agedTable{name: "audit_entries", order: "organization_id, created_at, id", installation: true}
	agedMessages = agedTable{name: "mailbox_messages", order: "organization_id, id"}
)

// ownedBy is a condition for the rows of an organization. With an equation, Postgres might read
// along the index of the ids alone, past the rows of all others.
func ownedBy(org string) string {
	return "organization_id >= " + org + " AND organization_id <= " + org
}

const (
	// organizationsExamined is in how many organizations a purge looks for old rows.
	organizationsExamined = 1_000
	// organizationsPurged is in how many of them it deletes rows at once.
	organizationsPurged = 20
)

// purgeAged deletes old rows of a table, first those of any organization with the least ids. If
// nothing is old there, it looks on where the instance looked last: rows of an organization that
// was moved here may have greater ids than younger ones of others. A look that is rolled back is
// repeated only in the next round.
func (t tx) purgeAged(ctx context.Context, table agedTable, before time.Time, limit int, looked *atomic.Int64) (int, error) {
	if before.IsZero() {
		return 0, nil
	}
	gone, err := t.purgeFirst(ctx, table.name, "id > 0", "id", before, limit)
	if err != nil || gone > 0 {
		return gone, err
	}
	gone, last, err := t.purgeNext(ctx, table, before, limit, orgs.ID(looked.Load()))
	if err == nil {
		looked.Store(int64(last))
	}
	return gone, err
}

// purgeNext deletes old rows of some organizations after this one, and returns the last one of
// which none are left. Behind all organizations there are the rows of the installation, and then it
// is 0.
func (t tx) purgeNext(ctx context.Context, table agedTable, before time.Time, limit int, after orgs.ID) (gone int, last orgs.ID, err error) {
	if err := t.db(ctx).Raw("SELECT COALESCE(MAX(id), 0) FROM (SELECT id FROM organizations WHERE id > ? ORDER BY id LIMIT ?) AS next",
		after, organizationsExamined).Scan(&last).Error; err != nil {
		return 0, after, err
	}
	if last == 0 {
		if table.installation {
			gone, err = t.purgeFirst(ctx, table.name, "organization_id IS NULL", table.order, before, limit)
		}
		if gone > 0 {
			last = after // There may be more.
		}
		return gone, last, err
	}
	found, err := all(t.db(ctx).Raw(`SELECT o.id FROM organizations o WHERE o.id > ? AND o.id <= ?
		AND (SELECT created_at FROM `+table.name+` WHERE `+ownedBy("o.id")+` ORDER BY `+table.order+` LIMIT 1) < ? ORDER BY o.id LIMIT ?`,
		after, last, before.UTC(), organizationsPurged), func(row organizationRow) orgs.ID { return row.ID })
	if err != nil {
		return 0, after, err
	}
	for _, org := range found {
		some, err := t.purgeFirst(ctx, table.name, ownedBy(strconv.FormatInt(int64(org), 10)), table.order, before, limit-gone)
		if gone += some; err != nil || gone >= limit {
			return gone, org - 1, err
		}
	}
	if len(found) == organizationsPurged {
		last = found[len(found)-1]
	}
	return gone, last, nil
}

// purgeFirst deletes the old ones of the first rows of a table that fulfill a condition. It
// examines only the first ones in an order in which they become old; in that of the ids no index by
// age is needed. If clocks differ by a few seconds, the next call deletes the rest.
func (t tx) purgeFirst(ctx context.Context, table, condition, order string, before time.Time, limit int) (int, error) {
	return affected(t.db(ctx).Exec(`DELETE FROM `+table+` WHERE id IN (SELECT id FROM `+table+` WHERE id IN (
			SELECT id FROM (SELECT id, created_at FROM `+table+` WHERE `+condition+` ORDER BY `+order+` LIMIT ?) AS first WHERE created_at < ?
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
