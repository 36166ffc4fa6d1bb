package rows_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/rows"
	"github.com/tocsin/tocsin/test/clocks"
)

// TestTableOwnership fails when a migration adds a table without a rule that says
// whether its rows are copied with an organization (belongs.go).
func TestTableOwnership(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tocsin.db")
	s, err := gormstore.Open(t.Context(), gormstore.Config{URL: "sqlite:" + file, AutoMigrate: true, Clock: clocks.At(time.Now())})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	db, err := sql.Open("sqlite3", file)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })

	found, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	require.NoError(t, err)
	defer func() { assert.NoError(t, found.Close()) }()
	var all []string
	for found.Next() {
		var table string
		require.NoError(t, found.Scan(&table))
		all = append(all, table)
	}
	require.NoError(t, found.Err())
	ofOrganization, ofInstallation, nowhere := rows.Known()
	assert.ElementsMatch(t, all, slices.Concat(ofOrganization, ofInstallation, nowhere), "each table is in one of the lists in belongs.go")

	r, err := rows.Of(t.Context(), db, false)
	require.NoError(t, err)
	for _, reference := range r.References() {
		if slices.Contains(ofOrganization, reference[0]) {
			assert.Contains(t, ofOrganization, reference[1], "%s would refer to what is not copied", reference[0])
		}
	}
	part := r.Part(1)
	assert.Len(t, part.Tables(), len(ofOrganization))
	for _, table := range part.Tables() {
		found := 0
		require.NoError(t, part.Read(t.Context(), table, nil, func([]any) error {
			found++
			return nil
		}), table.Name)
		assert.LessOrEqual(t, found, 1, table.Name)

		gone := &failing{Conn: db}
		require.ErrorIs(t, r.On(gone).Part(1).Read(t.Context(), table, nil, nil), sql.ErrConnDone)
		assert.Equal(t, 1, gone.asked, "%s is not asked for on another way", table.Name)
	}
}

// failing is a database that answers no query.
type failing struct {
	rows.Conn
	asked int
}

func (f *failing) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	f.asked++
	return nil, sql.ErrConnDone
}
