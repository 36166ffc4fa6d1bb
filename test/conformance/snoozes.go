package conformance

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

func snoozeCases() cases {
	return cases{
		"SnoozesAreKeptOnceForAProblem": func(t *testing.T, w *world) {
			snoozes := func(in ...orgs.ID) []statistics.Snooze {
				return look(t, w, func(tx ports.Tx) ([]statistics.Snooze, error) { return tx.Statistics().Snoozes(t.Context(), in) })
			}
			keep := func(s statistics.Snooze) {
				act(t, w, func(tx ports.Tx) error { return tx.Statistics().Snooze(t.Context(), s) })
			}
			mine := statistics.Snooze{Organization: w.mine.org.ID, Problem: "channel/1", Seen: "a", By: "Ñ", At: noon.UTC(), Until: noon.UTC().Add(time.Hour)}
			theirs := mine
			theirs.Organization, theirs.By = w.theirs.org.ID, "other"
			keep(mine)
			keep(theirs)
			mine.Seen, mine.At, mine.Until = "b", noon.UTC().Add(time.Minute), time.Time{}
			keep(mine)
			assert.Equal(t, []statistics.Snooze{mine}, snoozes(w.mine.org.ID))
			assert.ElementsMatch(t, []statistics.Snooze{mine, theirs}, snoozes(w.mine.org.ID, w.theirs.org.ID))
			assert.Empty(t, snoozes())
			for _, was := range []bool{true, false} {
				assert.Equal(t, was, do(t, w, func(tx ports.Tx) (bool, error) {
					return tx.Statistics().EndSnooze(t.Context(), w.mine.org.ID, mine.Problem)
				}))
			}
			assert.Empty(t, snoozes(w.mine.org.ID))
			for i := range statistics.MaxSnoozes + 2 {
				mine.Problem, mine.At = strconv.Itoa(i), noon.UTC().Add(time.Duration(i)*time.Second)
				keep(mine)
			}
			kept := snoozes(w.mine.org.ID)
			assert.Len(t, kept, statistics.MaxSnoozes)
			for _, s := range kept {
				assert.NotContains(t, []string{"0", "1"}, s.Problem, "the latest are kept")
			}
			assert.Equal(t, []statistics.Snooze{theirs}, snoozes(w.theirs.org.ID))
		},
	}
}
