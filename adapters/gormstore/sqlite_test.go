package gormstore_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

func TestFileMode(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, "sqlite:"+filepath.Join(folder, "store.db"))
	newOrganization(t, s, "acme")
	modes := map[string]fs.FileMode{}
	require.NoError(t, filepath.WalkDir(filepath.Dir(folder), func(_ string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := e.Info()
		modes[e.Name()] = info.Mode().Perm()
		return err
	}))
	assert.Equal(t, map[string]fs.FileMode{"a": 0o700, "b": 0o700, "store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}, modes)
}

func TestPathCharacters(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "ä b%41#&=+;'x.db")
	newOrganization(t, open(t, "sqlite:"+path), "acme")
	assert.FileExists(t, path)
	assert.True(t, kept(t, open(t, "sqlite:"+path), "acme"), "a second store on the file sees what the first wrote")
}

func TestRelativePath(t *testing.T) { // not parallel: it changes the working directory
	t.Chdir(t.TempDir())
	s := open(t, "sqlite:data/store.db")
	require.NoError(t, os.Mkdir("elsewhere", 0o700))
	t.Chdir("elsewhere")
	newOrganization(t, s, "acme")
	assert.True(t, kept(t, s, "acme"))
	assert.FileExists(t, "../data/store.db")
}

// TestCloseKeepsLogFiles checks that a file can be opened when the disk is full, because its other
// files exist already. The log is empty: all of it was written to the file, and it cannot be
// mistaken for the log of a file that is restored there.
func TestCloseKeepsLogFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "store.db")
	s := open(t, "sqlite:"+path)
	newOrganization(t, s, "acme")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "closing twice does no harm")
	sizes := map[string]int64{}
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		sizes[f.Name()] = info.Size()
	}
	assert.Positive(t, sizes["store.db"])
	delete(sizes, "store.db")
	assert.Equal(t, map[string]int64{"store.db-shm": 32 << 10, "store.db-wal": 0}, sizes)

	alone := filepath.Join(t.TempDir(), "alone.db")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(alone, content, 0o600))
	assert.True(t, kept(t, open(t, "sqlite:"+alone), "acme"))
}

func TestDurability(t *testing.T) {
	t.Parallel()
	s := open(t, databases.SQLite(t))
	var synchronous, foreignKeys, checkpoint int
	require.NoError(t, s.Handle().QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&synchronous))
	require.NoError(t, s.Handle().QueryRowContext(t.Context(), "PRAGMA foreign_keys").Scan(&foreignKeys))
	require.NoError(t, s.Handle().QueryRowContext(t.Context(), "PRAGMA wal_autocheckpoint").Scan(&checkpoint))
	const full = 2
	assert.Equal(t, []int{full, 1, 4000}, []int{synchronous, foreignKeys, checkpoint})
}

func TestOtherEncodingIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sql.Open("sqlite3", "file:"+path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "PRAGMA encoding = 'UTF-16le'; CREATE TABLE notes (note TEXT)")
	require.NoError(t, errors.Join(err, db.Close()))
	_, err = gormstore.Open(t.Context(), gormstore.Config{URL: "sqlite:" + path, AutoMigrate: true, Clock: clock{}})
	require.ErrorContains(t, err, "encoding UTF-16le: only UTF-8 is supported")
}

func TestViewRefusesWrites(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		err := s.View(t.Context(), func(tx ports.Tx) error {
			_, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "acme", Name: "acme"})
			return err
		})
		require.Error(t, err)
		require.NotErrorIs(t, err, gorm.ErrDuplicatedKey)
		assert.False(t, kept(t, s, "acme"))
		newOrganization(t, s, "acme") // the connection can write again
	})
}
