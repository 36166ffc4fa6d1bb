package gormstore_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/test/pgtest"
)

// connect opens a store without a look at its schema.
func connect(t *testing.T, url string) *gormstore.Store {
	t.Helper()
	s, err := gormstore.Connect(t.Context(), gormstore.Config{URL: url, Clock: clock{}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func exec(t *testing.T, s *gormstore.Store, statement string) {
	t.Helper()
	_, err := s.Handle().ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

func TestConcurrentMigrate(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(t.TempDir(), "store.db") },
		"postgres": func() string { return pgtest.New(t) + "&pool_max_conns=2" },
	} {
		url := url()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const instances = 8
			var all sync.WaitGroup
			var log bytes.Buffer // a slog handler writes under a lock
			logger := slog.New(slog.NewTextHandler(&log, nil))
			for range instances {
				all.Go(func() {
					s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clock{}, Logger: logger})
					if assert.NoError(t, err) {
						assert.NoError(t, s.Ready(t.Context()))
						assert.NoError(t, s.Close())
					}
				})
			}
			all.Wait()
			assert.Equal(t, 1, strings.Count(log.String(), "00001_init"), "one of them migrated")
		})
	}
}

func TestSchemaBehind(t *testing.T) {
	t.Parallel()
	onEachEmpty(t, func(t *testing.T, url string) {
		if url != "sqlite::memory:" {
			_, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, Clock: clock{}})
			require.ErrorIs(t, err, gormstore.ErrSchemaBehind)
			assert.Equal(t, fault.Unavailable, fault.KindOf(err))
		}
		s := connect(t, url)
		require.ErrorIs(t, s.Ready(t.Context()), gormstore.ErrSchemaBehind)
		all, err := s.Status(t.Context())
		require.NoError(t, err)
		for _, m := range all {
			assert.Zero(t, m.Applied, m.Name)
		}
		require.NoError(t, s.Migrate(t.Context()))
		require.NoError(t, s.Migrate(t.Context()), "again it does nothing")
		require.NoError(t, s.Ready(t.Context()))
		all, err = s.Status(t.Context())
		require.NoError(t, err)
		for _, m := range all {
			assert.NotZero(t, m.Applied, m.Name)
		}
	})
}

func TestStatusChangesNothing(t *testing.T) {
	t.Parallel()
	onEachEmpty(t, func(t *testing.T, url string) {
		s := connect(t, url)
		require.ErrorIs(t, s.Ready(t.Context()), gormstore.ErrSchemaBehind)
		assert.Empty(t, tables(t, s))
	})
}

func TestSchemaNewer(t *testing.T) {
	t.Parallel()
	onEachEmpty(t, func(t *testing.T, url string) {
		s := open(t, url)
		exec(t, s, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)")
		exec(t, s, "UPDATE installation SET compatible_from = 99999")
		require.ErrorIs(t, s.Ready(t.Context()), gormstore.ErrSchemaNewer)
		require.ErrorIs(t, s.Migrate(t.Context()), gormstore.ErrSchemaNewer)
		if url == "sqlite::memory:" {
			return
		}
		for _, auto := range []bool{true, false} {
			_, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: auto, Clock: clock{}})
			require.ErrorIs(t, err, gormstore.ErrSchemaNewer)
		}
	})
}

func TestFailedMigrationRollsBack(t *testing.T) {
	t.Parallel()
	onEachEmpty(t, func(t *testing.T, url string) {
		s := connect(t, url)
		exec(t, s, "CREATE TABLE api_keys (mine TEXT)") // in the way of the first migration's last table
		err := s.Migrate(t.Context())
		require.ErrorContains(t, err, "api_keys")
		before := tables(t, s)
		assert.NotContains(t, before, "organizations")
		exec(t, s, "DROP TABLE api_keys")
		require.NoError(t, s.Migrate(t.Context()))
	})
}

func TestMigrationNames(t *testing.T) {
	t.Parallel()
	names := map[string][]string{}
	for _, dialect := range []string{"sqlite", "postgres"} {
		files, err := fs.Glob(gormstore.Migrations, "migrations/"+dialect+"/*")
		require.NoError(t, err)
		for i, file := range files {
			names[dialect] = append(names[dialect], path.Base(file))
			assert.True(t, i == 0 || path.Base(file)[:5] > path.Base(files[i-1])[:5], "no number twice: %s", file)
		}
	}
	assert.NotEmpty(t, names["sqlite"])
	assert.Equal(t, names["sqlite"], names["postgres"])
}

// migrating returns a store without a schema, and what brings it to any version of the dialect's
// migrations. It needs two connections.
func migrating(t *testing.T, url string) (s *gormstore.Store, p *goose.Provider, dialect string) {
	t.Helper()
	dialect, kind := "sqlite", goose.DialectSQLite3
	if strings.HasPrefix(url, "postgres") {
		dialect, kind = "postgres", goose.DialectPostgres
	}
	folder, err := fs.Sub(gormstore.Migrations, "migrations/"+dialect)
	require.NoError(t, err)
	s = connect(t, url)
	p, err = goose.NewProvider(kind, s.Handle(), folder, goose.WithLogger(goose.NopLogger()))
	require.NoError(t, err)
	return s, p, dialect
}

// TestMigrateFromEveryVersion starts from each version there was, and also goes all the
// way back.
func TestMigrateFromEveryVersion(t *testing.T) {
	t.Parallel()
	onEmptyDisk(t, func(t *testing.T, url string) {
		s, p, dialect := migrating(t, url)
		require.NoError(t, s.Migrate(t.Context()))
		fresh := schemaOf(t, s.Handle(), dialect)
		_, err := p.DownTo(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, []string{"goose_db_version"}, tables(t, s))
		require.NoError(t, s.Close())

		// Each version is made once, of the one before, and a copy of it is brought up to date. The
		// way back from equal schemas is the same.
		for _, source := range p.ListSources() {
			earlier, p, _ := migrating(t, url)
			_, err := p.UpTo(t.Context(), source.Version)
			require.NoError(t, err)
			require.NoError(t, earlier.Close())
			t.Run(fmt.Sprintf("from version %d", source.Version), func(t *testing.T) {
				s := connect(t, copied(t, url))
				require.NoError(t, s.Migrate(t.Context()))
				assert.Equal(t, fresh, schemaOf(t, s.Handle(), dialect))
			})
		}
	})
}

// copied returns the URL of a copy of a database without connections.
func copied(t *testing.T, original string) string {
	t.Helper()
	file, isFile := strings.CutPrefix(original, "sqlite:")
	if !isFile {
		return pgtest.Copy(t, original)
	}
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	to := filepath.Join(t.TempDir(), "store.db")
	require.NoError(t, os.WriteFile(to, content, 0o600))
	return "sqlite:" + to
}

// schemaOf returns the schema of a database, sorted: columns, indexes, constraints, triggers.
func schemaOf(t *testing.T, db *sql.DB, dialect string) []string {
	t.Helper()
	query := "SELECT type || ' ' || tbl_name || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_master"
	if dialect == "postgres" {
		query = `SELECT format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default)
			FROM information_schema.columns WHERE table_schema = current_schema()
			UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
			UNION ALL SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
			FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
			UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal`
	}
	return rowsOf(t, db, query)
}

// tables returns the names of a database's tables.
func tables(t *testing.T, s *gormstore.Store) []string {
	t.Helper()
	dialect := "postgres"
	if s.Handle().Stats().MaxOpenConnections == 1 {
		dialect = "sqlite"
	}
	var names []string
	for _, c := range columns(t, s.Handle(), dialect) {
		name, _, _ := strings.Cut(c, ".")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

// columns returns the columns of a database's tables, as table.column, sorted.
func columns(t *testing.T, db *sql.DB, dialect string) []string {
	t.Helper()
	query := `SELECT t.name || '.' || c.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`
	if dialect == "postgres" {
		query = `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = current_schema()`
	}
	return rowsOf(t, db, query)
}

// rowsOf returns the rows of a query for one text, sorted.
func rowsOf(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	var found []string
	for rows.Next() {
		var row string
		require.NoError(t, rows.Scan(&row))
		found = append(found, row)
	}
	require.NoError(t, rows.Err())
	slices.Sort(found)
	return found
}
