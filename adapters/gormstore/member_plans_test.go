package gormstore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/test/pgtest"
)

// The last deliveries to a member come from the end of an index, however many there are.

func TestTheLatestDeliveriesAreNotSortedOnSQLite(t *testing.T) {
	t.Parallel()
	plan := strings.Join(lines(t, open(t, "sqlite::memory:").Handle(), 3, "EXPLAIN QUERY PLAN "+gormstore.LatestOfMember, 1, 20), "\n")
	assert.Contains(t, plan, "deliveries_member (member_id=?)")
	assert.NotContains(t, plan, "TEMP B-TREE")
	assert.NotContains(t, plan, "SCAN")
}

func TestTheLatestDeliveriesAreNotSortedOnPostgres(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.New(t))
	exec(t, s, `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key, chosen, state, reason,
			attempts, owner, next_at, last_error, created_at)
		SELECT n / 2, 1, n % 30, 1, 1, 'EMAIL', 'a', 'a' || n, TRUE, 3, '', 1, '', now(), '', now() FROM generate_series(1, 30000) AS n; ANALYZE deliveries`)
	query := strings.NewReplacer("d.member_id = ?", "d.member_id = 1", "LIMIT ?", "LIMIT 20").Replace(gormstore.LatestOfMember)
	plan := strings.Join(lines(t, planning(t, s), 0, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "+query), "\n")
	require.Contains(t, plan, "Index Scan Backward using deliveries_member", plan)
	assert.Contains(t, plan, "Presorted Key: occurrence_id", "only deliveries of one occurrence are put in order: %s", plan)
	for _, far := range []string{"rows=10000", "rows=1000 ", "Seq Scan"} {
		assert.NotContains(t, plan, far)
	}
}
