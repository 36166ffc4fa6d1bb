package app_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
)

// heldStore is a store whose views can be held up after they have read.
type heldStore struct {
	ports.Store

	gate  sync.RWMutex // locked: they are held up
	reads atomic.Int32
}

func (s *heldStore) View(ctx context.Context, fn func(ports.Tx) error) error {
	err := s.Store.View(ctx, fn)
	s.reads.Add(1)
	s.gate.RLock()
	defer s.gate.RUnlock()
	return err
}

func TestStateRenewal(t *testing.T) {
	t.Parallel()
	clock := clocks.At(frozen{}.Now())
	store := emptyInstallation(t)
	held := &heldStore{Store: store}
	state := app.NewStateCache(held, clock)
	ask := func() installation.State {
		known, err := state.State(t.Context())
		require.NoError(t, err)
		return known
	}
	ask()
	require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error { // by another instance
		return tx.Installation().SetState(t.Context(), installation.State{Held: clock.Now()})
	}))
	clock.Advance(600 * time.Millisecond)
	held.gate.Lock()
	assert.True(t, ask().Sends(), "nobody waits for what is being read")
	held.gate.Unlock()
	require.Eventually(t, func() bool { return !state.Known().Sends() }, time.Minute, time.Millisecond)

	// What was read before a change of this instance does not count after it.
	clock.Advance(600 * time.Millisecond)
	held.gate.Lock()
	require.Eventually(t, func() bool { // The next one begins when that one is over.
		ask()
		return held.reads.Load() == 3
	}, time.Minute, time.Millisecond)
	changed, err := app.NewInstallation(store, nil, state, clock).BeginMaintenance(t.Context(), audit.Actor{Name: "root"}, nil)
	require.NoError(t, err)
	require.True(t, changed)
	held.gate.Unlock()
	clock.Advance(600 * time.Millisecond)
	require.Eventually(t, func() bool { // The next one begins when that one is over.
		require.Error(t, ask().Writable())
		return held.reads.Load() == 4
	}, time.Minute, time.Millisecond)
	require.Error(t, ask().Writable())
}

func TestKeyRenewal(t *testing.T) {
	t.Parallel()
	store := visibleSettings(t, databases.SQLite(t), seal.Ring{})
	clock := clocks.At(frozen{}.Now())
	keys, text := keyElsewhere(t, store, clock)
	held := &heldStore{Store: store}
	authentication := app.NewAuthentication(held, clock)
	ask := func() error {
		_, err := authentication.Authenticate(t.Context(), text)
		return err
	}
	require.NoError(t, ask())

	// A key that is revoked while it is read again stops at once where it is revoked.
	clock.Advance(app.KeyCacheLifetime / 2)
	held.gate.Lock()
	require.NoError(t, ask(), "nobody waits for what is being read")
	require.NoError(t, ask())
	require.Eventually(t, func() bool { return held.reads.Load() == 2 }, time.Minute, time.Millisecond)
	_, err := keys.Revoke(t.Context(), audit.Actor{}, "sync", nil)
	require.NoError(t, err)
	authentication.Forget()
	held.gate.Unlock()
	require.ErrorIs(t, ask(), access.ErrUnauthenticated)
}

// TestRevokedElsewhere checks that a key in use is known to be revoked once it was read again.
func TestRevokedElsewhere(t *testing.T) {
	t.Parallel()
	store := visibleSettings(t, databases.SQLite(t), seal.Ring{})
	clock := clocks.At(frozen{}.Now())
	keys, text := keyElsewhere(t, store, clock)
	authentication := app.NewAuthentication(store, clock)
	_, err := authentication.Authenticate(t.Context(), text)
	require.NoError(t, err)
	_, err = keys.Revoke(t.Context(), audit.Actor{}, "sync", nil)
	require.NoError(t, err)
	clock.Advance(app.KeyCacheLifetime / 2)
	require.Eventually(t, func() bool {
		_, err := authentication.Authenticate(t.Context(), text)
		return errors.Is(err, access.ErrUnauthenticated)
	}, time.Minute, time.Millisecond)
}
