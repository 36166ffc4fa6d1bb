package gormstore

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"time"
)

const (
	// partitionRows is how many rows the last partition of deliveries has before another one is
	// added. A small installation has one partition.
	partitionRows = 5_000_000
	// spanParts is the part of the retention period that the last partition covers before another
	// one is added: a tenth. Until that one begins, it covers about an eighth (see overdueParts).
	spanParts = 10
	// minOccurrencesAhead is the minimum number of occurrences that the last partition still takes
	// while another one is added, and aheadParts the part of those that it already has. rateTime is
	// the time in which the rate of new occurrences is measured, and aheadTime that for which it
	// must suffice.
	minOccurrencesAhead = 10_000
	aheadParts          = 8
	rateTime            = time.Minute
	aheadTime           = time.Hour
	// boundPrefix is the prefix of the name of the constraint that prepares the upper bound of the
	// last partition. The bound follows it.
	boundPrefix = "deliveries_until_"
)

// preparedBound is a new upper bound of a partition, and has a constraint.
type preparedBound struct {
	Until   int64
	Checked bool // no row is beyond it
}

// hasStrayBounds reports whether a partition has prepared bounds that it cannot get: it is not the
// last one, or there are several, or the bound is below its occurrences. Rows beyond it are
// refused.
func (p partition) hasStrayBounds() bool {
	n := len(p.Prepared)
	return n > 1 || n == 1 && (p.Until != noBound || p.Prepared[0].Until <= p.From)
}

// dropStrayBounds drops the constraints of stray bounds and returns the last partition. Two
// instances of an earlier version left such constraints when both added a partition.
func (e *postgresEngine) dropStrayBounds(ctx context.Context, all []partition) (last partition, err error) {
	if !slices.ContainsFunc(all, partition.hasStrayBounds) {
		return all[len(all)-1], nil
	}
	err = e.changeTable(ctx, func(t tx) error {
		now, err := t.partitions(ctx)
		if err != nil {
			return err
		}
		for i, p := range now {
			if !p.hasStrayBounds() {
				continue
			}
			for _, b := range p.Prepared {
				if err := t.dropBound(ctx, p, b); err != nil {
					return err
				}
			}
			now[i].Prepared = nil
		}
		last = now[len(now)-1]
		return nil
	})
	return last, err
}

// dropBound drops the constraint of a prepared bound.
func (t tx) dropBound(ctx context.Context, p partition, b preparedBound) error {
	return t.db(ctx).Exec(fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s%d", p.Name, boundPrefix, b.Until)).Error
}

// addPartition adds a partition when the last one is large and covers a share of the retention
// period. The last one gets an upper bound above all current ids. A constraint for the bound is
// validated first, without blocking others, so that attaching takes only a moment. After a restart,
// addPartition continues with the existing constraint. Several instances may do this at the same
// time: each step that changes the table checks under its lock that no other instance was faster.
func (e *postgresEngine) addPartition(ctx context.Context, last partition, oldBefore time.Time, log *slog.Logger) error {
	var bound preparedBound
	var err error
	if len(last.Prepared) > 0 {
		bound = last.Prepared[0]
	} else if bound, err = e.prepareBound(ctx, last, oldBefore); err != nil || bound.Until == 0 {
		return err
	}
	if !bound.Checked {
		reading, cancel := context.WithTimeout(withTimeoutClass(ctx, timeoutNone), maintenanceTimeout)
		defer cancel()
		err := e.attempt(reading, readCommitted, func(t tx) error {
			return t.db(reading).Exec(fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s%d", last.Name, boundPrefix, bound.Until)).Error
		})
		switch state := sqlState(err); {
		case state == undefinedObject: // Another instance has added the partition.
			return nil
		case state == checkViolation: // A row is beyond the bound, and the next call prepares another one.
			return e.changeTable(ctx, func(t tx) error { return t.dropBound(ctx, last, bound) })
		case err != nil:
			return err
		}
		bound.Checked = true
	}
	if err := e.warnOfBound(ctx, last, bound, log); err != nil {
		return err
	}
	split := false
	err = e.changeTable(ctx, func(t tx) error {
		split = false
		now, err := t.lastPartition(ctx)
		if err != nil || now.Name != last.Name || !slices.Equal(now.Prepared, []preparedBound{bound}) {
			return err
		}
		split = true
		return t.splitLast(ctx, now)
	})
	if err == nil && split {
		log.InfoContext(ctx, "deliveries have a new partition", slog.Int64("from_occurrence", bound.Until))
	}
	return err
}

// lastPartition returns the last partition.
func (t tx) lastPartition(ctx context.Context) (last partition, err error) {
	all, err := t.partitions(ctx)
	if err != nil {
		return last, err
	}
	return all[len(all)-1], nil
}

// prepareBound adds the constraint of a new upper bound; the zero value: none is due, or another
// instance was faster. All deliveries are below the bound, because it is chosen under the lock.
func (e *postgresEngine) prepareBound(ctx context.Context, last partition, oldBefore time.Time) (bound preparedBound, err error) {
	if last.Rows < e.partitionRows {
		return bound, nil
	}
	now := e.now()
	first, err := e.firstOccurrence(ctx, last.From)
	if err != nil || first.ID == 0 || now.Sub(first.CreatedAt) < now.Sub(oldBefore)/spanParts {
		return bound, err
	}
	_, ahead, err := e.occurrencesAhead(ctx, last, first.ID)
	if err != nil {
		return bound, err
	}
	err = e.changeTable(ctx, func(t tx) error {
		bound.Until = 0
		current, err := t.lastPartition(ctx)
		if err != nil || current.Name != last.Name || len(current.Prepared) > 0 {
			return err
		}
		newest, err := t.lastOccurrence(ctx, noBound)
		if err != nil {
			return err
		}
		bound.Until = newest.ID + ahead
		lower := ""
		if last.From != math.MinInt64 {
			lower = fmt.Sprintf(" AND occurrence_id >= %d", last.From)
		}
		return t.db(ctx).Exec(fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s%d CHECK (occurrence_id < %[3]d%s) NOT VALID",
			last.Name, boundPrefix, bound.Until, lower)).Error
	})
	return bound, err
}

// occurrencesAhead returns the newest occurrence, and how many more a last partition takes: an
// eighth of those that it has, and at least those of an hour at the present rate. It has at most as
// many as rows: a copied organization leaves a large gap between ids. To find the rate
// occurrencesAhead goes back from the newest one in steps that double, to one that is older than a
// minute, so it may return twice as many.
func (e *postgresEngine) occurrencesAhead(ctx context.Context, p partition, first int64) (newest, ahead int64, err error) {
	err = e.attempt(withTimeoutClass(ctx, timeoutShort), readCommitted, func(t tx) error {
		last, err := t.lastOccurrence(ctx, noBound)
		newest, ahead = last.ID, max(minOccurrencesAhead, min(last.ID-first, p.Rows)/aheadParts)
		for since := e.now().Add(-rateTime); err == nil && last.ID != 0; ahead *= 2 {
			last, err = t.lastOccurrence(ctx, newest-ahead/int64(aheadTime/rateTime))
			if last.CreatedAt.Before(since) {
				break
			}
		}
		return err
	})
	return newest, ahead, err
}

// lastOccurrence returns the last occurrence up to an id.
func (t tx) lastOccurrence(ctx context.Context, until int64) (last occurrenceAge, err error) {
	err = t.db(ctx).Raw("SELECT id, created_at FROM occurrences WHERE id <= ? ORDER BY id DESC LIMIT 1", until).Scan(&last).Error
	return last, err
}

// warnOfBound logs a warning when few ids up to a prepared bound are left: fewer than a quarter of
// what a bound would have now. Occurrences beyond it cannot be expanded before the last partition
// gets it.
func (e *postgresEngine) warnOfBound(ctx context.Context, last partition, bound preparedBound, log *slog.Logger) error {
	first, err := e.firstOccurrence(ctx, last.From)
	if err != nil {
		return err
	}
	newest, ahead, err := e.occurrencesAhead(ctx, last, first.ID)
	if left := bound.Until - 1 - newest; err == nil && left < ahead/4 {
		log.WarnContext(ctx, "new occurrences will soon wait for a partition of deliveries",
			slog.Int64("from_occurrence", bound.Until), slog.Int64("left", max(0, left)))
	}
	return err
}

// splitLast gives the last partition its prepared upper bound, and adds an equal one after it.
func (t tx) splitLast(ctx context.Context, last partition) error {
	bound := last.Prepared[0]
	from, until := "MINVALUE", strconv.FormatInt(bound.Until, 10)
	if last.From != math.MinInt64 {
		from = strconv.FormatInt(last.From, 10)
	}
	if err := t.db(ctx).Exec("ALTER TABLE deliveries DETACH PARTITION " + last.Name).Error; err != nil {
		return err
	}
	if err := t.attachPartition(ctx, last.Name, from, until); err != nil {
		return err
	}
	if err := t.dropBound(ctx, last, bound); err != nil {
		return err
	}
	last.Prepared = nil
	return t.createPartition(ctx, "deliveries_"+until, last, until, "MAXVALUE")
}

// createPartition adds a partition that is like another one.
func (t tx) createPartition(ctx context.Context, name string, like partition, from, until string) error {
	var options string
	if err := t.db(ctx).Raw("SELECT COALESCE(array_to_string(reloptions, ', '), '') FROM pg_class WHERE oid = to_regclass(?)", like.Name).Scan(&options).Error; err != nil {
		return err
	}
	if options != "" {
		options = " WITH (" + options + ")"
	}
	if err := t.db(ctx).Exec(fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY)%s", name, like.Name, options)).Error; err != nil {
		return err
	}
	for _, b := range like.Prepared { // The new partition has its constraint, too.
		if err := t.dropBound(ctx, partition{Name: name}, b); err != nil {
			return err
		}
	}
	return t.attachPartition(ctx, name, from, until)
}

func (t tx) attachPartition(ctx context.Context, name, from, until string) error {
	return t.db(ctx).Exec(fmt.Sprintf("ALTER TABLE deliveries ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)", name, from, until)).Error
}

// coverOccurrence adds a partition for all occurrences before the first partition, if this
// occurrence is one of them. A copied organization may have deliveries that are older than all that
// are left here.
func (t tx) coverOccurrence(ctx context.Context, id int64) error {
	all, err := t.partitions(ctx)
	if err != nil || id >= all[0].From {
		return err
	}
	until := strconv.FormatInt(all[0].From, 10)
	return t.createPartition(ctx, "deliveries_before_"+until, all[0], "MINVALUE", until)
}
