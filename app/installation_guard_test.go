package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
)

// busyQueue always has work.
type busyQueue struct{ deliveries.Queue }

func (busyQueue) Expand(context.Context, deliveries.ExpansionPart, int) (deliveries.Expansion, error) {
	return deliveries.Expansion{Deliveries: 1}, nil
}
func (busyQueue) Schedule(context.Context, int) (int, error)                 { return 1, nil }
func (busyQueue) Purge(context.Context, deliveries.Expiry, int) (int, error) { return 1, nil }
func (busyQueue) Divert(context.Context, orgs.ID, channels.ID, channels.PoolReason, int) (int, error) {
	return 1, nil
}
func (busyQueue) Offload(context.Context, orgs.ID, channels.ID, []channels.Offer, int, time.Duration) ([]channels.Transfer, error) {
	return []channels.Transfer{{}}, nil
}
func (busyQueue) Due(context.Context) ([]deliveries.Due, error) {
	return []deliveries.Due{{Channel: 1}}, nil
}
func (busyQueue) Record(context.Context, string, []deliveries.Outcome) (int, error) { return 0, nil }
func (busyQueue) Claim(context.Context, channels.ID, string, int, time.Duration) ([]deliveries.Job, error) {
	return []deliveries.Job{{ID: 1}}, nil
}

// busyStore is a store with a busyQueue.
type busyStore struct{ ports.Store }

func (busyStore) Queue() deliveries.Queue { return busyQueue{} }

func TestGuard(t *testing.T) {
	t.Parallel()
	clock := clocks.At(frozen{}.Now())
	store := emptyInstallation(t)
	state := app.NewStateCache(store, clock)
	guard := app.NewGuard(busyStore{store}, state)
	queue := guard.Queue()
	change := func() error {
		return guard.Update(t.Context(), func(tx ports.Tx) error {
			_, err := tx.Orgs().List(t.Context(), 0, 1)
			return err
		})
	}
	set := func(s installation.State) { // by another instance
		require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error { return tx.Installation().SetState(t.Context(), s) }))
	}
	for name, c := range map[string]struct {
		state          installation.State
		sends, changes bool
	}{
		"Usual":         {installation.State{}, true, true},
		"Held":          {installation.State{Held: clock.Now()}, false, true},
		"ReadOnly":      {installation.State{ReadOnly: clock.Now(), Notice: "Back at noon."}, false, false},
		"HeldAndClosed": {installation.State{Held: clock.Now(), ReadOnly: clock.Now()}, false, false},
	} {
		set(c.state)
		clock.Advance(time.Second) // All instances know it after that.
		due, err := queue.Due(t.Context())
		require.NoError(t, err)
		assert.Equal(t, c.sends, len(due) > 0, name)
		jobs, err := queue.Claim(t.Context(), 1, "w", 1, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, c.sends, len(jobs) > 0, name)
		assert.Equal(t, !c.sends, state.Paused(), name)
		_, err = queue.Expand(t.Context(), deliveries.AllOccurrences, 1)
		assert.Equal(t, c.changes, err == nil, name)
		assert.Equal(t, !c.changes, errors.Is(err, deliveries.ErrNothingToDo), name)
		for _, does := range []func() (int, error){
			func() (int, error) { return queue.Schedule(t.Context(), 1) },
			func() (int, error) { return queue.Purge(t.Context(), deliveries.Expiry{}, 1) },
			func() (int, error) { return queue.Divert(t.Context(), 1, 1, channels.LimitReached, 1) },
			func() (int, error) {
				moved, err := queue.Offload(t.Context(), 1, 1, nil, 0, time.Minute)
				return len(moved), err
			},
		} {
			n, err := does()
			require.NoError(t, err, "the loops of a worker do not complain")
			assert.Equal(t, c.changes, n > 0, name)
		}
		_, err = queue.Record(t.Context(), "w", nil)
		require.NoError(t, err, "%s: what was begun is recorded", name)
		err = change()
		assert.Equal(t, c.changes, err == nil, name)
		if !c.changes {
			require.ErrorIs(t, err, installation.ErrReadOnly)
			assert.ErrorContains(t, err, c.state.Notice)
		}
	}
}

func TestStateLifetime(t *testing.T) {
	t.Parallel()
	clock := clocks.At(frozen{}.Now())
	store := emptyInstallation(t)
	here, there := app.NewStateCache(store, clock), app.NewStateCache(store, clock)
	use := app.NewInstallation(store, nil, here, clock)
	sends := func(s *app.StateCache) bool {
		state, err := s.State(t.Context())
		require.NoError(t, err)
		return state.Sends()
	}
	assert.True(t, sends(here))
	assert.True(t, sends(there))
	changed, err := use.Hold(t.Context(), audit.Actor{Name: "root"})
	require.NoError(t, err)
	assert.True(t, changed)
	assert.False(t, sends(here), "whoever changes it knows at once")
	clock.Advance(time.Second - 1)
	assert.True(t, sends(there))
	clock.Advance(1)
	assert.False(t, sends(there))
	changed, err = use.Hold(t.Context(), audit.Actor{Name: "root"})
	require.NoError(t, err)
	assert.False(t, changed)
	var entries []audit.Entry
	require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
		found, err := tx.Audit().Search(t.Context(), audit.Query{Action: audit.InstallationHeld, Limit: 10})
		entries = found.Entries
		return err
	}))
	require.Len(t, entries, 1)
	assert.Equal(t, "root", entries[0].Actor.Name)

	ended, end := context.WithCancel(t.Context())
	end()
	clock.Advance(time.Hour)
	_, err = there.State(ended)
	if err != nil { // The answer may have come first.
		assert.ErrorIs(t, err, context.Canceled)
	}
}

// queuedStore is a store whose units wait for their turn.
type queuedStore struct {
	ports.Store
	wait func()
}

func (s queuedStore) Update(ctx context.Context, fn func(ports.Tx) error) error {
	s.wait()
	return s.Store.Update(ctx, fn)
}

// TestGuardOfUnitThatWaits is about a change that waits for its turn while the installation becomes
// read-only: a copy would not have it.
func TestGuardOfUnitThatWaits(t *testing.T) {
	t.Parallel()
	for waits, refused := range map[time.Duration]bool{time.Second - 1: false, time.Second: true} {
		clock := clocks.At(frozen{}.Now())
		store := emptyInstallation(t)
		guard := app.NewGuard(queuedStore{store, func() {
			clock.Advance(waits)
			require.NoError(t, store.Update(t.Context(), func(tx ports.Tx) error {
				return tx.Installation().SetState(t.Context(), installation.State{ReadOnly: clock.Now()})
			}))
		}}, app.NewStateCache(store, clock))
		err := guard.Update(t.Context(), func(ports.Tx) error { return nil })
		assert.Equal(t, refused, errors.Is(err, installation.ErrReadOnly), waits)
	}
}
