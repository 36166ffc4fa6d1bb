package delivery

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/test/clocks"
)

// library is a queue with only the methods that a new worker and the render cache call.
type library struct {
	deliveries.Queue
	context string
	broken  error
	read    [][]events.OccurrenceID
	inputs  int
}

func (*library) ExpansionParts() []deliveries.ExpansionPart { return nil }

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

func (l *library) RenderInput(_ context.Context, o events.Occurrence, _ subscriptions.NotificationID, _ events.TemplateID) (deliveries.RenderInput, error) {
	l.inputs++
	return deliveries.RenderInput{Occurrence: o}, nil
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
		c := newRenderCache(l, newOccurrenceCache())
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
		c := newRenderCache(l, newOccurrenceCache())
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
		c := newRenderCache(l, newOccurrenceCache())
		require.ErrorIs(t, c.prefetch(t.Context(), of(1)), l.broken)
		_, err := c.get(t.Context(), of(1)[0])
		require.ErrorIs(t, err, l.broken)
		l.broken = nil
		_, err = c.get(t.Context(), of(1)[0])
		require.NoError(t, err)
		_, err = c.get(t.Context(), of(-1)[0])
		require.ErrorIs(t, err, deliveries.ErrNotFound)
	})
	t.Run("KeepsInputsWithoutWhatMayBeLarge", func(t *testing.T) {
		t.Parallel()
		c := newRenderCache(&library{context: "{}"}, newOccurrenceCache())
		in, err := c.get(t.Context(), of(1)[0])
		require.NoError(t, err)
		assert.Equal(t, "{}", string(in.Occurrence.Context))
		for _, in := range c.shared() {
			assert.Equal(t, events.OccurrenceID(1), in.Occurrence.ID)
			assert.Empty(t, in.Occurrence.Context)
		}
	})
}

func TestOccurrenceCache(t *testing.T) {
	t.Parallel()
	large := func(id events.OccurrenceID) events.Occurrence {
		return events.Occurrence{ID: id, Context: make(events.Context, deliveries.ClaimBytes/4)}
	}
	t.Run("IsLimited", func(t *testing.T) {
		t.Parallel()
		c := newOccurrenceCache()
		for id := range events.OccurrenceID(20) {
			c.add(large(id))
			require.LessOrEqual(t, c.size, maxGeneration)
			require.LessOrEqual(t, len(c.young)+len(c.old), 8)
			_, known := c.get(id)
			require.True(t, known)
		}
		_, known := c.get(0)
		assert.False(t, known)
	})
	t.Run("CountsNamesAndSmallOnes", func(t *testing.T) {
		t.Parallel()
		c := newOccurrenceCache()
		names := events.Options{LimitTo: []string{strings.Repeat("x", maxGeneration/2)}}
		c.add(events.Occurrence{ID: 1, Options: names}, events.Occurrence{ID: 2, Options: names})
		assert.Len(t, c.young, 1)
		for id := range events.OccurrenceID(3 * maxGeneration / occurrenceBytes) {
			c.add(events.Occurrence{ID: id})
		}
		assert.LessOrEqual(t, len(c.young)+len(c.old), 2*maxGeneration/occurrenceBytes)
	})
	t.Run("KeepsWhatIsInUse", func(t *testing.T) {
		t.Parallel()
		c := newOccurrenceCache()
		for id := range events.OccurrenceID(20) {
			c.add(large(id))
			_, known := c.get(0)
			require.True(t, known)
		}
	})
	t.Run("TakesOccurrencesFromJobs", func(t *testing.T) {
		t.Parallel()
		c := newOccurrenceCache()
		o := large(1)
		jobs := []deliveries.Job{{Occurrence: 1, Of: &o}, {Occurrence: 2}}
		c.take(jobs)
		assert.Nil(t, jobs[0].Of)
		_, known := c.get(1)
		assert.True(t, known)
	})
	t.Run("IsEmptyWhenNothingIsSent", func(t *testing.T) {
		t.Parallel()
		w := NewWorker(&library{}, nil, nil, clocks.Wall{}, slog.New(slog.DiscardHandler), Settings{})
		one, two := newSender(w, channelRef{channel: 1}), newSender(w, channelRef{channel: 2})
		w.senders[1], w.senders[2] = one, two
		w.occurrences.add(large(1))
		require.True(t, w.retire(one))
		_, known := w.occurrences.get(1)
		assert.True(t, known, "a sender is left")
		require.True(t, w.retire(two))
		_, known = w.occurrences.get(1)
		assert.False(t, known)
	})
}
