package gormstore

import (
	"context"
	"math"
	"sync/atomic"
)

// analyzeAfter is the number of inserted rows after which a table is analyzed.
const analyzeAfter = 500

// growth counts the rows inserted into a table without statistics. Without them Postgres may choose
// an index that finds all rows of an organization instead of one that finds a single row, and it
// keeps such plans for the checks of foreign keys. Autovacuum analyzes the table only after a
// minute, and until then each insert is slower than the one before.
type growth struct{ added atomic.Int64 }

// add counts n inserted rows. A nil *growth ignores them.
func (g *growth) add(n int) {
	if g != nil {
		g.added.Add(int64(n))
	}
}

// due reports, to one caller only, whether enough rows were inserted since the last time.
func (g *growth) due() bool {
	n := g.added.Load()
	return n >= analyzeAfter && g.added.CompareAndSwap(n, 0)
}

// stop ends counting. The table has statistics.
func (g *growth) stop() { g.added.Store(math.MinInt64 / 2) }

// analyzeMembers analyzes the table of members, unless its statistics already show many rows. If
// that fails, or another session is analyzing it, the next rows cause another attempt.
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
