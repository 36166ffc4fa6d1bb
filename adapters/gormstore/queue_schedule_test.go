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

// TestScheduleIsPaged checks that one unit of work begins a few hundred occurrences: on SQLite it
// writes their contexts again, which may be large.
func TestScheduleIsPaged(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		p := newPost(t, open(t, url))
		const due, page = 300, 256
		rs := make([]deliveries.TriggerRequest, due)
		for i := range rs {
			rs[i].Occurrence = p.occurs
			rs[i].Occurrence.Options = events.Options{SendAt: p.occurs.Created.Add(time.Hour)}
		}
		require.NoError(t, p.Update(t.Context(), func(tx ports.Tx) error {
			_, err := tx.Deliveries().Trigger(t.Context(), rs)
			return err
		}))
		exec(t, p.Store, "UPDATE occurrences SET send_at = '2020-01-01 00:00:00+00:00'")
		for _, want := range []int{page, due - page, 0} {
			n, err := p.Queue().Schedule(t.Context(), 2_000)
			require.NoError(t, err)
			assert.Equal(t, want, n)
		}
	})
}
