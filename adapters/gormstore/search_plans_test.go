package gormstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// TestFilterPlansOnSQLite is about every plan of a query with all conditions.
func TestFilterPlansOnSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	indexes := map[string]string{"m.locked": "members_locked", "m.role <>": "members_role", "list_entries": "PRIMARY KEY (list_id=? AND assignment_id>?)",
		"application_memberships": "application_memberships_application (application_id=? AND member_id>?)", "member_group_links": "member_group_links_group (group_id=? AND member_id>?)"}
	all := users.Query{Text: "a b", Locked: true, WithoutAddress: true, Role: users.RoleViewer, Group: 1, List: 1, Application: 1, Metadata: metadata.Condition{Path: "a", Text: "b"}}
	for set, statements := range gormstore.SearchStatements(all) {
		for i, statement := range statements {
			var unbound []any
			for range strings.Count(statement, "?") {
				unbound = append(unbound, "[]")
			}
			plan := strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+statement, unbound...), "\n")
			assert.NotContains(t, plan, "TEMP B-TREE", "%s: %s", set, plan)
			assert.NotContains(t, strings.ReplaceAll(plan, "SCAN json_each", ""), "SCAN", "%s: %s", set, plan)
			if i == 1 {
				assert.Contains(t, plan, "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)", set)
				assert.Contains(t, plan, "SEARCH e USING COVERING INDEX list_entries_assignment (assignment_id=? AND list_id=?)", set)
				assert.Contains(t, plan, "sqlite_autoindex_addresses_1 (organization_id=? AND member_id=?)", set)
				continue
			}
			for part, index := range indexes {
				if strings.Contains(set, part) {
					assert.Contains(t, plan, index, set)
				}
			}
		}
	}
}

// TestSortedMemberPlans checks that no order of members needs sorting.
func TestSortedMemberPlans(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		conn := planning(t, s)
		indexes := map[users.Sort]string{users.ByName: "members_name", users.ByUsername: "members_username", users.ByAdded: "members_organization"}
		for _, sort := range users.Sorts() {
			for _, after := range []users.Cursor{{}, {Order: users.Order(sort), ID: 7, Key: "a"}} {
				explain, column := "EXPLAIN QUERY PLAN ", 3
				if strings.HasPrefix(url, "postgres") {
					explain, column = "EXPLAIN (COSTS OFF) ", 0
				}
				plan := strings.Join(lines(t, conn, column, explain+gormstore.SortedPlaces(strings.HasPrefix(url, "postgres"), sort, after)), "\n")
				assert.Contains(t, plan, indexes[users.Sort(strings.TrimPrefix(string(sort), "-"))], sort)
				for _, sorts := range []string{"TEMP B-TREE", "Seq Scan"} {
					assert.NotContains(t, plan, sorts, sort)
				}
			}
		}
	})
}

// TestPlanStepsOnPostgres counts what each query reads in an organization that is larger, before
// statistics are gathered and after.
func TestPlanStepsOnPostgres(t *testing.T) {
	t.Parallel()
	const members, most = 40_000, 30_000 // A place is read once, and what is asked of the member there twice at most.
	s := open(t, databases.Postgres(t))
	s.Handle().SetMaxOpenConns(1) // whose counters are read below
	ctx := t.Context()
	newOrganization(t, s, "acme")
	for from := 0; from < members; from += 4_000 {
		var b users.Batch
		for i := from; i < from+4_000; i++ {
			b.Enrollments = append(b.Enrollments, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("person%07d@example.org", i)}})
		}
		require.NoError(t, enroll(ctx, s, "acme", b))
	}
	indexAll(t, s)
	exec(t, s, largeOrganization)
	for _, statistics := range []string{"SELECT 1", "ANALYZE"} {
		exec(t, s, statistics)
		for name, q := range queriesOfMany() {
			q.Limit = 50
			exec(t, s, "SELECT pg_stat_force_next_flush()")
			exec(t, s, "SELECT pg_stat_reset()")
			require.NoError(t, s.View(ctx, func(tx ports.Tx) error {
				_, err := tx.Users().Search(ctx, 2, q)
				return err
			}))
			exec(t, s, "SELECT pg_stat_force_next_flush()")
			var read string
			require.NoError(t, s.Handle().QueryRowContext(ctx, `SELECT COALESCE(string_agg(what || ' ' || n, ', '), '') FROM (
				SELECT relname AS what, seq_tup_read AS n FROM pg_stat_user_tables UNION ALL SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes) AS r
				WHERE n > $1`, most).Scan(&read))
			assert.Empty(t, read, "%s after %s", name, statistics)
		}
	}
}
