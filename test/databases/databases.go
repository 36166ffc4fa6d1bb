// Package databases gives tests databases with the current schema. The schema is made once and
// copied for each test: migrating takes longer than most tests.
package databases

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/pgtest"
)

// SQLite returns the URL of a new file, which is removed when the test ends.
func SQLite(tb testing.TB) string {
	tb.Helper()
	content, err := template()
	require.NoError(tb, err)
	file := filepath.Join(tb.TempDir(), "tocsin.db")
	require.NoError(tb, os.WriteFile(file, content, 0o600))
	return "sqlite:" + file
}

// Postgres returns the URL of a new database, which is dropped when the test ends. Call it before
// you register a cleanup that closes connections to it.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return pgtest.Clone(tb, "current_schema", migrate)
}

// template is the content of a SQLite file with the current schema.
var template = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "databases")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "template.db")
	if err := migrate("sqlite:" + file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

func migrate(url string) error {
	store, err := gormstore.Open(context.Background(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clocks.Wall{}})
	if err != nil {
		return err
	}
	return store.Close()
}
