package delivery_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
)

func (q *fakeQueue) Offload(_ context.Context, _ orgs.ID, from channels.ID, offers []channels.Offer, keep int, _ time.Duration) ([]channels.Transfer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if from == 1 {
		q.keeps = append(q.keeps, keep)
	}
	var waits []*queued
	for _, r := range slices.Clone(q.byChannel[from]) {
		if r.state == deliveries.Pending && r.job.Attempts == 0 {
			if q.foreign(r) {
				q.moveTo(r, r.job.Named, channels.LimitReached)
				continue
			}
			waits = append(waits, r)
		}
	}
	able := slices.DeleteFunc(slices.Clone(offers), func(o channels.Offer) bool {
		return slices.ContainsFunc(q.byChannel[o.To], func(r *queued) bool { return r.state.Open() && !r.next.After(time.Now()) })
	})
	for i := range able {
		for _, r := range q.byChannel[able[i].To] {
			if r.given && r.state == deliveries.Sending {
				able[i].Held++
			}
		}
	}
	transfers := channels.Transfers(able, len(waits), keep)
	for _, g := range transfers {
		for _, r := range waits[:g.Count] {
			q.moveTo(r, g.To, channels.LimitReached)
			r.given = true
		}
		waits = waits[g.Count:]
		q.relieved += g.Count
	}
	return transfers, q.away
}

// between creates a pool of the channel with the id 1 and another one. n deliveries wait, half of
// them for each.
func between(n int, limits, others channels.Settings) (q *fakeQueue, second channels.ID) {
	q = newFakeQueue(n/2, limits)
	second = q.pooled()
	c := q.others[second]
	c.Settings = others
	q.others[second] = c
	for range n / 2 {
		q.addTo(second, "a@b.example")
	}
	return q, second
}

// TestOffloadTransfers is about 2,000 messages of a pool. Half of them wait for a member that may
// send 20 a second: alone it would need 50 seconds.
func TestOffloadTransfers(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]channels.Settings{
		"Rate":        {channels.SettingRatePerSecond: 20},
		"Concurrency": {channels.SettingConcurrency: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, second := between(2_000, limits, nil)
				var sent taken
				d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
					if c == 1 {
						let(50 * time.Millisecond) // One attempt at a time makes 20 a second.
					}
					sent.take(c, m)
					return nil
				}}
				work(t, q, d, plainComposer{}, settings(), func() { let(8 * time.Second) })
				assert.Equal(t, 2_000, sent.by(1)+sent.by(second), "all within the time that the free one needs")
				assert.Equal(t, 2_000, q.count(deliveries.Sent), "each once")
				assert.Greater(t, sent.by(1), 40, "the one at its limit sends meanwhile")
				assert.Less(t, sent.by(1), 170, "and not more than it may")
			})
		})
	}
}

// TestRateWithSlowProvider is about members of a pool with a rate limit and a slow provider:
// attempts in progress do not count against the limit of claims.
func TestRateWithSlowProvider(t *testing.T) {
	t.Parallel()
	for rate, least := range map[int]int{20: 560, 1: 28} {
		t.Run(strconv.Itoa(rate), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				limits := channels.Settings{channels.SettingRatePerSecond: float64(rate), channels.SettingConcurrency: 100}
				q, second := between(2_000, limits, limits)
				var left [2]leaving
				d := fakeDriver{through: func(_ context.Context, c channels.ID, _ deliveries.Message) error {
					left[c-1].note()
					let(3 * time.Second)
					return nil
				}}
				require.EqualValues(t, 2, second)
				work(t, q, d, plainComposer{}, settings(), func() {
					let(5 * time.Second)
					began := time.Now()
					let(30 * time.Second)
					for i := range left {
						n := left[i].between(began, time.Now())
						assert.GreaterOrEqual(t, n, least)
						assert.LessOrEqual(t, n, 30*rate+1)
					}
				})
			})
		})
	}
}

// TestKeepCount is about several instances that send through a member at its limit. Each counts the
// messages of all instances, so none gives away more because it has only a part of the limit.
func TestKeepCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits channels.Settings
		least  int
		most   int
	}{
		"Rate":        {channels.Settings{channels.SettingRatePerSecond: 20}, 20, 20},
		"SlowRate":    {channels.Settings{channels.SettingRatePerSecond: 0.6}, 1, 1},
		"Concurrency": {channels.Settings{channels.SettingConcurrency: 2}, 30, 60}, // Each attempt makes 20 a second.
		"OnePlace":    {channels.Settings{channels.SettingConcurrency: 1}, 15, 30},
		"Both":        {channels.Settings{channels.SettingConcurrency: 2, channels.SettingRatePerSecond: 20}, 15, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, _ := between(4_000, c.limits, channels.Settings{channels.SettingRatePerSecond: 1}) // The other one is not idle.
				d := fakeDriver{through: func(context.Context, channels.ID, deliveries.Message) error {
					let(50 * time.Millisecond)
					return nil
				}}
				set := settings()
				set.Owner = "w2"
				work(t, q, d, plainComposer{}, settings(), func() {
					work(t, q, d, plainComposer{}, set, func() {
						let(15 * time.Second)
						q.set(func(q *fakeQueue) { q.keeps = nil })
						let(20 * time.Second)
						q.set(func(q *fakeQueue) {
							assert.GreaterOrEqual(t, len(q.keeps), 9, "somebody looks each 2 seconds")
							assert.GreaterOrEqual(t, slices.Min(q.keeps), c.least)
							assert.LessOrEqual(t, slices.Max(q.keeps), c.most)
						})
					})
				})
			})
		})
	}
}

func TestNotTakenOver(t *testing.T) {
	t.Parallel()
	rate := channels.Settings{channels.SettingRatePerSecond: 20}
	for name, change := range map[string]func(q *fakeQueue, second channels.ID){
		"WithoutLimit": func(q *fakeQueue, _ channels.ID) { q.channel.Settings = nil },
		"WithoutAPool": func(q *fakeQueue, second channels.ID) {
			c := q.others[second]
			q.channel.Pool, c.Pool = "", ""
			q.others[second] = c
		},
		"ByOneWithoutWeight": func(q *fakeQueue, second channels.ID) {
			c := q.others[second]
			c.Weight = 0
			q.others[second] = c
		},
		"ByOneOnTrial": func(q *fakeQueue, second channels.ID) {
			q.outages = append(q.outages, channels.Outage{Channel: second, Until: time.Now().Add(-time.Second), Error: "x"})
		},
		"ByAnInactiveOne": func(q *fakeQueue, second channels.ID) {
			c := q.others[second]
			c.Active = false
			q.others[second] = c
		},
		"TriedBefore": func(q *fakeQueue, _ channels.ID) {
			for _, r := range q.byChannel[1] {
				r.state, r.job.Attempts = deliveries.Retrying, 1
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(100, rate)
				change(q, q.pooled())
				var sent taken
				work(t, q, sent.driver(), plainComposer{}, settings(), func() { let(10 * time.Second) })
				assert.Zero(t, q.relieved)
				assert.Equal(t, 100, sent.by(1))
			})
		})
	}
}

// TestDivertFromDeletedMember is about deliveries that wait for a channel that was deleted after
// they were assigned to it.
func TestDivertFromDeletedMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(50, nil)
		second := q.pooled()
		q.noChannel, q.channel.Active = channels.ErrNotFound, false
		for _, r := range q.rows {
			r.job.Gates.ChannelActive = false
		}
		var sent taken
		work(t, q, sent.driver(), plainComposer{}, settings(), func() { let(10 * time.Second) })
		assert.Equal(t, 50, sent.by(second))
	})
}
