package channels_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/channels"
)

// TestRelief has idle members take over from one at its limit, again and again: it keeps what it
// shall, nobody gets more than its room, nothing is left that there was room for, and rooms double
// only after gifts that filled them.
func TestRelief(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		members := []channels.Member{{ID: 1, Weight: 100, Active: true}}
		for i := range rapid.IntRange(1, 4).Draw(t, "others") {
			members = append(members, channels.Member{ID: channels.ID(i + 2), Weight: rapid.IntRange(1, 100).Draw(t, "weight"), Active: true})
		}
		rooms, sizes := channels.Rooms{}, map[channels.ID]int{}
		for range 20 {
			offers := rooms.Offers(members, 1, now)
			require.Len(t, offers, len(members)-1)
			var idle []channels.Offer
			space := 0
			for _, o := range offers {
				if had, known := sizes[o.To]; known {
					require.Equal(t, had, o.Room)
				} else {
					require.LessOrEqual(t, o.Room, 32, "it begins small")
				}
				if rapid.Bool().Draw(t, "idle") {
					idle, space = append(idle, o), space+o.Room
				}
			}
			waiting, keep := rapid.IntRange(0, 5_000).Draw(t, "waiting"), rapid.IntRange(0, 100).Draw(t, "keep")
			gifts, given := channels.Gifts(idle, waiting, keep), 0
			for _, g := range gifts {
				given += g.Count
				require.NotEqual(t, channels.ID(1), g.To)
			}
			require.Equal(t, max(0, min(space, waiting-keep)), given)
			rooms.Given(offers, gifts, now)
			for _, o := range offers {
				sizes[o.To] = o.Room
				for _, g := range gifts {
					require.False(t, g.To == o.To && g.Count > o.Room)
					if g.To == o.To && g.Count == o.Room {
						sizes[o.To] = min(2*o.Room, 2_000)
					}
				}
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 2_000).Draw(t, "ms")) * time.Millisecond)
			for _, o := range offers { // What was not given lately is forgotten.
				if roomOf(rooms, members, o.To, now) == 32 {
					delete(sizes, o.To)
				}
			}
		}
	})
}

func roomOf(rooms channels.Rooms, members []channels.Member, of channels.ID, now time.Time) int {
	for _, o := range rooms.Offers(members, 1, now) {
		if o.To == of {
			return o.Room
		}
	}
	return 0
}

func TestWhoMayRelieve(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(*channels.Member)
		room   int
	}{
		"OneThatWorks":     {func(*channels.Member) {}, 32},
		"NotAnInactiveOne": {func(m *channels.Member) { m.Active = false }, 0},
		"NotOneThatRests":  {func(m *channels.Member) { m.Until = now.Add(time.Second) }, 0},
		"NotOneOnTrial":    {func(m *channels.Member) { m.Until = now.Add(time.Second - channels.TrialFor) }, 0},
		"OneAfterItsTrial": {func(m *channels.Member) { m.Until = now.Add(-channels.TrialFor) }, 32},
		"NotOneUsedUp":     {func(m *channels.Member) { m.UsedUp = now.Add(time.Hour) }, 0},
		"NotASpareOne":     {func(m *channels.Member) { m.Weight = 0 }, 0},
		"OneThatReturns":   {func(m *channels.Member) { m.Returned = now }, 3},
		"OneThatFails": {func(m *channels.Member) {
			m.Quality = answering(now, 200, 2, time.Second).With(false, time.Second, now)
		}, 17},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := channels.Member{ID: 2, Weight: 10, Active: true}
			c.change(&m)
			offers := channels.Rooms{}.Offers([]channels.Member{{ID: 1, Weight: 10, Active: true}, m}, 1, now)
			if c.room == 0 {
				assert.Empty(t, offers)
				return
			}
			require.Len(t, offers, 1)
			assert.InDelta(t, c.room, offers[0].Room, 1)
		})
	}
}

func TestGiftsGoByWeight(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	members := []channels.Member{{ID: 1, Weight: 1, Active: true}, {ID: 2, Weight: 80, Active: true}, {ID: 3, Weight: 20, Active: true}}
	offers := channels.Rooms{}.Offers(members, 1, now)
	assert.Equal(t, []channels.Gift{{To: 2, Count: 16}, {To: 3, Count: 4}}, channels.Gifts(offers, 30, 10))
	assert.Equal(t, []channels.Gift{{To: 2, Count: 32}, {To: 3, Count: 18}}, channels.Gifts(offers, 60, 10), "what one has no room for is the other's")
	assert.Equal(t, []channels.Gift{{To: 2, Count: 32}, {To: 3, Count: 32}}, channels.Gifts(offers, 1_000, 10))
	assert.Empty(t, channels.Gifts(offers, 10, 10))
	assert.Empty(t, channels.Gifts(nil, 1_000, 0))
}
