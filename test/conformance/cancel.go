package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// cancel cancels an occurrence and reports whether that changed anything.
func (w *world) cancel(t *testing.T, o events.Occurrence) bool {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (bool, error) { return tx.Deliveries().Cancel(t.Context(), o) })
}

// stopped returns those of the occurrences of which workers begin no more attempts.
func (w *world) stopped(t *testing.T, of ...events.Occurrence) []events.OccurrenceID {
	t.Helper()
	var ids []events.OccurrenceID
	for _, o := range of {
		ids = append(ids, o.ID)
	}
	ids, err := w.Queue().Cancelled(t.Context(), ids)
	require.NoError(t, err)
	return ids
}

func cancelCases() cases {
	return cases{
		"BeforeItBegins": func(t *testing.T, w *world) {
			w.ready(t)
			size := int64(len(w.mine.occurrence(nil, nil).Context))
			scheduled, unexpanded := w.trigger(t, w.at(100*24*time.Hour, 0)), w.trigger(t, w.at(0, 0))
			for _, o := range []events.Occurrence{scheduled, unexpanded} {
				assert.True(t, w.cancel(t, o))
				assert.False(t, w.cancel(t, o), "it is cancelled")
				assert.False(t, w.occurred(t, o).Cancelled.IsZero())
				assert.False(t, w.occurred(t, o).Scheduled)
			}
			assert.ElementsMatch(t, []events.OccurrenceID{scheduled.ID, unexpanded.ID}, w.stopped(t, scheduled, unexpanded))
			w.schedule(t, 10)
			assert.Empty(t, w.expand(t, 10))
			assert.ElementsMatch(t, []events.OccurrenceID{scheduled.ID, unexpanded.ID}, w.stopped(t, scheduled, unexpanded))
			assert.False(t, w.cancel(t, scheduled))
			for _, o := range []events.Occurrence{scheduled, unexpanded} {
				assert.Empty(t, w.outcomes(t, o))
				assert.False(t, w.occurred(t, o).Cancelled.IsZero())
			}
			assert.Zero(t, w.total(t).Occurrences, "they never happened")
			assert.Equal(t, 2*size, w.contexts(t, time.Now()), "their contexts are kept as long as others")
			assert.Zero(t, w.contexts(t, time.Now().Add(72*time.Hour)))
			assert.Equal(t, 2, w.purge(t, deliveries.Expiry{Occurrences: time.Now().Add(time.Hour)}, 10))
		},
		"WhileRecipientsAreFound": func(t *testing.T, w *world) {
			w.crowded(t, 9) // and Ada
			o := w.trigger(t, w.at(0, 0))
			for _, limit := range []int{10, 4} { // All by the project's channel, which are none, and four by the organization's.
				_, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, limit)
				require.NoError(t, err)
			}
			assert.True(t, w.cancel(t, o))
			w.schedule(t, 3)
			assert.Empty(t, w.expand(t, 4))
			assert.Equal(t, map[deliveries.State]int{deliveries.Skipped: 4}, w.counts(t, o))
			w.counted(t, o)
		},
		"WhileManyPagesAreWritten": func(t *testing.T, w *world) {
			w.crowded(t, 200)
			o := w.trigger(t, w.at(0, 0))
			together(2, func(i int) int {
				if i == 0 {
					return len(w.expand(t, 2))
				}
				assert.True(t, w.cancel(t, o), "nobody who finds recipients stands in the way")
				return w.schedule(t, 50)
			})
			w.expand(t, 100)
			w.schedule(t, 50)
			for state, n := range w.counts(t, o) {
				assert.Equal(t, deliveries.Skipped, state)
				assert.LessOrEqual(t, n, 201)
			}
			w.counted(t, o)
		},
		"WhileItIsSent": func(t *testing.T, w *world) {
			w.crowded(t, 9) // and Ada
			o := w.trigger(t, w.at(0, 0))
			w.expand(t, 100)
			held := w.claim(t, w.mine.mail, "one", 4, lease)
			other := w.trigger(t, w.at(0, 0))
			w.expand(t, 100)
			w.record(t, "one", deliveries.Outcome{ID: held[0].ID, State: deliveries.Sent, Attempts: 1},
				deliveries.Outcome{ID: held[1].ID, State: deliveries.Retrying, Attempts: 1, Error: "451", Next: time.Now().Add(time.Hour)})
			assert.True(t, w.cancel(t, o))
			w.schedule(t, 2)
			assert.Equal(t, map[deliveries.State]int{deliveries.Sent: 1, deliveries.Sending: 2, deliveries.Skipped: 7}, w.counts(t, o))
			assert.Equal(t, deliveries.Cancelled, w.delivery(t, o, held[1].ID).Reason)
			assert.Equal(t, []events.OccurrenceID{o.ID}, w.stopped(t, other, o), "workers hold some of it")
			assert.True(t, w.candidates(t, w.occurred(t, o), w.mine.ada.ID)[0].Gates.Cancelled)
			w.record(t, "one", deliveries.Outcome{ID: held[2].ID, State: deliveries.Sent, Attempts: 1},
				deliveries.Outcome{ID: held[3].ID, State: deliveries.Pending, Next: time.Now()})
			for _, j := range w.claim(t, w.mine.mail, "two", 10, lease) {
				assert.Equal(t, j.Occurrence == o.ID, j.Gates.Cancelled)
			}
			assert.Equal(t, 10, w.counts(t, other)[deliveries.Sending]+w.counts(t, other)[deliveries.Pending])
			w.counted(t, o, other)
		},
		"WhatAKilledWorkerHeld": func(t *testing.T, w *world) {
			w.crowded(t, 3) // and Ada
			o := w.trigger(t, w.at(0, 0))
			w.expand(t, 100)
			require.Len(t, w.claim(t, w.mine.mail, "slow", 1, lease), 1)
			require.Len(t, w.claim(t, w.mine.mail, "killed", 2, -2*deliveries.MaybeAcceptedFor), 2)
			require.Len(t, w.claim(t, w.mine.mail, "just killed", 1, -time.Second), 1)
			assert.True(t, w.cancel(t, o))
			w.schedule(t, 2)
			assert.Equal(t, map[deliveries.State]int{deliveries.Sending: 2, deliveries.Skipped: 2}, w.counts(t, o))
			w.counted(t, o)
		},
		"EndedCannotBeCancelled": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.trigger(t, w.at(0, 0))
			w.expand(t, 10)
			w.finish(t, w.mine.mail)
			assert.False(t, w.cancel(t, o))
			assert.True(t, w.occurred(t, o).Cancelled.IsZero())
			assert.Empty(t, w.stopped(t, o))
		},
		"NotFromAnotherOrganizationOrApplication": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.trigger(t, w.at(time.Hour, 0))
			for _, elsewhere := range []events.Occurrence{
				{ID: o.ID, Application: o.Application, Organization: w.theirs.org.ID}, {ID: o.ID, Application: w.mine.desk.ID, Organization: o.Organization},
			} {
				assert.False(t, w.cancel(t, elsewhere))
			}
			assert.True(t, w.occurred(t, o).Scheduled)
		},
		"OneOfManyConcurrentSucceeds": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.trigger(t, w.at(time.Hour, 0))
			won := 0
			for _, did := range together(8, func(int) bool { return w.cancel(t, o) }) {
				if did {
					won++
				}
			}
			assert.Equal(t, 1, won)
			together(4, func(int) int { return w.schedule(t, 10) })
			assert.False(t, w.occurred(t, o).Cancelled.IsZero())
		},
	}
}
