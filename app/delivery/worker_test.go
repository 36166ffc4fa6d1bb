package delivery_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/mocks"
)

func settings() delivery.Settings {
	return delivery.Settings{Owner: "w1", Instance: "host:1", Retry: deliveries.Retry{Base: 10 * time.Second, Max: time.Hour, For: 24 * time.Hour},
		Lease: time.Minute, SendTimeout: 30 * time.Second, Unrecorded: 500, Poll: time.Second}
}

// let lets time pass in the bubble of a test.
func let(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // Time is synctest's: it takes none.

// work runs a worker in a bubble until then returns, and stops it.
func work(t *testing.T, q deliveries.Queue, d fakeDriver, c delivery.Composer, set delivery.Settings, then func()) {
	t.Helper()
	workAt(t, clocks.Wall{}, q, d, c, set, then)
}

func workAt(t *testing.T, clock ports.Clock, q deliveries.Queue, d fakeDriver, c delivery.Composer, set delivery.Settings, then func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := delivery.NewWorker(q, delivery.Drivers{d}, c, clock, slog.New(slog.DiscardHandler), set)
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	then()
	stop()
	running.Wait()
}

func TestWorkerSendsEveryDeliveryOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(5_000, nil)
		var mu sync.Mutex
		seen := map[string]int{}
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			mu.Lock()
			defer mu.Unlock()
			seen[m.ID]++
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Minute) })
		require.Equal(t, 5_000, q.count(deliveries.Sent))
		require.Len(t, seen, 5_000)
	})
}

// TestWorkerSendsWhatItExpanded is about the channels that an expansion returns: the queue is not
// queried for them.
func TestWorkerSendsWhatItExpanded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		q.unseen = true
		q.expansions = []deliveries.Expansion{{Deliveries: 1, Due: []deliveries.Due{{Channel: 1, At: time.Now()}}, Completed: 1}}
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Millisecond) })
		require.Equal(t, deliveries.Sent, q.row(1).state)
	})
}

// expansionTimes is a queue that records when expansions ended.
type expansionTimes struct {
	*fakeQueue
	at []time.Time
}

func (q *expansionTimes) Expand(ctx context.Context, part deliveries.ExpansionPart, limit int) (deliveries.Expansion, error) {
	done, err := q.fakeQueue.Expand(ctx, part, limit)
	if err == nil {
		q.at = append(q.at, time.Now())
	}
	return done, err
}

// TestClaimsBetweenPages checks that the messages of small occurrences are claimed before the next
// page of a large one, and that nothing else waits.
func TestClaimsBetweenPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &expansionTimes{fakeQueue: newFakeQueue(0, nil)}
		page := deliveries.Expansion{Deliveries: 5_000}
		set := deliveries.Expansion{Deliveries: 1, Due: []deliveries.Due{{Channel: 1, At: time.Now()}}, Completed: 1}
		q.expansions = []deliveries.Expansion{page, page, set, set, page, set, page}
		began := time.Now()
		work(t, q, fakeDriver{}, plainComposer{}, settings(), func() { let(time.Second) })
		var after []time.Duration
		for _, at := range q.at {
			after = append(after, at.Sub(began).Round(time.Millisecond))
		}
		rest := 5 * time.Millisecond
		require.Equal(t, []time.Duration{0, 0, 0, rest, rest, rest, 2 * rest}, after)
	})
}

// TestWorkerNotifiesAfterExpansion is about notifications, which may be about an occurrence or
// about a delivery.
func TestWorkerNotifiesAfterExpansion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(0, nil)
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(500 * time.Millisecond) // Nobody looks by himself yet.
			asked := q.looks()
			q.mu.Lock()
			q.add()
			q.mu.Unlock()
			q.added <- struct{}{}
			let(time.Millisecond)
			require.Equal(t, deliveries.Sent, q.row(1).state)
			require.Greater(t, q.looks(), asked)
		})
	})
}

func TestWorkerOutcomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer   error
		state    deliveries.State
		attempts int
	}{
		"Sent":                        {nil, deliveries.Sent, 1},
		"RefusedIsFailed":             {deliveries.Refused("550 no such mailbox"), deliveries.Failed, 1},
		"PostponedRetries":            {deliveries.Postponed("451 greylisted"), deliveries.Retrying, 1},
		"AnUnknownFaultOfOursRetries": {errors.New("boom"), deliveries.Retrying, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(1, nil)
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return c.answer }}
				work(t, q, d, plainComposer{}, settings(), func() { let(time.Second) })
				row := q.row(1)
				require.Equal(t, c.state, row.state)
				require.Equal(t, c.attempts, row.outcome.Attempts)
				if c.answer != nil {
					require.Equal(t, c.answer.Error(), row.outcome.Error)
				}
			})
		})
	}
}

func TestWorkerRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		provider := mocks.NewDispatcher(gomock.NewController(t))
		gomock.InOrder(
			provider.EXPECT().Dispatch(gomock.Any(), gomock.Any()).Return(deliveries.Postponed("later")).Times(3),
			provider.EXPECT().Dispatch(gomock.Any(), gomock.Any()).Return(nil),
		)
		work(t, q, fakeDriver{dispatch: provider.Dispatch}, plainComposer{}, settings(), func() { let(5 * time.Minute) })
		require.Equal(t, deliveries.Sent, q.row(1).state)
		require.Equal(t, 4, q.row(1).outcome.Attempts)
	})
}

func TestWorkerClosedGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(2, nil)
		q.rows[1].job.Gates.MemberLocked = true
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Second) })
		require.Equal(t, deliveries.Skipped, q.row(1).state)
		require.Equal(t, deliveries.MemberLocked, q.row(1).outcome.Reason)
		require.Equal(t, deliveries.Sent, q.row(2).state)
	})
}

// TestWorkerRechecksBeforeAttempt is about deliveries that wait for their turn while a user cancels
// the occurrence, or it expires.
func TestWorkerRechecksBeforeAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(q *fakeQueue)
		want deliveries.Reason
	}{
		"Expired": {func(q *fakeQueue) {
			for _, r := range q.rows {
				r.job.Expires = time.Now().Add(2500 * time.Millisecond)
			}
		}, deliveries.Expired},
		"Cancelled": {func(q *fakeQueue) {
			time.AfterFunc(2200*time.Millisecond, func() {
				q.mu.Lock()
				defer q.mu.Unlock()
				q.cancelled = []events.OccurrenceID{7}
			})
		}, deliveries.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(10, channels.Settings{"rate_per_second": 1})
				for _, r := range q.rows {
					r.job.Occurrence = 7
				}
				c.end(q)
				set := settings()
				set.Poll = 700 * time.Millisecond
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
				work(t, q, d, plainComposer{}, set, func() {
					let(30 * time.Second)
					q.set(func(q *fakeQueue) {
						require.Equal(t, []events.OccurrenceID{7}, slices.Compact(q.askedAbout))
						q.askedAbout = nil
					})
					let(30 * time.Second)
				})
				require.Empty(t, q.askedAbout, "nothing is held any more")
				require.Equal(t, 3, q.count(deliveries.Sent), "what left before stays sent")
				require.Equal(t, 7, q.count(deliveries.Skipped))
				for _, r := range q.rows {
					if r.state == deliveries.Skipped {
						require.Equal(t, c.want, r.outcome.Reason)
						require.Zero(t, r.outcome.Attempts)
					}
				}
			})
		})
	}
}

// TestWorkerDoesNotExpireByItsOwnClock is about a machine whose clock jumps: whether a message has
// expired is decided by the database's clock.
func TestWorkerDoesNotExpireByItsOwnClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(10, channels.Settings{"rate_per_second": 1})
		for _, r := range q.rows {
			r.job.Expires = time.Now().Add(30 * time.Minute)
		}
		clock := &jumping{}
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		workAt(t, clock, q, d, plainComposer{}, settings(), func() {
			let(2500 * time.Millisecond)
			require.Equal(t, 3, q.count(deliveries.Sent))
			clock.ahead.Store(int64(time.Hour))
			let(5 * time.Second)
			require.Equal(t, 3, q.count(deliveries.Sent))
			require.Equal(t, 7, q.count(deliveries.Pending))
		})
	})
}

// jumping is a clock that can jump.
type jumping struct{ ahead atomic.Int64 }

func (c *jumping) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func TestWorkerRenderError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { panic("must not be sent") }}
		work(t, q, d, plainComposer{fail: true}, settings(), func() { let(time.Second) })
		require.Equal(t, deliveries.Failed, q.row(1).state)
		require.Contains(t, q.row(1).outcome.Error, "line 3")
		require.Zero(t, q.row(1).outcome.Attempts)
	})
}

func TestWorkerDriverPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { panic("nil map") }}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Second) })
		require.Equal(t, deliveries.Retrying, q.row(1).state)
		require.Contains(t, q.row(1).outcome.Error, "the driver panicked")
	})
}

func TestWorkerRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, channels.Settings{channels.SettingRatePerSecond: 2})
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		work(t, q, d, plainComposer{}, settings(), func() { let(20 * time.Second) })
		require.InDelta(t, 40, q.count(deliveries.Sent), 3)
		require.Zero(t, q.count(deliveries.Sending), "what was claimed and not begun is given back")
	})
}

func TestWorkerConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 3})
		var now, most atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			most.Store(max(most.Load(), now.Add(1)))
			let(time.Second)
			now.Add(-1)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(2 * time.Minute) })
		require.Equal(t, 100, q.count(deliveries.Sent))
		require.EqualValues(t, 3, most.Load())
	})
}

func TestWorkerBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1_000, nil)
		var attempts atomic.Int32
		var back atomic.Bool
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			attempts.Add(1)
			if back.Load() {
				return nil
			}
			return deliveries.Unreachable("connection refused")
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(10 * time.Minute)
			require.Less(t, attempts.Load(), int32(60), "a dead channel is tried now and then, not a thousand times")
			require.Zero(t, q.count(deliveries.Failed), "its deliveries wait")
			back.Store(true)
			let(2 * time.Hour)
		})
		require.Equal(t, 1_000, q.count(deliveries.Sent))
	})
}

func TestWorkerRecipientFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1_000, nil)
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return deliveries.Refused("550 no such mailbox") }}
		work(t, q, d, plainComposer{}, settings(), func() { let(5 * time.Second) })
		require.Equal(t, 1_000, q.count(deliveries.Failed))
	})
}

func TestWorkerStopsGracefully(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 4})
		d := fakeDriver{dispatch: func(ctx context.Context, _ deliveries.Message) error {
			let(5 * time.Second)
			return ctx.Err() // An attempt that has begun is not cut short.
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Second) })
		require.Equal(t, 4, q.count(deliveries.Sent))
		require.Equal(t, 96, q.count(deliveries.Pending), "the others are given back untried")
	})
}

func TestWorkerRenewsTheLeaseOfWhatItHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(64, channels.Settings{channels.SettingConcurrency: 1})
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(10 * time.Second)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(64*10*time.Second + time.Second)
		})
		require.Equal(t, 64, q.count(deliveries.Sent))
		require.Positive(t, q.renewed)
	})
}

func TestWorkerUnrecordedLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1_000, channels.Settings{channels.SettingConcurrency: 64})
		q.broken = errors.New("the database is away")
		var sent atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			sent.Add(1)
			return nil
		}}
		set := settings()
		set.Unrecorded = 164 // One channel gets 50 of them.
		work(t, q, d, plainComposer{}, set, func() {
			let(10 * time.Second)
			require.EqualValues(t, 50, sent.Load())
			q.set(func(q *fakeQueue) { q.broken = nil })
			let(10 * time.Second)
		})
		require.EqualValues(t, 1_000, sent.Load(), "each went out once, although the store was away")
		require.Equal(t, 1_000, q.count(deliveries.Sent))
	})
}

func TestWorkerChangedSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(600, channels.Settings{channels.SettingConcurrency: 1, "host": "old"})
		var opened []any
		d := fakeDriver{opened: func(c channels.Channel) { opened = append(opened, c.Settings["host"]) },
			dispatch: func(context.Context, deliveries.Message) error {
				let(100 * time.Millisecond)
				return nil
			}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(time.Second)
			q.set(func(q *fakeQueue) {
				q.channel.Settings = channels.Settings{channels.SettingConcurrency: 1, "host": "new"}
			})
			let(2 * time.Minute)
		})
		require.Equal(t, []any{"old", "new"}, opened)
		require.Equal(t, 600, q.count(deliveries.Sent))
	})
}

func TestWorkerUnusableChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		d := fakeDriver{refuse: errors.New("the host is missing")}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Second) })
		require.Equal(t, deliveries.Retrying, q.row(1).state)
		require.Contains(t, q.row(1).outcome.Error, "the host is missing")
	})
}
