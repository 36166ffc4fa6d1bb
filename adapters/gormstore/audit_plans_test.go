package gormstore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

// TestTheAuditLogIsReadByTime holds, on an empty table, where reading all of it looks cheapest, that a page reads an index in the order that
// it shows, from where the page before it ended.
func TestTheAuditLogIsReadByTime(t *testing.T) {
	t.Parallel()
	const read = "SELECT * FROM audit_entries WHERE organization_id = 1 AND created_at >= '2026-03-01 00:00:00+00:00'" +
		" AND (created_at, id) < ('2026-03-02 00:00:00+00:00', 7)"
	const order = " ORDER BY created_at DESC, id DESC LIMIT 51"
	for statement, index := range map[string]string{
		read + order:                       "audit_entries_time",
		read + " AND via <> 'API'" + order: "audit_entries_people",
	} {
		plan := strings.Join(lines(t, open(t, "sqlite::memory:").Handle(), 3, "EXPLAIN QUERY PLAN "+statement), "\n")
		assert.Contains(t, plan, "USING INDEX "+index+" (organization_id=? AND created_at>? AND created_at<?)", statement)
		assert.NotContains(t, plan, "TEMP B-TREE", statement)

		conn, err := open(t, pgtest.New(t)).Handle().Conn(t.Context())
		require.NoError(t, err)
		plan = strings.Join(lines(t, conn, 0, "EXPLAIN (COSTS OFF) "+statement), "\n")
		assert.Contains(t, plan, "Index Scan Backward using "+index, statement)
		assert.NotContains(t, plan, "Sort", statement)
		require.NoError(t, conn.Close())
	}
}
