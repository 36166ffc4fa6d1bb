package gormstore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// TestDeletionOfManyOccurrences checks that an event with very many occurrences and its
// notifications are not deleted: the unit of work would read or delete all of them.
func TestDeletionOfManyOccurrences(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		p := newPost(t, open(t, url))
		p.trigger(t, nil, nil)
		exec(t, p.Store, "UPDATE occurrences SET expanded_at = created_at") // It reached nobody.
		const columns = `organization_id, project_id, application_id, event_id, context, limit_to, channels, correlation_id, request_id, traceparent,
			created_at, turn_at, cursor_notification, cursor_phase, cursor_assignment, scheduled, expanded_at, priority, large`
		grow := func(to int) {
			exec(t, p.Store, fmt.Sprintf(`WITH RECURSIVE numbers (n) AS (SELECT %d UNION ALL SELECT n + 1 FROM numbers WHERE n < %d)
				INSERT INTO occurrences (%s) SELECT %s FROM numbers CROSS JOIN (SELECT * FROM occurrences ORDER BY id LIMIT 1) AS o`, 2, to, columns, columns))
		}
		deleteEvent := func(tx ports.Tx) error { return tx.Events().Delete(t.Context(), p.event) }
		deleteNotification := func(tx ports.Tx) error { return tx.Subscriptions().Delete(t.Context(), p.notice) }
		if p.OnPostgres() { // Storing more takes long there, and the statements are the same.
			grow(10_001)
		} else {
			grow(100_001)
			err := p.Update(t.Context(), deleteNotification)
			require.ErrorIs(t, err, subscriptions.ErrInUse)
			assert.ErrorContains(t, err, "more than 100000 occurrences of the event")
			exec(t, p.Store, "DELETE FROM occurrences WHERE id > (SELECT MIN(id) FROM occurrences) + 99999")
		}
		require.NoError(t, p.Update(t.Context(), deleteNotification))
		err := p.Update(t.Context(), deleteEvent)
		require.ErrorIs(t, err, events.ErrInUse)
		assert.ErrorContains(t, err, "more than 10000 occurrences of the event")
		exec(t, p.Store, "DELETE FROM occurrences WHERE id > (SELECT MIN(id) FROM occurrences) + 9999")
		require.NoError(t, p.Update(t.Context(), deleteEvent))
	})
}
