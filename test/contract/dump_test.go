package contract_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

// tables returns the content of the database: the rows of each table, sorted.
func (w *world) tables() map[string][]string {
	w.Helper()
	names := map[string]string{
		sqlite:   `SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'sqlite_sequence'`,
		postgres: pgtest.Tables,
	}
	all := map[string][]string{}
	for _, name := range w.rows(names[w.database]) {
		all[name] = w.rows(`SELECT * FROM "` + name + `"`)
		slices.Sort(all[name])
	}
	require.Greater(w, len(all), 15, "this is not the whole database")
	return all
}

// rows returns the result of a query, one line for each row.
func (w *world) rows(query string) []string {
	w.Helper()
	found, err := w.dump.QueryContext(w.Context(), query)
	require.NoError(w, err)
	defer found.Close()
	columns, err := found.Columns()
	require.NoError(w, err)
	lines := []string{}
	for found.Next() {
		cells := make([]sql.NullString, len(columns))
		targets := make([]any, len(columns))
		for i := range cells {
			targets[i] = &cells[i]
		}
		require.NoError(w, found.Scan(targets...))
		words := make([]string, len(columns))
		for i, c := range cells {
			words[i] = c.String
			if len(columns) > 1 {
				words[i] = fmt.Sprintf("%s=%q", columns[i], c.String)
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	require.NoError(w, found.Err())
	return lines
}

// unchanged checks that act changes nothing in the database.
func (w *world) unchanged(act func()) {
	w.Helper()
	before := w.tables()
	act()
	require.Equal(w, before, w.tables())
}

// undone checks that act changes nothing in the database, except for new entries of the audit log.
func (w *world) undone(act func()) {
	w.Helper()
	before := w.tables()
	act()
	after := w.tables()
	require.Greater(w, len(after["audit_entries"]), len(before["audit_entries"]))
	after["audit_entries"] = before["audit_entries"]
	require.Equal(w, before, after)
}
