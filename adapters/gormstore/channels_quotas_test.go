package gormstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/test/pgtest"
)

// stopped is a clock that stands still.
type stopped struct{ at time.Time }

func (c stopped) Now() time.Time { return c.at }

// TestAQuotaOutlivesAnInstanceThatWasKilled has an instance take from a quota and find it used up,
// and go without giving anything back.
func TestAQuotaOutlivesAnInstanceThatWasKilled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
			if name == "postgres" {
				url = pgtest.New(t)
			}
			ctx, of := t.Context(), channels.Quota{PerMonth: 10}
			killed := open(t, url)
			p := newPost(t, killed)
			other := p.pooled(t)
			for _, want := range []int{7, 3, 0} {
				taken, err := killed.Queue().Allow(ctx, p.channel.ID, of, 7, channels.Allowance{})
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
				again, err := s.Queue().Allow(ctx, other.ID, of, 1, channels.Allowance{})
				require.NoError(t, err)
				assert.Equal(t, 1, again.Left, "each has a quota of its own")
				return members[0].UsedUp.UTC()
			}
			assert.Equal(t, time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), usedUp(time.Minute), "whoever comes knows")
			assert.Zero(t, usedUp(5*time.Minute), "a mark that nobody renews is asked for anew")
			taken, err := killed.Queue().Allow(ctx, p.channel.ID, of, 7, channels.Allowance{})
			require.NoError(t, err)
			assert.Zero(t, taken.Left, "and what was taken stays counted")
			taken, err = killed.Queue().Allow(ctx, p.channel.ID, channels.Quota{PerMonth: 12}, 7, channels.Allowance{})
			require.NoError(t, err)
			assert.Equal(t, 2, taken.Left)
		})
	}
}
