package gormstore_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/test/pgtest"
)

// The plans of Enroll's statements are made here on an empty database, where to read a whole table looks cheapest: what
// is not done there is done nowhere.

func TestEnrollLooksPeopleUpOnSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	for name, statement := range gormstore.Lookups("sqlite") {
		plan := lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+statement, "[]", 1)
		for _, step := range plan {
			assert.False(t, strings.Contains(step, "SCAN") && !strings.Contains(step, "VIRTUAL TABLE"), "%s: only the set is read from end to end: %q", name, plan)
		}
		if name == "byEmail" {
			assert.Contains(t, strings.Join(plan, "\n"), "users_email")
		}
	}
}

func TestEnrollLooksPeopleUpOnPostgres(t *testing.T) {
	t.Parallel()
	conn, err := open(t, pgtest.New(t)).Handle().Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	run := func(statement string) {
		_, err := conn.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	run("SET plan_cache_mode = force_generic_plan") // the plan that a connection would keep
	for name, values := range map[string]string{"byEmail": "'{}'::text[]", "byUsername": "'{}'::text[]", "members": "'{}'::bigint[], 1",
		"lockFields": "'{}'::bigint[]", "saveFields": "'{}'::bigint[], '{}'::text[]", "groups": "'{}'::bigint[]"} {
		run("PREPARE " + name + " AS " + gormstore.Lookups("postgres")[name])
		plan := strings.Join(lines(t, conn, 0, "EXPLAIN (COSTS OFF) EXECUTE "+name+" ("+values+")"), "\n")
		assert.NotContains(t, plan, "Seq Scan", name)
		if name == "byEmail" {
			assert.Contains(t, plan, "users_email")
		}
	}
}

// TestEnrollNeverGoesThroughAnOrganization is about the plan for a whole set of people while the organization looks small, as it does
// before Postgres has gathered statistics.
func TestEnrollNeverGoesThroughAnOrganization(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.New(t)).Handle()
	people := make([]int64, 2000)
	for i := range people {
		people[i] = int64(i)
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeSimpleProtocol} {
		plan := strings.Join(lines(t, db, 0, "EXPLAIN (COSTS OFF) "+gormstore.Lookups("postgres")["members"], mode, people, 1), "\n")
		assert.Contains(t, plan, "members_user_id_organization_id_key", mode)
		assert.NotContains(t, plan, "members_organization", mode)
	}
}

// lines are one column of a query's result.
func lines(t *testing.T, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, column int, query string, args ...any,
) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	require.NoError(t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		row := make([]any, column+1)
		for i := range row {
			row[i] = new(sql.NullString)
		}
		require.NoError(t, rows.Scan(row...))
		all = append(all, row[column].(*sql.NullString).String)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, all)
	return all
}
