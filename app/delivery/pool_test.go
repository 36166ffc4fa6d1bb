package delivery_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
)

// pooled creates a pool of the channel with the id 1 and another one, and returns the id of the
// other one.
func (q *fakeQueue) pooled() channels.ID {
	q.channel.Pool, q.channel.Weight = "mail", 80
	id := q.open(0, channels.EMAIL, nil)
	c := q.others[id]
	c.Pool, c.Weight = "mail", 20
	q.others[id] = c
	return id
}

// moveTo moves a delivery to another channel. The caller holds mu.
func (q *fakeQueue) moveTo(r *queued, c channels.ID, why channels.PoolReason) {
	if r.job.FailedAt = 0; why == channels.NotWorking {
		r.job.FailedAt = r.channel
	}
	switch r.job.Named {
	case c:
		r.job.Named, r.job.Assigned = 0, 0
	case 0:
		r.job.Named = r.channel
	}
	q.byChannel[r.channel] = slices.DeleteFunc(q.byChannel[r.channel], func(had *queued) bool { return had == r })
	r.channel, q.byChannel[c] = c, append(q.byChannel[c], r)
	r.job.Gates.ChannelActive = c == 1 && q.channel.Active || q.others[c].Active
}

// members returns the pool. The caller holds mu.
func (q *fakeQueue) members() []channels.Member {
	all := []channels.Channel{q.channel}
	for _, id := range slices.Sorted(maps.Keys(q.others)) {
		all = append(all, q.others[id])
	}
	var found []channels.Member
	for _, c := range all {
		if c.Pool != "" {
			m := channels.Member{ID: c.ID, Weight: c.Weight, Active: c.Active, Quality: q.answered[c.ID]}
			if c.ID == 1 {
				m.UsedUp = q.usedUp
			}
			for _, o := range q.outages {
				if o.Channel == c.ID {
					m.Until = o.Until
				}
			}
			found = append(found, m)
		}
	}
	return found
}

func (q *fakeQueue) Pool(context.Context, orgs.ID, channels.ID) ([]channels.Member, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.members(), cmp.Or(q.noPool, q.away)
}

func (q *fakeQueue) RecordAnswer(c channels.ID, fault bool, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.answered == nil {
		q.answered = map[channels.ID]channels.Quality{}
	}
	q.answered[c] = q.answered[c].With(fault, took, time.Now())
}

// foreign reports whether the channel of a delivery's assignment is not in the pool. The caller
// holds mu.
func (q *fakeQueue) foreign(r *queued) bool {
	return r.job.Named != 0 && !channels.Contains(q.members(), r.job.Named)
}

// successor returns the channel that takes over a delivery. The caller holds mu.
func (q *fakeQueue) successor(r *queued) channels.ID {
	if q.foreign(r) {
		return r.job.Assigned
	}
	return channels.Successor(q.members(), r.channel, r.job.FailedAt, int64(r.job.ID), time.Now())
}

func (q *fakeQueue) Divert(_ context.Context, _ orgs.ID, from channels.ID, why channels.PoolReason, limit int) (moved int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.diverted = append(q.diverted, why)
	for _, r := range slices.Clone(q.byChannel[from]) {
		waits := r.state == deliveries.Pending || r.state == deliveries.Retrying && !r.next.After(time.Now())
		if to := q.successor(r); to != 0 && waits && !r.job.MaybeAccepted && moved < limit {
			q.moveTo(r, to, why)
			moved++
		}
	}
	return moved, q.away
}

// TestPoolFailureKeepsChange checks that changed settings are used although the pool could not be
// read together with them.
func TestPoolFailureKeepsChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, channels.Settings{"host": "old"})
		q.pooled()
		var opened []any
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil },
			opened: func(c channels.Channel) { opened = append(opened, c.Settings["host"]) }}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(5500 * time.Millisecond)
			q.set(func(q *fakeQueue) {
				q.noPool, q.channel.Settings = errors.New("the store is away"), channels.Settings{"host": "new"}
				q.add()
			})
			let(2 * time.Second)
			q.set(func(q *fakeQueue) { q.noPool = nil })
			let(5 * time.Second)
		})
		require.Equal(t, 2, q.count(deliveries.Sent))
		assert.Equal(t, []any{"old", "new"}, opened)
	})
}

// taken counts what providers took, by channel and message.
type taken struct {
	mu  sync.Mutex
	all map[channels.ID]map[string]int
}

func (t *taken) take(c channels.ID, m deliveries.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[channels.ID]map[string]int{}
	}
	if t.all[c] == nil {
		t.all[c] = map[string]int{}
	}
	t.all[c][m.ID]++
}

// driver returns a driver that accepts every message.
func (t *taken) driver() fakeDriver {
	return fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
		t.take(c, m)
		return nil
	}}
}

func (t *taken) by(c channels.ID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all[c])
}

func TestFailover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(8_000, nil)
		second := q.pooled()
		var sent taken
		var dead atomic.Bool
		d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
			let(10 * time.Millisecond)
			if c == 1 && dead.Load() {
				return deliveries.Unreachable("the connection was refused")
			}
			sent.take(c, m)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(2 * time.Second)
			require.Zero(t, sent.by(second), "what is assigned to the first one waits for it")
			dead.Store(true)
			let(2 * time.Second)
			assert.Greater(t, sent.by(second), 500, "the other one has taken over")
			q.set(func(q *fakeQueue) {
				waiting := 0
				for _, r := range q.byChannel[1] {
					if r.state.Open() && !r.job.MaybeAccepted {
						waiting++
					}
				}
				assert.LessOrEqual(t, waiting, 16)
			})
			let(time.Minute)
		})
		require.Equal(t, 8_000, q.count(deliveries.Sent))
		require.Equal(t, 8_000, sent.by(1)+sent.by(second), "each once")
		for _, r := range q.rows {
			assert.LessOrEqual(t, r.outcome.Attempts, 2)
		}
	})
}

func TestRetryMember(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []error // of the first provider
		want    []channels.ID
		within  time.Duration
	}{
		"TheSameAfterAnAnswerAboutTheRecipient": {[]error{deliveries.Postponed("451 greylisted")}, []channels.ID{1, 1}, 15 * time.Second},
		"AnotherAfterAFailureOfTheChannel":      {[]error{deliveries.Unreachable("refused")}, []channels.ID{1, 2}, time.Second},
		"SameAgainIfPossiblyAccepted": {[]error{deliveries.Unreachable("no answer").WithMaybeAccepted(true), deliveries.Unreachable("refused")},
			[]channels.ID{1, 1, 2}, time.Minute},
		"TheSameWhereItTakesItThen": {[]error{deliveries.Unreachable("no answer").WithMaybeAccepted(true)}, []channels.ID{1, 1}, 15 * time.Second},
		"NoneAfterARefusal":         {[]error{deliveries.Refused("550")}, []channels.ID{1}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(1, nil)
				q.pooled()
				var mu sync.Mutex
				var asked []channels.ID
				d := fakeDriver{through: func(_ context.Context, through channels.ID, _ deliveries.Message) error {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, through)
					if through == 1 && len(asked) <= len(c.answers) {
						return c.answers[len(asked)-1]
					}
					return nil
				}}
				work(t, q, d, plainComposer{}, settings(), func() { let(c.within) })
				assert.Equal(t, c.want, asked)
			})
		})
	}
}

func TestOffloadAtLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(200, channels.Settings{channels.SettingConcurrency: 1})
		second := q.pooled()
		var sent taken
		d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
			let(10 * time.Millisecond)
			if c == 1 {
				failed := deliveries.Unreachable("answered 429")
				failed.RetryAfter = 10 * time.Minute
				return failed
			}
			sent.take(c, m)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(10 * time.Second) })
		require.Equal(t, 200, sent.by(second))
		tried := 0
		for _, r := range q.rows {
			if r.outcome.Attempts == 2 {
				tried++
			}
		}
		assert.Equal(t, 1, tried, "it was asked once")
		assert.Contains(t, q.diverted, channels.LimitReached)
	})
}

func TestDivertFromInactiveMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(2_500, nil)
		second := q.pooled()
		q.channel.Active = false
		for _, r := range q.rows {
			r.job.Gates.ChannelActive = r.job.ID%2 == 0 // Some are claimed before the sender knows.
		}
		var sent taken
		work(t, q, sent.driver(), plainComposer{}, settings(), func() {
			let(time.Second)
			q.set(func(q *fakeQueue) {
				for _, r := range q.rows {
					r.job.Gates.ChannelActive = true
				}
			})
			let(time.Minute)
		})
		assert.Equal(t, 2_500, sent.by(second))
	})
}

func TestDivertWaitsForPausedMembers(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]time.Duration{"Shortly": 30 * time.Second, "Long": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(50, nil)
				second := q.pooled()
				q.channel.Active = false
				for _, r := range q.rows {
					r.job.Gates.ChannelActive = false
				}
				q.outages = append(q.outages, channels.Outage{Channel: second, Instance: "b", Until: time.Now().Add(rest)})
				var sent taken
				work(t, q, sent.driver(), plainComposer{}, settings(), func() {
					let(20 * time.Second)
					assert.Zero(t, q.count(deliveries.Skipped))
					assert.Zero(t, sent.by(second))
					q.set(func(q *fakeQueue) { assert.Less(t, q.givenBack, 151, "it does not look again and again") })
					if rest == time.Hour {
						require.NoError(t, q.ClearOutage(t.Context(), second, "b"))
					}
					let(2 * time.Minute)
				})
				assert.Equal(t, 50, sent.by(second))
			})
		})
	}
}

func TestDivertMaybeAcceptedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(5, nil)
		second := q.pooled()
		q.channel.Active = false
		for _, r := range q.rows {
			r.job.Gates.ChannelActive, r.job.MaybeAccepted, r.job.Attempts, r.state = false, true, 1, deliveries.Retrying
		}
		var sent taken
		work(t, q, sent.driver(), plainComposer{}, settings(), func() {
			let(deliveries.MaybeAcceptedFor - 5*time.Second)
			assert.Zero(t, sent.by(second))
			assert.Zero(t, q.count(deliveries.Skipped))
			let(time.Minute)
		})
		assert.Equal(t, 5, sent.by(second))
	})
}

func TestAllMembersInactive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(5, nil)
		second := q.pooled()
		c := q.others[second]
		c.Active, q.channel.Active = false, false
		q.others[second] = c
		for _, r := range q.rows {
			r.job.Gates.ChannelActive = false
		}
		work(t, q, fakeDriver{}, plainComposer{}, settings(), func() { let(10 * time.Second) })
		assert.Equal(t, 5, q.count(deliveries.Skipped))
	})
}

func TestNoMemberWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, nil)
		second := q.pooled()
		var sent taken
		var works atomic.Bool
		var tries atomic.Int32
		d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
			if !works.Load() {
				tries.Add(1)
				return deliveries.Unreachable("the connection was refused")
			}
			sent.take(c, m)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(10 * time.Minute)
			assert.Zero(t, q.count(deliveries.Failed))
			assert.Less(t, tries.Load(), int32(150), "nothing goes to and fro")
			works.Store(true)
			let(3 * time.Hour)
		})
		require.Equal(t, 100, sent.by(1)+sent.by(second))
		require.Equal(t, 100, q.count(deliveries.Sent))
	})
}

func TestHangingTrial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(50, nil)
		second := q.pooled()
		var sent taken
		var began atomic.Pointer[time.Time]
		d := fakeDriver{through: func(_ context.Context, c channels.ID, m deliveries.Message) error {
			if c != 1 {
				sent.take(c, m)
				return nil
			}
			if began.Load() != nil {
				let(29 * time.Second)
			}
			return deliveries.Unreachable("the connection was refused")
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(3 * time.Second)
			require.Equal(t, 50, sent.by(second))
			now := time.Now()
			began.Store(&now)
			let(4 * time.Second) // The others have left.
			q.set(func(q *fakeQueue) {
				for range 50 {
					q.add()
				}
			})
			q.added <- struct{}{}
			let(3 * time.Second)
			assert.GreaterOrEqual(t, sent.by(second), 99, "all but the one that is tried")
			let(time.Minute)
		})
		assert.Equal(t, 100, sent.by(second))
	})
}
