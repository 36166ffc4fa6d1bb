package gormstore

import (
	"context"
	"math"
	"sync/atomic"
)

// analyzeAfter is how many rows are added to a table before Postgres is asked to analyze it.
const analyzeAfter = 500

// growth counts the rows added to a table that Postgres has not analyzed yet. Without statistics
// Postgres cannot tell an index that finds one row from one that finds all rows of an organization.
// It may choose either, also for the checks of foreign keys, whose plans it keeps. Autovacuum
// analyzes the table only after a minute, and until then each added row costs more than the last.
type growth struct{ added atomic.Int64 }

// add notes that n rows were added. A nil *growth ignores them.
func (g *growth) add(n int) {
	if g != nil {
		g.added.Add(int64(n))
	}
}

// due reports, to one caller only, whether enough rows were added since the last time.
func (g *growth) due() bool {
	n := g.added.Load()
	return n >= analyzeAfter && g.added.CompareAndSwap(n, 0)
}

// stop ends counting: Postgres has statistics of the table.
func (g *growth) stop() { g.added.Store(math.MinInt64 / 2) }

// analyzeMembers has Postgres analyze the members, unless it already knows that there are many. If
// that fails, or another session analyzes them at the moment, the next rows are a reason to try
// again.
func (e *postgresEngine) analyzeMembers(ctx context.Context) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	var known float64
	if err := e.pool.QueryRow(ctx, "SELECT reltuples FROM pg_class WHERE oid = to_regclass('members')").Scan(&known); err != nil {
		return
	}
	if known >= analyzeAfter {
		e.members.stop()
		return
	}
	_, _ = e.pool.Exec(ctx, "ANALYZE (SKIP_LOCKED) members") // See above.
}
