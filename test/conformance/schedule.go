package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// at returns an occurrence that begins and expires after these durations; 0: at once, and never.
func (w *world) at(begins, expires time.Duration) events.Occurrence {
	o := w.mine.occurrence(nil, nil)
	if begins != 0 {
		o.Options.SendAt = o.Created.Add(begins)
	}
	if expires != 0 {
		o.Options.ExpiresAt = o.Created.Add(expires)
	}
	return o
}

// schedule does all scheduled work that is due, so many rows at a time, and returns the number of
// rows.
func (w *world) schedule(t *testing.T, limit int) (rows int) {
	t.Helper()
	for {
		n, err := w.Queue().Schedule(t.Context(), limit)
		require.NoError(t, err)
		if n == 0 {
			return rows
		}
		rows += n
		require.Less(t, rows, 100_000, "it comes to no end")
	}
}

// contexts returns the size of the contexts since a time, in bytes.
func (w *world) contexts(t *testing.T, since time.Time) int64 {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (int64, error) { return tx.Statistics().Contexts(t.Context(), w.mine.org.ID, since) })
}

func scheduleCases() cases {
	return cases{
		"ScheduledWaitsForSendAt": func(t *testing.T, w *world) {
			w.ready(t)
			later := w.trigger(t, w.at(time.Hour, 0))
			assert.True(t, later.Scheduled)
			assert.Equal(t, later.Options.SendAt, w.occurred(t, later).Options.SendAt)
			assert.Zero(t, w.schedule(t, 10))
			assert.Empty(t, w.expand(t, 10))
			assert.Empty(t, w.outcomes(t, later))
			waiting := look(t, w, func(tx ports.Tx) (statistics.Queue, error) { return tx.Statistics().Queue(t.Context(), time.Now(), 10) })
			assert.Zero(t, waiting.Unexpanded, "nobody waits for its recipients yet")

			due := w.trigger(t, w.at(-time.Millisecond, 0))
			assert.Empty(t, w.expand(t, 10))
			assert.Equal(t, 1, w.schedule(t, 10))
			assert.False(t, w.occurred(t, due).Scheduled)
			assert.True(t, w.occurred(t, later).Scheduled)
			w.expand(t, 10)
			assert.Len(t, w.outcomes(t, due), 2)
			assert.Empty(t, w.outcomes(t, later))
		},
		"DueOccurrencesBeginInTurn": func(t *testing.T, w *world) {
			w.ready(t)
			var all []events.Occurrence
			for i := range 7 {
				o := w.at(-time.Duration(i+1)*time.Millisecond, 0)
				if i%2 == 0 {
					o.Options.LimitTo = []string{"ada@example.org"}
				}
				all = append(all, w.trigger(t, o))
			}
			for _, n := range together(3, func(int) int { return w.schedule(t, 2) }) {
				assert.LessOrEqual(t, n, 7)
			}
			assert.Zero(t, w.schedule(t, 2))
			w.expand(t, 10)
			for i, o := range all {
				assert.Len(t, w.outcomes(t, o), 1+i%2)
			}
		},
		"NotExpandedEarly": func(t *testing.T, w *world) {
			w.ready(t)
			small := func(begins time.Duration) events.Occurrence {
				o := w.at(begins, 0)
				o.Options.LimitTo = []string{"ada@example.org"}
				return w.trigger(t, o)
			}
			now, later := small(0), small(time.Hour)
			w.expand(t, 10)
			assert.Len(t, w.outcomes(t, now), 1)
			assert.Empty(t, w.outcomes(t, later), "a set takes none that is scheduled")
		},
		"NumbersAreOfTheBeginning": func(t *testing.T, w *world) {
			w.ready(t)
			far, size := 200*24*time.Hour, int64(len(w.mine.occurrence(nil, nil).Context))
			o := w.trigger(t, w.at(far, 0))
			assert.Equal(t, size, w.contexts(t, time.Now()), "its context is kept from the trigger on")
			assert.Equal(t, size, w.contexts(t, o.Options.SendAt.Add(-time.Minute)), "and until after it was sent")
			assert.Zero(t, w.total(t).Occurrences)

			w.trigger(t, w.at(-time.Millisecond, 0))
			w.schedule(t, 10)
			w.expand(t, 10)
			assert.Equal(t, 2*size, w.contexts(t, time.Now().Add(-48*time.Hour)), "each once")
			assert.Equal(t, 1, w.total(t).Occurrences)
		},
		"HandOffIsMeasuredFromTheBeginning": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.at(-time.Second, 0)
			o.Created = o.Created.Add(-24 * time.Hour)
			w.trigger(t, o)
			w.schedule(t, 10)
			w.expand(t, 10)
			w.finish(t, w.mine.mail)
			hand := w.total(t).HandOff
			assert.Equal(t, 2, hand.Count())
			assert.Less(t, hand.Quantile(0.99), time.Hour)
		},
		"NotForAnInactiveEvent": func(t *testing.T, w *world) {
			w.ready(t)
			event, application := w.mine.order, w.mine.web
			for name, change := range map[string]func(active bool, tx ports.Tx) error{
				"Event": func(active bool, tx ports.Tx) error {
					event.Active = active
					return tx.Events().Save(t.Context(), event)
				},
				"Application": func(active bool, tx ports.Tx) error {
					application.Active = active
					return tx.Applications().Save(t.Context(), application)
				},
			} {
				for _, limited := range [][]string{nil, {"ada"}} {
					o := w.at(-time.Second, 0)
					o.Options.LimitTo = limited
					o = w.trigger(t, o)
					act(t, w, func(tx ports.Tx) error { return change(false, tx) })
					w.schedule(t, 10)
					w.expand(t, 10)
					assert.Empty(t, w.made(t, o), name)
					assert.Empty(t, w.claim(t, w.mine.mail, "one", 10, lease), name)
					act(t, w, func(tx ports.Tx) error { return change(true, tx) })
				}
			}
		},
		"ItsEventIsInUse": func(t *testing.T, w *world) {
			w.trigger(t, w.at(time.Hour, 0))
			other := w.notify(t, w.mine.order, "Other")
			refused(t, w, events.ErrInUse, func(tx ports.Tx) error { return tx.Events().Delete(t.Context(), w.mine.order) })
			refused(t, w, subscriptions.ErrInUse, func(tx ports.Tx) error { return tx.Subscriptions().Delete(t.Context(), other) })
		},
		"ItIsAsOldAsTheMomentWhenItBegan": func(t *testing.T, w *world) {
			w.ready(t)
			began, never := w.at(-time.Second, 0), w.at(time.Hour, 0)
			began.Created, never.Created = noon.Add(-time.Hour), noon.Add(-time.Hour)
			began, never = w.trigger(t, began), w.trigger(t, never)
			w.schedule(t, 10)
			w.expand(t, 10)
			w.finish(t, w.mine.mail)
			assert.Zero(t, w.purge(t, deliveries.Expiry{Occurrences: noon}, 10), "it was triggered long ago, and sent just now")
			assert.Equal(t, 3, w.purge(t, deliveries.Expiry{Occurrences: time.Now().Add(2 * time.Hour)}, 10))
			assert.False(t, w.exists(t, began))
			assert.True(t, w.exists(t, never), "what is still to be sent is never old")
		},
		"AnExpiredDeliveryIsClaimedWithAClosedGate": func(t *testing.T, w *world) {
			w.ready(t)
			gone, valid, always := w.trigger(t, w.at(0, time.Nanosecond)), w.trigger(t, w.at(0, time.Hour)), w.trigger(t, w.at(0, 0))
			w.expand(t, 10)
			expired := map[events.OccurrenceID]bool{}
			for _, j := range w.claim(t, w.mine.mail, "one", 10, lease) {
				expired[j.Occurrence] = j.Gates.Expired
				assert.Equal(t, w.occurred(t, events.Occurrence{ID: j.Occurrence}).Options.ExpiresAt, j.Expires.UTC())
				if j.Gates.Expired {
					assert.Equal(t, deliveries.Expired, j.Gates.Closed())
				}
			}
			assert.Equal(t, map[events.OccurrenceID]bool{gone.ID: true, valid.ID: false, always.ID: false}, expired)
			assert.True(t, w.candidates(t, gone, w.mine.ada.ID)[0].Gates.Expired)
			assert.False(t, w.candidates(t, valid, w.mine.ada.ID)[0].Gates.Expired)
		},
		"WaitingOnesAreSkippedAtExpiry": func(t *testing.T, w *world) {
			w.crowded(t, 9) // and Ada
			gone := w.trigger(t, w.at(0, time.Nanosecond))
			w.expand(t, 100)
			held := w.claim(t, w.mine.mail, "one", 3, lease)
			valid := w.trigger(t, w.at(0, time.Hour))
			w.expand(t, 100)
			w.record(t, "one", deliveries.Outcome{ID: held[0].ID, State: deliveries.Retrying, Error: "451", Next: time.Now().Add(time.Hour), Attempts: 1})
			assert.Equal(t, 8+1, w.schedule(t, 3), "and the occurrence itself is looked at again later")
			assert.Equal(t, map[deliveries.State]int{deliveries.Skipped: 8, deliveries.Sending: 2}, w.counts(t, gone))
			assert.Equal(t, map[deliveries.State]int{deliveries.Pending: 10}, w.counts(t, valid))
			first := w.delivery(t, gone, held[0].ID)
			assert.Equal(t, deliveries.Expired, first.Reason)
			assert.Equal(t, "451", first.LastError)
			assert.False(t, first.Finished.IsZero())
			w.counted(t, gone, valid)
			assert.Equal(t, 8, w.total(t).Skipped)
			assert.Zero(t, w.record(t, "one", deliveries.Outcome{ID: held[1].ID, State: deliveries.Sent, Attempts: 1}), "what is held stays its owner's")
		},
		"EndsAtExpiry": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.trigger(t, w.at(0, time.Nanosecond))
			w.expand(t, 10)
			w.finish(t, w.mine.mail)
			assert.Equal(t, 1, w.schedule(t, 10))
			assert.Zero(t, w.schedule(t, 10))
			assert.Equal(t, map[deliveries.State]int{deliveries.Sent: 2}, w.counts(t, o))
		},
		"ManyExpireInSets": func(t *testing.T, w *world) {
			w.ready(t)
			var all []events.Occurrence
			for i := range 9 {
				o := w.at(0, time.Duration(i+1))
				o.CorrelationID = fmt.Sprint(i)
				all = append(all, w.trigger(t, o))
			}
			w.expand(t, 100)
			together(3, func(int) int { return w.schedule(t, 4) })
			for _, o := range all {
				assert.Equal(t, map[deliveries.State]int{deliveries.Skipped: 2}, w.counts(t, o))
			}
			w.counted(t, all...)
		},
	}
}
