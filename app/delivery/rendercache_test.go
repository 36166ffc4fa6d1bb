package delivery

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// library is a queue with only the methods that the render cache calls.
type library struct {
	deliveries.Queue
	context string
	broken  error
	read    [][]events.OccurrenceID
	inputs  int
}

func (l *library) Occurrences(_ context.Context, ids []events.OccurrenceID) ([]events.Occurrence, error) {
	l.read = append(l.read, ids)
	var found []events.Occurrence
	for _, id := range ids {
		if id > 0 {
			found = append(found, events.Occurrence{ID: id, Context: events.Context(l.context)})
		}
	}
	return found, l.broken
}

func (l *library) RenderInput(context.Context, events.Occurrence, subscriptions.NotificationID, events.TemplateID) (deliveries.RenderInput, error) {
	l.inputs++
	return deliveries.RenderInput{}, nil
}

func of(ids ...events.OccurrenceID) (jobs []deliveries.Job) {
	for _, id := range ids {
		jobs = append(jobs, deliveries.Job{Occurrence: id, Event: 1, Notification: 2, Template: 3})
	}
	return jobs
}

func TestRenderCache(t *testing.T) {
	t.Parallel()
	t.Run("ReadsTheOccurrencesOfAClaimAtOnceAndTheRestOnce", func(t *testing.T) {
		t.Parallel()
		l := &library{context: "{}"}
		c := newRenderCache(l)
		require.NoError(t, c.prefetch(t.Context(), of(1, 2, 2, 3)))
		require.NoError(t, c.prefetch(t.Context(), of(3, 4)))
		require.NoError(t, c.prefetch(t.Context(), of(1, 4)))
		for _, j := range of(1, 2, 3, 4) {
			in, err := c.get(t.Context(), j)
			require.NoError(t, err)
			assert.Equal(t, j.Occurrence, in.Occurrence.ID)
		}
		assert.Equal(t, [][]events.OccurrenceID{{1, 2, 3}, {4}}, l.read)
		assert.Equal(t, 1, l.inputs, "all are of one event")
		c.clear()
		_, err := c.get(t.Context(), of(1)[0])
		require.NoError(t, err)
		assert.Len(t, l.read, 2, "an occurrence does not change")
		assert.Equal(t, 2, l.inputs, "templates may")
	})
	t.Run("ReadsFewInputsAgainBeforeTheyAreNeeded", func(t *testing.T) {
		t.Parallel()
		l := &library{}
		c := newRenderCache(l)
		_, err := c.get(t.Context(), of(1)[0])
		require.NoError(t, err)
		were := c.shared()
		c.clear()
		require.NoError(t, c.renew(t.Context(), were))
		assert.Equal(t, 2, l.inputs)
		_, err = c.get(t.Context(), of(2)[0])
		require.NoError(t, err)
		assert.Equal(t, 2, l.inputs, "they are known")
		for template := range events.TemplateID(maxRenewedInputs + 1) {
			_, err = c.get(t.Context(), deliveries.Job{Occurrence: 1, Event: 1, Notification: 2, Template: template})
			require.NoError(t, err)
		}
		assert.Empty(t, c.shared(), "many are read when they are needed")
	})
	t.Run("ReadsAgainAfterAFailedReadAhead", func(t *testing.T) {
		t.Parallel()
		l := &library{broken: errors.New("away")}
		c := newRenderCache(l)
		require.ErrorIs(t, c.prefetch(t.Context(), of(1)), l.broken)
		_, err := c.get(t.Context(), of(1)[0])
		require.ErrorIs(t, err, l.broken)
		l.broken = nil
		_, err = c.get(t.Context(), of(1)[0])
		require.NoError(t, err)
		_, err = c.get(t.Context(), of(-1)[0])
		require.ErrorIs(t, err, deliveries.ErrNotFound)
	})
	t.Run("KeepsNoMoreThanAClaimMayHave", func(t *testing.T) {
		t.Parallel()
		l := &library{context: strings.Repeat("x", deliveries.ClaimBytes/4)}
		c := newRenderCache(l)
		for i := range 20 {
			require.NoError(t, c.prefetch(t.Context(), of(events.OccurrenceID(i+1))))
			assert.LessOrEqual(t, c.contexts, deliveries.ClaimBytes)
			assert.Len(t, c.occurrences, c.contexts/len(l.context))
		}
	})
	t.Run("KeepsALimitedNumberOfOccurrences", func(t *testing.T) {
		t.Parallel()
		c := newRenderCache(&library{context: "{}"})
		for first := range events.OccurrenceID(2 * maxCachedOccurrences / claimMin) {
			var ids []events.OccurrenceID
			for i := range events.OccurrenceID(claimMin) {
				ids = append(ids, first*claimMin+i+1)
			}
			require.NoError(t, c.prefetch(t.Context(), of(ids...)))
			require.LessOrEqual(t, len(c.occurrences), maxCachedOccurrences)
			require.Contains(t, c.occurrences, ids[0], "the last claim is cached")
		}
	})
}
