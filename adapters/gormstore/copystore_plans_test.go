package gormstore_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore/rows"
)

// listening notes the queries that it passes on.
type listening struct {
	rows.Conn
	queries *[]string
}

func (l listening) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	*l.queries = append(*l.queries, query)
	return l.Conn.QueryContext(ctx, query, args...)
}

// TestOrganizationCopyPlans is about the copy of one organization: each table is read by its
// parent's ids, and no rows of other organizations are read. The tables are empty, because then
// reading all of them looks cheapest.
func TestOrganizationCopyPlans(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		newOrganization(t, s, "acme")
		conn := planning(t, s)
		var queries []string
		all, err := rows.Of(t.Context(), listening{conn, &queries}, s.OnPostgres())
		require.NoError(t, err)
		part := all.Part(1)
		planned := planner{t: t, conn: conn, postgres: s.OnPostgres()}
		read := map[string]bool{}
		for _, table := range part.Tables() {
			queries = nil
			require.NoError(t, part.Read(t.Context(), table, nil, func([]any) error { return nil }))
			require.NotEmpty(t, queries, table.Name)
			for _, query := range queries {
				plan := planned.plan(strings.ReplaceAll(query, `"`, ""))
				assert.False(t, plan.sorts, "%s\n%s", query, plan.text)
				assert.NotEmpty(t, plan.steps, "%s\n%s", query, plan.text)
				for _, step := range plan.steps {
					read[step.table] = true
					assert.False(t, step.whole(), "reads all of %s: %s\n%s", step.table, query, plan.text)
					if step.table == "requests" && strings.Contains(query, "api_key_id = 0") {
						assert.Equal(t, "occurrence_id", step.equal[0], "forms of all organizations have the key 0\n%s", plan.text)
					}
				}
			}
		}
		for _, table := range part.Tables() {
			assert.True(t, read[table.Name], table.Name)
		}
	})
}
