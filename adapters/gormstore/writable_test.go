package gormstore_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

func TestWritable(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		require.NoError(t, s.Writable(t.Context()))
		newOrganization(t, s, "acme")
		require.NoError(t, s.Writable(t.Context()))
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.Writable(t.Context()), ports.ErrUnavailable)
	})
}

func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T) (s *gormstore.Store, again func()){
		"sqlite": func(t *testing.T) (*gormstore.Store, func()) {
			s := open(t, databases.SQLite(t))
			exec(t, s, "PRAGMA query_only = on")
			return s, func() { exec(t, s, "PRAGMA query_only = off") }
		},
		"postgres": func(t *testing.T) (*gormstore.Store, func()) {
			url := databases.Postgres(t)
			admin := open(t, url)
			const alter = `DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET default_transaction_read_only = %s', current_database()); END $$`
			exec(t, admin, fmt.Sprintf(alter, "on"))
			s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, Clock: clock{}})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close()) })
			return s, func() { exec(t, admin, fmt.Sprintf(alter, "off")) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, again := prepare(t)
			for _, err := range []error{s.Writable(t.Context()), s.Update(t.Context(), creating(t.Context(), "acme"))} {
				require.ErrorIs(t, err, ports.ErrReadOnly)
				assert.ErrorIs(t, err, ports.ErrUnavailable)
				assert.Equal(t, fault.Unavailable, fault.KindOf(err))
			}
			require.NoError(t, s.Ready(t.Context()), "it can be read")
			again()
			require.NoError(t, s.Writable(t.Context()), "connections from before are not used")
			newOrganization(t, s, "acme")
		})
	}
}

// TestFullDisk is about a database that cannot grow. Committed changes stay, and the next unit
// succeeds when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s := open(t, databases.SQLite(t))
		newOrganization(t, s, "first")
		exec(t, s, "PRAGMA max_page_count = 1") // SQLite takes the size that the file has.
		var err error
		committed := 0
		for ; err == nil; committed++ {
			err = s.Update(t.Context(), creating(t.Context(), fmt.Sprintf("acme-%d", committed)))
		}
		require.ErrorIs(t, err, ports.ErrFull)
		require.ErrorIs(t, s.Writable(t.Context()), ports.ErrFull, "however small a write would still fit")
		require.NoError(t, s.Ready(t.Context()), "it can be read")
		for i := range committed - 1 {
			assert.True(t, kept(t, s, fmt.Sprintf("acme-%d", i)))
		}
		assert.False(t, kept(t, s, fmt.Sprintf("acme-%d", committed-1)))

		exec(t, s, "PRAGMA max_page_count = 1000000")
		newOrganization(t, s, "last")
		require.ErrorIs(t, s.Writable(t.Context()), ports.ErrFull)
		s.PassFull(gormstore.FullFor / 2)
		require.ErrorIs(t, s.Writable(t.Context()), ports.ErrFull)
		s.PassFull(gormstore.FullFor / 2)
		require.NoError(t, s.Writable(t.Context()))
	})
}

// TestReplacedFile checks that no write succeeds after the file was moved, removed or replaced.
func TestReplacedFile(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(t *testing.T, path string){
		"Moved":   func(t *testing.T, path string) { t.Helper(); require.NoError(t, os.Rename(path, path+".old")) },
		"Removed": func(t *testing.T, path string) { t.Helper(); require.NoError(t, os.Remove(path)) },
		"Replaced": func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.WriteFile(path+".new", nil, 0o600))
			require.NoError(t, os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databases.SQLite(t)
			path := strings.TrimPrefix(url, "sqlite:")
			s := open(t, url)
			newOrganization(t, s, "first")
			replace(t, path)
			require.ErrorIs(t, s.Update(t.Context(), creating(t.Context(), "second")), ports.ErrReplaced)
			require.ErrorIs(t, s.Writable(t.Context()), ports.ErrReplaced)
			assert.False(t, kept(t, s, "second"))
			assert.True(t, kept(t, s, "first"), "it can be read")
		})
	}
}
