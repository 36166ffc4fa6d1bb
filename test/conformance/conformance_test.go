package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/conformance"
	"github.com/tocsin/tocsin/test/pgtest"
)

// TestConformance runs the suite on both databases: SQLite on disk and in memory, and Postgres.
func TestConformance(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		template := filepath.Join(t.TempDir(), "template.db")
		require.NoError(t, migrate(t.Context(), "sqlite:"+template))
		schema, err := os.ReadFile(template)
		require.NoError(t, err)
		fresh := func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "store.db")
			require.NoError(t, os.WriteFile(path, schema, 0o600))
			return "sqlite:" + path
		}
		conformance.Run(t, func(t *testing.T) ports.Store { return open(t, gormstore.Config{URL: fresh(t), Keys: keys}) })
		conformance.RunSealing(t, func(t *testing.T) conformance.Vault { return vault(t, fresh(t)) })
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, func(t *testing.T) ports.Store {
			return open(t, gormstore.Config{URL: "sqlite::memory:", AutoMigrate: true, Keys: keys})
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		l := newLender(t)
		conformance.Run(t, func(t *testing.T) ports.Store { return open(t, gormstore.Config{URL: l.lend(t), Keys: keys}) })
		conformance.RunSealing(t, func(t *testing.T) conformance.Vault { return vault(t, l.lend(t)) })
	})
}

// wall is the clock of the stores: no case asks when a row was written.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// The keys of the stores, and of those that do not share them.
var (
	oldKey = [seal.KeySize]byte{1}
	newKey = [seal.KeySize]byte{2}
	keys   = seal.NewRing(oldKey)
)

// vault opens one database four times.
func vault(t *testing.T, url string) conformance.Vault {
	t.Helper()
	with := func(keys seal.Ring) ports.Store { return open(t, gormstore.Config{URL: url, Keys: keys}) }
	return conformance.Vault{Old: with(keys), New: with(seal.NewRing(newKey, oldKey)), Foreign: with(seal.NewRing(newKey)), Keyless: with(seal.Ring{})}
}

// migrate puts the schema in place.
func migrate(ctx context.Context, url string) error {
	s, err := gormstore.Open(ctx, gormstore.Config{URL: url, AutoMigrate: true, Clock: wall{}})
	if err != nil {
		return err
	}
	return s.Close()
}

// open opens a store and closes it when the test ends.
func open(t *testing.T, c gormstore.Config) ports.Store {
	t.Helper()
	c.Clock = wall{}
	s, err := gormstore.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// lender lends empty Postgres databases, as many at once as cases run at once. Emptying one takes a tenth of the time that it takes
// to make one.
type lender struct{ free chan string }

func newLender(t *testing.T) lender {
	t.Helper()
	l := lender{free: make(chan string, runtime.GOMAXPROCS(0))}
	for range cap(l.free) {
		l.free <- pgtest.Clone(t, "conformance", func(url string) error { return migrate(t.Context(), url) })
	}
	return l
}

// lend returns the URL of a database that is the test's until it ends.
func (l lender) lend(t *testing.T) string {
	t.Helper()
	url := <-l.free
	t.Cleanup(func() {
		assert.NoError(t, empty(context.WithoutCancel(t.Context()), url))
		l.free <- url
	})
	return url
}

// empty deletes what the cases have written: everything but the system organization and what goose remembers. A table that others
// refer to has its turn again when they are empty.
func empty(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `DO $$
		DECLARE
			name text;
			refused bool := true;
		BEGIN
			WHILE refused LOOP
				refused := false;
				FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('organizations', 'goose_db_version') LOOP
					BEGIN
						EXECUTE format('DELETE FROM %I', name);
					EXCEPTION WHEN foreign_key_violation THEN
						refused := true;
					END;
				END LOOP;
			END LOOP;
			DELETE FROM organizations WHERE slug <> 'system';
		END $$`)
	return err
}
