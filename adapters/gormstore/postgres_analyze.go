package gormstore

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
)

// analyzeAfter is the number of inserted rows after which a table is analyzed.
const analyzeAfter = 500

// growingTable is a table that is analyzed once, when it has its first rows. Without statistics, or
// with those of a nearly empty table, Postgres may read all rows of an organization, or of all,
// instead of looking up a single one. It keeps such plans for statements and for the checks of
// foreign keys. Autovacuum analyzes the table only after a minute, and until then each statement is
// slower than the one before.
type growingTable int

const (
	growingMembers growingTable = iota
	growingOccurrences
	growingDeliveries
)

// analyzed returns the tables to analyze: the table itself, and those that grow with it.
func (g growingTable) analyzed() []string {
	switch g {
	case growingMembers:
		return []string{"members", "addresses", "assignments"}
	case growingOccurrences:
		return []string{"occurrences"}
	case growingDeliveries:
	}
	return []string{"deliveries"}
}

// growingTables counts the rows inserted into each growing table until it has been analyzed.
type growingTables [growingDeliveries + 1]atomic.Int64

// add counts n inserted rows. Nil *growingTables ignore them.
func (t *growingTables) add(g growingTable, n int) {
	if t != nil {
		t[g].Add(int64(n))
	}
}

// due reports, to one caller only, whether enough rows were inserted since the last time.
func (t *growingTables) due(g growingTable) bool {
	n := t[g].Load()
	return n >= analyzeAfter && t[g].CompareAndSwap(n, 0)
}

// stop ends counting. The table has statistics.
func (t *growingTables) stop(g growingTable) { t[g].Store(math.MinInt64 / 2) }

// analyzeGrown analyzes the tables that have grown, unless their statistics already show many rows.
// If that fails, or another session is analyzing them, the next rows cause another attempt.
func (e *postgresEngine) analyzeGrown(ctx context.Context) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	for g := range growingDeliveries + 1 {
		if !e.grown.due(g) {
			continue
		}
		tables := g.analyzed()
		var known float64
		if err := e.pool.QueryRow(ctx, `SELECT COALESCE(MAX(reltuples), 0) FROM pg_class WHERE oid = to_regclass($1)
			OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass($1))`, tables[0]).Scan(&known); err != nil {
			continue
		}
		if known >= analyzeAfter {
			e.grown.stop(g)
			continue
		}
		_, _ = e.pool.Exec(ctx, "ANALYZE (SKIP_LOCKED) "+strings.Join(tables, ", ")) // See above.
	}
}
