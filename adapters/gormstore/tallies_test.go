package gormstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// TestRecentRate records sets of outcomes and moves the counted periods into the past.
func TestRecentRate(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		h := newHousehold(t, open(t, url), 40)
		o := h.trigger(t, nil, nil)
		_, err := h.Queue().Expand(t.Context(), deliveries.AllOccurrences, 100)
		require.NoError(t, err)
		jobs, err := h.Queue().Claim(t.Context(), h.channel.ID, "one", 40, time.Hour)
		require.NoError(t, err)
		require.Len(t, jobs, 40)
		record := func(n int, to deliveries.State) {
			outcomes := make([]deliveries.Outcome, n)
			for i := range outcomes {
				outcomes[i] = deliveries.Outcome{ID: jobs[i].ID, State: to, Attempts: 1}
			}
			jobs = jobs[n:]
			_, err := h.Queue().Record(t.Context(), "one", outcomes)
			require.NoError(t, err)
		}
		recent := func() []deliveries.Throughput {
			found, err := ports.View(t.Context(), h.Store, func(tx ports.Tx) ([]deliveries.Throughput, error) { return tx.Deliveries().Recent(t.Context(), o) })
			require.NoError(t, err)
			return found
		}
		later := func(seconds string) {
			exec(t, h.Store, "UPDATE occurrence_tallies SET recent_since = recent_since - "+seconds+", earlier_since = earlier_since - "+seconds)
		}
		ended := func(n int, since time.Duration) {
			t.Helper()
			found := recent()
			require.Len(t, found, 1)
			assert.Equal(t, n, found[0].Ended)
			assert.WithinDuration(t, o.Created.Add(-since), found[0].Since, 30*time.Second)
		}
		record(1, deliveries.Sent)
		assert.Empty(t, recent(), "an occurrence of one message counts none")
		record(2, deliveries.Skipped)
		assert.Empty(t, recent(), "they were not sent")
		record(2, deliveries.Failed)
		ended(0, 0)
		record(9, deliveries.Sent)
		later("200")
		record(1, deliveries.Sent)
		ended(10, 200*time.Second)
		record(2, deliveries.Sent)
		ended(12, 200*time.Second)
		later("100")
		record(10, deliveries.Sent)
		ended(22, 300*time.Second)
		later("100")
		record(1, deliveries.Sent)
		ended(11, 200*time.Second)
	})
}

// TestScheduledContextsShareRows checks that the rows that triggers add to the statistics become
// one of each day, in pages, and that the sums stay.
func TestScheduledContextsShareRows(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		p := newPost(t, s)
		const units, page = 20, 6
		for i := range units {
			o := p.occurs
			o.Options = events.Options{SendAt: o.Created.Add(time.Duration(1+i%2) * 24 * time.Hour)}
			require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
				_, err := tx.Deliveries().Trigger(t.Context(), []deliveries.TriggerRequest{{Occurrence: o}})
				return err
			}))
		}
		count := func() (rows, bytes int) {
			require.NoError(t, s.Handle().QueryRowContext(t.Context(), "SELECT COUNT(*), COALESCE(SUM(amount), 0) FROM hourly_statistics").Scan(&rows, &bytes))
			return rows, bytes
		}
		_, before := count()
		assert.Equal(t, units*len(p.occurs.Context), before)
		calls := 1
		for gone := 1; gone > 0; calls++ {
			var err error
			gone, err = s.Queue().Purge(t.Context(), deliveries.Expiry{}, page)
			require.NoError(t, err)
			assert.LessOrEqual(t, gone, page)
		}
		assert.Less(t, calls, units, "in pages")
		rows, after := count()
		assert.Equal(t, 2, rows, "one for each day")
		assert.Equal(t, before, after)
	})
}
