package gormstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/databases"
)

// TestAuditPlans checks that a page reads an index in its order, from the end of the previous page.
// The table is empty, because then reading all of it looks cheapest.
func TestAuditPlans(t *testing.T) {
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

		plan = strings.Join(lines(t, planning(t, open(t, databases.Postgres(t))), 0, "EXPLAIN (COSTS OFF) "+statement), "\n")
		assert.Contains(t, plan, "Index Scan Backward using "+index, statement)
		assert.NotContains(t, plan, "Sort", statement)
	}
}

// TestPurgePlans checks that the removal of old entries reads only the first ones, even if none is
// old, and needs no index by age.
func TestPurgePlans(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		var removal string
		s.Overhear(func(statement string) {
			if strings.HasPrefix(statement, "DELETE FROM audit_entries") {
				removal = statement
			}
		})
		_, err := s.Queue().Purge(t.Context(), deliveries.Expiry{Entries: time.Now()}, 5_000)
		require.NoError(t, err)
		require.NotEmpty(t, removal)
		explain, column, first := "EXPLAIN QUERY PLAN ", 3, "SCAN first"
		if strings.Contains(removal, "SKIP LOCKED") {
			explain, column, first = "EXPLAIN (COSTS OFF) ", 0, "Subquery Scan on first"
		}
		plan := strings.Join(lines(t, planning(t, s), column, explain+removal), "\n")
		for _, reads := range []string{"SCAN audit_entries", "Seq Scan", "audit_entries_time", "audit_entries_people", "TEMP B-TREE"} {
			assert.NotContains(t, plan, reads)
		}
		assert.Contains(t, plan, first)
		assert.Equal(t, strings.Count(plan, "Filter:"), strings.Count(plan, "Filter: (first.created_at <"), "what is not old is left out of the first only")
	})
}
