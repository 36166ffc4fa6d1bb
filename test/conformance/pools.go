package conformance

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// pooled makes the organization's mail channel a member of a pool with a weight. It creates another
// member for each further weight.
func (w *world) pooled(t *testing.T, weight int, others ...int) []channels.Channel {
	t.Helper()
	first := w.mine.mail
	first.Pool, first.Weight = "post", weight
	w.saveChannel(t, first)
	all := []channels.Channel{first}
	for i, weight := range others {
		all = append(all, w.open(t, channels.Channel{Name: "Mail " + string(rune('B'+i)), Protocol: channels.EMAIL, Active: true, Pool: "post", Weight: weight}))
	}
	return all
}

func (w *world) saveChannel(t *testing.T, c channels.Channel) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), c) })
}

// through counts the deliveries of an occurrence by the name of their channel.
func (w *world) through(t *testing.T, o events.Occurrence) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, d := range w.made(t, o) {
		counts[d.Channel]++
	}
	return counts
}

func (w *world) down(t *testing.T, c channels.Channel, until time.Duration) {
	t.Helper()
	now := time.Now()
	require.NoError(t, w.Queue().ReportOutage(t.Context(), channels.Outage{Channel: c.ID, Instance: "a", Since: now, Last: now, Until: now.Add(until), Error: "x"}))
}

func (w *world) divert(t *testing.T, org orgs.ID, c channels.Channel, limit int) int {
	t.Helper()
	moved, err := w.Queue().Divert(t.Context(), org, c.ID, channels.NotWorking, limit)
	require.NoError(t, err)
	return moved
}

func poolCases() cases {
	return cases{
		"NewOnesFollowTheWeights": func(t *testing.T, w *world) {
			all := w.pooled(t, 80, 20)
			o := w.waiting(t, 1_000)
			counts := w.through(t, o)
			assert.InDelta(t, 800, counts["Mail"], 50)
			assert.InDelta(t, 200, counts["Mail B"], 50)
			for _, d := range w.made(t, o) {
				assert.Equal(t, deliveries.Choice{Why: channels.ByWeight, AssignedTo: "Mail"}, d.Choice)
			}
			jobs := w.claim(t, all[1], "w", 1_000, lease)
			require.Len(t, jobs, counts["Mail B"])
			for _, j := range jobs {
				assert.Empty(t, j.Gates.Closed(), "what its address is assigned to has a template")
				assert.NotZero(t, j.Template)
			}
			assert.Len(t, w.claim(t, all[0], "w", 1_000, lease), counts["Mail"])
		},
		"OneThatFailsOrIsSlowGetsLess": func(t *testing.T, w *world) {
			all := w.pooled(t, 50, 50)
			for range 200 {
				w.Queue().RecordAnswer(all[0].ID, false, 5*time.Second)
				w.Queue().RecordAnswer(all[1].ID, false, 50*time.Millisecond)
			}
			counts := w.through(t, w.waiting(t, 1_000))
			assert.Less(t, counts["Mail"], 200, "it is slow")
			assert.Positive(t, counts["Mail"])
			for range 2_000 {
				w.Queue().RecordAnswer(all[0].ID, false, 50*time.Millisecond)
				w.Queue().RecordAnswer(all[1].ID, true, time.Second)
			}
			assert.Less(t, w.through(t, w.waiting(t, 1_000))["Mail B"], 200, "it fails")
		},
		"TheDrawIsTheDomains": func(t *testing.T, w *world) {
			all := w.pooled(t, 37, 63)
			members, err := w.Queue().Pool(t.Context(), w.mine.org.ID, all[0].ID)
			require.NoError(t, err)
			ranges := channels.Ranges(members, 0, time.Now())
			o := w.waiting(t, 200)
			for _, d := range w.made(t, o) {
				assert.Equal(t, channels.Pick(ranges, channels.Hash(int64(d.Assignment), int64(o.ID))), d.ChannelID)
			}
		},
		"SmallOnesGoByWeight": func(t *testing.T, w *world) {
			w.pooled(t, 80, 20)
			w.write(t, w.mine.mail)
			counts := map[string]int{}
			var os []events.Occurrence
			for range 400 {
				os = append(os, w.trigger(t, w.mine.occurrence([]string{"ada@example.org"}, nil)))
			}
			w.expand(t, 1_000)
			for _, o := range os {
				for name, n := range w.through(t, o) {
					counts[name] += n
				}
			}
			assert.InDelta(t, 320, counts["Mail"], 32)
			assert.InDelta(t, 80, counts["Mail B"], 32)
		},
		"PausedMemberGetsNothingNew": func(t *testing.T, w *world) {
			all := w.pooled(t, 80, 20)
			w.down(t, all[0], time.Minute)
			assert.Equal(t, map[string]int{"Mail B": 100}, w.through(t, w.waiting(t, 100)))
			w.down(t, all[1], time.Minute)
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 1_000)
			assert.Len(t, w.through(t, o), 2, "where none works each has its share")
		},
		"UsedUpMembersShareTheRest": func(t *testing.T, w *world) {
			of := channels.Quota{PerMonth: 1}
			for _, c := range w.pooled(t, 80, 20) {
				for range 2 {
					_, err := w.Queue().TakeQuota(t.Context(), c.ID, of, 1, channels.Allowance{})
					require.NoError(t, err)
				}
			}
			assert.Len(t, w.through(t, w.waiting(t, 100)), 2)
		},
		"ReturningMemberRampsUp": func(t *testing.T, w *world) {
			all := w.pooled(t, 50, 50)
			w.down(t, all[0], -time.Second)
			assert.Less(t, w.through(t, w.waiting(t, 1_000))["Mail"], 50, "on trial")
			require.NoError(t, w.Queue().ClearOutage(t.Context(), all[0].ID, "a"))
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 1_000)
			assert.InDelta(t, 100, w.through(t, o)["Mail"], 60)
		},
		"MemberThatReturnsAfterARestartRampsUp": func(t *testing.T, w *world) {
			all := w.pooled(t, 50, 50)
			w.down(t, all[0], -time.Second)
			require.NoError(t, w.Queue().ClearOutage(t.Context(), all[0].ID, "of another name"))
			assert.InDelta(t, 100, w.through(t, w.waiting(t, 1_000))["Mail"], 60)
		},
		"MemberOfAnInstanceThatIsGoneRampsUp": func(t *testing.T, w *world) {
			all := w.pooled(t, 50, 50)
			w.down(t, all[0], -channels.TrialFor-channels.RampUpFor/2)
			assert.InDelta(t, 333, w.through(t, w.waiting(t, 1_000))["Mail"], 80)
		},
		"OthersTakeOverFromAnInactiveMember": func(t *testing.T, w *world) {
			all := w.pooled(t, 80, 20)
			all[0].Active = false
			w.saveChannel(t, all[0])
			o := w.waiting(t, 50)
			assert.Equal(t, map[string]int{"Mail B": 50}, w.through(t, o))
			assert.Empty(t, w.claim(t, all[1], "w", 1, lease)[0].Gates.Closed())
			all[1].Active = false
			w.saveChannel(t, all[1])
			assert.Equal(t, deliveries.ChannelInactive, w.claim(t, all[1], "w", 1, lease)[0].Gates.Closed())
			o = w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 1_000)
			for _, d := range w.made(t, o) {
				assert.Equal(t, deliveries.ChannelInactive, d.Reason)
			}
		},
		"OnlyOneProtocolAndPlace": func(t *testing.T, w *world) {
			w.pooled(t, 1)
			w.open(t, channels.Channel{Name: "T", Protocol: channels.SMS, Active: true, Pool: "post", Weight: 1_000})
			w.open(t, channels.Channel{Name: "P", Project: w.mine.shop.ID, Protocol: channels.EMAIL, Active: true, Pool: "post", Weight: 1_000})
			w.open(t, channels.Channel{Name: "O", Protocol: channels.EMAIL, Active: true, Pool: "other", Weight: 1_000})
			w.open(t, channels.Channel{Name: "N", Protocol: channels.EMAIL, Active: true, Weight: 1_000})
			assert.Equal(t, map[string]int{"Mail": 20}, w.through(t, w.waiting(t, 20)))
			members, err := w.Queue().Pool(t.Context(), w.mine.org.ID, w.mine.mail.ID)
			require.NoError(t, err)
			assert.Equal(t, []channels.Member{{ID: w.mine.mail.ID, Name: "Mail", Weight: 1, Active: true}}, members)
			members, err = w.Queue().Pool(t.Context(), w.theirs.org.ID, w.mine.mail.ID)
			require.NoError(t, err)
			assert.Empty(t, members)
		},
		"WaitingOnesAreDiverted": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			o := w.waiting(t, 300)
			all := w.pooled(t, 100, 75, 25)
			w.down(t, all[0], time.Minute)
			assert.Zero(t, w.divert(t, w.theirs.org.ID, all[0], 1_000), "in its organization only")
			assert.Equal(t, 100, w.divert(t, w.mine.org.ID, all[0], 100))
			assert.Equal(t, 200, w.divert(t, w.mine.org.ID, all[0], 1_000))
			assert.Zero(t, w.divert(t, w.mine.org.ID, all[0], 1_000))
			counts := w.through(t, o)
			assert.Equal(t, []string{"Mail B", "Mail C"}, slices.Sorted(maps.Keys(counts)))
			assert.InDelta(t, 225, counts["Mail B"], 30)
			for _, d := range w.made(t, o) {
				assert.Equal(t, deliveries.Choice{Why: channels.NotWorking, AssignedTo: "Mail", InsteadOf: "Mail"}, d.Choice)
			}
			first := w.claim(t, all[1], "w", 10, lease)
			assert.Len(t, first, 10)
			assert.Less(t, int64(first[9].ID-first[0].ID), int64(40), "those that were first go first")
			assert.Empty(t, first[0].Gates.Closed())
			assert.Equal(t, 300, look(t, w, func(tx ports.Tx) (map[deliveries.State]int, error) { return tx.Deliveries().Counts(t.Context(), o) })[deliveries.Pending]+10)
		},
		"ClaimedAndMaybeAcceptedStay": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			o := w.waiting(t, 5)
			all := w.pooled(t, 100, 100)
			held := w.claim(t, all[0], "w", 4, lease)
			now := time.Now()
			w.record(t, "w",
				deliveries.Outcome{ID: held[0].ID, State: deliveries.Retrying, Attempts: 1, Next: now, MaybeAccepted: true, Error: "no answer"},
				deliveries.Outcome{ID: held[1].ID, State: deliveries.Retrying, Attempts: 1, Next: now.Add(time.Hour), Error: "451"},
				deliveries.Outcome{ID: held[2].ID, State: deliveries.Retrying, Attempts: 1, Next: now.Add(-2 * deliveries.MaybeAcceptedFor), MaybeAccepted: true})
			w.down(t, all[0], time.Minute)
			assert.Equal(t, 2, w.divert(t, w.mine.org.ID, all[0], 1_000), "the one that was never tried, and the one in doubt for long")
			assert.Equal(t, "Mail", w.delivery(t, o, held[0].ID).Channel)
			assert.Equal(t, "Mail", w.delivery(t, o, held[1].ID).Channel)
			assert.Equal(t, "Mail B", w.delivery(t, o, held[2].ID).Channel)
			assert.Equal(t, deliveries.Retrying, w.delivery(t, o, held[2].ID).State)
			assert.Equal(t, "Mail", w.delivery(t, o, held[3].ID).Channel)
			assert.Zero(t, w.record(t, "w", deliveries.Outcome{ID: held[3].ID, State: deliveries.Sent, Attempts: 1}), "it is still theirs")
			again := w.claim(t, all[0], "w", 10, lease)
			require.Len(t, again, 1)
			assert.True(t, again[0].MaybeAccepted)
		},
		"OutcomeNamesTheNextMember": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			o := w.waiting(t, 2)
			all := w.pooled(t, 100, 100)
			held := w.claim(t, all[0], "w", 2, lease)
			w.record(t, "w", deliveries.Outcome{ID: held[0].ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now(), Error: "refused",
				To: all[1].ID, Why: channels.NotWorking}, deliveries.Outcome{ID: held[1].ID, State: deliveries.Sent, Attempts: 1})
			d := w.delivery(t, o, held[0].ID)
			assert.Equal(t, "Mail B", d.Channel)
			assert.Equal(t, deliveries.Choice{Why: channels.NotWorking, AssignedTo: "Mail", InsteadOf: "Mail"}, d.Choice)
			assert.Equal(t, deliveries.Choice{AssignedTo: "Mail"}, w.delivery(t, o, held[1].ID).Choice)
			jobs := w.claim(t, all[1], "w", 2, lease)
			require.Len(t, jobs, 1)
			assert.Equal(t, 1, jobs[0].Attempts)
			assert.Empty(t, jobs[0].Gates.Closed())
			w.record(t, "w", deliveries.Outcome{ID: jobs[0].ID, State: deliveries.Sent, Attempts: 2})
			assert.Equal(t, deliveries.Sent, w.delivery(t, o, jobs[0].ID).State)
		},
		"OptionsMayNameThePool": func(t *testing.T, w *world) {
			w.pooled(t, 100, 100)
			w.write(t, w.mine.mail, w.mine.text)
			w.subscribe(t, w.mine.shipped, w.mine.adaByText, true)
			stored := w.trigger(t, w.mine.occurrence(nil, []string{"post"}))
			w.expand(t, 10)
			made := w.made(t, stored)
			require.Len(t, made, 1)
			assert.Equal(t, channels.EMAIL, made[0].Protocol)
			unknown := look(t, w, func(tx ports.Tx) ([]events.Unknown, error) {
				return tx.Deliveries().Unknown(t.Context(), []events.Occurrence{w.mine.occurrence(nil, []string{"post", "nope"})})
			})
			assert.Equal(t, []string{"nope"}, unknown[0].Channels)
		},
		"AnEventMayNameThePool": func(t *testing.T, w *world) {
			all := w.pooled(t, 100)
			limited := w.mine.order
			limited.Pools = []events.Pool{{Name: "post", Protocol: channels.EMAIL}}
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			assert.Equal(t, limited, w.event(t, w.mine.web, "order"))
			w.write(t, w.mine.mail, w.mine.text)
			w.subscribe(t, w.mine.shipped, w.mine.adaByText, true)
			reasons := func(options ...string) map[string]deliveries.Reason {
				o := w.trigger(t, w.mine.occurrence(nil, options))
				w.expand(t, 10)
				found := map[string]deliveries.Reason{}
				for _, d := range w.made(t, o) {
					found[d.Channel] = d.Reason
				}
				return found
			}
			assert.Equal(t, map[string]deliveries.Reason{"Mail": "", "Text": deliveries.ChannelNotAllowed}, reasons())
			assert.Equal(t, map[string]deliveries.Reason{"Mail": ""}, reasons("post"))
			unknown := look(t, w, func(tx ports.Tx) ([]events.Unknown, error) {
				return tx.Deliveries().Unknown(t.Context(), []events.Occurrence{w.mine.occurrence(nil, []string{"post", "mail", "text"})})
			})
			assert.Equal(t, []string{"text"}, unknown[0].Channels)

			all[0].Pool = "other"
			w.saveChannel(t, all[0])
			assert.Equal(t, deliveries.ChannelNotAllowed, reasons()["Mail"], "it is no member any more")
			sms := w.mine.text
			sms.Pool = "post"
			w.saveChannel(t, sms)
			assert.Equal(t, deliveries.ChannelNotAllowed, reasons()["Text"], "a pool of another protocol is another one")
		},
		"AnEventKeepsItsPoolThroughDeletions": func(t *testing.T, w *world) {
			w.open(t, channels.Channel{Name: "A", Protocol: channels.EMAIL, Active: true, Pool: "spare"})
			first := w.open(t, channels.Channel{Name: "B", Project: w.mine.shop.ID, Protocol: channels.EMAIL, Active: true, Pool: "spare"})
			for _, c := range []channels.Channel{
				{Name: "C", Protocol: channels.SMS, Pool: "spare"}, {Name: "D", Project: w.mine.annex.ID, Protocol: channels.EMAIL, Pool: "spare"},
			} {
				w.open(t, c)
			}
			last := look(t, w, func(tx ports.Tx) (channels.Channel, error) {
				return tx.Channels().Find(t.Context(), w.mine.org.ID, 0, "A")
			})
			limited := w.mine.order
			limited.Pools = []events.Pool{{Name: "spare", Protocol: channels.EMAIL}}
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), first) })
			assert.Equal(t, limited, w.event(t, w.mine.web, "order"))
			for _, err := range []error{
				w.Update(t.Context(), func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), last) }),
				w.View(t.Context(), func(tx ports.Tx) error { return tx.Channels().PoolKept(t.Context(), last) }),
			} {
				require.ErrorIs(t, err, channels.ErrInUse)
				assert.Contains(t, err.Error(), "web/order")
			}
			theirs := last
			theirs.Organization = w.theirs.org.ID
			require.NoError(t, w.View(t.Context(), func(tx ports.Tx) error { return tx.Channels().PoolKept(t.Context(), theirs) }))
			limited.Pools = nil
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), last) })
		},
		"MemberWithBacklogIsNotDeleted": func(t *testing.T, w *world) {
			all := w.pooled(t, 0, 100)
			w.waiting(t, 3)
			gone := func() error {
				return w.Update(t.Context(), func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), all[1]) })
			}
			require.ErrorIs(t, gone(), channels.ErrInUse)
			all[0].Weight = 1
			w.saveChannel(t, all[0])
			assert.Equal(t, 3, w.divert(t, w.mine.org.ID, all[1], 10))
			require.NoError(t, gone())
		},
		"NotWhenItLeftThePool": func(t *testing.T, w *world) {
			all := w.pooled(t, 0, 100)
			o := w.waiting(t, 3)
			held := w.claim(t, all[1], "w", 1, lease)
			w.record(t, "w", deliveries.Outcome{ID: held[0].ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now().Add(time.Hour)})
			alone := all[1]
			alone.Pool = ""
			w.saveChannel(t, alone)
			gone := func() error {
				return w.Update(t.Context(), func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), alone) })
			}
			require.ErrorIs(t, gone(), channels.ErrInUse)
			for _, j := range w.claim(t, alone, "w", 3, lease) {
				assert.Empty(t, j.Gates.Closed())
				require.ErrorIs(t, gone(), channels.ErrInUse)
				w.record(t, "w", deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1})
			}
			require.ErrorIs(t, gone(), channels.ErrInUse, "one is tried again later")
			assert.Equal(t, "Mail B", w.delivery(t, o, held[0].ID).Channel)
		},
		"TakeoverMustStillBeInThePool": func(t *testing.T, w *world) {
			for name, leave := range map[string]func(t *testing.T, w *world, c channels.Channel){
				"Gone": func(t *testing.T, w *world, c channels.Channel) {
					act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), c) })
				},
				"Inactive": func(t *testing.T, w *world, c channels.Channel) {
					c.Active = false
					w.saveChannel(t, c)
				},
				"Elsewhere": func(t *testing.T, w *world, c channels.Channel) {
					c.Pool = "other"
					w.saveChannel(t, c)
				},
				"OfNone": func(t *testing.T, w *world, c channels.Channel) {
					c.Pool = ""
					w.saveChannel(t, c)
				},
			} {
				first := w.pooled(t, 100)[0]
				other := w.open(t, channels.Channel{Name: "Mail " + name, Protocol: channels.EMAIL, Active: true, Pool: "post"})
				o := w.waiting(t, 1)
				held := w.claim(t, first, "w", 1, lease)
				require.Len(t, held, 1, name)
				leave(t, w, other)
				out := deliveries.Outcome{ID: held[0].ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now(), Error: "refused", To: other.ID, Why: channels.NotWorking}
				assert.Zero(t, w.record(t, "w", out), name)
				d := w.delivery(t, o, held[0].ID)
				assert.Equal(t, "Mail", d.Channel, name)
				assert.Empty(t, d.Choice.InsteadOf, name)
				assert.Equal(t, "refused", d.LastError, name)
				again := w.claim(t, first, "w", 1, lease)
				require.Len(t, again, 1, name)
				assert.Empty(t, again[0].Gates.Closed(), name)
				assert.Equal(t, 1, again[0].Attempts, name)
				w.record(t, "w", deliveries.Outcome{ID: held[0].ID, State: deliveries.Sent, Attempts: 2})
			}
		},
	}
}
