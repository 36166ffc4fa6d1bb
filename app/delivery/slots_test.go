package delivery_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
)

// at is a channel of an organization.
type at struct {
	org     orgs.ID
	channel channels.ID
}

// now takes a place if one is free.
func now(p delivery.Places, where at) bool {
	ended, end := context.WithCancel(context.Background())
	end()
	return p.Acquire(ended, where.org, where.channel)
}

func TestPlaces(t *testing.T) {
	t.Parallel()

	t.Run("NeverMoreThanThereAreAndANewcomerAtOnce", rapid.MakeCheck(func(t *rapid.T) {
		const total = 100
		p := delivery.NewPlaces(total)
		held := map[at]int{}
		all, of := 0, map[orgs.ID]int{}
		for range rapid.IntRange(1, 500).Draw(t, "steps") {
			where := at{orgs.ID(rapid.IntRange(1, 30).Draw(t, "organization")), channels.ID(rapid.IntRange(1, 3).Draw(t, "channel"))}
			if held[where] > 0 && rapid.IntRange(0, 3).Draw(t, "release") == 0 {
				p.Release(where.org, where.channel)
				held[where]--
				of[where.org]--
				all--
				continue
			}
			for range rapid.IntRange(1, 60).Draw(t, "places") {
				newcomer := of[where.org] == 0
				if !now(p, where) {
					holding := 0
					for _, n := range of {
						if n > 0 {
							holding++
						}
					}
					require.False(t, newcomer && holding < 20, "%d organizations hold %d places", holding, all)
					break
				}
				held[where]++
				of[where.org]++
				all++
			}
			require.LessOrEqual(t, all, total)
			require.LessOrEqual(t, of[where.org], 40, "of one organization")
		}
		for where, n := range held {
			for range n {
				p.Release(where.org, where.channel)
			}
		}
		taken := 0
		for now(p, at{1, channels.ID(taken)}) { // another channel each time
			taken++
		}
		require.Equal(t, 40, taken, "all of them are free again")
	}))

	t.Run("FewestSlotsFirst", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := delivery.NewPlaces(20)
			counts := map[at]*atomic.Int32{{1, 1}: {}, {1, 2}: {}, {2, 3}: {}, {3, 4}: {}}
			ctx, stop := context.WithCancel(t.Context())
			var users sync.WaitGroup
			for where, n := range counts {
				for range 50 {
					users.Go(func() {
						for ctx.Err() == nil && p.Acquire(ctx, where.org, where.channel) {
							n.Add(1)
							let(10 * time.Millisecond)
							p.Release(where.org, where.channel)
						}
					})
				}
			}
			let(10 * time.Second)
			stop()
			users.Wait()
			first := counts[at{1, 1}].Load() + counts[at{1, 2}].Load()
			assert.InEpsilon(t, first, counts[at{2, 3}].Load(), 0.3)
			assert.InEpsilon(t, first, counts[at{3, 4}].Load(), 0.3)
			assert.InEpsilon(t, counts[at{1, 1}].Load(), counts[at{1, 2}].Load(), 0.3)
		})
	})

	t.Run("CancelledWaiterHoldsNone", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := delivery.NewPlaces(10)
			taken := 0
			for now(p, at{1, 1}) {
				taken++
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			assert.False(t, p.Acquire(ctx, 1, 1))
			p.Release(1, 1)
			assert.True(t, now(p, at{1, 1}))
			assert.False(t, now(p, at{1, 1}))
			assert.Positive(t, taken)
		})
	})
}
