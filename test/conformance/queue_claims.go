package conformance

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// claim claims deliveries of a channel.
func (w *world) claim(t *testing.T, c channels.Channel, owner string, limit int, lease time.Duration) []deliveries.Job {
	t.Helper()
	jobs, err := w.Queue().Claim(t.Context(), c.ID, owner, limit, lease)
	require.NoError(t, err)
	return jobs
}

// record records outcomes and returns how many were lost.
func (w *world) record(t *testing.T, owner string, outcomes ...deliveries.Outcome) int {
	t.Helper()
	lost, err := w.Queue().Record(t.Context(), owner, outcomes)
	require.NoError(t, err)
	return lost
}

// due returns when the first delivery of a channel is due; zero if nothing is open.
func (w *world) due(t *testing.T, c channels.Channel) time.Time {
	t.Helper()
	due, err := w.Queue().Due(t.Context())
	require.NoError(t, err)
	var at time.Time
	for _, d := range due {
		if d.Channel == c.ID {
			assert.True(t, at.IsZero(), "a channel is named once")
			assert.Equal(t, c.Organization, d.Organization)
			at = d.At
		}
	}
	return at
}

// waiting triggers and expands, so that n deliveries wait, and returns the occurrence.
func (w *world) waiting(t *testing.T, n int) events.Occurrence {
	t.Helper()
	w.crowded(t, n-1) // and Ada
	o := w.trigger(t, w.mine.occurrence(nil, nil))
	w.expand(t, 1_000)
	require.Len(t, w.made(t, o), n)
	return o
}

// delivery returns a stored delivery of an occurrence.
func (w *world) delivery(t *testing.T, o events.Occurrence, id deliveries.ID) deliveries.Delivery {
	t.Helper()
	for _, d := range w.made(t, o) {
		if d.ID == id {
			return d
		}
	}
	t.Fatalf("there is no delivery %d", id)
	return deliveries.Delivery{}
}

// idsOfJobs returns the ids of jobs.
func idsOfJobs(jobs []deliveries.Job) []deliveries.ID {
	ids := make([]deliveries.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids
}

func claimCases() cases {
	return cases{
		"IsHeldByOneUntilTheLeaseEnds": func(t *testing.T, w *world) {
			o := w.waiting(t, 5)
			first := w.claim(t, w.mine.mail, "one", 3, lease)
			assert.Len(t, first, 3)
			second := w.claim(t, w.mine.mail, "two", 10, lease)
			assert.Len(t, second, 2)
			assert.Empty(t, w.claim(t, w.mine.mail, "two", 10, lease))
			assert.Len(t, append(idsOfJobs(first), idsOfJobs(second)...), 5)
			for _, d := range w.made(t, o) {
				assert.Equal(t, deliveries.Sending, d.State)
			}
		},
		"DueAgainAfterTheLease": func(t *testing.T, w *world) {
			o := w.waiting(t, 3)
			dead := w.claim(t, w.mine.mail, "dead", 2, -time.Second)
			again := w.claim(t, w.mine.mail, "alive", 10, lease)
			assert.Len(t, again, 3)
			assert.Subset(t, idsOfJobs(again), idsOfJobs(dead))
			late := deliveries.Outcome{ID: dead[0].ID, State: deliveries.Sent, Attempts: 1}
			assert.Equal(t, 1, w.record(t, "dead", late), "it comes too late")
			late.Repeated = true
			assert.Equal(t, 1, w.record(t, "dead", late), "another one has it, and has not sent it")
			assert.Equal(t, deliveries.Sending, w.delivery(t, o, dead[0].ID).State)
			assert.Zero(t, w.record(t, "alive", deliveries.Outcome{ID: dead[0].ID, State: deliveries.Sent, Attempts: 1}))
			assert.Equal(t, deliveries.Sent, w.delivery(t, o, dead[0].ID).State)
		},
		"OnlyTheOwnerRenews": func(t *testing.T, w *world) {
			w.waiting(t, 3)
			held := idsOfJobs(w.claim(t, w.mine.mail, "one", 3, -time.Second))
			renew := func(owner string, ids []deliveries.ID, lease time.Duration) []deliveries.ID {
				renewed, err := w.Queue().Renew(t.Context(), owner, ids, lease)
				require.NoError(t, err)
				slices.Sort(renewed)
				return renewed
			}
			assert.Empty(t, renew("two", held, lease))
			assert.Equal(t, held[:1], renew("one", held[:1], lease))
			assert.Empty(t, renew("one", nil, lease))
			assert.Equal(t, held[1:], idsOfJobs(w.claim(t, w.mine.mail, "two", 10, lease)))
			assert.Equal(t, held[:1], renew("one", held, -lease), "the others were taken over")
			assert.Equal(t, held[:1], idsOfJobs(w.claim(t, w.mine.mail, "two", 10, lease)))
		},
		"TheLongestWaitingComeFirst": func(t *testing.T, w *world) {
			w.waiting(t, 4)
			ids := idsOfJobs(w.claim(t, w.mine.mail, "one", 4, lease))
			for i, id := range ids { // the last has waited longest
				w.record(t, "one", deliveries.Outcome{ID: id, State: deliveries.Retrying, Next: time.Now().Add(-time.Duration(i) * time.Minute), Attempts: 1})
			}
			for i := range ids {
				assert.Equal(t, ids[len(ids)-1-i], w.claim(t, w.mine.mail, "one", 1, lease)[0].ID)
			}
		},
		"NotDueWaits": func(t *testing.T, w *world) {
			w.waiting(t, 2)
			ids := idsOfJobs(w.claim(t, w.mine.mail, "one", 2, lease))
			next := time.Now().Add(time.Minute).Truncate(time.Microsecond)
			w.record(t, "one", deliveries.Outcome{ID: ids[0], State: deliveries.Retrying, Next: next, Attempts: 1},
				deliveries.Outcome{ID: ids[1], State: deliveries.Pending, Next: next.Add(time.Second)})
			assert.Empty(t, w.claim(t, w.mine.mail, "one", 2, lease))
			assert.WithinDuration(t, next, w.due(t, w.mine.mail), time.Second, "the first one counts")
		},
		"ChannelsAreApart": func(t *testing.T, w *world) {
			w.ready(t)
			w.add(t, w.mine.news, w.mine.adaByText.ID)
			w.trigger(t, w.mine.occurrence(nil, nil))
			assert.True(t, w.due(t, w.mine.mail).IsZero(), "nothing is expanded yet")
			w.expand(t, 100)
			for _, c := range []channels.Channel{w.mine.mail, w.mine.text} {
				assert.False(t, w.due(t, c).After(time.Now()))
			}
			assert.True(t, w.due(t, w.mine.shopMail).IsZero())
			texts := w.claim(t, w.mine.text, "one", 10, lease)
			assert.Len(t, texts, 1)
			assert.True(t, w.due(t, w.mine.text).After(time.Now()), "what is held is due when the lease ends")
			w.record(t, "one", deliveries.Outcome{ID: texts[0].ID, State: deliveries.Sent, Attempts: 1})
			assert.True(t, w.due(t, w.mine.text).IsZero())
			assert.Len(t, w.claim(t, w.mine.mail, "one", 10, lease), 2)
		},
		"FewLargeOnesAreClaimedAtOnce": func(t *testing.T, w *world) {
			const size, people, occurrences = 256 << 10, 3, 40
			w.crowded(t, people-1) // and Ada
			bytes := map[events.OccurrenceID]int{}
			for range occurrences {
				o := w.mine.occurrence(nil, nil)
				o.Context = events.Context(`"` + strings.Repeat("x", size-2) + `"`)
				bytes[w.trigger(t, o).ID] = size
			}
			w.expand(t, 1_000)
			var claimed []int
			for left := people * occurrences; left > 0; {
				jobs := w.claim(t, w.mine.mail, "one", 1_000, lease)
				loaded, seen := 0, map[events.OccurrenceID]bool{}
				for _, j := range jobs {
					if loaded += len(j.Recipient.Fields); !seen[j.Occurrence] {
						loaded += bytes[j.Occurrence]
					}
					seen[j.Occurrence] = true
				}
				assert.LessOrEqual(t, loaded, deliveries.ClaimBytes)
				require.NotEmpty(t, jobs)
				claimed = append(claimed, len(jobs))
				left -= len(jobs)
			}
			// Occurrences take turns. With so many contexts there is room for the fields of their
			// recipients, but not for one more context.
			assert.Equal(t, deliveries.ClaimBytes/size-1, claimed[0])
			assert.Len(t, claimed, 4)
		},
		"LargeRetriesLeaveRoomForOthers": func(t *testing.T, w *world) {
			w.crowded(t, 2) // and Ada
			for range 12 {
				o := w.mine.occurrence(nil, nil)
				o.Context = events.Context(`"` + strings.Repeat("x", 1<<20) + `"`)
				w.trigger(t, o)
			}
			w.expand(t, 1_000)
			var again []deliveries.Outcome
			for jobs := w.claim(t, w.mine.mail, "one", 1_000, lease); len(jobs) > 0; jobs = w.claim(t, w.mine.mail, "one", 1_000, lease) {
				for _, j := range jobs {
					again = append(again, deliveries.Outcome{ID: j.ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now().Add(-time.Hour)})
				}
			}
			w.record(t, "one", again...)
			fresh := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 1_000)
			claimed := map[bool]int{}
			for _, j := range w.claim(t, w.mine.mail, "one", 1_000, lease) {
				claimed[j.Occurrence == fresh.ID]++
			}
			assert.Equal(t, 3, claimed[true])
			assert.Positive(t, claimed[false])
			assert.Less(t, claimed[false], len(again), "their contexts do not fit")
		},
		"LargeRecipientsAreClaimedInSmallPages": func(t *testing.T, w *world) {
			const size, people = 64 << 10, 150
			w.crowded(t, people-1)
			act(t, w, func(tx ports.Tx) error {
				ms, err := tx.Users().List(t.Context(), w.mine.org.ID, 0, 1_000)
				for _, m := range ms {
					m.CustomFields = metadata.Map{"a": strings.Repeat("x", size-len(`{"a":""}`))}
					err = errors.Join(err, tx.Users().SaveFields(t.Context(), m))
				}
				return err
			})
			w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 1_000)
			assert.Len(t, w.claim(t, w.mine.mail, "one", 1_000, lease), deliveries.ClaimBytes/size-1, "beside the context")
			assert.Len(t, w.claim(t, w.mine.mail, "two", 1_000, lease), people-deliveries.ClaimBytes/size+1, "what was left out is claimed by others")
		},
		"TooLargeOneIsClaimedByItself": func(t *testing.T, w *world) {
			w.crowded(t, 1)
			o := w.mine.occurrence(nil, nil)
			o.Context = events.Context(`"` + strings.Repeat("x", deliveries.ClaimBytes) + `"`)
			w.trigger(t, o)
			w.expand(t, 1_000)
			assert.Len(t, w.claim(t, w.mine.mail, "one", 1_000, lease), 1)
			assert.Len(t, w.claim(t, w.mine.mail, "two", 1_000, lease), 1)
		},
		"ManyClaimWithoutDoubles": func(t *testing.T, w *world) {
			o := w.waiting(t, 300)
			seen := map[deliveries.ID]int{}
			for i, ids := range together(6, func(i int) (mine []deliveries.ID) {
				owner := string(rune('a' + i))
				for range 1_000 { // Rows that others have locked are passed over: empty hands do not mean that nothing is left.
					jobs, err := w.Queue().Claim(t.Context(), w.mine.mail.ID, owner, 7, lease)
					assert.NoError(t, err)
					var outcomes []deliveries.Outcome
					for _, j := range jobs {
						mine = append(mine, j.ID)
						outcomes = append(outcomes, deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1})
					}
					lost, err := w.Queue().Record(t.Context(), owner, outcomes)
					assert.NoError(t, err)
					assert.Zero(t, lost)
					if len(jobs) == 0 {
						break
					}
				}
				return mine
			}) {
				for _, id := range ids {
					seen[id]++
					assert.Equal(t, 1, seen[id], "worker %d", i)
				}
			}
			for _, j := range w.claim(t, w.mine.mail, "last", 300, lease) {
				seen[j.ID]++
				assert.Equal(t, 1, seen[j.ID])
				w.record(t, "last", deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1})
			}
			assert.Len(t, seen, 300)
			assert.Equal(t, map[deliveries.State]int{deliveries.Sent: 300}, w.counts(t, o))
		},
		"JobHasAllFields": func(t *testing.T, w *world) {
			w.ready(t)
			before := time.Now().Add(-time.Second)
			act(t, w, func(tx ports.Tx) error {
				bob := w.mine.bob
				bob.FirstName, bob.LastName = "Bob", "Builder"
				if err := tx.Users().SaveDetails(t.Context(), bob); err != nil {
					return err
				}
				bob.CustomFields = metadata.Map{"a": "b"}
				return tx.Users().SaveFields(t.Context(), bob)
			})
			o := w.trigger(t, w.mine.occurrence([]string{"bob@example.org"}, nil))
			w.expand(t, 10)
			j := only(w.claim(t, w.mine.mail, "one", 10, lease))
			assert.Equal(t, only(w.made(t, o)).ID, j.ID)
			assert.True(t, j.Created.After(before) && j.Created.Before(time.Now().Add(time.Second)))
			assert.Equal(t, w.templates(t, w.mine.order)[0].ID, j.Template)
			assert.JSONEq(t, `{"a":"b"}`, string(j.Recipient.Fields))
			if j.Of != nil {
				sameOccurrence(t, w.occurred(t, o), *j.Of)
			}
			j.Created, j.Recipient.Fields, j.Template, j.ID, j.Of = time.Time{}, nil, 0, 0, nil
			assert.Equal(t, deliveries.Job{Occurrence: o.ID, Notification: w.mine.shipped.ID, Event: w.mine.order.ID, Address: "bob@example.org",
				Gates: deliveries.Gates{AssignmentActive: true, AssignmentValidated: true, ChannelActive: true, ChannelAllowed: true, HasTemplate: true},
				Recipient: deliveries.Recipient{Member: int64(w.mine.bob.ID), Username: "bob@example.org",
					Details: users.Details{Email: "bob@example.org", FirstName: "Bob", LastName: "Builder"}}}, j)
		},
		"NotificationTemplateOverridesEventTemplate": func(t *testing.T, w *world) {
			w.ready(t)
			other := w.notify(t, w.mine.order, "Other")
			w.subscribe(t, other, w.mine.bobByMail, true)
			own := do(t, w, func(tx ports.Tx) (events.Template, error) {
				return tx.Subscriptions().SaveTemplate(t.Context(), other, events.Template{Channel: w.mine.mail.ID, Text: "of the notification"}, "eva")
			})
			o := w.trigger(t, w.mine.occurrence([]string{"bob@example.org"}, nil))
			w.expand(t, 10)
			texts := map[string]string{}
			for _, j := range w.claim(t, w.mine.mail, "one", 10, lease) {
				found, err := w.Queue().Occurrences(t.Context(), []events.OccurrenceID{1 << 40, j.Occurrence})
				require.NoError(t, err)
				require.Len(t, found, 1)
				sameOccurrence(t, w.occurred(t, o), found[0])
				l, err := w.Queue().RenderInput(t.Context(), found[0], j.Notification, j.Template)
				require.NoError(t, err)
				sameOccurrence(t, found[0], l.Occurrence)
				texts[l.Notification.Name] = l.Template.Text
				assert.Equal(t, l.Notification.ID == other.ID, j.Template == own.ID)
			}
			assert.Equal(t, map[string]string{"Shipped": "of the event", "Other": "of the notification"}, texts)
		},
	}
}
