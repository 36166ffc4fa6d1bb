package conformance

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
)

func rateCases() cases {
	take := func(t *testing.T, w *world, c channels.Channel, rate channels.Rate, want int) channels.Slots {
		t.Helper()
		slots, err := w.Queue().TakeSlots(t.Context(), c.ID, rate, want)
		require.NoError(t, err)
		return slots
	}
	return cases{
		"SlotsFollowEachOther": func(t *testing.T, w *world) {
			const rate = channels.Rate(10)
			first := take(t, w, w.mine.mail, rate, 1)
			assert.Equal(t, 1, first.Number)
			assert.Zero(t, first.In)
			assert.Zero(t, first.Before)
			second := take(t, w, w.mine.mail, rate, 2)
			assert.Equal(t, 2, second.Number)
			assert.Equal(t, first.Last, second.Before)
			assert.GreaterOrEqual(t, second.Last.Sub(first.Last), 2*rate.Interval())
			assert.Zero(t, take(t, w, w.mine.text, rate, 1).Before, "of each channel")
		},
		"NoneIsTakenFarAhead": func(t *testing.T, w *world) {
			const rate = channels.Rate(1.0 / 3_600)
			first := take(t, w, w.mine.mail, rate, 5)
			assert.Equal(t, 1, first.Number)
			for range 2 {
				next := take(t, w, w.mine.mail, rate, 1)
				assert.Zero(t, next.Number)
				assert.InDelta(t, time.Hour, next.In, float64(time.Minute))
			}
			assert.Equal(t, 1, take(t, w, w.mine.mail, 100, 1).Number, "a higher rate does not wait for it")
		},
		"TheyComeAtTheSameTime": func(t *testing.T, w *world) {
			const rate, n = channels.Rate(1_000), 16
			var mu sync.Mutex
			var lasts []time.Time
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					slots, err := w.Queue().TakeSlots(t.Context(), w.mine.mail.ID, rate, 5)
					mu.Lock()
					defer mu.Unlock()
					assert.NoError(t, err)
					assert.Equal(t, 5, slots.Number)
					lasts = append(lasts, slots.Last)
				})
			}
			all.Wait()
			slices.SortFunc(lasts, time.Time.Compare)
			for i := 1; i < n; i++ {
				assert.GreaterOrEqual(t, lasts[i].Sub(lasts[i-1]), 5*rate.Interval(), "no slot is taken twice")
			}
		},
		"DeletedChannelNeedsNone": func(t *testing.T, w *world) {
			assert.Equal(t, channels.Slots{Number: 3}, take(t, w, channels.Channel{ID: 1 << 40}, 1, 3))
		},
	}
}
