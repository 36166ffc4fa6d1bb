package gormstore

import (
	"context"
	"math"
	"sync/atomic"
)

// youngRows is how many rows are added to a table before Postgres is told to count them.
const youngRows = 500

// young counts what is added to a table. Of a table that it has not counted yet Postgres does not
// know which index finds one row and which all that an organization has, and takes either, for the
// checks of foreign keys, too, which nobody else writes. It counts by itself, but only after a
// minute, and until then each row that is added costs more than the one before.
type young struct{ added atomic.Int64 }

// grew notes that rows were added.
func (y *young) grew(n int) {
	if y != nil {
		y.added.Add(int64(n))
	}
}

// worthALook reports whether enough was added since the last time, to one caller.
func (y *young) worthALook() bool {
	n := y.added.Load()
	return n >= youngRows && y.added.CompareAndSwap(n, 0)
}

// grown notes that the table is none any more.
func (y *young) grown() { y.added.Store(math.MinInt64 / 2) }

// countMembers has Postgres count the members, unless it knows that there are many. Where that
// fails, or somebody else does it just now, what is added next is reason to try again.
func (e *postgresEngine) countMembers(ctx context.Context) {
	ctx = paced(ctx, paceBrief)
	var known float64
	if err := e.pool.QueryRow(ctx, "SELECT reltuples FROM pg_class WHERE oid = to_regclass('members')").Scan(&known); err != nil {
		return
	}
	if known >= youngRows {
		e.young.grown()
		return
	}
	_, _ = e.pool.Exec(ctx, "ANALYZE (SKIP_LOCKED) members") // See above.
}
