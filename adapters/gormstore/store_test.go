package gormstore_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
	"github.com/tocsin/tocsin/test/pgtest"
)

// clock stands still.
type clock struct{}

func (clock) Now() time.Time { return time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC) }

// open opens a store and closes it with the test.
func open(tb testing.TB, url string) *gormstore.Store {
	tb.Helper()
	s, err := gormstore.Open(tb.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clock{}, Keys: seal.NewRing([seal.KeySize]byte{1})})
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, s.Close()) })
	return s
}

// enroll enrolls a batch as the use cases do.
func enroll(ctx context.Context, s *gormstore.Store, org string, b users.Batch) error {
	return s.Update(ctx, func(tx ports.Tx) error {
		_, err := app.Enroll(ctx, tx, org, b)
		return err
	})
}

// onEach runs a test on a database of each kind without rows. The one in memory has no schema yet.
func onEach(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	inMemory(t, test)
	onDisk(t, test)
}

// onEachEmpty is onEach on databases without a schema.
func onEachEmpty(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	inMemory(t, test)
	onEmptyDisk(t, test)
}

func inMemory(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite::memory:")
	})
}

// onDisk is onEach without a database in memory, for tests that need several connections.
func onDisk(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	onKinds(t, databases.SQLite, databases.Postgres, test)
}

// onEmptyDisk is onDisk on databases without a schema.
func onEmptyDisk(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	onKinds(t, func(tb testing.TB) string { tb.Helper(); return "sqlite:" + filepath.Join(tb.TempDir(), "store.db") }, pgtest.New, test)
}

func onKinds(t *testing.T, sqlite, postgres func(testing.TB) string, test func(t *testing.T, url string)) {
	t.Helper()
	for name, url := range map[string]func(testing.TB) string{"sqlite": sqlite, "postgres": postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, url(t))
		})
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		require.NoError(t, s.Ready(t.Context()))
		require.NoError(t, s.Close())
		nothing := func(ports.Tx) error { return nil }
		for name, err := range map[string]error{"View": s.View(t.Context(), nothing), "Update": s.Update(t.Context(), nothing),
			"Ready": s.Ready(t.Context()), "Migrate": s.Migrate(t.Context())} {
			require.ErrorIs(t, err, ports.ErrUnavailable, name)
		}
	})
}

func TestPanicRollsBack(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		for range 20 { // more than there are connections
			assert.PanicsWithValue(t, "wanted", func() {
				_ = s.Update(t.Context(), func(tx ports.Tx) error {
					if err := creating(t.Context(), "acme")(tx); err != nil {
						return err
					}
					panic("wanted")
				})
			})
			assert.PanicsWithValue(t, "wanted", func() { _ = s.View(t.Context(), func(ports.Tx) error { panic("wanted") }) })
		}
		assert.False(t, kept(t, s, "acme"))
		newOrganization(t, s, "acme")
	})
}

func TestCancelledViewReturnsConnection(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			err := s.View(ctx, func(tx ports.Tx) error {
				cancel()
				_, err := tx.Orgs().BySlug(ctx, "acme")
				return err
			})
			require.ErrorIs(t, err, ports.ErrUnavailable)
		}
		assert.False(t, kept(t, s, "acme"))
	})
}
