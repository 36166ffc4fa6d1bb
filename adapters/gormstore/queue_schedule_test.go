package gormstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
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

// TestScheduledOrganizationsTakeTurns checks that one due occurrence of an organization begins
// before all earlier ones of another.
func TestScheduledOrganizationsTakeTurns(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		p := newPost(t, open(t, url))
		const many = 600
		rs := make([]deliveries.TriggerRequest, many+2)
		for i := range rs {
			rs[i].Occurrence = p.occurs
			rs[i].Occurrence.Options = events.Options{SendAt: time.Now().Add(time.Hour)}
		}
		var others []orgs.ID
		require.NoError(t, p.Update(t.Context(), func(tx ports.Tx) error {
			done, err := tx.Deliveries().Trigger(t.Context(), rs)
			require.NoError(t, err)
			for _, o := range done[many:] {
				org, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: fmt.Sprintf("other-%d", o.Occurrence.ID), Name: "Other"})
				require.NoError(t, err)
				others = append(others, org.ID)
			}
			return nil
		}))
		for _, other := range others {
			exec(t, p.Store, fmt.Sprintf("UPDATE occurrences SET organization_id = %d WHERE id = (SELECT MAX(id) FROM occurrences WHERE organization_id = %d)",
				other, p.occurs.Organization))
		}
		exec(t, p.Store, fmt.Sprintf("UPDATE occurrences SET send_at = '2020-01-01 00:00:00+00:00' WHERE organization_id = %d", p.occurs.Organization))
		exec(t, p.Store, fmt.Sprintf("UPDATE occurrences SET send_at = '2020-01-01 00:00:01+00:00' WHERE organization_id = %d", others[0]))
		waiting := func(of orgs.ID) (n int) {
			require.NoError(t, p.Handle().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM occurrences WHERE scheduled AND organization_id = $1", of).Scan(&n))
			return n
		}
		total := 0
		for {
			n, err := p.Queue().Schedule(t.Context(), 2_000)
			require.NoError(t, err)
			if n == 0 {
				break
			}
			total += n
			require.Zero(t, waiting(others[0]), "it begins in the first set")
		}
		assert.Equal(t, many+1, total)
		assert.Zero(t, waiting(p.occurs.Organization))
		assert.Equal(t, 1, waiting(others[1]), "it is not due")
	})
}

// TestExpiredWhileScheduled checks that occurrences which are swept before they begin are swept
// again later.
func TestExpiredWhileScheduled(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		p := newPost(t, open(t, url))
		const due = 3
		rs := make([]deliveries.TriggerRequest, due)
		for i := range rs {
			rs[i].Occurrence = p.occurs
			rs[i].Occurrence.Options = events.Options{SendAt: p.occurs.Created.Add(-time.Minute), ExpiresAt: p.occurs.Created.Add(-time.Second)}
		}
		require.NoError(t, p.Update(t.Context(), func(tx ports.Tx) error {
			_, err := tx.Deliveries().Trigger(t.Context(), rs)
			return err
		}))
		for range due {
			_, err := p.Queue().Schedule(t.Context(), 1) // One begins, and all are swept.
			require.NoError(t, err)
		}
		for err := error(nil); !errors.Is(err, deliveries.ErrNothingToDo); _, err = p.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10) {
			require.NoError(t, err)
		}
		count := func(state string) (n int) {
			require.NoError(t, p.Handle().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM deliveries WHERE state "+state).Scan(&n))
			return n
		}
		require.Equal(t, due, count("= 0"))
		exec(t, p.Store, "UPDATE occurrences SET sweep_at = '2020-01-01 00:00:00+00:00' WHERE sweep_at IS NOT NULL")
		_, err := p.Queue().Schedule(t.Context(), 10)
		require.NoError(t, err)
		assert.Zero(t, count("= 0"))
		assert.Equal(t, due, count("= 5"), "skipped")
	})
}
