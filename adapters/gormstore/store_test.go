package gormstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
)

// clock stands still.
type clock struct{}

func (clock) Now() time.Time { return time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC) }

// open opens a store and closes it with the test.
func open(tb testing.TB, url string) *gormstore.Store {
	tb.Helper()
	s, err := gormstore.Open(tb.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clock{}})
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, s.Close()) })
	return s
}
