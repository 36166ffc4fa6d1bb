package conformance

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// sharer is a project whose order event reaches many people through channels of the organization.
type sharer struct {
	of     events.Occurrence // to be triggered
	people []channels.Assignment
}

// occurrence returns an occurrence for the first n of the people; 0: for all of them.
func (s sharer) occurrence(p events.Priority, n int) events.Occurrence {
	o := s.of
	o.Priority, o.Created = p, time.Now()
	for _, a := range s.people[:n] {
		o.Options.LimitTo = append(o.Options.LimitTo, a.Value)
	}
	return o
}

// mailChannel creates a mail channel of the organization.
func (w *world) mailChannel(t *testing.T, name string) channels.Channel {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (channels.Channel, error) {
		return tx.Channels().Create(t.Context(), channels.Channel{Organization: w.mine.org.ID, Name: name, Protocol: channels.EMAIL, Driver: "smtp", Active: true,
			Settings: channels.Settings{"host": "localhost"}})
	})
}

// share creates n projects that share the mail channel, each with many people.
func (w *world) share(t *testing.T, n, crowd int) []sharer {
	t.Helper()
	return w.shareChannels(t, "project", n, crowd, w.mine.mail)
}

// shareChannels is share for other channels, through which the people are reached in turn. The
// slugs of the projects begin with name.
func (w *world) shareChannels(t *testing.T, name string, n, crowd int, through ...channels.Channel) []sharer {
	t.Helper()
	people := w.spread(t, crowd, through...)
	all := make([]sharer, n)
	for i := range all {
		slug := name + "-" + string(rune('a'+i))
		all[i].people = people
		all[i].of = do(t, w, func(tx ports.Tx) (o events.Occurrence, err error) {
			p, err := tx.Orgs().CreateProject(t.Context(), orgs.Project{Organization: w.mine.org.ID, Slug: slug, Name: slug})
			require.NoError(t, err)
			app, err := tx.Applications().Create(t.Context(), applications.Application{Organization: p.Organization, Project: p.ID, Slug: slug, Name: slug, Active: true})
			require.NoError(t, err)
			l, err := tx.Lists().Create(t.Context(), lists.List{Organization: p.Organization, Project: p.ID, Name: slug})
			require.NoError(t, err)
			_, err = tx.Lists().Add(t.Context(), l, idsOf(people))
			require.NoError(t, err)
			e, err := tx.Events().Create(t.Context(), events.Event{Organization: p.Organization, Application: app.ID, Slug: slug, Name: slug, Active: true})
			require.NoError(t, err)
			for _, c := range through {
				_, err = tx.Events().SaveTemplate(t.Context(), e, events.Template{Channel: c.ID, Subject: "S", Text: "T"}, "eva")
				require.NoError(t, err)
			}
			_, err = tx.Subscriptions().Create(t.Context(), subscriptions.Notification{Application: app.ID, Event: e.ID, Name: slug, List: l.ID, Active: true})
			return events.Occurrence{Organization: p.Organization, Project: p.ID, Application: app.ID, Event: e.ID, Context: events.Context(`{}`)}, err
		})
	}
	return all
}

// reached returns the recipients of an occurrence, in the order of an expansion.
func (s sharer) reached(o events.Occurrence) []channels.Assignment {
	if n := len(o.Options.LimitTo); n > 0 {
		return s.people[:n]
	}
	return s.people
}

// triggered triggers and expands.
func (w *world) triggered(t *testing.T, o events.Occurrence) events.OccurrenceID {
	t.Helper()
	o = w.trigger(t, o)
	w.expand(t, 1_000)
	return o.ID
}

// claimedOf claims from the mail channel and counts the claimed deliveries of each occurrence.
func (w *world) claimedOf(t *testing.T, limit int) map[events.OccurrenceID]int {
	t.Helper()
	counts := map[events.OccurrenceID]int{}
	for _, j := range w.claim(t, w.mine.mail, "one", limit, lease) {
		counts[j.Occurrence]++
	}
	return counts
}

func turnCases() cases {
	type counts = map[events.OccurrenceID]int
	return cases{
		"PriorityWithGuaranteedShares": func(t *testing.T, w *world) {
			s := w.share(t, 1, 60)[0]
			bulk, normal, urgent := w.triggered(t, s.occurrence(events.Bulk, 0)), w.triggered(t, s.occurrence(events.Normal, 0)),
				w.triggered(t, s.occurrence(events.Urgent, 0))
			assert.Equal(t, counts{urgent: 26, normal: 4, bulk: 2}, w.claimedOf(t, 32))
			assert.Equal(t, counts{urgent: 26, normal: 4, bulk: 2}, w.claimedOf(t, 32))
			alone := counts{}
			for range 16 {
				for o, n := range w.claimedOf(t, 1) {
					alone[o] += n
				}
			}
			assert.Equal(t, counts{urgent: 8, normal: 7, bulk: 1}, alone, "one by one as well: the urgent, and then the normal")
			for _, j := range w.claim(t, w.mine.mail, "one", 100, lease) {
				assert.Equal(t, w.priorityOf(t, j.Occurrence), j.Priority)
			}
		},
		"NewOccurrenceIsNext": func(t *testing.T, w *world) {
			s := w.share(t, 1, 60)[0]
			blast := w.triggered(t, s.occurrence(events.Normal, 0))
			assert.Equal(t, counts{blast: 20}, w.claimedOf(t, 20))
			single := w.triggered(t, s.occurrence(events.Normal, 1))
			assert.Equal(t, counts{blast: 1, single: 1}, w.claimedOf(t, 2))
			later := w.triggered(t, s.occurrence(events.Normal, 0))
			assert.Equal(t, counts{blast: 15, later: 15}, w.claimedOf(t, 30), "from now on they take turns")
		},
		"PagesContinueAtTheOccurrence": func(t *testing.T, w *world) {
			s := w.share(t, 1, 60)[0]
			one, other := w.trigger(t, s.occurrence(events.Normal, 0)).ID, w.trigger(t, s.occurrence(events.Normal, 0)).ID
			w.expand(t, 20)
			for range 3 {
				assert.Equal(t, counts{one: 15, other: 15}, w.claimedOf(t, 30))
			}
		},
		"ChannelsHaveTheirOwnTurns": func(t *testing.T, w *world) {
			s := w.shareChannels(t, "project", 1, 60, w.mine.mail, w.mailChannel(t, "other"))[0]
			both, one := w.trigger(t, s.occurrence(events.Normal, 0)).ID, s.occurrence(events.Normal, 0)
			one.Options.Channels = []string{"mail"}
			one = w.trigger(t, one)
			w.expand(t, 20)
			for range 3 {
				assert.Equal(t, counts{both: 10, one.ID: 10}, w.claimedOf(t, 20), "what goes through the other channel takes no turns here")
			}
		},
		"SkippedDeliveriesTakeNoTurns": func(t *testing.T, w *world) {
			s := w.share(t, 1, 60)[0]
			for _, a := range s.people[:30] {
				a.Active = false
				act(t, w, func(tx ports.Tx) error { return tx.Assignments().Save(t.Context(), w.mine.org.ID, a) })
			}
			partly, reached := w.trigger(t, s.occurrence(events.Normal, 0)).ID, s
			reached.people = s.people[30:]
			whole := w.trigger(t, reached.occurrence(events.Normal, 30)).ID
			w.expand(t, 20)
			for range 3 {
				assert.Equal(t, counts{partly: 10, whole: 10}, w.claimedOf(t, 20))
			}
		},
		"ProjectsTakeTurns": func(t *testing.T, w *world) {
			ss := w.share(t, 3, 60)
			ids := make([]events.OccurrenceID, len(ss))
			for i, s := range ss {
				ids[i] = w.triggered(t, s.occurrence(events.Normal, 0))
			}
			w.triggered(t, ss[0].occurrence(events.Normal, 0))
			sum := map[orgs.ProjectID]int{}
			for range 15 {
				for _, j := range w.claim(t, w.mine.mail, "one", 10, lease) {
					for i, s := range ss {
						if j.Occurrence == ids[i] || i == 0 && j.Occurrence > ids[2] {
							sum[s.of.Project]++
						}
					}
				}
			}
			for _, s := range ss {
				assert.Equal(t, 50, sum[s.of.Project], "whoever has two occurrences gets no more")
			}
		},
		"RetriesGetEverySecondPlace": func(t *testing.T, w *world) {
			s := w.share(t, 1, 60)[0]
			tried := w.triggered(t, s.occurrence(events.Normal, 0))
			var back []deliveries.Outcome
			for _, j := range w.claim(t, w.mine.mail, "one", 60, lease) {
				back = append(back, deliveries.Outcome{ID: j.ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now().Add(-time.Second)})
			}
			w.record(t, "one", back...)
			fresh := w.triggered(t, s.occurrence(events.Normal, 0))
			assert.Equal(t, counts{tried: 10, fresh: 10}, w.claimedOf(t, 20))
		},
		"LaterOnesDoNotBlock": func(t *testing.T, w *world) {
			s := w.share(t, 1, 20)[0]
			w.triggered(t, s.occurrence(events.Urgent, 0))
			var later []deliveries.Outcome
			for _, j := range w.claim(t, w.mine.mail, "one", 20, lease) {
				later = append(later, deliveries.Outcome{ID: j.ID, State: deliveries.Pending, Next: time.Now().Add(time.Hour)})
			}
			w.record(t, "one", later...)
			bulk := w.triggered(t, s.occurrence(events.Bulk, 0))
			assert.Equal(t, counts{bulk: 20}, w.claimedOf(t, 30))
		},
		"DueHasItsPriority": func(t *testing.T, w *world) {
			s := w.share(t, 1, 5)[0]
			for _, p := range []events.Priority{events.Bulk, events.Normal, events.Urgent} {
				w.triggered(t, s.occurrence(p, 2))
				due, err := w.Queue().Due(t.Context())
				require.NoError(t, err)
				require.Len(t, due, 1)
				assert.Equal(t, p, due[0].Priority)
			}
		},
		"PositionsAreCounted": func(t *testing.T, w *world) {
			ss := w.share(t, 2, 60)
			ahead := func(o events.Occurrence, most int) (n int, waits bool) {
				look(t, w, func(tx ports.Tx) (_ any, err error) {
					n, waits, err = tx.Deliveries().Ahead(t.Context(), o, w.mine.mail.ID, most)
					return nil, err
				})
				return n, waits
			}
			stored := func(o events.Occurrence) events.Occurrence {
				o = w.trigger(t, o)
				w.expand(t, 1_000)
				return o
			}
			expect := func(want int, o events.Occurrence, why string) {
				t.Helper()
				n, waits := ahead(o, 100)
				assert.True(t, waits, why)
				assert.Equal(t, want, n, why)
			}
			blast := stored(ss[0].occurrence(events.Normal, 0))
			assert.Equal(t, counts{blast.ID: 20}, w.claimedOf(t, 20))
			single := stored(ss[0].occurrence(events.Normal, 1))
			expect(0, blast, "it goes next")
			expect(1, single, "one of the blast goes before it")
			other := stored(ss[1].occurrence(events.Normal, 0))
			expect(2, single, "and one of the other project")
			expect(0, other, "which is not behind anybody")
			urgent := stored(ss[1].occurrence(events.Urgent, 5))
			expect(7, single, "and all that is urgent")
			expect(0, urgent, "urgent goes first")
			n, waits := ahead(single, 3)
			assert.True(t, waits)
			assert.Equal(t, 3, n, "no more is counted than was asked for")
			w.claimedOf(t, 1_000)
			for _, o := range []events.Occurrence{blast, single, other, urgent} {
				n, waits := ahead(o, 100)
				assert.False(t, waits, "nothing of it waits for its turn")
				assert.Zero(t, n)
			}
		},
		"SmallOccurrencesDoNotWaitForTheNextPageOfLargeOnes": func(t *testing.T, w *world) {
			s := w.share(t, 1, deliveries.CountedEntries+1)[0]
			for range 3 {
				w.trigger(t, s.occurrence(events.Urgent, 0))
			}
			_, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
			require.NoError(t, err)
			small := w.trigger(t, s.occurrence(events.Bulk, 1))
			for range 2 {
				_, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
				require.NoError(t, err)
			}
			assert.Len(t, w.made(t, small), 1, "of two expansions one is of a small one")
		},
		"EachPartHasItsOwnOccurrences": func(t *testing.T, w *world) {
			s := w.share(t, 1, deliveries.CountedEntries+1)[0]
			large, small := w.trigger(t, s.occurrence(events.Urgent, 0)), w.trigger(t, s.occurrence(events.Bulk, 1))
			for part, of := range map[deliveries.ExpansionPart]events.OccurrenceID{
				deliveries.SmallOccurrences: small.ID, deliveries.LargeOccurrences: large.ID,
			} {
				done, err := w.Queue().Expand(t.Context(), part, 60)
				require.NoError(t, err)
				assert.Equal(t, of, done.Occurrence)
			}
			_, err := w.Queue().Expand(t.Context(), deliveries.SmallOccurrences, 60)
			require.ErrorIs(t, err, deliveries.ErrNothingToDo)
		},
		"OneWithoutNamesThatReachesFewIsSmallUntilItReachesMore": func(t *testing.T, w *world) {
			o := w.trigger(t, w.share(t, 1, deliveries.CountedEntries)[0].occurrence(events.Normal, 0))
			for _, part := range []deliveries.ExpansionPart{deliveries.SmallOccurrences, deliveries.LargeOccurrences} {
				done, err := w.Queue().Expand(t.Context(), part, 10)
				require.NoError(t, err)
				assert.Equal(t, o.ID, done.Occurrence)
				_, err = w.Queue().Expand(t.Context(), deliveries.SmallOccurrences, 10)
				require.ErrorIs(t, err, deliveries.ErrNothingToDo, "it needs more than a page")
			}
		},
		"AreThoseOfTheModel1":    func(t *testing.T, w *world) { newTurnModel(t, w, 1).run(t) },
		"AreThoseOfTheModel2":    func(t *testing.T, w *world) { newTurnModel(t, w, 2).run(t) },
		"AreThoseOfTheModel3":    func(t *testing.T, w *world) { newTurnModel(t, w, 3).run(t) },
		"AreThoseOfARandomModel": func(t *testing.T, w *world) { newTurnModel(t, w, rand.Uint64()).run(t) },
		"AreThoseOfAnotherModel": func(t *testing.T, w *world) { newTurnModel(t, w, rand.Uint64()).run(t) },
		"AreThoseOfAThirdModel":  func(t *testing.T, w *world) { newTurnModel(t, w, rand.Uint64()).run(t) },
	}
}

// priorityOf returns the stored priority of an occurrence.
func (w *world) priorityOf(t *testing.T, id events.OccurrenceID) events.Priority {
	t.Helper()
	found, err := w.Queue().Occurrences(t.Context(), []events.OccurrenceID{id})
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0].Priority
}
