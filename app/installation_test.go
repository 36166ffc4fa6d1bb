package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// frozen is a clock that stands still.
type frozen struct{}

func (frozen) Now() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) }

// emptyInstallation returns a store on its own SQLite database.
func emptyInstallation(t *testing.T) ports.Store {
	t.Helper()
	store, err := gormstore.Open(t.Context(), gormstore.Config{
		URL: databases.SQLite(t), Clock: frozen{}, Keys: seal.NewRing([seal.KeySize]byte{1})})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store
}
