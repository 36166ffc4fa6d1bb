package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// peopleOf checks that triggering several occurrences counts the same recipients as a forecast of
// each.
func (w *world) peopleOf(t *testing.T, os ...events.Occurrence) (people []int) {
	t.Helper()
	ts := make([]deliveries.TriggerRequest, len(os))
	for i, o := range os {
		ts[i].Occurrence = o
	}
	for i, d := range w.countedTriggers(t, ts...) {
		require.NoError(t, d.Err)
		f := look(t, w, func(tx ports.Tx) (deliveries.Forecast, error) { return tx.Deliveries().Forecast(t.Context(), os[i], 0) })
		require.NotNil(t, d.Occurrence.Recipients, "%v", os[i].Options)
		assert.Equal(t, f.People, *d.Occurrence.Recipients, "%v", os[i].Options)
		assert.Equal(t, d.Occurrence.Recipients, w.occurred(t, d.Occurrence).Recipients, "it is kept")
		people = append(people, f.People)
	}
	return people
}

// countedTriggers triggers and returns the numbers of recipients.
func (w *world) countedTriggers(t *testing.T, ts ...deliveries.TriggerRequest) []deliveries.TriggerResult {
	t.Helper()
	return do(t, w, func(tx ports.Tx) ([]deliveries.TriggerResult, error) {
		if err := tx.Deliveries().CountRecipients(t.Context(), ts); err != nil {
			return nil, err
		}
		return tx.Deliveries().Trigger(t.Context(), ts)
	})
}

// countedCases are about the number of recipients that a trigger returns.
func countedCases() cases {
	return cases{
		"AsAForecastCounts": func(t *testing.T, w *world) {
			assert.Equal(t, []int{0}, w.peopleOf(t, w.mine.occurrence(nil, nil)), "there is no template")
			w.ready(t)
			byShop := w.assign(t, channels.Assign(w.mine.bobMail, w.mine.shopMail))[0]
			w.add(t, w.mine.news, w.mine.adaByText.ID, byShop.ID)
			w.subscribe(t, w.notify(t, w.mine.order, "Other"), w.mine.bobByMail, true)
			held, _ := w.hold(t, w.mine.bob, users.NewEmailAddress("ADA@example.org"))
			w.add(t, w.mine.news, w.assign(t, channels.Assign(held[0], w.mine.mail))[0].ID)
			var os []events.Occurrence
			for _, channels := range [][]string{nil, {"mail"}, {"text", "mail"}, {"shop mail"}} {
				for _, limitTo := range [][]string{nil, {"ada@example.org", "nobody"}, {"BOB@example.org", "+14155552671"}, {"nobody"}, nil, {"bob@example.org", "ada@example.org"}} {
					os = append(os, w.mine.occurrence(limitTo, channels))
				}
			}
			found := w.peopleOf(t, os...)
			assert.Equal(t, []int{0, 1, 2}, slices.Compact(slices.Sorted(slices.Values(found))), "%v", found)
			w.optOut(t, deliveries.OptOut{Member: w.mine.ada.ID, AddressKey: "ada@example.org", Notification: w.mine.shipped.ID}, true)
			w.peopleOf(t, os...)
		},
		"ThroughEachGate": func(t *testing.T, w *world) {
			m := newMaze(t, w)
			m.shut(t, w)
			var os []events.Occurrence
			for member := range m.members {
				for path := member % 7; path < mazeLinks*mazeChannels; path += 7 { // A forecast of each takes a while.
					os = append(os, w.mine.occurrence([]string{fmt.Sprintf("path%d-%d@example.org", member, path)}, nil))
				}
			}
			found := w.peopleOf(t, os...)
			assert.Contains(t, found, 0)
			assert.Contains(t, found, 1)
		},
		"NotOfMany": func(t *testing.T, w *world) {
			w.crowded(t, deliveries.CountedEntries-2) // and Ada, who is listed and subscribed
			none, some := w.mine.occurrence(nil, nil), w.mine.occurrence([]string{"bob@example.org"}, nil)
			assert.Len(t, w.peopleOf(t, none, some), 2)
			w.add(t, w.mine.news, w.mine.adaByText.ID)
			assert.Nil(t, w.countedTriggers(t, deliveries.TriggerRequest{Occurrence: none})[0].Occurrence.Recipients, "there are too many")
			assert.Equal(t, []int{1}, w.peopleOf(t, some))
			names := make([]string, deliveries.CountedNames+1)
			for i := range names {
				names[i] = fmt.Sprint("somebody ", i)
			}
			names[7] = "bob@example.org"
			assert.Equal(t, []int{1}, w.peopleOf(t, w.mine.occurrence(names[:deliveries.CountedNames], nil)))
			assert.Nil(t, w.countedTriggers(t, deliveries.TriggerRequest{Occurrence: w.mine.occurrence(names, nil)})[0].Occurrence.Recipients)
			refused := []deliveries.TriggerRequest{{Occurrence: some, Refusal: errStop}}
			assert.ErrorIs(t, w.countedTriggers(t, refused...)[0].Err, errStop)
			assert.Nil(t, refused[0].Occurrence.Recipients)
		},
		"ARepetitionSaysTheSame": func(t *testing.T, w *world) {
			w.ready(t)
			w.lockMember(t, w.mine.bob, true)
			k := w.issue(t, access.Key{Name: "k"})
			ask := func() deliveries.TriggerResult {
				return only(w.countedTriggers(t, deliveries.TriggerRequest{Occurrence: w.mine.occurrence(nil, nil), Request: request(k, "a", "body")}))
			}
			first := ask()
			require.NotNil(t, first.Occurrence.Recipients)
			w.lockMember(t, w.mine.bob, false)
			again := ask()
			assert.True(t, again.Repeated)
			assert.Equal(t, first.Occurrence.Recipients, again.Occurrence.Recipients)
		},
	}
}
