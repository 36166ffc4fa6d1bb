package channels_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
)

// TestSlotsKeepTheRate takes slots at random times. Slots never overlap, and no second has more
// than 5 % above the rate.
func TestSlotsKeepTheRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []channels.Rate{channels.MinRatePerSecond, 0.1, 1, 9, 20, 37, 100, 5_000} {
		t.Run(fmt.Sprint(float64(rate)), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, uint64(rate)))
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			var last time.Time
			var leaves []time.Time // of a message in each slot, at the earliest
			for range 2_000 {
				slots := rate.Take(last, now, 1+r.IntN(20))
				if slots.Number > 0 {
					first := now.Add(slots.In)
					assert.False(t, first.Before(now.Add(-rate.CatchUp())))
					if !last.IsZero() {
						assert.GreaterOrEqual(t, first.Sub(last), rate.Interval())
						assert.Equal(t, first.Sub(last)-rate.Interval(), slots.Gap(rate))
					}
					for i := range slots.Number {
						at := first.Add(time.Duration(i) * rate.Interval())
						if at.Before(now) {
							at = now
						}
						leaves = append(leaves, at)
					}
				} else {
					assert.Greater(t, slots.In, channels.SlotsAhead)
				}
				last = slots.Last
				now = now.Add(time.Duration(r.Int64N(int64(3 * max(rate.Interval(), time.Millisecond)))))
			}
			assert.NotEmpty(t, leaves)
			begin, most := 0, 0
			for i, at := range leaves {
				for at.Sub(leaves[begin]) >= time.Second {
					begin++
				}
				most = max(most, i-begin+1)
			}
			assert.LessOrEqual(t, float64(most), max(1, float64(rate)*1.05))
		})
	}
}

func TestSlotsAfterAClockWasSetBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	slots := channels.Rate(10).Take(now.Add(time.Hour), now, 1)
	assert.Equal(t, 1, slots.Number)
	assert.Equal(t, 100*time.Millisecond, slots.In)
	assert.Zero(t, channels.Rate(1).Take(now.Add(time.Second), now, 1).Number, "it is two seconds ahead")
}

func TestSlotsWithALowerRateThanBefore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	last := channels.Rate(100).Take(time.Time{}, now, 1).Last
	assert.InDelta(t, time.Hour, channels.Rate(1.0/3_600).Take(last, now, 1).In, float64(time.Second))
	assert.Equal(t, 1, channels.Rate(100).Take(now, now, 1).Number, "and a higher one does not wait for it")
}

func TestPartOfARate(t *testing.T) {
	t.Parallel()
	const rate = channels.Rate(100)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	mine := rate.Take(time.Time{}, now, 10)
	assert.InDelta(t, 1, rate.Take(mine.Last, now, 10).Part(rate, mine.Last), 0, "nobody took others")
	others := rate.Take(mine.Last, now, 20)
	assert.InDelta(t, 1.0/3, rate.Take(others.Last, now, 10).Part(rate, mine.Last), 0.001)
	assert.InDelta(t, 1, rate.Take(others.Last, now.Add(time.Minute), 1).Part(rate, mine.Last), 0, "nobody waits")
}
