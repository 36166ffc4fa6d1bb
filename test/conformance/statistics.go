package conformance

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

// always returns a range of time that contains every event.
func always() (from, until time.Time) { return noon.AddDate(-20, 0, 0), noon.AddDate(50, 0, 0) }

// hours returns all hourly statistics of the organization.
func (w *world) hours(t *testing.T, o tenant) []statistics.Hour {
	t.Helper()
	from, until := always()
	return look(t, w, func(tx ports.Tx) ([]statistics.Hour, error) {
		return tx.Statistics().Hours(t.Context(), o.org.ID, from, until)
	})
}

// total returns the sum of all hours.
func (w *world) total(t *testing.T) (sum statistics.Hour) {
	t.Helper()
	for _, h := range w.hours(t, w.mine) {
		sum = sum.Plus(h)
	}
	return sum
}

// counted compares the stored counts of occurrences with counts of their deliveries.
func (w *world) counted(t *testing.T, occurred ...events.Occurrence) {
	t.Helper()
	for _, o := range occurred {
		want := map[deliveries.State]int{}
		for _, d := range w.made(t, o) {
			want[d.State]++
		}
		assert.Equal(t, want, w.counts(t, o))
	}
}

func (w *world) requeue(t *testing.T, o events.Occurrence) int {
	t.Helper()
	return len(do(t, w, func(tx ports.Tx) ([]deliveries.ID, error) { return tx.Deliveries().Requeue(t.Context(), o, 0, 100) }))
}

func (w *world) failures(t *testing.T, since time.Time, limit int, in ...orgs.ID) []statistics.Failures {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]statistics.Failures, error) {
		return tx.Statistics().Failures(t.Context(), in, since, limit)
	})
}

func (w *world) backlogs(t *testing.T, before time.Time, most int, in ...orgs.ID) []statistics.Backlog {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]statistics.Backlog, error) {
		return tx.Statistics().Backlogs(t.Context(), in, before, most)
	})
}

// ended returns outcomes with these states in turn.
func ended(jobs []deliveries.Job, states ...deliveries.State) []deliveries.Outcome {
	outcomes := make([]deliveries.Outcome, len(jobs))
	for i, j := range jobs {
		outcomes[i] = deliveries.Outcome{ID: j.ID, State: states[i%len(states)], Next: time.Now(), Attempts: j.Attempts + 1}
		if outcomes[i].State == deliveries.Failed {
			outcomes[i].Error = "no such mailbox"
		}
	}
	return outcomes
}

func tallyCases() cases {
	return cases{
		"AreRightAfterEachStep": func(t *testing.T, w *world) {
			w.crowded(t, 20)
			first, second := w.trigger(t, w.mine.occurrence(nil, nil)), w.trigger(t, w.mine.occurrence(nil, nil))
			check := func() { w.counted(t, first, second) }
			for range 10 {
				_, err := w.Queue().Expand(t.Context(), deliveries.AllOccurrences, 7)
				require.NoError(t, err)
				check()
			}
			jobs := w.claim(t, w.mine.mail, "one", 15, lease)
			check()
			w.record(t, "one", append(ended(jobs[1:], deliveries.Sent, deliveries.Failed, deliveries.Retrying, deliveries.Skipped, deliveries.Pending), ended(jobs[:1], deliveries.Pending)...)...)
			check()
			assert.Equal(t, 15, w.record(t, "one", ended(jobs, deliveries.Sent)...), "they are nobody's any more")
			check()
			w.claim(t, w.mine.mail, "two", 100, -time.Second) // a lease that has ended
			check()
			jobs = w.claim(t, w.mine.mail, "three", 100, lease)
			check()
			w.record(t, "three", ended(jobs, deliveries.Retrying, deliveries.Pending)...)
			check()
			assert.Positive(t, w.requeue(t, first))
			check()
			w.remove(t, w.mine.bob) // whose addresses they all are but one
			check()
			assert.NotEmpty(t, w.claim(t, w.mine.mail, "four", 100, lease), "Ada's, which was the first")
			check()
		},
		"CountTheSkipped": func(t *testing.T, w *world) {
			w.crowded(t, 3)
			locked := w.mine.bob
			locked.Locked = true
			act(t, w, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context(), locked) })
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 2)
			assert.Equal(t, map[deliveries.State]int{deliveries.Pending: 1, deliveries.Skipped: 3}, w.counts(t, o))
			assert.Equal(t, 3, w.total(t).Skipped)
		},
		"AreRightWhenManyWorkAtOnce": func(t *testing.T, w *world) {
			w.crowded(t, 60)
			occurred := []events.Occurrence{w.trigger(t, w.mine.occurrence(nil, nil)), w.trigger(t, w.mine.occurrence(nil, nil))}
			var all sync.WaitGroup
			for i := range 4 {
				owner := fmt.Sprint(i)
				all.Go(func() {
					for range 12 {
						_, _ = w.Queue().Expand(t.Context(), deliveries.AllOccurrences, 11) // There may be nothing left.
						jobs, err := w.Queue().Claim(t.Context(), w.mine.mail.ID, owner, 9, lease)
						if !assert.NoError(t, err) {
							return
						}
						_, err = w.Queue().Record(t.Context(), owner, ended(jobs, deliveries.Sent, deliveries.Failed, deliveries.Retrying, deliveries.Pending))
						assert.NoError(t, err)
					}
				})
			}
			all.Go(func() {
				for range 6 {
					for _, o := range occurred {
						assert.NoError(t, w.Update(t.Context(), func(tx ports.Tx) error { _, err := tx.Deliveries().Requeue(t.Context(), o, 0, 100); return err }))
					}
				}
			})
			all.Wait()
			w.counted(t, occurred...)
			sent := 0
			for _, o := range occurred {
				sent += w.counts(t, o)[deliveries.Sent]
			}
			assert.Equal(t, sent, w.total(t).Sent())
		},
		"GoWithTheirOccurrence": func(t *testing.T, w *world) {
			o := w.waiting(t, 3)
			w.finish(t, w.mine.mail)
			assert.Positive(t, w.purge(t, deliveries.Expiry{Occurrences: time.Now().Add(time.Hour)}, 100))
			assert.Empty(t, w.counts(t, o))
		},
		"RolledBackUnitsAreNot": func(t *testing.T, w *world) {
			o := w.waiting(t, 2)
			w.record(t, "one", ended(w.claim(t, w.mine.mail, "one", 2, lease), deliveries.Failed)...)
			refused(t, w, errStop, func(tx ports.Tx) error {
				_, err := tx.Deliveries().Requeue(t.Context(), o, 0, 100)
				assert.NoError(t, err)
				return errStop
			})
			w.counted(t, o)
		},
	}
}

// heartbeat records that a worker runs.
func (w *world) heartbeat(t *testing.T, p deliveries.Presence) {
	t.Helper()
	_, err := w.Queue().Heartbeat(t.Context(), p)
	require.NoError(t, err)
}

func statisticsCases() cases {
	return cases{
		"CountEachHour": func(t *testing.T, w *world) {
			w.crowded(t, 5) // and Ada
			long := w.mine.occurrence(nil, nil)
			long.Created = noon
			w.trigger(t, long)
			w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 100)
			jobs := w.claim(t, w.mine.mail, "one", 12, lease)
			w.record(t, "one", ended(jobs, deliveries.Sent, deliveries.Failed, deliveries.Skipped, deliveries.Retrying)...)
			hours := w.hours(t, w.mine)
			assert.Equal(t, statistics.Hour{Start: noon.UTC(), Occurrences: 1}, hours[0], "in the hour in which it was triggered")
			sum := w.total(t)
			assert.Equal(t, []int{2, 3, 3, 3}, []int{sum.Occurrences, sum.Sent(), sum.Failed, sum.Skipped})
			for _, h := range hours {
				assert.Equal(t, h.Start, h.Start.Truncate(time.Hour).UTC())
				from, until := h.Start.Add(59*time.Minute), h.Start.Add(time.Hour)
				assert.Equal(t, []statistics.Hour{h}, look(t, w, func(tx ports.Tx) ([]statistics.Hour, error) {
					return tx.Statistics().Hours(t.Context(), w.mine.org.ID, from, until)
				}))
			}
			assert.Empty(t, w.hours(t, w.theirs))
		},
		"TellWhetherAMessageWasSent": func(t *testing.T, w *world) {
			w.crowded(t, 5)
			sent := func(o tenant) bool {
				return look(t, w, func(tx ports.Tx) (bool, error) { return tx.Statistics().Sent(t.Context(), o.org.ID) })
			}
			w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 100)
			w.record(t, "one", ended(w.claim(t, w.mine.mail, "one", 2, lease), deliveries.Failed, deliveries.Skipped)...)
			assert.False(t, sent(w.mine), "none of them was")
			w.record(t, "one", ended(w.claim(t, w.mine.mail, "one", 1, lease), deliveries.Sent)...)
			assert.Equal(t, []bool{true, false}, []bool{sent(w.mine), sent(w.theirs)})
		},
		"TellHowLargeTheContextsAre": func(t *testing.T, w *world) {
			w.ready(t)
			now := time.Now()
			ask := func(o tenant, since time.Time) int64 {
				return look(t, w, func(tx ports.Tx) (int64, error) { return tx.Statistics().Contexts(t.Context(), o.org.ID, since) })
			}
			assert.Zero(t, ask(w.mine, time.Time{}))
			var wrote []int64
			for i, age := range []time.Duration{0, time.Minute, 30 * time.Hour, 100 * 24 * time.Hour} {
				o := w.mine.occurrence(nil, nil)
				o.Context, o.Created = events.Context(`{"é": "`+strings.Repeat("x", 1000*(i+1))+`"}`), now.Add(-age)
				w.trigger(t, o)
				wrote = append(wrote, int64(len(o.Context)))
			}
			w.expand(t, 1) // Several pages of each.
			assert.Equal(t, wrote[0]+wrote[1]+wrote[2]+wrote[3], ask(w.mine, time.Time{}))
			assert.Equal(t, wrote[0]+wrote[1]+wrote[2], ask(w.mine, now.Add(-90*24*time.Hour)))
			assert.Equal(t, wrote[2], ask(w.mine, now.Add(-30*time.Hour))-ask(w.mine, now.Add(-2*time.Minute)), "counted by the day")
			assert.Zero(t, ask(w.theirs, time.Time{}))
			assert.Equal(t, 4, w.total(t).Occurrences, "it is no hour's number")
		},
		"TellHowLongTheHandOffTook": func(t *testing.T, w *world) {
			w.crowded(t, 1) // and Ada
			o := w.mine.occurrence(nil, nil)
			o.Created = time.Now().Add(-2 * time.Hour)
			o = w.trigger(t, o)
			w.expand(t, 1)
			w.record(t, "one", ended(w.claim(t, w.mine.mail, "one", 10, lease), deliveries.Sent, deliveries.Failed)...)
			w.requeue(t, o)
			w.finish(t, w.mine.mail)
			took := w.total(t).HandOff
			assert.Equal(t, 1, took[statistics.Bucket(2*time.Hour)], "since the trigger")
			assert.Equal(t, 2, took.Count())
			assert.Less(t, took.Quantile(0.5), time.Minute, "since it was made due again")
		},
		"CountAnOccurrenceOnce": func(t *testing.T, w *world) {
			w.crowded(t, 9)
			w.trigger(t, w.mine.occurrence(nil, nil))
			require.Greater(t, len(w.expand(t, 2)), 3)
			nobody := w.announce(t, w.mine.web, "nobody")
			o := w.mine.occurrence(nil, nil)
			o.Event = nobody.ID
			w.trigger(t, o)
			w.expand(t, 2)
			assert.Equal(t, 2, w.total(t).Occurrences)
		},
		"CountRemovedMembersAsSkipped": func(t *testing.T, w *world) {
			w.waiting(t, 4)
			w.remove(t, w.mine.bob)
			assert.Equal(t, 3, w.total(t).Skipped)
		},
		"StayWhenTheirOccurrenceIsDeleted": func(t *testing.T, w *world) {
			w.waiting(t, 4)
			w.finish(t, w.mine.mail)
			before := w.hours(t, w.mine)
			assert.Positive(t, w.purge(t, deliveries.Expiry{Occurrences: time.Now().Add(time.Hour)}, 100))
			assert.Equal(t, before, w.hours(t, w.mine))
		},
		"GoWhenTheyAreTooOld": func(t *testing.T, w *world) {
			w.crowded(t, 1)
			for _, age := range []time.Duration{statistics.Retention + 2*time.Hour, statistics.Retention - 2*time.Hour, 0} {
				o := w.mine.occurrence(nil, nil)
				o.Created = time.Now().Add(-age)
				w.trigger(t, o)
			}
			w.expand(t, 100)
			require.Equal(t, 3, w.total(t).Occurrences)
			assert.Positive(t, w.purge(t, deliveries.Expiry{}, 100))
			assert.Equal(t, 2, w.total(t).Occurrences)
		},
		"BacklogsAreLongDue": func(t *testing.T, w *world) {
			w.waiting(t, 5)
			future, both := time.Now().Add(time.Hour), []orgs.ID{w.mine.org.ID, w.theirs.org.ID}
			assert.Empty(t, w.backlogs(t, time.Now().Add(-time.Hour), 10, both...))
			b := only(w.backlogs(t, future, 10, both...))
			assert.False(t, b.Oldest.IsZero())
			assert.Equal(t, statistics.Backlog{Organization: w.mine.org.ID, Slug: "acme", Channel: w.mine.mail.ID, Name: "Mail", Oldest: b.Oldest, Waiting: 5,
				Classes: []statistics.Class{{Oldest: b.Oldest, Waiting: 5}}, State: deliveries.Pending}, b)
			assert.Equal(t, 3, only(w.backlogs(t, future, 3, w.mine.org.ID)).Waiting, "counted no further")
			assert.Empty(t, w.backlogs(t, future, 10, w.theirs.org.ID))
			assert.Empty(t, w.backlogs(t, future, 10))
			w.finish(t, w.mine.mail)
			assert.Empty(t, w.backlogs(t, future, 10, both...))
		},
		"QueueHasAllWaiting": func(t *testing.T, w *world) {
			queue := func(now time.Time, most int) statistics.Queue {
				return look(t, w, func(tx ports.Tx) (statistics.Queue, error) { return tx.Statistics().Queue(t.Context(), now, most) })
			}
			future := time.Now().Add(time.Hour)
			assert.Empty(t, queue(future, 10).Backlogs)
			assert.Zero(t, queue(future, 10).Unexpanded)
			w.waiting(t, 3)
			w.trigger(t, w.mine.occurrence(nil, nil))
			w.trigger(t, w.mine.occurrence(nil, nil))
			q := queue(future, 2)
			assert.Equal(t, w.backlogs(t, future, 2, w.mine.org.ID), q.Backlogs)
			assert.Equal(t, 2, q.Unexpanded)
			assert.Equal(t, 2, q.Backlogs[0].Waiting)
			assert.Empty(t, queue(time.Now().Add(-time.Hour), 2).Backlogs)
		},
		"WorkersAreSeenUntilTheyLeave": func(t *testing.T, w *world) {
			workers := func() []deliveries.Presence {
				return look(t, w, func(tx ports.Tx) ([]deliveries.Presence, error) { return tx.Statistics().Workers(t.Context()) })
			}
			assert.Empty(t, workers())
			one := deliveries.Presence{Owner: "one", Instance: "host:1", Version: "1.2.3", Started: noon}
			w.heartbeat(t, one)
			first := only(workers())
			assert.WithinDuration(t, time.Now(), first.Seen, time.Minute)
			w.heartbeat(t, one)
			again := only(workers())
			assert.False(t, again.Seen.Before(first.Seen))
			one.Seen, one.Skew = again.Seen, again.Skew
			assert.Equal(t, one, again)
			assert.False(t, again.Skewed(), "one machine, one clock")
			w.heartbeat(t, deliveries.Presence{Owner: "two", Started: noon})
			assert.Len(t, workers(), 2)
			require.NoError(t, w.Queue().Leave(t.Context(), "one"))
			assert.Equal(t, "two", only(workers()).Owner)
			require.NoError(t, w.Queue().Leave(t.Context(), "nobody"))
		},
		"BacklogsShowTheError": func(t *testing.T, w *world) {
			w.write(t, w.mine.shopMail)
			w.hear(t)
			w.add(t, w.mine.news, only(w.assign(t, channels.Assign(w.mine.adaMail, w.mine.shopMail))).ID)
			w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 10)
			j := only(w.claim(t, w.mine.shopMail, "one", 10, lease))
			w.record(t, "one", deliveries.Outcome{ID: j.ID, State: deliveries.Retrying, Error: "nobody answers", Next: time.Now(), Attempts: 1})
			b := only(w.backlogs(t, time.Now().Add(time.Hour), 10, w.mine.org.ID))
			assert.Equal(t, []string{"shop", "nobody answers", string(deliveries.Retrying)}, []string{b.Project, b.Error, string(b.State)})
		},
		"FailuresAreTheNewestFirst": func(t *testing.T, w *world) {
			w.crowded(t, 2) // and Ada
			var occurred []events.Occurrence
			mine := w.mine.org.ID
			for i := range 3 {
				o := w.mine.occurrence(nil, nil)
				o.Created = noon.Add(time.Duration(i) * time.Hour)
				occurred = append(occurred, w.trigger(t, o))
			}
			w.expand(t, 100)
			w.record(t, "one", ended(w.claim(t, w.mine.mail, "one", 10, lease), deliveries.Failed)...)
			of := func(i int) statistics.Failures {
				return statistics.Failures{Organization: w.mine.org.ID, Occurrence: occurred[i].ID, Created: occurred[i].Created.UTC(), Event: "order", Project: "shop", Application: "web", Failed: 3}
			}
			assert.Equal(t, []statistics.Failures{of(2), of(1), of(0)}, w.failures(t, noon, 10, mine))
			assert.Equal(t, []statistics.Failures{of(2)}, w.failures(t, noon, 1, mine))
			assert.Equal(t, []statistics.Failures{of(2), of(1)}, w.failures(t, noon.Add(time.Minute), 10, mine))
			w.requeue(t, occurred[1])
			assert.Equal(t, []statistics.Failures{of(2), of(0)}, w.failures(t, noon, 10, mine), "what is sent again has not failed")
		},
		"FailuresAreThoseOfEachOrganization": func(t *testing.T, w *world) {
			var occurred []events.Occurrence
			for _, o := range []tenant{w.theirs, w.mine} {
				act(t, w, func(tx ports.Tx) error {
					_, err := tx.Events().SaveTemplate(t.Context(), o.order, events.Template{Channel: o.mail.ID, Subject: "S", Text: "T"}, "eva")
					return err
				})
				for range 2 {
					occurred = append(occurred, w.trigger(t, o.occurrence(nil, nil)))
				}
				w.expand(t, 100)
				w.record(t, "one", ended(w.claim(t, o.mail, "one", 10, lease), deliveries.Failed)...)
			}
			w.before = w.picture(t, w.theirs) // What has changed there was to change.
			since, _ := always()
			found := func(limit int, in ...orgs.ID) (ids []events.OccurrenceID) {
				for _, f := range w.failures(t, since, limit, in...) {
					ids = append(ids, f.Occurrence)
				}
				return ids
			}
			mine, theirs := w.mine.org.ID, w.theirs.org.ID
			assert.Equal(t, []events.OccurrenceID{occurred[3].ID, occurred[2].ID, occurred[1].ID, occurred[0].ID}, found(10, mine, theirs))
			assert.Equal(t, []events.OccurrenceID{occurred[3].ID, occurred[1].ID}, found(1, mine, theirs), "so many of each")
			assert.Equal(t, []events.OccurrenceID{occurred[1].ID, occurred[0].ID}, found(10, theirs))
			assert.Empty(t, found(10))
		},
	}
}
