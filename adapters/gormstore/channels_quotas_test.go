package gormstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/test/clocks"
)

// TestNewDayOfAQuota is about a member of a pool whose quota was used up. On the new day its share
// grows, also after its first portion.
func TestNewDayOfAQuota(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		clock := clocks.At(time.Date(2024, 3, 1, 23, 59, 30, 0, time.UTC))
		s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clock, Keys: seal.NewRing([seal.KeySize]byte{1})})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		p := newPost(t, s)
		p.pooled(t)
		take := func(n int) int {
			a, err := s.Queue().TakeQuota(t.Context(), p.channel.ID, channels.Quota{PerDay: 10}, n, channels.Allowance{})
			require.NoError(t, err)
			return a.Left
		}
		state := func() channels.MemberState {
			members, err := s.Queue().Pool(t.Context(), p.channel.Organization, p.channel.ID)
			require.NoError(t, err)
			return channels.PoolHealth(members, clock.Now())[0].State
		}
		assert.Equal(t, 10, take(10))
		assert.Zero(t, take(1))
		assert.Equal(t, channels.MemberUsedUp, state())
		clock.Advance(31 * time.Second)
		assert.Equal(t, channels.MemberReturning, state())
		assert.Equal(t, 1, take(1))
		assert.Equal(t, channels.MemberReturning, state())
		clock.Advance(channels.RampUpFor)
		assert.Equal(t, 1, take(1))
		assert.Equal(t, channels.MemberWorks, state())
	})
}
