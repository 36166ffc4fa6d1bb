package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// orderedPoolCases are about which member of a pool takes over a delivery.
func orderedPoolCases() cases {
	return cases{
		"TheSuccessorIsTheDomains": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			o := w.waiting(t, 100)
			all := w.pooled(t, 100, 75, 25, 50)
			w.down(t, all[0], time.Minute)
			members, err := w.Queue().Pool(t.Context(), w.mine.org.ID, all[0].ID)
			require.NoError(t, err)
			assert.Equal(t, 100, w.divert(t, w.mine.org.ID, all[0], 1_000))
			for _, d := range w.made(t, o) {
				assert.Equal(t, channels.Successor(members, all[0].ID, 0, int64(d.ID), time.Now()), d.ChannelID)
			}
		},
		"WhatHasFailedTwiceGoesOn": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			o := w.waiting(t, 40)
			all := w.pooled(t, 100, 100, 100)
			for _, j := range w.claim(t, all[0], "w", 40, lease) {
				assert.Zero(t, j.FailedAt)
				w.record(t, "w", deliveries.Outcome{ID: j.ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now(), To: all[1].ID, Why: channels.NotWorking})
			}
			held := w.claim(t, all[1], "w", 40, lease)
			require.Len(t, held, 40)
			for _, j := range held {
				assert.Equal(t, all[0].ID, j.FailedAt)
				w.record(t, "w", deliveries.Outcome{ID: j.ID, State: deliveries.Retrying, Attempts: 2, Next: time.Now().Add(-time.Second)})
			}
			w.down(t, all[1], time.Minute)
			assert.Equal(t, 40, w.divert(t, w.mine.org.ID, all[1], 1_000))
			assert.Equal(t, map[string]int{"Mail C": 40}, w.through(t, o), "the first one has failed")
			limited := w.claim(t, all[2], "w", 1, lease)[0]
			w.record(t, "w", deliveries.Outcome{ID: limited.ID, State: deliveries.Retrying, Attempts: 3, Next: time.Now(), To: all[0].ID, Why: channels.LimitReached})
			assert.Zero(t, w.claim(t, all[0], "w", 1, lease)[0].FailedAt, "one at its limit works")
		},
	}
}
