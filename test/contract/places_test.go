package contract_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/harness"
	"github.com/tocsin/tocsin/test/pgtest"
)

// rootKey is a key of the installation. It is always the same, because all databases are copies of
// one template.
const rootKey = "tcs_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// place is a database with the objects of blueprint.
type place struct {
	database string
	url      string
	dump     *sql.DB // what the database holds, seen past the service
}

// take returns a database with the objects of blueprint for one case.
func take(t *testing.T, database string) *place {
	t.Helper()
	if database == sqlite {
		text, err := template()
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "tocsin.db")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return connect(t, &place{database: sqlite, url: "sqlite:" + path}, "sqlite3", "file:"+path+"?mode=ro&_busy_timeout=5000")
	}
	url := pgtest.Lend(t, "contract", fill)
	return connect(t, &place{database: postgres, url: url}, "pgx", url)
}

func connect(t *testing.T, at *place, driver, source string) *place {
	t.Helper()
	var err error
	at.dump, err = sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, at.dump.Close()) })
	return at
}

// template returns the content of a SQLite file with the objects of blueprint.
var template = sync.OnceValues(func() (text []byte, err error) {
	dir, err := os.MkdirTemp("", "contract")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "template.db")
	if err := fill("sqlite:" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// fill creates the schema, the root key and the objects of blueprint.
func fill(url string) error {
	ctx := context.Background()
	store, err := gormstore.Open(ctx, gormstore.Config{URL: url, AutoMigrate: true, Clock: newClock(), Keys: seal.NewRing([seal.KeySize]byte{1})})
	if err != nil {
		return err
	}
	return errors.Join(furnish(ctx, store), store.Close())
}

func furnish(ctx context.Context, store ports.Store) error {
	if _, err := harness.Assemble(harness.Parts{Store: store, Clock: newClock()}).CLI.Provisioning.Apply(ctx, operators.Editor{}, blueprint(), false); err != nil {
		return err
	}
	var grants []string
	for _, g := range access.Grants() {
		grants = append(grants, string(g))
	}
	root, err := access.NewKey("root", access.Scope{}, grants, newClock().Now(), 0)
	if err != nil {
		return err
	}
	if root.Digest, err = access.ParseToken(rootKey); err != nil {
		return err
	}
	return store.Update(ctx, func(tx ports.Tx) error {
		_, err := tx.Keys().Create(ctx, root)
		return err
	})
}
