package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// overlapping gives the order event recipients with several addresses, shared addresses, and closed
// gates.
func (w *world) overlapping(t *testing.T) {
	t.Helper()
	w.ready(t)
	byShop := w.assign(t, channels.Assign(w.mine.bobMail, w.mine.shopMail))[0]
	w.add(t, w.mine.news, w.mine.adaByText.ID, byShop.ID)
	w.subscribe(t, w.notify(t, w.mine.order, "Other"), w.mine.bobByMail, true)
	held, _ := w.hold(t, w.mine.bob, users.NewEmailAddress("ADA@example.org"))
	w.add(t, w.mine.news, w.assign(t, channels.Assign(held[0], w.mine.mail))[0].ID)
	w.optOut(t, deliveries.OptOut{Member: w.mine.ada.ID, AddressKey: "ada@example.org", Notification: w.mine.shipped.ID}, true)
}

// setCases are about concurrent triggers, and about small occurrences, which are expanded in sets.
func setCases() cases {
	return cases{
		"TriggersKeepOrderAndAnswers": func(t *testing.T, w *world) {
			k := w.issue(t, access.Key{Name: "k"})
			first := w.ask(t, w.mine.occurrence(nil, nil), request(k, "seen", "body"))
			require.NoError(t, first.err)
			of := func(n int) events.Occurrence {
				o := w.mine.occurrence([]string{fmt.Sprint("p", n)}, nil)
				o.Context = events.Context(fmt.Sprintf(`{"n":%d,"filling":%q}`, n, strings.Repeat("x", 200_000)))
				return o
			}
			refusal := errors.New("refused")
			done := do(t, w, func(tx ports.Tx) ([]deliveries.TriggerResult, error) {
				return tx.Deliveries().Trigger(t.Context(), []deliveries.TriggerRequest{
					{Occurrence: of(0)},
					{Occurrence: of(1), Request: request(k, "seen", "body"), Refusal: refusal},
					{Occurrence: of(2), Request: request(k, "seen, but not so", "body")},
					{Occurrence: of(3), Refusal: refusal},
					{Occurrence: of(4), Request: request(k, "z", "body")},
					{Occurrence: of(5), Request: request(k, "refused", "body"), Refusal: refusal},
					{Occurrence: of(6), Request: request(k, "a", "body")},
					{Occurrence: of(7)}, {Occurrence: of(8)}, {Occurrence: of(9)},
				})
			})
			require.Len(t, done, 10)
			assert.Equal(t, asked{id: first.id, repeated: true}, asked{done[1].Occurrence.ID, done[1].Repeated, done[1].Err})
			last := first.id
			for i, d := range done {
				switch i {
				case 1:
				case 3, 5:
					assert.Equal(t, refusal, d.Err)
				default:
					require.NoError(t, d.Err)
					assert.Greater(t, d.Occurrence.ID, last)
					last = d.Occurrence.ID
					kept := w.occurred(t, d.Occurrence)
					assert.Equal(t, string(of(i).Context), string(kept.Context))
					assert.Equal(t, []string{fmt.Sprint("p", i)}, kept.Options.LimitTo)
				}
			}
			for i, word := range map[int]string{4: "z", 6: "a"} {
				assert.Equal(t, asked{id: done[i].Occurrence.ID, repeated: true}, w.ask(t, of(i), request(k, word, "body")))
			}
			assert.ErrorIs(t, w.ask(t, of(0), request(k, "z", "another body")).err, requests.ErrReused)
			assert.False(t, w.ask(t, of(5), request(k, "refused", "another body")).repeated, "a refusal is not remembered")
		},
		"NamedRecipients": func(t *testing.T, w *world) {
			w.overlapping(t)
			names := [][]string{{"ada@example.org", "nobody"}, {"BOB@example.org", "+14155552671"}, {"nobody", "no one"}, {"bob@example.org", "ada@example.org"}}
			var alone, together []events.Occurrence
			var want [][]string
			for range 3 {
				for _, limitTo := range names {
					alone = append(alone, w.trigger(t, w.mine.occurrence(limitTo, nil)))
				}
			}
			w.expand(t, 1) // A page that has room for fewer than an occurrence names makes no set.
			for _, o := range alone {
				want = append(want, w.outcomes(t, o))
				together = append(together, w.trigger(t, w.mine.occurrence(o.Options.LimitTo, nil)))
			}
			other := w.trigger(t, w.mine.occurrence([]string{"ada@example.org"}, []string{"text"}))
			steps := w.expand(t, 1_000)
			require.Len(t, steps, 2, "other options are another set")
			assert.Greater(t, len(slices.Concat(want...)), 3*5)
			assert.Len(t, slices.Concat(want...), steps[0].Deliveries)
			for i, o := range together {
				assert.Equal(t, want[i], w.outcomes(t, o), "%q", o.Options.LimitTo)
				assert.Equal(t, w.counts(t, alone[i]), w.counts(t, o))
				assert.False(t, w.occurred(t, o).Expanded.IsZero())
			}
			assert.Equal(t, []string{"Shipped: +14155552671 by Text, pending"}, w.outcomes(t, other))
		},
		"AllRecipients": func(t *testing.T, w *world) {
			w.overlapping(t)
			options := [][]string{nil, {"text"}, {"mail", "shop mail"}, {"none"}}
			occurrences := func() (os []events.Occurrence) {
				for _, channels := range options {
					for range 5 {
						os = append(os, w.trigger(t, w.mine.occurrence(nil, channels)))
					}
				}
				w.trigger(t, w.mine.occurrence([]string{"ada@example.org"}, nil))
				return os
			}
			alone := occurrences()
			w.expand(t, 2) // A page that has room for fewer than the event has entries makes no set.
			together := occurrences()
			steps := w.expand(t, 1_000)
			require.Len(t, steps, len(options)+1, "a set is of the same channels, and names recipients or does not")
			written := 0
			for i, o := range together {
				want := w.outcomes(t, alone[i])
				written += len(want)
				assert.Equal(t, want, w.outcomes(t, o), "%q", o.Options.Channels)
				assert.Equal(t, w.counts(t, alone[i]), w.counts(t, o))
				assert.False(t, w.occurred(t, o).Expanded.IsZero())
			}
			assert.Greater(t, written, 5*5)
		},
		"AllRecipientsOnlyIfFew": func(t *testing.T, w *world) {
			const people = deliveries.CountedEntries - 1
			w.crowded(t, people-1) // and Ada, who is listed and subscribed
			expand := func() []deliveries.Expansion {
				for range 11 {
					w.trigger(t, w.mine.occurrence(nil, nil))
				}
				return w.expand(t, 1_000)
			}
			steps := expand()
			require.Len(t, steps, 2, "a set has at most 1,000 entries")
			assert.Equal(t, 10*people, steps[0].Deliveries)
			assert.Equal(t, people, steps[1].Deliveries)
			w.add(t, w.mine.news, w.mine.adaByText.ID)
			assert.Len(t, expand(), 11, "each alone")
		},
		"SetReportsChannels": func(t *testing.T, w *world) {
			w.ready(t)
			w.add(t, w.mine.news, w.mine.adaByText.ID)
			urgent := w.mine.occurrence([]string{"ada@example.org", "bob@example.org"}, nil)
			urgent.Priority = events.Urgent
			w.trigger(t, urgent)
			nobody := w.mine.occurrence([]string{"nobody"}, nil)
			w.trigger(t, nobody)
			steps := w.expand(t, 1_000)
			require.Len(t, steps, 2)
			due := func(c channels.Channel) deliveries.Due {
				return deliveries.Due{Organization: urgent.Organization, Channel: c.ID, At: steps[0].Due[0].At, Priority: events.Urgent}
			}
			assert.ElementsMatch(t, []deliveries.Due{due(w.mine.mail), due(w.mine.text)}, steps[0].Due)
			assert.WithinDuration(t, time.Now(), steps[0].Due[0].At, time.Minute)
			assert.Empty(t, steps[1].Due)
		},
		"EachGateIsAskedAsTheRuleAsks": func(t *testing.T, w *world) {
			m := newMaze(t, w)
			m.shut(t, w)
			var set []events.Occurrence
			for path := range m.members {
				set = append(set, w.trigger(t, w.mine.occurrence([]string{fmt.Sprintf("member %d", path)}, nil)))
			}
			require.Len(t, w.expand(t, 1_000), 1)
			for _, o := range set {
				made := w.made(t, o)
				assert.Len(t, made, mazeLinks*mazeChannels)
				for _, d := range made {
					reason := m.gates[d.Assignment].Closed()
					assert.Equal(t, reason, d.Reason)
					assert.Equal(t, reason != "", d.State == deliveries.Skipped)
					assert.Equal(t, reason == "", d.Finished.IsZero())
				}
			}
		},
	}
}
