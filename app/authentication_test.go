package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang/mock/gomock"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
	"github.com/tocsin/tocsin/test/mocks"
)

// keyElsewhere creates a key by another process, and returns the keys of that and its text.
func keyElsewhere(t *testing.T, store ports.Store, clock ports.Clock) (*app.Keys, string) {
	t.Helper()
	keys := app.NewKeys(store, clock, app.NewAuthentication(store, clock), nil)
	_, text, err := keys.Create(t.Context(), audit.Actor{}, "sync", access.Scope{}, []string{"system:ping"}, 0)
	require.NoError(t, err)
	return keys, text
}

// TestKeyCacheClockBackwards checks that a cached key is trusted for seconds, even if the clock is
// set back by an hour.
func TestKeyCacheClockBackwards(t *testing.T) {
	t.Parallel()
	store := visibleSettings(t, databases.SQLite(t), seal.Ring{})
	clock := mocks.NewClock(gomock.NewController(t))
	now := frozen{}.Now()
	gomock.InOrder(
		clock.EXPECT().Now().Return(now),
		clock.EXPECT().Now().Return(now.Add(-time.Hour)),
	)
	keys, text := keyElsewhere(t, store, frozen{})
	authentication := app.NewAuthentication(store, clock)
	_, err := authentication.Authenticate(t.Context(), text)
	require.NoError(t, err)
	_, err = keys.Revoke(t.Context(), audit.Actor{}, "sync", nil)
	require.NoError(t, err)
	_, err = authentication.Authenticate(t.Context(), text)
	require.ErrorIs(t, err, access.ErrUnauthenticated)
}

// TestRevokeWithinUnit checks that a repeatable revocation counts as soon as it is committed,
// although the key was read again before.
func TestRevokeWithinUnit(t *testing.T) {
	t.Parallel()
	store := visibleSettings(t, databases.SQLite(t), seal.Ring{})
	authentication := app.NewAuthentication(store, frozen{})
	keys := app.NewKeys(store, frozen{}, authentication, nil)
	key, text, err := keys.Create(t.Context(), audit.Actor{}, "sync", access.Scope{}, []string{"system:ping"}, 0)
	require.NoError(t, err)
	request := &requests.Request{Key: key.ID, IdempotencyKey: "one"}
	outside := t.Context() // not of the unit of work
	_, _, err = app.NewRequests(store, frozen{}).Once(t.Context(), request, func(ctx context.Context) (requests.Answer, error) {
		err := keys.RevokeByID(ctx, audit.Actor{}, app.Path{}, key.ID)
		require.NoError(t, err)
		_, err = authentication.Authenticate(outside, text)
		require.NoError(t, err, "nothing is kept yet")
		return requests.Answer{Status: 200, Body: []byte("null")}, nil
	})
	require.NoError(t, err)
	_, err = authentication.Authenticate(t.Context(), text)
	require.ErrorIs(t, err, access.ErrUnauthenticated)
}
