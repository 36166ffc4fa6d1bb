package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
)

func shareCases() cases {
	share := func(t *testing.T, w *world, c channels.Channel, owner string, lease time.Duration) channels.Share {
		t.Helper()
		part, err := w.Queue().HoldShare(t.Context(), c.ID, owner, lease, channels.Concurrency{})
		require.NoError(t, err)
		return part
	}
	places := func(t *testing.T, w *world, c channels.Channel, owner string, all, held int) int {
		t.Helper()
		part, err := w.Queue().HoldShare(t.Context(), c.ID, owner, lease, channels.Concurrency{Limit: all, Held: held})
		require.NoError(t, err)
		return part.Concurrency
	}
	return cases{
		"OnlyOneHasAllAtOnce": func(t *testing.T, w *world) {
			assert.Equal(t, channels.Share{Holders: 1, Begun: true}, share(t, w, w.mine.mail, "a", lease))
			assert.Equal(t, channels.Share{Holders: 1, Begun: true}, share(t, w, w.mine.mail, "a", lease))
			assert.Equal(t, channels.Share{Holders: 1, Begun: true}, share(t, w, w.mine.text, "b", lease), "of each channel")
		},
		"NewInstanceWaitsForOthers": func(t *testing.T, w *world) {
			share(t, w, w.mine.mail, "a", lease)
			share(t, w, w.mine.mail, "a", lease)
			assert.Equal(t, channels.Share{Holders: 2}, share(t, w, w.mine.mail, "b", lease))
			assert.Equal(t, channels.Share{Holders: 2}, share(t, w, w.mine.mail, "b", lease), "however often it asks")
			assert.Equal(t, channels.Share{Holders: 3}, share(t, w, w.mine.mail, "c", lease))
			assert.Equal(t, channels.Share{Holders: 3, Begun: true}, share(t, w, w.mine.mail, "a", lease))
			assert.Equal(t, channels.Share{Holders: 3, Begun: true}, share(t, w, w.mine.mail, "b", lease), "c has come later, and knows")
			assert.Equal(t, channels.Share{Holders: 3, Begun: true}, share(t, w, w.mine.mail, "c", lease))
		},
		"ReleasedShareIsUsedAtOnce": func(t *testing.T, w *world) {
			share(t, w, w.mine.mail, "a", lease)
			share(t, w, w.mine.mail, "b", lease)
			require.NoError(t, w.Queue().ReleaseShare(t.Context(), w.mine.mail.ID, "a"))
			require.NoError(t, w.Queue().ReleaseShare(t.Context(), w.mine.mail.ID, "nobody"))
			assert.Equal(t, channels.Share{Holders: 1, Begun: true}, share(t, w, w.mine.mail, "b", lease))
		},
		"ALeaseEnds": func(t *testing.T, w *world) {
			share(t, w, w.mine.mail, "dead", -time.Second)
			assert.Equal(t, channels.Share{Holders: 1, Begun: true}, share(t, w, w.mine.mail, "b", lease))
		},
		"DeletedChannelNeedsNone": func(t *testing.T, w *world) {
			assert.Equal(t, channels.Share{Holders: 1, Begun: true}, share(t, w, channels.Channel{ID: 1 << 40}, "a", lease))
			assert.Equal(t, 16, places(t, w, channels.Channel{ID: 1 << 40}, "a", 16, 0))
		},
		"PlacesAreNeverMoreThanAll": func(t *testing.T, w *world) {
			assert.Equal(t, 16, places(t, w, w.mine.mail, "a", 16, 0))
			assert.Zero(t, places(t, w, w.mine.mail, "b", 16, 0), "a may use all of them")
			assert.Equal(t, 8, places(t, w, w.mine.mail, "a", 16, 16))
			assert.Zero(t, places(t, w, w.mine.mail, "b", 16, 0), "a has them until it knows")
			assert.Equal(t, 8, places(t, w, w.mine.mail, "a", 16, 11))
			assert.Equal(t, 5, places(t, w, w.mine.mail, "b", 16, 0), "some of its attempts are under way yet")
			assert.Equal(t, 8, places(t, w, w.mine.mail, "a", 16, 8))
			assert.Equal(t, 8, places(t, w, w.mine.mail, "b", 16, 5))
			assert.Equal(t, 16, places(t, w, w.mine.text, "b", 16, 0), "of each channel")
			require.NoError(t, w.Queue().ReleaseShare(t.Context(), w.mine.mail.ID, "a"))
			assert.Equal(t, 16, places(t, w, w.mine.mail, "b", 16, 8))
		},
		"FirstInstancesGetTheSlots": func(t *testing.T, w *world) {
			assert.Equal(t, 2, places(t, w, w.mine.mail, "c", 2, 0))
			assert.Zero(t, places(t, w, w.mine.mail, "b", 2, 0))
			assert.Zero(t, places(t, w, w.mine.mail, "a", 2, 0))
			assert.Equal(t, 1, places(t, w, w.mine.mail, "c", 2, 1))
			assert.Equal(t, 1, places(t, w, w.mine.mail, "b", 2, 0))
			assert.Zero(t, places(t, w, w.mine.mail, "a", 2, 0), "it came last")
			part, err := w.Queue().HoldShare(t.Context(), w.mine.mail.ID, "c", lease, channels.Concurrency{Limit: 2, Held: 1})
			require.NoError(t, err)
			assert.Equal(t, channels.Share{Holders: 2, Begun: true, Concurrency: 1}, part, "two share the rate")
			require.NoError(t, w.Queue().ReleaseShare(t.Context(), w.mine.mail.ID, "c"))
			assert.Equal(t, 1, places(t, w, w.mine.mail, "a", 2, 0))
		},
		"TheyComeAtTheSameTime": func(t *testing.T, w *world) {
			const n = 8
			parts := make(chan channels.Share, n)
			for i := range n {
				go func() {
					part, err := w.Queue().HoldShare(t.Context(), w.mine.mail.ID, string(rune('a'+i)), lease, channels.Concurrency{})
					assert.NoError(t, err)
					parts <- part
				}()
			}
			held := 0.0
			for range n {
				held += (<-parts).Of(1)
			}
			assert.LessOrEqual(t, held, 1.0, "never more than there is")
			for i := range n {
				share(t, w, w.mine.mail, string(rune('a'+i)), lease)
			}
			for i := range n {
				assert.InDelta(t, 1.0/n, share(t, w, w.mine.mail, string(rune('a'+i)), lease).Of(1), 0.001)
			}
		},
	}
}
