package gormstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// stopped is a clock that stands still.
type stopped struct{ at time.Time }

func (c stopped) Now() time.Time { return c.at }

// TestQuotaAfterKilledInstance is about an instance that takes from a quota, finds it used up, and
// ends without returning its share.
func TestQuotaAfterKilledInstance(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databases.SQLite(t)
			if name == "postgres" {
				url = databases.Postgres(t)
			}
			ctx, of := t.Context(), channels.Quota{PerMonth: 10}
			killed := open(t, url)
			p := newPost(t, killed)
			other := p.pooled(t)
			p.channel.Settings = channels.Settings{channels.SettingQuotaPerMonth: 10}
			require.NoError(t, p.Update(ctx, func(tx ports.Tx) error { return tx.Channels().Save(ctx, p.channel) }))
			for _, want := range []int{7, 3, 0} {
				taken, err := killed.Queue().TakeQuota(ctx, p.channel.ID, of, 7, channels.Allowance{})
				require.NoError(t, err)
				assert.Equal(t, want, taken.Left)
			}
			usedUp := func(after time.Duration) time.Time {
				s, err := gormstore.Open(ctx, gormstore.Config{URL: url, Clock: stopped{clock{}.Now().Add(after)}, Keys: seal.NewRing([seal.KeySize]byte{1})})
				require.NoError(t, err)
				defer func() { assert.NoError(t, s.Close()) }()
				members, err := s.Queue().Pool(ctx, p.channel.Organization, other.ID)
				require.NoError(t, err)
				require.Len(t, members, 2)
				again, err := s.Queue().TakeQuota(ctx, other.ID, of, 1, channels.Allowance{})
				require.NoError(t, err)
				assert.Equal(t, 1, again.Left, "each has a quota of its own")
				told := conditionOf(ctx, t, s, p.channel)
				assert.Equal(t, 10, told.Used.OfMonth)
				assert.Equal(t, members[0].UsedUp.UTC(), told.UsedUp.UTC(), "what is shown is what the pool goes by")
				return told.UsedUp.UTC()
			}
			assert.Equal(t, time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), usedUp(time.Minute), "whoever comes knows")
			assert.Zero(t, usedUp(5*time.Minute), "a mark that nobody renews is asked for anew")
			taken, err := killed.Queue().TakeQuota(ctx, p.channel.ID, of, 7, channels.Allowance{})
			require.NoError(t, err)
			assert.Zero(t, taken.Left, "and what was taken stays counted")
			taken, err = killed.Queue().TakeQuota(ctx, p.channel.ID, channels.Quota{PerMonth: 12}, 7, channels.Allowance{})
			require.NoError(t, err)
			assert.Equal(t, 2, taken.Left)
		})
	}
}

// conditionOf returns the condition of a channel.
func conditionOf(ctx context.Context, t *testing.T, s *gormstore.Store, c channels.Channel) (told channels.Condition) {
	t.Helper()
	require.NoError(t, s.View(ctx, func(tx ports.Tx) error {
		all, err := tx.Channels().Conditions(ctx, c.Organization, []channels.ID{c.ID})
		told = all[c.ID]
		return err
	}))
	return told
}

// TestUsedUpQuotaWithClockAhead is about a clock that is five minutes ahead of the server's.
func TestUsedUpQuotaWithClockAhead(t *testing.T) {
	t.Parallel()
	url, ctx := databases.Postgres(t), t.Context()
	instance := func(ahead wrong) *gormstore.Store {
		s, err := gormstore.Open(ctx, gormstore.Config{URL: url, AutoMigrate: true, Clock: ahead, ServerClock: true, Keys: seal.NewRing([seal.KeySize]byte{1})})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		return s
	}
	right, ahead := instance(0), instance(wrong(5*time.Minute))
	p, of := newPost(t, right), channels.Quota{PerMonth: 1}
	p.pooled(t)
	p.channel.Settings = channels.Settings{channels.SettingQuotaPerMonth: 1}
	require.NoError(t, p.Update(ctx, func(tx ports.Tx) error { return tx.Channels().Save(ctx, p.channel) }))
	var until time.Time
	for range 2 {
		taken, err := right.Queue().TakeQuota(ctx, p.channel.ID, of, 1, channels.Allowance{})
		require.NoError(t, err)
		until = taken.Until.UTC()
	}
	members, err := ahead.Queue().Pool(ctx, p.channel.Organization, p.channel.ID)
	require.NoError(t, err)
	require.Len(t, members, 2)
	assert.Equal(t, until, members[0].UsedUp.UTC())
	if wrong(5 * time.Minute).Now().Before(until) { // The month may end within these minutes.
		assert.Equal(t, until, conditionOf(t.Context(), t, ahead, p.channel).UsedUp)
	}
}
