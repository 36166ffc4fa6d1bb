package channels_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/channels"
)

// shares returns each member's share of the numbers in percent.
func shares(ranges []channels.Range) map[channels.ID]int {
	found := map[channels.ID]int{}
	for _, r := range ranges {
		found[r.Channel] += int(float64(r.End-r.From)/channels.HashRange*100 + 0.5)
	}
	return found
}

func TestRanges(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a, b := channels.Member{ID: 1, Weight: 80, Active: true}, channels.Member{ID: 2, Weight: 20, Active: true}
	spare := channels.Member{ID: 3, Active: true}
	inactive, paused, trial, tried, forgotten, back, half := a, a, a, a, a, a, a
	inactive.Active = false
	paused.Until = now.Add(time.Second)
	trial.Until = now.Add(-time.Second)
	tried.Until = now.Add(-channels.TrialFor)
	forgotten.Until = tried.Until.Add(-channels.RampUpFor)
	back.Recovered = now
	half.Recovered = now.Add(-channels.RampUpFor / 2)
	away := b
	away.Until = now.Add(time.Minute)
	for name, c := range map[string]struct {
		members []channels.Member
		without channels.ID
		want    map[channels.ID]int
	}{
		"ByWeight":                   {[]channels.Member{a, b, spare}, 0, map[channels.ID]int{1: 80, 2: 20}},
		"WithoutOne":                 {[]channels.Member{a, b, spare}, 1, map[channels.ID]int{2: 100}},
		"AnInactiveOneHasNone":       {[]channels.Member{inactive, b}, 0, map[channels.ID]int{2: 100}},
		"APausedOneHasNone":          {[]channels.Member{paused, b}, 0, map[channels.ID]int{2: 100}},
		"OneOnTrialHasLittle":        {[]channels.Member{trial, b}, 0, map[channels.ID]int{1: 7, 2: 93}},
		"AfterItsTrialItBegins":      {[]channels.Member{tried, b}, 0, map[channels.ID]int{1: 29, 2: 71}},
		"AfterAWhileItCountsAsWell":  {[]channels.Member{forgotten, b}, 0, map[channels.ID]int{1: 80, 2: 20}},
		"OneThatReturnsBegins":       {[]channels.Member{back, b}, 0, map[channels.ID]int{1: 29, 2: 71}},
		"AndHasMoreSoon":             {[]channels.Member{half, b}, 0, map[channels.ID]int{1: 67, 2: 33}},
		"ASpareOneWhereNoneWorks":    {[]channels.Member{paused, away, spare}, 0, map[channels.ID]int{3: 100}},
		"NoneIfNoneWorks":            {[]channels.Member{paused, away}, 0, map[channels.ID]int{}},
		"NoOtherMember":              {[]channels.Member{a}, 1, map[channels.ID]int{}},
		"TheOnlyOneWhateverItWeighs": {[]channels.Member{spare}, 0, map[channels.ID]int{3: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ranges := channels.Ranges(c.members, c.without, now)
			assert.Equal(t, c.want, shares(ranges))
			end := int64(0)
			for _, r := range ranges {
				require.Equal(t, end, r.From, "no number is left out")
				end = r.End
			}
			if len(ranges) > 0 {
				require.EqualValues(t, channels.HashRange, end)
				assert.Equal(t, ranges[0].Channel, channels.Pick(ranges, 0))
				assert.Equal(t, ranges[len(ranges)-1].Channel, channels.Pick(ranges, channels.HashRange-1))
			} else {
				assert.Zero(t, channels.Pick(ranges, 0))
			}
		})
	}
}

// TestDrawsAreEven checks that the shares are within 3 % of the weights for typical deliveries:
// consecutive ones, every second one, and one each of many occurrences.
func TestDrawsAreEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.IntRange(1, 99).Draw(t, "weight")
		ranges := channels.Ranges([]channels.Member{{ID: 1, Weight: weight, Active: true}, {ID: 2, Weight: 100 - weight, Active: true}}, 0, time.Now())
		from, step := rapid.Int64Range(1, 1<<45).Draw(t, "from"), rapid.Int64Range(1, 200).Draw(t, "step")
		occurrence, next := rapid.Int64Range(1, 1<<45).Draw(t, "occurrence"), rapid.Int64Range(0, 1).Draw(t, "next")
		const n = 20_000
		first := 0
		for i := range int64(n) {
			if channels.Pick(ranges, channels.Hash(from+i*step, occurrence+i*next)) == 1 {
				first++
			}
		}
		require.InDelta(t, float64(weight)/100, float64(first)/n, 0.03)
	})
}

func TestPoolsAreNamed(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{"": true, "mail": true, "mail-2_x": true, "Mail": false, "a b": false, "ä": false,
		strings.Repeat("a", channels.MaxPool): true, strings.Repeat("a", channels.MaxPool+1): false} {
		got, err := channels.ParsePool("pool", name)
		assert.Equal(t, valid, err == nil, name)
		if valid {
			assert.Equal(t, name, got)
		}
	}
	for weight, valid := range map[int]bool{0: true, 1: true, channels.MaxWeight: true, -1: false, channels.MaxWeight + 1: false} {
		assert.Equal(t, valid, channels.CheckWeight("weight", weight) == nil)
	}
}

func TestReasonsHaveWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for why := channels.Assigned; why <= channels.Deactivated; why++ {
		assert.False(t, seen[why.String()])
		seen[why.String()] = true
	}
}
