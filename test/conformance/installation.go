package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

func (w *world) state(t *testing.T) installation.State {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (installation.State, error) { return tx.Installation().State(t.Context()) })
}

func (w *world) setState(t *testing.T, s installation.State) {
	t.Helper()
	do(t, w, func(tx ports.Tx) (bool, error) { return true, tx.Installation().SetState(t.Context(), s) })
}

// leftOver returns the backlogs of occurrences, read in pages of one.
func (w *world) leftOver(t *testing.T) (all []installation.Backlog) {
	t.Helper()
	for last, more := events.OccurrenceID(0), true; more; more = last > 0 {
		after := last
		all = append(all, do(t, w, func(tx ports.Tx) (page []installation.Backlog, err error) {
			page, last, err = tx.Installation().Backlogs(t.Context(), after, 1)
			return page, err
		})...)
	}
	return all
}

func installationCases() cases {
	return cases{
		"State": func(t *testing.T, w *world) {
			assert.Zero(t, w.state(t), "a new installation sends, and takes changes")
			at := time.Date(2026, 2, 3, 4, 5, 6, 7_000, time.UTC)
			for _, s := range []installation.State{{Held: at}, {ReadOnly: at, Notice: "The disk grows."}, {Held: at, ReadOnly: at.Add(time.Hour)}, {}} {
				w.setState(t, s)
				assert.Equal(t, s, w.state(t))
				assert.Equal(t, s, do(t, w, func(tx ports.Tx) (installation.State, error) { return tx.Installation().Lock(t.Context()) }))
			}
		},
		"Backlogs": func(t *testing.T, w *world) {
			w.crowded(t, 9) // and Ada
			scheduled := w.trigger(t, w.at(48*time.Hour, 0))
			cancelled := w.trigger(t, w.at(0, 0))
			w.cancel(t, cancelled)
			w.schedule(t, 10)
			o := w.trigger(t, w.at(0, 0))
			want := func(messages int, expanding bool) []installation.Backlog {
				return []installation.Backlog{{ID: scheduled.ID, Since: w.occurred(t, scheduled).Options.SendAt, Expanding: true},
					{ID: o.ID, Since: w.occurred(t, o).Created, Expanding: expanding, Messages: messages}}
			}
			assert.Equal(t, want(0, true), w.leftOver(t))
			for len(w.expand(t, 100)) > 0 {
				continue
			}
			counts := w.counts(t, o)
			open := counts[deliveries.Pending]
			assert.Positive(t, open)
			assert.Equal(t, want(open, false), w.leftOver(t))
		},
	}
}
