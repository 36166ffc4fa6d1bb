package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
)

func shareCases() cases {
	places := func(t *testing.T, w *world, c channels.Channel, owner string, all, held int) int {
		t.Helper()
		part, err := w.Queue().HoldShare(t.Context(), c.ID, owner, lease, channels.Concurrency{Limit: all, Held: held})
		require.NoError(t, err)
		return part
	}
	return cases{
		"ReleasedShareIsUsedAtOnce": func(t *testing.T, w *world) {
			assert.Equal(t, 16, places(t, w, w.mine.mail, "a", 16, 0))
			assert.Zero(t, places(t, w, w.mine.mail, "b", 16, 0))
			require.NoError(t, w.Queue().ReleaseShare(t.Context(), w.mine.mail.ID, "a"))
			require.NoError(t, w.Queue().ReleaseShare(t.Context(), w.mine.mail.ID, "nobody"))
			assert.Equal(t, 16, places(t, w, w.mine.mail, "b", 16, 0))
		},
		"ALeaseEnds": func(t *testing.T, w *world) {
			_, err := w.Queue().HoldShare(t.Context(), w.mine.mail.ID, "dead", -time.Second, channels.Concurrency{Limit: 16})
			require.NoError(t, err)
			assert.Equal(t, 16, places(t, w, w.mine.mail, "b", 16, 0))
		},
		"DeletedChannelNeedsNone": func(t *testing.T, w *world) {
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
			assert.Equal(t, 1, places(t, w, w.mine.mail, "c", 2, 1))
			require.NoError(t, w.Queue().ReleaseShare(t.Context(), w.mine.mail.ID, "c"))
			assert.Equal(t, 1, places(t, w, w.mine.mail, "a", 2, 0))
		},
		"TheyComeAtTheSameTime": func(t *testing.T, w *world) {
			const n, all = 8, 20
			parts := make(chan int, n)
			for i := range n {
				go func() {
					part, err := w.Queue().HoldShare(t.Context(), w.mine.mail.ID, string(rune('a'+i)), lease, channels.Concurrency{Limit: all})
					assert.NoError(t, err)
					parts <- part
				}()
			}
			held := 0
			for range n {
				held += <-parts
			}
			assert.Equal(t, all, held, "the first one has all of them")
		},
	}
}
