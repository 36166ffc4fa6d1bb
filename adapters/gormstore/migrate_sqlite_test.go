package gormstore_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
)

// blockedMigration migrates a file to which another connection writes. It returns when the
// migration has logged that it waits. The result of Migrate arrives in done; cancel ends its
// context, and release the other connection's transaction.
func blockedMigration(t *testing.T) (s *gormstore.Store, done chan error, cancel, release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	url := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
	other := connect(t, url)
	exec(t, other, "BEGIN IMMEDIATE")
	var log journal
	s, err := gormstore.Connect(t.Context(), gormstore.Config{URL: url, Clock: clock{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	done = make(chan error, 1)
	go func() { done <- s.Migrate(ctx) }()
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "a migration waits for another process") }, 20*time.Second, 5*time.Millisecond)
	return s, done, cancel, func() { exec(t, other, "ROLLBACK") }
}

// busyTimeout returns how long a connection waits for the write lock, in milliseconds.
func busyTimeout(t *testing.T, s *gormstore.Store) (ms int) {
	t.Helper()
	require.NoError(t, s.Handle().QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&ms))
	return ms
}

func TestMigrationAwaitsWriter(t *testing.T) {
	t.Parallel()
	s, done, _, release := blockedMigration(t)
	require.Empty(t, done, "it waits")
	release()
	require.NoError(t, <-done)
	require.NoError(t, s.Ready(t.Context()))
	assert.Equal(t, 5000, busyTimeout(t, s), "later writes have it again")
}

func TestMigrationStopsWaiting(t *testing.T) {
	t.Parallel()
	s, done, cancel, release := blockedMigration(t)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	assert.Equal(t, 5000, busyTimeout(t, s), "later writes have it again")
	release()
	require.NoError(t, s.Migrate(t.Context()))
}
