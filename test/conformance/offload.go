package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// relieve offers a member waiting deliveries of another one, which keeps some. It returns how many
// the member took over.
func (w *world) relieve(t *testing.T, org orgs.ID, from, to channels.Channel, room, keep int) (n int) {
	t.Helper()
	transfers, err := w.Queue().Offload(t.Context(), org, from.ID, []channels.Offer{{To: to.ID, Capacity: room}}, keep, lease)
	require.NoError(t, err)
	for _, g := range transfers {
		assert.Equal(t, to.ID, g.To)
		n += g.Count
	}
	return n
}

func offloadCases() cases {
	return cases{
		"InOrder": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			o := w.waiting(t, 100)
			all := w.pooled(t, 100, 100)
			assert.Equal(t, 30, w.relieve(t, w.mine.org.ID, all[0], all[1], 30, 10))
			taken, kept := w.claim(t, all[1], "w", 1_000, lease), w.claim(t, all[0], "w", 1_000, lease)
			require.Len(t, taken, 30)
			require.Len(t, kept, 70)
			assert.Less(t, taken[29].ID, kept[0].ID, "they were the first, and keep their order")
			for _, j := range taken {
				assert.Empty(t, j.Gates.Closed())
				assert.Equal(t, deliveries.Choice{Why: channels.LimitReached, AssignedTo: "Mail", InsteadOf: "Mail"}, w.delivery(t, o, j.ID).Choice)
			}
		},
		"NoMoreThanItShallGive": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			w.waiting(t, 20)
			all := w.pooled(t, 100, 100)
			assert.Zero(t, w.relieve(t, w.theirs.org.ID, all[0], all[1], 10, 0), "in its organization only")
			assert.Zero(t, w.relieve(t, w.mine.org.ID, all[0], all[1], 10, 20))
			assert.Equal(t, 5, w.relieve(t, w.mine.org.ID, all[0], all[1], 10, 15))
			assert.Len(t, w.claim(t, all[0], "w", 1_000, lease), 15)
		},
		"BusyMemberGetsNone": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			w.waiting(t, 20)
			all := w.pooled(t, 100, 100)
			assert.Equal(t, 2, w.relieve(t, w.mine.org.ID, all[0], all[1], 2, 0))
			assert.Zero(t, w.relieve(t, w.mine.org.ID, all[0], all[1], 2, 0), "two wait for it")
			held := w.claim(t, all[1], "w", 2, lease)
			assert.Equal(t, 1, w.relieve(t, w.mine.org.ID, all[0], all[1], 3, 0), "what it sends does not wait, and takes room")
			w.record(t, "w", deliveries.Outcome{ID: w.claim(t, all[1], "w", 1, lease)[0].ID, State: deliveries.Sent, Attempts: 1},
				deliveries.Outcome{ID: held[0].ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now().Add(time.Hour)})
			assert.Equal(t, 1, w.relieve(t, w.mine.org.ID, all[0], all[1], 2, 0), "what it tries again later does not, either")
			w.record(t, "w", deliveries.Outcome{ID: w.claim(t, all[1], "w", 1, lease)[0].ID, State: deliveries.Sent, Attempts: 1},
				deliveries.Outcome{ID: held[1].ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now().Add(-time.Second)})
			assert.Zero(t, w.relieve(t, w.mine.org.ID, all[0], all[1], 1, 0), "what it tries again now does")
		},
		"SilentMemberGetsOne": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			w.waiting(t, 100)
			all := w.pooled(t, 100, 100)
			own := w.claim(t, all[0], "w", 10, lease)
			for _, j := range own { // What it has not from others at their limit takes no room.
				w.record(t, "w", deliveries.Outcome{ID: j.ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now(), To: all[1].ID, Why: channels.NotWorking})
			}
			require.Len(t, w.claim(t, all[1], "v", 100, lease), 10)
			rooms, now := channels.Capacities{}, time.Now()
			members, err := w.Queue().Pool(t.Context(), w.mine.org.ID, all[0].ID)
			require.NoError(t, err)
			var held []deliveries.Job
			give := func() (n int) {
				for range 8 {
					offers := rooms.Offers(members, all[0].ID, now)
					transfers, err := w.Queue().Offload(t.Context(), w.mine.org.ID, all[0].ID, offers, 0, lease)
					require.NoError(t, err)
					rooms.Record(offers, transfers, now)
					for _, g := range transfers {
						n += g.Count
					}
					held = append(held, w.claim(t, all[1], "v", 100, lease)...)
					now = now.Add(4 * time.Second)
				}
				return n
			}
			got := give()
			require.Positive(t, got)
			require.LessOrEqual(t, got, 32)
			for _, j := range held {
				w.record(t, "v", deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1})
			}
			assert.GreaterOrEqual(t, give(), got, "it has answered")
		},
		"MemberWithARateGetsWhatItBeginsSoon": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			w.waiting(t, 200)
			all := w.pooled(t, 100, 100)
			slow := func(rate channels.Rate) {
				all[1].Settings = channels.Settings{channels.SettingRatePerSecond: float64(rate)}
				w.saveChannel(t, all[1])
			}
			const rate = channels.Rate(0.01)
			slow(rate)
			require.Equal(t, 1, w.relieve(t, w.mine.org.ID, all[0], all[1], 32, 0))
			held := w.claim(t, all[1], "w", 10, lease)
			require.Len(t, held, 1)
			assert.Zero(t, w.relieve(t, w.mine.org.ID, all[0], all[1], 32, 0), "a worker holds it, and it has no slot yet")
			slots, err := w.Queue().TakeSlots(t.Context(), all[1].ID, rate, 1)
			require.NoError(t, err)
			require.Equal(t, 1, slots.Number)
			w.record(t, "w", deliveries.Outcome{ID: held[0].ID, State: deliveries.Sent, Attempts: 1})
			assert.Zero(t, w.relieve(t, w.mine.org.ID, all[0], all[1], 32, 0), "its next slot is 100 s away")
			slow(10)
			got := w.relieve(t, w.mine.org.ID, all[0], all[1], 32, 0)
			assert.InDelta(t, 20, got, 1, "within two seconds")
			require.Len(t, w.claim(t, all[1], "w", 100, lease), got)
			slow(1_000)
			assert.Equal(t, 10, w.relieve(t, w.mine.org.ID, all[0], all[1], got+10, 0), "it could begin more, but its capacity is smaller")
		},
		"AMemberThatMayNotHaveItGetsNone": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			w.waiting(t, 20)
			all := w.pooled(t, 100, 100, 100, 100, 0)
			w.down(t, all[1], -time.Second) // on trial
			all[2].Active = false
			w.saveChannel(t, all[2])
			all[3].Pool = "other"
			w.saveChannel(t, all[3])
			for _, to := range append(all, w.mine.shopMail, w.theirs.mail) {
				assert.Zero(t, w.relieve(t, w.mine.org.ID, all[0], to, 10, 0), to.Name)
			}
			require.NoError(t, w.Queue().ClearOutage(t.Context(), all[1].ID, "a"))
			assert.Equal(t, 10, w.relieve(t, w.mine.org.ID, all[0], all[1], 10, 0))
		},
		"ClaimedAndTriedStay": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			w.waiting(t, 20)
			all := w.pooled(t, 100, 100)
			held := w.claim(t, all[0], "w", 10, lease)
			for _, j := range held[:5] {
				w.record(t, "w", deliveries.Outcome{ID: j.ID, State: deliveries.Retrying, Attempts: 1, Next: time.Now().Add(-time.Second), Error: "451"})
			}
			assert.Equal(t, 10, w.relieve(t, w.mine.org.ID, all[0], all[1], 1_000, 0))
			moved := w.claim(t, all[1], "v", 1_000, lease)
			require.Len(t, moved, 10)
			for _, j := range moved {
				assert.Zero(t, j.Attempts)
				assert.Greater(t, j.ID, held[9].ID)
			}
			assert.Len(t, w.claim(t, all[0], "w", 1_000, lease), 5, "what is tried again")
		},
		"OneProjectDoesNotTakeAnothersTurn": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			projects := w.share(t, 2, 60)
			large := w.triggered(t, projects[0].occurrence(events.Normal, 0))
			small := w.triggered(t, projects[1].occurrence(events.Normal, 10))
			urgent := w.triggered(t, projects[0].occurrence(events.Urgent, 5))
			all := w.pooled(t, 100, 100)
			require.Equal(t, 20, w.relieve(t, w.mine.org.ID, all[0], all[1], 20, 0))
			took := map[events.OccurrenceID]int{}
			for _, j := range w.claim(t, all[1], "w", 1_000, lease) {
				took[j.Occurrence]++
			}
			assert.Equal(t, 5, took[urgent])
			assert.InDelta(t, took[large], took[small], 1)
			for i := range 3 { // Who got one less has the next turn.
				assert.Equal(t, 1, w.relieve(t, w.mine.org.ID, all[0], all[1], 21+i, 0))
				for _, j := range w.claim(t, all[1], "w", 1_000, lease) {
					took[j.Occurrence]++
				}
			}
			assert.Equal(t, 9, took[large])
			assert.Equal(t, 9, took[small])
		},
		"EachIsTakenOnceDuringClaims": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			w.waiting(t, 400)
			all := w.pooled(t, 100, 100)
			took := together(4, func(i int) (ids []deliveries.ID) {
				owner := string(rune('a' + i))
				for n := range 40 {
					if i%2 == 0 {
						_, err := w.Queue().Offload(t.Context(), w.mine.org.ID, all[0].ID, []channels.Offer{{To: all[1].ID, Capacity: 10 * (n + 1)}}, 0, lease)
						assert.NoError(t, err)
					}
					jobs, err := w.Queue().Claim(t.Context(), all[(i+1)%2].ID, owner, 10, lease)
					assert.NoError(t, err)
					for _, j := range jobs {
						ids = append(ids, j.ID)
					}
				}
				return ids
			})
			seen := map[deliveries.ID]bool{}
			for i, ids := range took {
				for _, id := range ids {
					assert.False(t, seen[id], "of %d", i)
					seen[id] = true
				}
			}
			for _, c := range all {
				for _, j := range w.claim(t, c, "z", 1_000, lease) {
					assert.False(t, seen[j.ID])
					seen[j.ID] = true
				}
			}
			assert.Len(t, seen, 400)
		},
	}
}
