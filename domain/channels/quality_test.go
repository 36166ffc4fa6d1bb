package channels_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/channels"
)

// part returns a member's share of the numbers, from 0 to 1.
func part(of channels.ID, members []channels.Member, now time.Time) float64 {
	for _, r := range channels.Ranges(members, 0, now) {
		if r.Channel == of {
			return float64(r.End-r.From) / channels.HashRange
		}
	}
	return 0
}

// answering returns a quality after attempts over some seconds, of which every nth fails (0: none).
func answering(began time.Time, attempts, nth int, took time.Duration) (q channels.Quality) {
	for i := range attempts {
		q = q.With(nth > 0 && i%nth == nth-1, took, began.Add(time.Duration(i)*20*time.Millisecond))
	}
	return q
}

// TestEqualQuality is about members with a few failed attempts and with times of answers that
// differ as between usual providers.
func TestEqualQuality(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		began, total := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 0
		var members []channels.Member
		for i := range rapid.IntRange(2, 5).Draw(t, "members") {
			attempts := rapid.IntRange(0, 500).Draw(t, "attempts")
			nth := rapid.SampledFrom([]int{0, 25, 50}).Draw(t, "nth")
			if attempts < 25 {
				nth = 0
			}
			m := channels.Member{ID: channels.ID(i + 1), Weight: rapid.IntRange(1, 100).Draw(t, "weight"), Active: true,
				Quality: answering(began, attempts, nth, time.Duration(rapid.IntRange(100, 290).Draw(t, "took"))*time.Millisecond)}
			members, total = append(members, m), total+m.Weight
		}
		for _, m := range members {
			require.InDelta(t, float64(m.Weight)/float64(total), part(m.ID, members, began.Add(10*time.Second)), 0.03)
		}
	})
}

// TestQualityFactor has a member that fails or is slow. It gets less, but never nothing, and
// gradually more when it works again.
func TestQualityFactor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		now := began.Add(10 * time.Second)
		bad := answering(began, rapid.IntRange(100, 500).Draw(t, "attempts"), rapid.IntRange(1, 5).Draw(t, "nth"), 100*time.Millisecond)
		if rapid.Bool().Draw(t, "slow") {
			bad = answering(began, 300, 0, time.Duration(rapid.IntRange(1_000, 60_000).Draw(t, "took"))*time.Millisecond)
		}
		members := []channels.Member{{ID: 1, Weight: 50, Active: true, Quality: bad},
			{ID: 2, Weight: 50, Active: true, Quality: answering(began, 500, 0, 100*time.Millisecond)}}
		had := part(1, members, now)
		require.Less(t, had, 0.47)
		require.Positive(t, had)
		for range 20 { // What is heard of it now is good.
			for i := range 20 {
				for m := range members {
					members[m].Quality = members[m].Quality.With(false, 100*time.Millisecond, now.Add(time.Duration(i)*time.Second/2))
				}
			}
			now = now.Add(10 * time.Second)
			has := part(1, members, now)
			require.GreaterOrEqual(t, has, had)
			had = has
		}
		require.Greater(t, had, 0.47)
	})
}

func TestAMemberWithoutAttemptsRecovers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	members := []channels.Member{{ID: 1, Weight: 50, Active: true, Quality: answering(now, 500, 1, time.Second)}, {ID: 2, Weight: 50, Active: true}}
	least := part(1, members, now.Add(10*time.Second))
	assert.Less(t, least, 0.1)
	half := part(1, members, now.Add(90*time.Second))
	assert.Greater(t, half, 2*least)
	assert.Less(t, half, 0.45, "not at once")
	assert.InDelta(t, 0.5, part(1, members, now.Add(5*time.Minute)), 0.01)
}
