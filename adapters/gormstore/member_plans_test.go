package gormstore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/test/databases"
)

// A page of the deliveries to a member comes from a place of an index, however many there are.

func TestMemberDeliveriesPlanOnSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	for _, newer := range []bool{false, true} {
		for failed, index := range map[bool]string{false: "deliveries_member (member_id=?", true: "deliveries_member_failed (member_id=?"} {
			plan := strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+gormstore.ToMember(failed, newer), 1, 2, 3, 20), "\n")
			assert.Contains(t, plan, index)
			assert.NotContains(t, plan, "TEMP B-TREE")
			assert.NotContains(t, plan, "SCAN")
		}
	}
}

func TestMemberDeliveriesPlanOnPostgres(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t))
	exec(t, s, `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key, chosen, state, reason,
			attempts, owner, next_at, last_error, created_at)
		SELECT n / 2, 1, n % 30, 1, 1, 'EMAIL', 'a', 'a' || n, TRUE, 3 + (n / 60) % 2, '', 1, '', now(), '', now() FROM generate_series(1, 30000) AS n; ANALYZE deliveries`)
	for _, newer := range []bool{false, true} {
		for failed, index := range map[bool]string{false: "using deliveries_member ", true: "using deliveries_member_failed "} {
			query := strings.NewReplacer("d.member_id = ?", "d.member_id = 1", "(?, ?)", "(7000, 5)", "LIMIT ?", "LIMIT 20").Replace(gormstore.ToMember(failed, newer))
			plan := strings.Join(lines(t, planning(t, s), 0, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "+query), "\n")
			require.Contains(t, plan, index, plan)
			assert.Regexp(t, `Presorted Key: (d\.)?occurrence_id`, plan, "only deliveries of one occurrence are put in order")
			for _, far := range []string{"rows=10000", "rows=1000 ", "Seq Scan"} {
				assert.NotContains(t, plan, far)
			}
		}
	}
}
