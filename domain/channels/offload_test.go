package channels_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/channels"
)

// TestOffload is about idle members that take over repeatedly from one at its limit. That one keeps
// its part, no member holds more than its capacity, no capacity is left unused, and a capacity
// doubles only after it was full and half of it was sent.
func TestOffload(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		members := []channels.Member{{ID: 1, Weight: 100, Active: true}}
		for i := range rapid.IntRange(1, 4).Draw(t, "others") {
			members = append(members, channels.Member{ID: channels.ID(i + 2), Weight: rapid.IntRange(1, 100).Draw(t, "weight"), Active: true})
		}
		type known struct {
			size int
			full bool
			at   time.Time
		}
		rooms, had := channels.Capacities{}, map[channels.ID]known{}
		for range 20 {
			offers := rooms.Offers(members, 1, now)
			require.Len(t, offers, len(members)-1)
			held, space := map[channels.ID]int{}, 0
			var idle []channels.Offer
			for _, o := range offers {
				want := had[o.To]
				if want.size == 0 || now.Sub(want.at) >= 10*time.Second {
					want = known{size: 32}
				}
				had[o.To] = want
				require.Equal(t, want.size, o.Capacity)
				if !want.full {
					require.Equal(t, o.Capacity, o.Grown)
				}
				require.LessOrEqual(t, o.Grown, min(2*o.Capacity, 2_000))
				if rapid.Bool().Draw(t, "idle") {
					o.Held = rapid.IntRange(0, 2*o.Capacity).Draw(t, "held")
					if held[o.To] = o.Held; 2*o.Held > o.Capacity {
						require.Equal(t, o.Capacity, o.Limit(), "half of it is not gone")
					}
					idle, space = append(idle, o), space+max(0, o.Limit()-o.Held)
				}
			}
			waiting, keep := rapid.IntRange(0, 5_000).Draw(t, "waiting"), rapid.IntRange(0, 100).Draw(t, "keep")
			transfers, given := channels.Transfers(idle, waiting, keep), 0
			for _, g := range transfers {
				given += g.Count
				require.NotEqual(t, channels.ID(1), g.To)
				require.Equal(t, held[g.To], g.Held)
			}
			require.Equal(t, max(0, min(space, waiting-keep)), given)
			rooms.Record(offers, transfers, now)
			for _, g := range transfers {
				for _, o := range idle {
					if o.To == g.To {
						require.LessOrEqual(t, g.Held+g.Count, o.Limit())
						had[g.To] = known{o.Limit(), g.Held+g.Count == o.Limit(), now}
					}
				}
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 4_000).Draw(t, "ms")) * time.Millisecond)
		}
	})
}

// TestOffloadToHangingMember transfers repeatedly to a member that sends and to one that hangs.
func TestOffloadToHangingMember(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		finishes    bool
		least, most int
	}{"Hangs": {false, 32, 32}, "Answers": {true, 100_000, math.MaxInt}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			members := []channels.Member{{ID: 1, Weight: 10, Active: true}, {ID: 2, Weight: 10, Active: true}}
			rooms, held, got := channels.Capacities{}, 0, 0
			for range 120 {
				offers := rooms.Offers(members, 1, now)
				if c.finishes {
					held = 0
				}
				idle := slices.Clone(offers)
				idle[0].Held = held
				transfers := channels.Transfers(idle, 1_000_000, 10)
				rooms.Record(offers, transfers, now)
				for _, g := range transfers {
					held, got = held+g.Count, got+g.Count
				}
				now = now.Add(250 * time.Millisecond)
			}
			assert.GreaterOrEqual(t, got, c.least)
			assert.LessOrEqual(t, got, c.most)
		})
	}
}

func TestWhoMayRelieve(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(*channels.Member)
		room   int
	}{
		"OneThatWorks":       {func(*channels.Member) {}, 32},
		"NotAnInactiveOne":   {func(m *channels.Member) { m.Active = false }, 0},
		"NotAPausedOne":      {func(m *channels.Member) { m.Until = now.Add(time.Second) }, 0},
		"NotOneOnTrial":      {func(m *channels.Member) { m.Until = now.Add(time.Second - channels.TrialFor) }, 0},
		"OneAfterItsTrial":   {func(m *channels.Member) { m.Until = now.Add(-channels.TrialFor) }, 3},
		"OneThatHasReturned": {func(m *channels.Member) { m.Until = now.Add(-channels.TrialFor - channels.RampUpFor) }, 32},
		"NotOneUsedUp":       {func(m *channels.Member) { m.UsedUp = now.Add(time.Hour) }, 0},
		"NotASpareOne":       {func(m *channels.Member) { m.Weight = 0 }, 0},
		"OneThatReturns":     {func(m *channels.Member) { m.Recovered = now }, 3},
		"OneThatFails": {func(m *channels.Member) {
			m.Quality = answering(now, 200, 2, time.Second).With(false, time.Second, now)
		}, 17},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := channels.Member{ID: 2, Weight: 10, Active: true}
			c.change(&m)
			offers := channels.Capacities{}.Offers([]channels.Member{{ID: 1, Weight: 10, Active: true}, m}, 1, now)
			if c.room == 0 {
				assert.Empty(t, offers)
				return
			}
			require.Len(t, offers, 1)
			assert.InDelta(t, c.room, offers[0].Capacity, 1)
		})
	}
}

// TestOfferAtRate is about a member with a rate: it takes over what it can begin within two
// seconds.
func TestOfferAtRate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		rate          channels.Rate
		last          time.Time
		held, claimed int
		want          int
	}{
		"OneThatWasIdle":           {0.01, time.Time{}, 0, 0, 1},
		"AlsoForLong":              {0.01, now.Add(-time.Hour), 0, 0, 1},
		"NoneBeforeItsSlot":        {0.01, now.Add(-90 * time.Second), 0, 0, 0},
		"OneShortlyBeforeIt":       {0.01, now.Add(-99 * time.Second), 0, 0, 1},
		"NoneBesideOneWithoutSlot": {0.01, now.Add(-time.Hour), 0, 1, 0},
		"EachSlot":                 {5, now, 0, 0, 10},
		"LessWhatHasNoSlot":        {5, now, 3, 3, 7},
		"NotWhatIsUnderWay":        {5, now, 50, 50, 5},
		"WithinItsCapacity":        {1_000, now, 10, 10, 54},
		"AfterAJumpOfTheClock":     {5, now.Add(time.Hour), 0, 0, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := channels.Offer{To: 2, Capacity: 32, Grown: 64, Held: c.held}
			if c.held > 32 {
				o.Capacity, o.Grown = 1_000, 1_000
			}
			o = o.AtRate(c.rate, c.claimed, c.last, now)
			assert.Equal(t, c.want, o.Limit()-o.Held)
		})
	}
}

func TestHandoversFollowTheWeights(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	members := []channels.Member{{ID: 1, Weight: 1, Active: true}, {ID: 2, Weight: 80, Active: true}, {ID: 3, Weight: 20, Active: true}}
	offers := channels.Capacities{}.Offers(members, 1, now)
	assert.Equal(t, []channels.Transfer{{To: 2, Count: 16}, {To: 3, Count: 4}}, channels.Transfers(offers, 30, 10))
	assert.Equal(t, []channels.Transfer{{To: 2, Count: 32}, {To: 3, Count: 18}}, channels.Transfers(offers, 60, 10), "what one has no room for is the other's")
	assert.Equal(t, []channels.Transfer{{To: 2, Count: 32}, {To: 3, Count: 32}}, channels.Transfers(offers, 1_000, 10))
	assert.Empty(t, channels.Transfers(offers, 10, 10))
	assert.Empty(t, channels.Transfers(nil, 1_000, 0))
}
