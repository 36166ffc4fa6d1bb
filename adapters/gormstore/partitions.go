package gormstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tocsin/tocsin/domain/deliveries"
)

const (
	// overdueParts is the part of the retention period by which a row may stay longer because its
	// partition will be dropped: an eighth.
	overdueParts = 8
	// tableLockTimeout limits the wait for the lock of the whole table, because other sessions
	// queue behind it. tableLockAttempts is the maximum number of attempts, with a pause of
	// lockPause in between.
	tableLockTimeout  = "SET LOCAL lock_timeout = '500ms'"
	tableLockAttempts = 30
	// idsPerStatement is the range of ids of occurrences that one statement searches.
	idsPerStatement = 100_000
	// analyzeGrowth is the factor by which deliveries grow before they are analyzed again.
	analyzeGrowth = 2
	// maintenanceTimeout is the timeout of a statement that reads a whole partition.
	maintenanceTimeout = time.Hour
)

// noBound is the end of a range without an upper bound.
const noBound = math.MaxInt64

// partition is the table with the deliveries of a range of occurrences.
type partition struct {
	Name        string
	From, Until int64 // From <= id of the occurrence < Until
	Rows        int64 // as of the last ANALYZE
	// Prepared are the upper bounds that are being prepared. The last partition has one or none.
	// Others are stray.
	Prepared []preparedBound
}

// partitionRow is a partition in the catalog of Postgres, with one of the bounds that are prepared.
type partitionRow struct {
	Name      string
	Range     string
	Rows      int64
	Prepared  string
	Validated bool
}

// rangeOf matches the bounds of a partition.
var rangeOf = regexp.MustCompile(`FROM \('?(-?\w+)'?\) TO \('?(-?\w+)'?\)`)

func (row partitionRow) partition() (p partition, err error) {
	bounds := rangeOf.FindStringSubmatch(row.Range)
	if bounds == nil {
		return p, fmt.Errorf("the partition %s has the range %q", row.Name, row.Range)
	}
	p = partition{Name: row.Name, From: math.MinInt64, Until: noBound, Rows: max(0, row.Rows)}
	for _, bound := range []struct {
		text, open string
		to         *int64
	}{{bounds[1], "MINVALUE", &p.From}, {bounds[2], "MAXVALUE", &p.Until}} {
		if bound.text == bound.open {
			continue
		}
		if *bound.to, err = strconv.ParseInt(bound.text, 10, 64); err != nil {
			return p, err
		}
	}
	if row.Prepared != "" {
		bound := preparedBound{Checked: row.Validated}
		bound.Until, err = strconv.ParseInt(row.Prepared, 10, 64)
		p.Prepared = append(p.Prepared, bound)
	}
	return p, err
}

// maintainPartitions starts a goroutine that drops the partitions whose occurrences are all old,
// and adds a partition when the last one is large. The goroutine may take long, and pauses after
// that. maintainPartitions returns the id of the occurrence below which Purge must delete rows: the
// partitions from there on will be dropped soon enough. noBound: Purge deletes all old rows.
func (e *postgresEngine) maintainPartitions(ctx context.Context, oldBefore time.Time, log *slog.Logger) (below int64, err error) {
	below = noBound
	all, err := e.partitions(ctx)
	if err != nil {
		return below, err
	}
	var old []partition
	for _, p := range all[:len(all)-1] {
		is, err := e.isOld(ctx, p, oldBefore)
		if err != nil {
			return below, err
		}
		undroppable := false
		if is {
			old = append(old, p)
			_, undroppable = e.maintenance.undroppable.Load(p.Name)
		}
		pages := false // whether Purge deletes its old rows
		if !is || undroppable {
			if pages, err = e.isOverdue(ctx, p, undroppable, oldBefore); err != nil {
				return below, err
			}
		}
		if !pages {
			below = min(below, p.From)
		}
		if !is {
			break
		}
	}
	e.maintenance.begin(ctx, e.now, func(ctx context.Context) {
		err := e.maintain(ctx, all, old, oldBefore, log)
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, partitionsFailed, slog.Any("error", err))
		}
	})
	return below, nil
}

// partitionsFailed is logged when partitions cannot be dropped or added.
const partitionsFailed = "the partitions of deliveries could not be maintained"

// maintain drops and adds partitions. If one cannot be dropped, the others that are old are not
// tried, and Purge deletes their rows, too. A bound that is prepared must not wait for that.
func (e *postgresEngine) maintain(ctx context.Context, all, old []partition, oldBefore time.Time, log *slog.Logger) error {
	var dropping error
	for _, p := range old {
		if dropping != nil {
			e.maintenance.undroppable.Store(p.Name, true)
			continue
		}
		dropping = e.dropPartition(ctx, p, oldBefore, log)
	}
	e.analyzeDeliveries(ctx, all, log)
	last, adding := e.dropStrayBounds(ctx, all)
	if adding == nil {
		adding = e.addPartition(ctx, last, oldBefore, log)
	}
	return errors.Join(dropping, adding)
}

func (e *postgresEngine) partitions(ctx context.Context) (all []partition, err error) {
	err = e.attempt(withTimeoutClass(ctx, timeoutShort), readCommitted, func(t tx) (err error) {
		all, err = t.partitions(ctx)
		return err
	})
	return all, err
}

// partitions returns all partitions, in the order of their occurrences.
func (t tx) partitions(ctx context.Context) (all []partition, err error) {
	rows, err := rowsOf[partitionRow](t.db(ctx).Raw(`SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS range,
			CAST(c.reltuples AS BIGINT) AS rows, substr(k.conname, length(@prefix ) + 1) AS prepared, COALESCE(k.convalidated, FALSE) AS validated
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
			LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'c' AND starts_with(k.conname, @prefix )
		WHERE i.inhparent = to_regclass('deliveries') ORDER BY c.oid`, map[string]any{"prefix": boundPrefix}))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		p, err := row.partition()
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && all[n-1].Name == p.Name {
			all[n-1].Prepared = append(all[n-1].Prepared, p.Prepared...)
			continue
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b partition) int { return cmp.Compare(a.From, b.From) })
	return all, nil
}

// isOld reports whether all occurrences of a partition are older than a time: it looks at the first
// occurrence after them.
func (e *postgresEngine) isOld(ctx context.Context, p partition, oldBefore time.Time) (old bool, err error) {
	err = e.attempt(withTimeoutClass(ctx, timeoutShort), readCommitted, func(t tx) error {
		return t.db(ctx).Raw("SELECT COALESCE((SELECT created_at < ? FROM occurrences WHERE id >= ? ORDER BY id LIMIT 1), FALSE)", oldBefore.UTC(), p.Until).Scan(&old).Error
	})
	return old, err
}

// isOverdue reports whether the first occurrence of a partition stayed longer than the retention
// period by the part for which a row may wait for its partition: ids grow more slowly than they did
// when the partition got its upper bound, or not at all, or the partition cannot be dropped. In an
// empty one that cannot be dropped, no row has to wait.
func (e *postgresEngine) isOverdue(ctx context.Context, p partition, undroppable bool, oldBefore time.Time) (bool, error) {
	first, err := e.firstOccurrence(ctx, p.From)
	if first.ID == 0 || first.ID >= p.Until {
		return undroppable, err
	}
	return first.CreatedAt.Before(oldBefore.Add(-e.now().Sub(oldBefore) / overdueParts)), err
}

// dropPartition drops a partition, unless one of its occurrences was sent or cancelled much later
// than it was created, or has open deliveries. Then, and after an error, it is tried again until
// the partition is overdue, and Purge deletes its rows from then on.
// Purge also deletes the occurrences.
func (e *postgresEngine) dropPartition(ctx context.Context, p partition, oldBefore time.Time, log *slog.Logger) error {
	kept, err := e.hasRecentOccurrences(ctx, p, oldBefore)
	if err == nil && !kept {
		err = e.changeTable(ctx, func(t tx) error {
			table := pgx.Identifier{p.Name}.Sanitize()
			err := t.db(ctx).Exec("LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE").Error
			if err == nil {
				err = t.db(ctx).Raw("SELECT EXISTS (SELECT 1 FROM "+table+" WHERE turn IS NOT NULL) OR EXISTS (SELECT 1 FROM "+table+" WHERE turn IS NULL AND state < ?)",
					stateNumber(deliveries.Sent)).Scan(&kept).Error
			}
			if err != nil || kept {
				return err
			}
			return t.db(ctx).Exec("DROP TABLE " + table).Error
		})
		if sqlState(err) == undefinedTable { // Another instance has dropped it.
			return nil
		}
	}
	switch {
	case err != nil, kept:
		e.maintenance.undroppable.Store(p.Name, true)
	default:
		e.maintenance.undroppable.Delete(p.Name)
		log.InfoContext(ctx, "old deliveries were dropped with their partition", slog.String("partition", p.Name), slog.Int64("rows", p.Rows))
	}
	return err
}

// hasRecentOccurrences reports whether an occurrence of a partition is not old. It first looks up
// the waiting occurrences, which are few. Then it searches the others, a range of ids for each
// statement.
func (e *postgresEngine) hasRecentOccurrences(ctx context.Context, p partition, oldBefore time.Time) (kept bool, err error) {
	exists := func(condition string, values ...any) error {
		return e.attempt(ctx, readCommitted, func(t tx) error {
			return t.db(ctx).Raw("SELECT EXISTS (SELECT 1 FROM occurrences WHERE "+condition+")", values...).Scan(&kept).Error
		})
	}
	for _, waits := range []string{"expanded_at IS NULL", "scheduled"} {
		if err := exists(waits+" AND id >= ? AND id < ?", p.From, p.Until); err != nil || kept {
			return kept, err
		}
	}
	for from := p.From; ; {
		first, err := e.firstOccurrence(ctx, from)
		if err != nil || first.ID == 0 || first.ID >= p.Until {
			return false, err
		}
		from = first.ID + idsPerStatement
		err = exists("COALESCE(cancelled_at, send_at, created_at) >= ? AND id >= ? AND id < ?", oldBefore.UTC(), first.ID, min(from, p.Until))
		if err != nil || kept {
			return kept, err
		}
	}
}

// occurrenceAge is the id of an occurrence and the time when it was created; the zero value: there
// is none.
type occurrenceAge struct {
	ID        int64
	CreatedAt time.Time
}

// firstOccurrence returns the first occurrence from an id on.
func (e *postgresEngine) firstOccurrence(ctx context.Context, from int64) (first occurrenceAge, err error) {
	err = e.attempt(withTimeoutClass(ctx, timeoutShort), readCommitted, func(t tx) error {
		return t.db(ctx).Raw("SELECT id, created_at FROM occurrences WHERE id >= ? ORDER BY id LIMIT 1", from).Scan(&first).Error
	})
	return first, err
}

// changeTable runs a unit of work with an exclusive lock of deliveries. It waits briefly for the
// lock, then pauses and retries.
func (e *postgresEngine) changeTable(ctx context.Context, fn func(tx) error) error {
	return retryLocked(ctx, tableLockAttempts, func() error {
		return e.attempt(withTimeoutClass(ctx, timeoutShort), readCommitted, func(t tx) error {
			for _, statement := range []string{tableLockTimeout, "LOCK TABLE ONLY deliveries IN ACCESS EXCLUSIVE MODE"} {
				if err := t.db(ctx).Exec(statement).Error; err != nil {
					return err
				}
			}
			return fn(t)
		})
	}, lockNotAvailable)
}

// analyzeDeliveries analyzes the parent table when it has grown. Autovacuum analyzes only the
// partitions.
func (e *postgresEngine) analyzeDeliveries(ctx context.Context, all []partition, log *slog.Logger) {
	var rows int64
	for _, p := range all {
		rows += p.Rows
	}
	if rows < analyzeAfter || rows < analyzeGrowth*e.analyzed.Load() {
		return
	}
	reading, cancel := context.WithTimeout(withTimeoutClass(ctx, timeoutNone), maintenanceTimeout)
	defer cancel()
	if _, err := e.pool.Exec(reading, "ANALYZE (SKIP_LOCKED) deliveries"); err != nil {
		if ctx.Err() == nil {
			log.WarnContext(ctx, "the deliveries could not be analyzed", slog.Any("error", err))
		}
		return
	}
	e.analyzed.Store(rows)
}
