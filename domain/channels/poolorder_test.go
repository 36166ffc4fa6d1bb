package channels_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/channels"
)

// TestSuccessorsAreEven checks that the shares of those that take over are within 3 % of the
// weights.
func TestSuccessorsAreEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.IntRange(1, 99).Draw(t, "weight")
		id := rapid.Int64Range(1, 1<<40)
		member := channels.ID(id.Draw(t, "member"))
		members := []channels.Member{{ID: member, Weight: 50, Active: true}, {ID: member + 1, Weight: weight, Active: true},
			{ID: member + 2, Weight: 100 - weight, Active: true}, {ID: member + 3, Active: true}}
		from, step := id.Draw(t, "from"), rapid.Int64Range(1, 200).Draw(t, "step")
		const n = 8_000
		counts := map[channels.ID]int{}
		for i := range int64(n) {
			counts[channels.Successor(members, member, 0, from+i*step, time.Now())]++
		}
		require.InDelta(t, float64(weight)/100, float64(counts[member+1])/n, 0.03)
		require.Equal(t, n, counts[member+1]+counts[member+2], "the one without a weight is not needed")
	})
}

// TestSuccessorsReachEachMember checks that a delivery which fails gets to each member.
func TestSuccessorsReachEachMember(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := make([]channels.Member, rapid.IntRange(2, 6).Draw(t, "members"))
		for i := range members {
			members[i] = channels.Member{ID: channels.ID(i + 1), Weight: rapid.IntRange(0, 3).Draw(t, "weight"), Active: true}
		}
		delivery := rapid.Int64Range(1, 1<<40).Draw(t, "delivery")
		at, failed := channels.ID(rapid.IntRange(1, len(members)).Draw(t, "first")), channels.ID(0)
		reached := map[channels.ID]bool{at: true}
		for range members {
			to := channels.Successor(members, at, failed, delivery, time.Now())
			require.NotEqual(t, at, to)
			require.True(t, to != failed || len(members) == 2, "it does not go back")
			at, failed, reached[to] = to, at, true
		}
		require.Len(t, reached, len(members))
	})
}

func TestSuccessor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	works, inactive, paused := channels.Member{ID: 1, Weight: 1, Active: true}, channels.Member{ID: 2, Weight: 1_000}, channels.Member{ID: 3, Weight: 1_000, Active: true}
	paused.Until = now.Add(time.Second)
	usedUp, spare := paused, channels.Member{ID: 5, Active: true}
	usedUp.ID, usedUp.Until, usedUp.UsedUp = 4, time.Time{}, paused.Until
	for name, c := range map[string]struct {
		members      []channels.Member
		from, failed channels.ID
		want         channels.ID
	}{
		"TheOneThatWorks":           {[]channels.Member{works, inactive, paused, usedUp, spare}, 3, 0, 1},
		"AlsoLater":                 {[]channels.Member{works, inactive, paused, usedUp}, 3, 2, 1},
		"ASpareOne":                 {[]channels.Member{works, inactive, paused, usedUp, spare}, 1, 0, 5},
		"ASpareOneAfterTheOthers":   {[]channels.Member{works, inactive, paused, usedUp, spare}, 1, 3, 5},
		"BackIfNoOtherOneWorks":     {[]channels.Member{works, inactive, paused, usedUp}, 3, 1, 1},
		"None":                      {[]channels.Member{works, inactive, paused, usedUp}, 1, 0, 0},
		"NoneLater":                 {[]channels.Member{works, inactive, paused, usedUp}, 1, 3, 0},
		"FromOneThatHasLeft":        {[]channels.Member{works, inactive}, 9, 8, 1},
		"FromOneThatHasLeftAtFirst": {[]channels.Member{works, inactive}, 9, 0, 1},
		"NoPool":                    {nil, 1, 2, 0},
	} {
		assert.Equal(t, c.want, channels.Successor(c.members, c.from, c.failed, 7, now), name)
	}
}
