package gormstore

import (
	"cmp"
	"context"
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
	// partitionRows is how many rows the last partition of deliveries has before another one is
	// added. maxPartitions is the maximum number of partitions for the retention period. A small
	// installation has one partition.
	partitionRows = 5_000_000
	maxPartitions = 8
	// minOccurrencesAhead is the minimum number of occurrences that the last partition still takes
	// while another one is added.
	minOccurrencesAhead = 1_000
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
	// boundPrefix is the prefix of the name of the constraint that prepares the upper bound of the
	// last partition. The bound follows it.
	boundPrefix = "deliveries_until_"
)

// noBound is the end of a range without an upper bound.
const noBound = math.MaxInt64

// partition is the table with the deliveries of a range of occurrences.
type partition struct {
	Name        string
	From, Until int64 // From <= id of the occurrence < Until
	Rows        int64 // as of the last ANALYZE
	Bound       int64 // a new upper bound that is being prepared; 0: none
	Checked     bool  // no row is beyond Bound
}

// partitionRow is a partition in the catalog of Postgres.
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
	p = partition{Name: row.Name, From: math.MinInt64, Until: noBound, Rows: max(0, row.Rows), Checked: row.Validated}
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
		p.Bound, err = strconv.ParseInt(row.Prepared, 10, 64)
	}
	return p, err
}

// maintainPartitions starts a goroutine that drops the partitions whose occurrences are all old,
// and adds a partition when the last one is large. The goroutine may take long, and pauses after
// that. maintainPartitions returns the id of the occurrence below which Purge must delete rows: the
// partitions from there on will be dropped. noBound: Purge deletes all old rows.
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
		if is {
			old = append(old, p)
		}
		if _, kept := e.maintenance.undroppable.Load(p.Name); !is || !kept {
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

// maintain drops and adds partitions.
func (e *postgresEngine) maintain(ctx context.Context, all, old []partition, oldBefore time.Time, log *slog.Logger) error {
	for _, p := range old {
		if err := e.dropPartition(ctx, p, oldBefore, log); err != nil {
			return err
		}
	}
	e.analyzeDeliveries(ctx, all, log)
	return e.addPartition(ctx, all[len(all)-1], oldBefore, log)
}

func (e *postgresEngine) partitions(ctx context.Context) (all []partition, err error) {
	err = e.attempt(withTimeoutClass(ctx, timeoutShort), readCommitted, func(t tx) error {
		rows, err := rowsOf[partitionRow](t.db(ctx).Raw(`SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS range,
				CAST(c.reltuples AS BIGINT) AS rows, substr(k.conname, length(@prefix ) + 1) AS prepared, COALESCE(k.convalidated, FALSE) AS validated
			FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
				LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'c' AND starts_with(k.conname, @prefix )
			WHERE i.inhparent = to_regclass('deliveries')`, map[string]any{"prefix": boundPrefix}))
		all = all[:0]
		for _, row := range rows {
			p, err := row.partition()
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		slices.SortFunc(all, func(a, b partition) int { return cmp.Compare(a.From, b.From) })
		return err
	})
	return all, err
}

// isOld reports whether all occurrences of a partition are older than a time: it looks at the first
// occurrence after them.
func (e *postgresEngine) isOld(ctx context.Context, p partition, oldBefore time.Time) (old bool, err error) {
	err = e.attempt(withTimeoutClass(ctx, timeoutShort), readCommitted, func(t tx) error {
		return t.db(ctx).Raw("SELECT COALESCE((SELECT created_at < ? FROM occurrences WHERE id >= ? ORDER BY id LIMIT 1), FALSE)", oldBefore.UTC(), p.Until).Scan(&old).Error
	})
	return old, err
}

// dropPartition drops a partition, unless one of its occurrences was sent or cancelled much later
// than it was created, or has open deliveries. Then, and after an error, Purge deletes its rows.
// Purge also deletes the occurrences.
func (e *postgresEngine) dropPartition(ctx context.Context, p partition, oldBefore time.Time, log *slog.Logger) error {
	kept, err := e.hasRecentOccurrences(ctx, p, oldBefore)
	if err != nil {
		return err
	}
	if !kept {
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

// addPartition adds a partition when the last one is large and covers a share of the retention
// period. The last one gets an upper bound above all current ids. A constraint for the bound is
// validated first, without blocking others, so that attaching takes only a moment. After a restart,
// addPartition continues with the existing constraint.
func (e *postgresEngine) addPartition(ctx context.Context, last partition, oldBefore time.Time, log *slog.Logger) error {
	if last.Bound == 0 {
		bound, due, err := e.nextBound(ctx, last, oldBefore)
		if err != nil || !due {
			return err
		}
		last.Bound = bound
		err = e.changeTable(ctx, func(t tx) error {
			lower := ""
			if last.From != math.MinInt64 {
				lower = fmt.Sprintf(" AND occurrence_id >= %d", last.From)
			}
			return t.db(ctx).Exec(fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s%d CHECK (occurrence_id < %d%s) NOT VALID",
				last.Name, boundPrefix, bound, bound, lower)).Error
		})
		if err != nil {
			return err
		}
	}
	if !last.Checked {
		reading, cancel := context.WithTimeout(withTimeoutClass(ctx, timeoutNone), maintenanceTimeout)
		defer cancel()
		err := e.attempt(reading, readCommitted, func(t tx) error {
			return t.db(reading).Exec(fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s%d", last.Name, boundPrefix, last.Bound)).Error
		})
		if err != nil {
			return err
		}
	}
	err := e.changeTable(ctx, func(t tx) error { return t.splitLast(ctx, last) })
	if err == nil {
		log.InfoContext(ctx, "deliveries have a new partition", slog.Int64("from_occurrence", last.Bound))
	}
	return err
}

// nextBound returns the id at which the next partition begins, and reports whether it is due. The
// last partition still takes an eighth more occurrences, and at least those of an hour.
func (e *postgresEngine) nextBound(ctx context.Context, last partition, oldBefore time.Time) (bound int64, due bool, err error) {
	if last.Rows < e.partitionRows {
		return 0, false, nil
	}
	now := e.now()
	first, err := e.firstOccurrence(ctx, last.From)
	if err != nil || first.ID == 0 || now.Sub(first.CreatedAt) < now.Sub(oldBefore)/maxPartitions {
		return 0, false, err
	}
	var newest, recent int64
	err = e.attempt(withTimeoutClass(ctx, timeoutShort), readCommitted, func(t tx) error {
		return t.db(ctx).Raw(`SELECT (SELECT MAX(id) FROM occurrences), (SELECT COUNT(*) FROM (SELECT 1 FROM occurrences
			WHERE COALESCE(cancelled_at, send_at, created_at) > ? LIMIT 1000000) AS recent)`, now.Add(-time.Minute).UTC()).Row().Scan(&newest, &recent)
	})
	return newest + max(minOccurrencesAhead, (newest-first.ID)/maxPartitions, recent*int64(time.Hour/time.Minute)), err == nil, err
}

// splitLast sets the upper bound of the last partition and adds an equal one after it.
func (t tx) splitLast(ctx context.Context, last partition) error {
	var options string
	if err := t.db(ctx).Raw("SELECT COALESCE(array_to_string(reloptions, ', '), '') FROM pg_class WHERE oid = to_regclass(?)", last.Name).Scan(&options).Error; err != nil {
		return err
	}
	if options != "" {
		options = " WITH (" + options + ")"
	}
	from, next := "MINVALUE", fmt.Sprintf("deliveries_%d", last.Bound)
	if last.From != math.MinInt64 {
		from = strconv.FormatInt(last.From, 10)
	}
	for _, statement := range []string{
		"ALTER TABLE deliveries DETACH PARTITION " + last.Name,
		fmt.Sprintf("ALTER TABLE deliveries ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%d)", last.Name, from, last.Bound),
		fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s%d", last.Name, boundPrefix, last.Bound),
		fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY)%s", next, last.Name, options),
		fmt.Sprintf("ALTER TABLE deliveries ATTACH PARTITION %s FOR VALUES FROM (%d) TO (MAXVALUE)", next, last.Bound),
	} {
		if err := t.db(ctx).Exec(statement).Error; err != nil {
			return err
		}
	}
	return nil
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
