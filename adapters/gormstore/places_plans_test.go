package gormstore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/test/databases"
)

// The plans of pages in the console are made on an empty database, too.

// somewhere are values for the parameters of pages.
var somewhere = strings.NewReplacer("@org", "1", "@from", "'a'", "@to", "'b'", "@after", "'0'", "@id", "0", "@limit", "50",
	"address_key) > (?, ?)", "address_key) > (1, 'a')", "?", "1")

func TestPagePlansOnSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	for index, sql := range gormstore.PlacePages(somewhere) {
		plan := strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+sql), "\n")
		if strings.HasSuffix(index, "_key") {
			index = "sqlite_autoindex_subscriptions_1"
		}
		assert.Contains(t, plan, index, sql)
		assert.NotContains(t, plan, "SCAN", sql)
		assert.NotContains(t, plan, "TEMP B-TREE", sql)
	}
}

func TestPagePlansOnPostgres(t *testing.T) {
	t.Parallel()
	conn, err := open(t, databases.Postgres(t)).Handle().Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	for _, setting := range []string{"enable_seqscan", "enable_bitmapscan", "enable_sort"} { // An empty table is read whole otherwise; this reports whether it must be.
		_, err = conn.ExecContext(t.Context(), "SET "+setting+" = off")
		require.NoError(t, err)
	}
	for index, sql := range gormstore.PlacePages(somewhere) {
		plan := strings.Join(lines(t, conn, 0, "EXPLAIN (COSTS OFF) "+sql), "\n")
		assert.Contains(t, plan, index, sql)
		assert.NotContains(t, plan, "Seq Scan", sql)
		assert.NotContains(t, plan, "Sort", sql)
	}
}

// TestSearchPlans is about looking up list entries for the results of a search, before Postgres has
// gathered statistics, when everything looks small.
func TestSearchPlans(t *testing.T) {
	t.Parallel()
	db := planning(t, open(t, databases.Postgres(t)))
	for name, sql := range gormstore.PlaceLookups("postgres") {
		plan := strings.Join(lines(t, db, 0, "EXPLAIN (COSTS OFF) "+sql), "\n")
		for _, table := range []string{"members", "addresses", "assignments", "list_entries", "users"} {
			assert.NotContains(t, plan, "Seq Scan on "+table, name)
		}
		assert.NotContains(t, plan, "members_organization", name)
		assert.NotContains(t, plan, "Hash Join", name)
		assert.NotContains(t, plan, "Merge Join", name)
	}
	s := open(t, "sqlite::memory:")
	for name, sql := range gormstore.PlaceLookups("sqlite") {
		plan := strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+sql), "\n")
		scans := strings.Count(plan, "SCAN") - strings.Count(plan, "SCAN (subquery") - strings.Count(plan, "SCAN numbered") // The latter are of what was found.
		assert.Equal(t, scans, strings.Count(plan, "VIRTUAL TABLE"), "%s: only the set is read from end to end: %s", name, plan)
		assert.NotContains(t, plan, "AUTOMATIC", name)
	}
}
