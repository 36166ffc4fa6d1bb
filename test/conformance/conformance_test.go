package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app/backup"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/conformance"
	"github.com/tocsin/tocsin/test/pgtest"
)

// TestConformance runs the suite on SQLite and on Postgres. A SQLite store in memory runs the same
// statements as one on disk, but has one connection for reading and writing. So it runs the cases
// with concurrent units of work.
func TestConformance(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		schema := file(t, func(url string) { require.NoError(t, migrate(t.Context(), url)) })
		conformance.Run(t, conformance.Backend{
			Empty: func(t *testing.T) ports.Store { return open(t, gormstore.Config{URL: schema(t), Keys: keys}) },
			Furnish: func(t *testing.T, fill func(s ports.Store)) func(t *testing.T) ports.Store {
				furnished := file(t, func(url string) { furnish(t, url, fill) })
				return func(t *testing.T) ports.Store { return open(t, gormstore.Config{URL: furnished(t), Keys: keys}) }
			},
		})
		conformance.RunSealing(t, func(t *testing.T) conformance.Vault { return vault(t, schema(t)) })
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, conformance.Backend{
			Empty: func(t *testing.T) ports.Store {
				return open(t, gormstore.Config{URL: "sqlite::memory:", AutoMigrate: true, Keys: keys})
			},
			Only: []string{"Store", "Concurrency", "Races", "Claims", "Upkeep"},
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		empty := func(t *testing.T) string {
			return pgtest.Lend(t, "conformance", func(url string) error { return migrate(context.WithoutCancel(t.Context()), url) })
		}
		conformance.Run(t, conformance.Backend{
			Empty: func(t *testing.T) ports.Store { return open(t, gormstore.Config{URL: empty(t), Keys: keys}) },
			Furnish: func(t *testing.T, fill func(s ports.Store)) func(t *testing.T) ports.Store {
				// The template is only for this process, because other processes do not know what
				// fill wrote.
				template := fmt.Sprintf("conformance_%d", os.Getpid())
				furnished := func(t *testing.T) string {
					return pgtest.Lend(t, template, func(url string) error {
						furnish(t, url, fill)
						return nil
					})
				}
				furnished(t)
				return func(t *testing.T) ports.Store { return open(t, gormstore.Config{URL: furnished(t), Keys: keys}) }
			},
		})
		conformance.RunSealing(t, func(t *testing.T) conformance.Vault { return vault(t, empty(t)) })
	})
	// The suite also runs on what `tocsin copy` wrote to the other database. On Postgres the
	// deliveries are in several partitions.
	t.Run("copied", func(t *testing.T) {
		t.Parallel()
		some := []string{"Users", "Lists", "Keys", "Expansion", "Claims", "Search"}
		empty := func(t *testing.T) ports.Store {
			return open(t, gormstore.Config{URL: "sqlite::memory:", AutoMigrate: true, Keys: keys})
		}
		conformance.Run(t, conformance.Backend{Only: append(some, "Tallies"), Empty: empty, Furnish: func(t *testing.T, fill func(s ports.Store)) func(t *testing.T) ports.Store {
			source := pgtest.New(t)
			furnish(t, source, fill)
			furnished := file(t, func(url string) { require.NoError(t, carry(t.Context(), source, url)) })
			return func(t *testing.T) ports.Store { return open(t, gormstore.Config{URL: furnished(t), Keys: keys}) }
		}})
		conformance.Run(t, conformance.Backend{Only: some, Empty: empty, Furnish: func(t *testing.T, fill func(s ports.Store)) func(t *testing.T) ports.Store {
			source := "sqlite:" + filepath.Join(t.TempDir(), "source.db")
			furnish(t, source, fill)
			template := fmt.Sprintf("copied_%d", os.Getpid())
			furnished := func(t *testing.T) string {
				return pgtest.Lend(t, template, func(url string) error {
					return errors.Join(carry(context.WithoutCancel(t.Context()), source, url), divide(context.WithoutCancel(t.Context()), url))
				})
			}
			furnished(t)
			return func(t *testing.T) ports.Store { return open(t, gormstore.Config{URL: furnished(t), Keys: keys}) }
		}})
	})
}

// divide divides the deliveries on Postgres into partitions of a few occurrences.
func divide(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `ALTER TABLE deliveries DETACH PARTITION deliveries_first;
		CREATE TABLE deliveries_2 (LIKE deliveries_first INCLUDING ALL EXCLUDING IDENTITY);
		CREATE TABLE deliveries_4 (LIKE deliveries_first INCLUDING ALL EXCLUDING IDENTITY);
		ALTER TABLE deliveries ATTACH PARTITION deliveries_first FOR VALUES FROM (MINVALUE) TO (2);
		ALTER TABLE deliveries ATTACH PARTITION deliveries_2 FOR VALUES FROM (2) TO (4);
		ALTER TABLE deliveries ATTACH PARTITION deliveries_4 FOR VALUES FROM (4) TO (MAXVALUE)`)
	return errors.Join(err, conn.Close(ctx))
}

// carry creates the schema of a database and copies another database to it.
func carry(ctx context.Context, from, to string) error {
	source, err := gormstore.Open(ctx, gormstore.Config{URL: from, Clock: clocks.Wall{}})
	if err != nil {
		return err
	}
	target, err := gormstore.Open(ctx, gormstore.Config{URL: to, AutoMigrate: true, Clock: clocks.Wall{}})
	if err != nil {
		return errors.Join(err, source.Close())
	}
	now := time.Now()
	err = source.Update(ctx, func(tx ports.Tx) error {
		return tx.Installation().SetState(ctx, installation.State{ReadOnly: now.Add(-backup.Settled)})
	})
	if err == nil {
		_, err = backup.Copy(ctx, source, target, backup.Options{By: audit.Actor{Name: "root"}, Now: now})
	}
	return errors.Join(err, source.Close(), target.Close())
}

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

// migrate creates the schema.
func migrate(ctx context.Context, url string) error {
	s, err := gormstore.Open(ctx, gormstore.Config{URL: url, AutoMigrate: true, Clock: clocks.Wall{}})
	if err != nil {
		return err
	}
	return s.Close()
}

// furnish creates the schema and calls fill.
func furnish(t *testing.T, url string, fill func(s ports.Store)) {
	t.Helper()
	s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clocks.Wall{}, Keys: keys})
	require.NoError(t, err)
	fill(s)
	require.NoError(t, s.Close())
}

// file creates a SQLite database, which fill fills and closes. It returns a function that copies
// the file and returns the URL of the copy.
func file(t *testing.T, fill func(url string)) (copied func(t *testing.T) string) {
	t.Helper()
	template := filepath.Join(t.TempDir(), "template.db")
	fill("sqlite:" + template)
	content, err := os.ReadFile(template)
	require.NoError(t, err)
	return func(t *testing.T) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "store.db")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return "sqlite:" + path
	}
}

// open opens a store and closes it when the test ends.
func open(t *testing.T, c gormstore.Config) ports.Store {
	t.Helper()
	c.Clock, c.ServerClock = clocks.Wall{}, true // as a program opens it
	s, err := gormstore.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}
