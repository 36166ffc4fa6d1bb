package configs_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/configs"
)

func TestEnsureSecretKey(t *testing.T) {
	t.Parallel()

	t.Run("TheConfiguredOneIsUsedAndNothingIsMade", func(t *testing.T) {
		t.Parallel()
		db := filepath.Join(t.TempDir(), "data", "tocsin.db")
		c := load(t, "TOCSIN_DATABASE_URL=sqlite:"+db, "TOCSIN_SECRET_KEY="+someKey)
		key, made, err := c.EnsureSecretKey()
		require.NoError(t, err)
		require.Empty(t, made)
		require.Equal(t, c.SecretKey, key)
		require.NoDirExists(t, filepath.Dir(db))
	})

	t.Run("TheFirstStartMakesOneThatStays", func(t *testing.T) {
		t.Parallel()
		db := filepath.Join(t.TempDir(), "data", "tocsin.db")
		c := load(t, "TOCSIN_DATABASE_URL=sqlite:"+db)
		first, made, err := c.EnsureSecretKey()
		require.NoError(t, err)
		require.Equal(t, db+".key", made)
		require.Len(t, first.Bytes(), 32)
		info, err := os.Stat(made)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

		second, made, err := c.EnsureSecretKey()
		require.NoError(t, err)
		require.Empty(t, made)
		require.Equal(t, first.Bytes(), second.Bytes())
		require.Len(t, entries(t, filepath.Dir(db)), 1, "no draft is left")
	})

	t.Run("StartsAtOnceAgreeOnOneKey", func(t *testing.T) {
		t.Parallel()
		const starts = 32
		db := filepath.Join(t.TempDir(), "data", "tocsin.db")
		c := load(t, "TOCSIN_DATABASE_URL=sqlite:"+db)
		var (
			together = make(chan struct{})
			keys     [starts]configs.SecretKey
			made     [starts]string
			errs     [starts]error
			group    sync.WaitGroup
		)
		for i := range starts {
			group.Go(func() {
				<-together
				keys[i], made[i], errs[i] = c.EnsureSecretKey()
			})
		}
		close(together)
		group.Wait()
		for i := range starts {
			require.NoError(t, errs[i])
			require.Equal(t, keys[0].Bytes(), keys[i].Bytes())
		}
		require.Equal(t, db+".key", strings.Join(made[:], ""), "exactly one made it")
		require.Len(t, entries(t, filepath.Dir(db)), 1)
	})

	t.Run("InMemoryItEndsWithTheDatabase", func(t *testing.T) {
		t.Parallel()
		c := load(t, "TOCSIN_DATABASE_URL=sqlite::memory:")
		first, made, err := c.EnsureSecretKey()
		require.NoError(t, err)
		require.Empty(t, made)
		second, _, err := c.EnsureSecretKey()
		require.NoError(t, err)
		require.NotEqual(t, first.Bytes(), second.Bytes())
		require.NoFileExists(t, ":memory:.key")
	})

	t.Run("ACallerCannotChangeTheKey", func(t *testing.T) {
		t.Parallel()
		c := load(t, "TOCSIN_SECRET_KEY="+someKey)
		c.SecretKey.Bytes()[0] = 99
		require.Equal(t, byte(0), c.SecretKey.Bytes()[0])
		require.Nil(t, configs.SecretKey{}.Bytes())
	})

	t.Run("WithoutAConfigurationThereIsNone", func(t *testing.T) {
		t.Parallel()
		_, _, err := configs.Config{}.EnsureSecretKey()
		require.Error(t, err)
	})

	for name, tc := range map[string]struct {
		content string
		mode    os.FileMode
		want    string // of the error; empty: accepted
	}{
		"Owner":     {someKey + "\n", 0o600, ""},
		"ReadOnly":  {someKey, 0o400, ""},
		"Group":     {someKey, 0o660, ""},
		"Everyone":  {someKey, 0o644, "is open to everyone: run chmod 600 on it"},
		"Executes":  {someKey, 0o601, "is open to everyone"},
		"Truncated": {someKey[:40], 0o600, "does not hold 32 bytes in hex"},
		"Empty":     {"", 0o600, "does not hold 32 bytes in hex"},
	} {
		t.Run("KeyFile/"+name, func(t *testing.T) {
			t.Parallel()
			db := filepath.Join(t.TempDir(), "tocsin.db")
			require.NoError(t, os.WriteFile(db+".key", []byte(tc.content), 0o600))
			require.NoError(t, os.Chmod(db+".key", tc.mode))
			key, made, err := load(t, "TOCSIN_DATABASE_URL=sqlite:"+db).EnsureSecretKey()
			require.Empty(t, made)
			if tc.want == "" {
				require.NoError(t, err)
				require.Equal(t, byte(0x1f), key.Bytes()[31])
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, db+".key")
			require.NotContains(t, err.Error(), someKey[:40])
			require.True(t, key.IsZero())
		})
	}

	t.Run("KeyFile/Folder", func(t *testing.T) {
		t.Parallel()
		db := filepath.Join(t.TempDir(), "tocsin.db")
		require.NoError(t, os.Mkdir(db+".key", 0o700))
		_, _, err := load(t, "TOCSIN_DATABASE_URL=sqlite:"+db).EnsureSecretKey()
		require.ErrorContains(t, err, "is no regular file")
	})

	t.Run("AFolderThatCannotBeIsAnError", func(t *testing.T) {
		t.Parallel()
		db := filepath.Join(file(t, "plain", ""), "tocsin.db")
		_, _, err := load(t, "TOCSIN_DATABASE_URL=sqlite:"+db).EnsureSecretKey()
		require.ErrorContains(t, err, "secret key: ")
	})
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	return all
}
