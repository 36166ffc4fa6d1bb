package access_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
)

func TestRotate(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	now := made.Add(10 * 24 * time.Hour)
	k, err := access.NewKey("sync", access.Scope{Organization: "acme"}, []string{"user:read", "user:write"}, made, 30*24*time.Hour)
	require.NoError(t, err)
	k.ID, k.LastUsed = 7, now
	t.Run("TheNextOneIsAsTheOldOneWasMeant", func(t *testing.T) {
		t.Parallel()
		next, old, err := k.Rotate(now, time.Hour)
		require.NoError(t, err)
		assert.Equal(t, access.Key{Name: "sync", Scope: k.Scope, Grants: k.Grants, Created: now, Expires: now.Add(30 * 24 * time.Hour)}, next)
		want := k
		want.Replaced, want.Expires = now, now.Add(time.Hour)
		assert.Equal(t, want, old)
		assert.Equal(t, access.Replaced, old.State(now))
		assert.Equal(t, access.Expired, old.State(now.Add(time.Hour)))
		assert.Equal(t, access.Active, next.State(now))
	})
	t.Run("OldOneNeverLivesLonger", func(t *testing.T) {
		t.Parallel()
		_, old, err := k.Rotate(now, 365*24*time.Hour)
		require.NoError(t, err)
		assert.Equal(t, k.Expires, old.Expires)
	})
	t.Run("UnlimitedIsReplacedByUnlimited", func(t *testing.T) {
		t.Parallel()
		forever := k
		forever.Expires = time.Time{}
		next, old, err := forever.Rotate(now, time.Hour)
		require.NoError(t, err)
		assert.True(t, next.Expires.IsZero())
		assert.Equal(t, now.Add(time.Hour), old.Expires)
	})
	t.Run("ExpiredOrReplacedIsNotRotated", func(t *testing.T) {
		t.Parallel()
		revoked, replaced := k, k
		revoked.Revoked, replaced.Replaced = now, now
		_, _, err := revoked.Rotate(now, time.Hour)
		require.ErrorIs(t, err, access.ErrEnded)
		assert.Equal(t, access.Revoked, revoked.State(now))
		_, _, err = k.Rotate(k.Expires, time.Hour)
		require.ErrorIs(t, err, access.ErrEnded)
		_, _, err = replaced.Rotate(now, time.Hour)
		require.ErrorIs(t, err, access.ErrReplaced)
		for _, overlap := range []time.Duration{0, -time.Hour} {
			_, _, err = k.Rotate(now, overlap)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		}
	})
}
