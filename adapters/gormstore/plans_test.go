package gormstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// The statements of an enrollment are planned on an empty database, where reading a whole table
// looks cheapest. A plan that does not do so there does not do so anywhere.

func TestEnrollPlansOnSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	for name, statement := range map[string]string{"matches": s.Matches(), "matchedBytes": s.MatchedBytes(), "saveFields": s.SaveFields(), "withGroups": s.WithGroups()} {
		plan := lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+statement, map[bool][]any{true: {"default", 1, "acme"}, false: {"[]", 1}}[name == "withGroups"]...)
		for _, step := range plan {
			assert.False(t, strings.Contains(step, "SCAN") && !strings.Contains(step, "VIRTUAL TABLE"), "%s: only the set is read from end to end: %q", name, plan)
		}
		if name == "matches" {
			assert.Contains(t, strings.Join(plan, "\n"), "members_email")
		}
	}
}

func TestEnrollPlansOnPostgres(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t))
	conn := planning(t, s)
	run := func(statement string) {
		_, err := conn.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	run("SET plan_cache_mode = force_generic_plan") // the plan that a connection would keep
	for name, values := range map[string]string{"matches": "'{}'::text[], 1", "matchedBytes": "'{}'::text[], 1", "saveFields": "'{}'::bigint[], '{}'::text[], 1",
		"withGroups": "'default', 1, 'acme'"} {
		run("PREPARE " + name + " AS " + map[string]string{"matches": s.Matches(), "matchedBytes": s.MatchedBytes(), "saveFields": s.SaveFields(), "withGroups": s.WithGroups()}[name])
		plan := strings.Join(lines(t, conn, 0, "EXPLAIN (COSTS OFF) EXECUTE "+name+" ("+values+")"), "\n")
		assert.NotContains(t, plan, "Seq Scan", name)
		if name == "matches" {
			assert.Contains(t, plan, "members_email")
		}
	}
}

// TestEnrollPlans is about the plan for a set of people before Postgres has gathered statistics,
// when the organization looks small.
func TestEnrollPlans(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t))
	db := planning(t, s)
	ids, texts := make([]int64, 2000), make([]string, 2000)
	for i := range ids {
		ids[i], texts[i] = int64(i), strconv.Itoa(i)
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeSimpleProtocol} {
		plan := strings.Join(lines(t, db, 0, "EXPLAIN (COSTS OFF) "+s.Matches(), mode, texts, 1), "\n")
		assert.Contains(t, plan, "members_user_id_organization_id_key", mode)
		assert.Contains(t, plan, "members_email", mode)
		assert.Contains(t, plan, "users_username", mode)
		assert.NotContains(t, plan, "members_organization", mode)
		assert.NotContains(t, plan, "Seq Scan", mode)
		plan = strings.Join(lines(t, db, 0, "EXPLAIN (COSTS OFF) "+s.SaveFields(), mode, ids, texts, 1), "\n")
		assert.Contains(t, plan, "members_pkey", mode)
		assert.NotContains(t, plan, "members_organization", mode)
		assert.NotContains(t, plan, "Seq Scan", mode)
	}
}

// planning returns a connection that plans statements as the transactions of a store do.
func planning(t *testing.T, s *gormstore.Store) *sql.Conn {
	t.Helper()
	conn, err := s.Handle().Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	if s.OnPostgres() {
		_, err = conn.ExecContext(t.Context(), gormstore.PlannerSettings)
		require.NoError(t, err)
	}
	return conn
}

// lines returns one column of a query's result.
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
		all = append(all, strings.ReplaceAll(row[column].(*sql.NullString).String, onlyPartition, "deliveries"))
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, all)
	return all
}

// TestListGrowth is about adding to a long list before Postgres has gathered statistics: each call
// looks up its own addresses, and reads no entries of earlier calls.
func TestListGrowth(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t))
	s.Handle().SetMaxOpenConns(1) // whose counters are read below
	ctx := t.Context()
	newOrganization(t, s, "acme")
	var list lists.List
	var mail channels.Channel
	require.NoError(t, s.Update(ctx, func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(ctx, "acme")
		require.NoError(t, err)
		project, err := tx.Orgs().CreateProject(ctx, orgs.Project{Organization: org.ID, Slug: "shop", Name: "Shop"})
		require.NoError(t, err)
		mail, err = tx.Channels().Create(ctx, channels.Channel{Organization: org.ID, Name: "mail", Protocol: channels.EMAIL, Driver: "smtp", Active: true})
		require.NoError(t, err)
		list, err = tx.Lists().Create(ctx, lists.List{Organization: org.ID, Project: project.ID, Name: "news"})
		return err
	}))
	const calls, people = 20, 100
	for call := range calls {
		var batch users.Batch
		var keys []string
		for i := range people {
			email := fmt.Sprintf("person%d-%d@example.org", call, i)
			batch.Enrollments = append(batch.Enrollments, users.Enrollment{Details: users.Details{Email: email}})
			keys = append(keys, users.NewEmailAddress(email).Key())
		}
		require.NoError(t, enroll(ctx, s, "acme", batch))
		require.NoError(t, s.Update(ctx, func(tx ports.Tx) error {
			holders, err := tx.Addresses().Holders(ctx, list.Organization, keys, people+1)
			require.NoError(t, err)
			require.Len(t, holders, people)
			wanted := make([]channels.Assignment, len(holders))
			for i, h := range holders {
				wanted[i] = channels.Assign(h, mail)
			}
			made, _, err := tx.Assignments().Ensure(ctx, list.Organization, wanted)
			require.NoError(t, err)
			ids := make([]channels.AssignmentID, len(made))
			for i, a := range made {
				ids[i] = a.ID
			}
			added, err := tx.Lists().Add(ctx, list, ids)
			assert.Len(t, added, people)
			return err
		}))
	}
	_, err := s.Handle().ExecContext(ctx, "SELECT pg_stat_force_next_flush()")
	require.NoError(t, err)
	var often string
	require.NoError(t, s.Handle().QueryRowContext(ctx, `SELECT COALESCE(string_agg(indexrelname, ', '), '') FROM pg_stat_user_indexes
		WHERE relname IN ('addresses', 'assignments', 'list_entries') AND idx_tup_read > $1`, 5*calls*people).Scan(&often))
	assert.Empty(t, often, "these are read again and again")
}

// The plans of searching people are made on an empty database, too.

// searchWords is a search for people who have a word that begins with an a.
var searchWords = strings.NewReplacer("@org", "1", "@from", "'a'", "@to", "'b'", "@after", "''", "@id", "0", "@limit", "50").Replace(gormstore.SearchWords)

const searchLocked = "SELECT m.id FROM members m WHERE m.organization_id = 1 AND m.id > 0 AND m.locked ORDER BY m.id LIMIT 50"

func TestSearchPlansOnSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	plan := strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+searchWords), "\n")
	assert.Contains(t, plan, "PRIMARY KEY (organization_id=? AND word>? AND word<?)")
	assert.NotContains(t, plan, "TEMP B-TREE")
	plan = strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+searchLocked), "\n")
	assert.Contains(t, plan, "members_locked")
	assert.NotContains(t, plan, "TEMP B-TREE")
}

func TestSearchPlansOnPostgres(t *testing.T) {
	t.Parallel()
	conn := planning(t, open(t, databases.Postgres(t)))
	plan := strings.Join(lines(t, conn, 0, "EXPLAIN (COSTS OFF) "+searchWords), "\n")
	assert.Contains(t, plan, "member_words_pkey")
	assert.Contains(t, plan, "(organization_id = 1) AND (word >= 'a'::text) AND (word < 'b'::text)")
	assert.NotContains(t, plan, "Seq Scan")
	assert.Contains(t, strings.Join(lines(t, conn, 0, "EXPLAIN (COSTS OFF) "+searchLocked), "\n"), "members_locked")
}
