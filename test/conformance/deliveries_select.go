package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// picked returns the ids that a selection of the application finds.
func (w *world) picked(t *testing.T, a applications.Application, q deliveries.Selection) (ids []events.OccurrenceID, found deliveries.Selected) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Searched == 0 {
		q.Searched = 1_000
	}
	found = look(t, w, func(tx ports.Tx) (deliveries.Selected, error) { return tx.Deliveries().Select(t.Context(), a, q) })
	ids = []events.OccurrenceID{}
	for _, o := range found.Occurrences {
		ids = append(ids, o.ID)
	}
	return ids, found
}

func occurrenceSelectionCases() cases {
	return cases{
		"AllConditionsMustBeTrue": func(t *testing.T, w *world) {
			w.ready(t)
			early := w.mine.occurrence(nil, nil)
			early.Created = time.Now().Add(-48 * time.Hour)
			first := w.trigger(t, early).ID
			second := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 100)
			for _, j := range w.claim(t, w.mine.mail, "one", 100, lease) {
				outcome := deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1}
				if j.Occurrence == second.ID && j.Recipient.Member == int64(w.mine.bob.ID) {
					outcome.State = deliveries.Failed
				}
				w.record(t, "one", outcome)
			}
			third := w.trigger(t, w.mine.occurrence([]string{"ada@example.org"}, nil)).ID
			w.expand(t, 100)
			fourth := w.trigger(t, w.mine.occurrence(nil, nil)).ID // Nobody is found yet.
			later := w.mine.occurrence([]string{"ada@example.org"}, nil)
			later.Options.SendAt = time.Now().Add(48 * time.Hour)
			fifth := w.trigger(t, later).ID
			w.trigger(t, w.theirs.occurrence(nil, nil))
			w.settle(t)
			day := time.Now().Add(-24 * time.Hour)
			for _, c := range []struct {
				q    deliveries.Selection
				want []events.OccurrenceID
			}{
				{deliveries.Selection{}, []events.OccurrenceID{fifth, fourth, third, second.ID, first}},
				{deliveries.Selection{Event: w.mine.order.ID}, []events.OccurrenceID{fifth, fourth, third, second.ID, first}},
				{deliveries.Selection{Event: w.mine.order.ID + 1_000}, []events.OccurrenceID{}},
				{deliveries.Selection{State: deliveries.Pending}, []events.OccurrenceID{fifth, fourth, third}},
				{deliveries.Selection{State: deliveries.Sent}, []events.OccurrenceID{second.ID, first}},
				{deliveries.Selection{State: deliveries.Failed}, []events.OccurrenceID{second.ID}},
				{deliveries.Selection{Member: w.mine.bob.ID}, []events.OccurrenceID{second.ID, first}},
				{deliveries.Selection{Member: w.mine.ada.ID, State: deliveries.Pending}, []events.OccurrenceID{third}},
				{deliveries.Selection{Member: w.theirs.ada.ID}, []events.OccurrenceID{}},
				{deliveries.Selection{Until: day}, []events.OccurrenceID{first}},
				{deliveries.Selection{From: day}, []events.OccurrenceID{fifth, fourth, third, second.ID}},
				{deliveries.Selection{Before: second.ID}, []events.OccurrenceID{first}},
				{deliveries.Selection{After: second.ID}, []events.OccurrenceID{third, fourth, fifth}},
			} {
				found, _ := w.picked(t, w.mine.web, c.q)
				assert.ElementsMatch(t, c.want, found, "%+v", c.q)
				assert.IsDecreasing(t, append(found, 0), "the newest first: %+v", c.q)
			}
			stranger := w.mine.web
			stranger.Organization = w.theirs.org.ID
			found, _ := w.picked(t, stranger, deliveries.Selection{})
			assert.Empty(t, found)
		},
		"PagesLeadOnAndBack": func(t *testing.T, w *world) {
			var all []events.OccurrenceID
			for range 5 {
				all = append(all, w.trigger(t, w.mine.occurrence(nil, nil)).ID)
			}
			w.settle(t)
			page, found := w.picked(t, w.mine.web, deliveries.Selection{Limit: 2})
			assert.Equal(t, []events.OccurrenceID{all[4], all[3]}, page)
			assert.True(t, found.More)
			assert.Equal(t, all[3], found.Last)
			page, found = w.picked(t, w.mine.web, deliveries.Selection{Limit: 3, Before: all[3]})
			assert.Equal(t, []events.OccurrenceID{all[2], all[1], all[0]}, page)
			assert.False(t, found.More)
			page, found = w.picked(t, w.mine.web, deliveries.Selection{Limit: 2, After: all[0]})
			assert.Equal(t, []events.OccurrenceID{all[2], all[1]}, page, "the nearest ones")
			assert.True(t, found.More)
			assert.Equal(t, all[2], found.Last)
			page, found = w.picked(t, w.mine.web, deliveries.Selection{State: deliveries.Sent, Searched: 2})
			assert.Empty(t, page)
			assert.True(t, found.More, "there is more to look at")
			assert.Equal(t, all[3], found.Last)
			page, found = w.picked(t, w.mine.web, deliveries.Selection{Before: all[0]})
			assert.Empty(t, page)
			assert.False(t, found.More)
		},
	}
}
