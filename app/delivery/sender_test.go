package delivery_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

func TestWorkerTrialOfFailingChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1_000, nil)
		var opened atomic.Bool
		var now, most atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			if opened.Load() {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				let(20 * time.Second) // a provider that hangs
			}
			return deliveries.Unreachable("time-out")
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(time.Second)
			opened.Store(true) // five failures have opened the breaker by now
			let(10 * time.Minute)
		})
		require.EqualValues(t, 1, most.Load())
	})
}

func TestWorkerSlowMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			if m.ID == string(rune(1)) {
				let(25 * time.Second)
			}
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(5 * time.Second)
			q.set((*fakeQueue).add)
			q.added <- struct{}{}
			let(100 * time.Millisecond)
			require.Equal(t, deliveries.Sent, q.row(2).state)
			require.Equal(t, deliveries.Sending, q.row(1).state)
		})
	})
}

func TestUrgentOvertakesClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(200, channels.Settings{"concurrency": 2})
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(time.Second)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(10500 * time.Millisecond)
			require.Greater(t, q.count(deliveries.Sending), 20, "much is claimed")
			q.set(func(q *fakeQueue) {
				q.add()
				q.rows[201].job.Priority = events.Urgent
				q.add()
			})
			q.added <- struct{}{}
			let(3 * time.Second)
			require.Equal(t, deliveries.Sent, q.row(201).state)
			require.NotEqual(t, deliveries.Sent, q.row(202).state)
		})
	})
}

// TestUrgentOvertakesOnASlowChannel is about a channel that claimed much before it was known how
// slow its provider is.
func TestUrgentOvertakesOnASlowChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(2_000, channels.Settings{channels.SettingConcurrency: 16})
		for _, r := range q.rows {
			r.job.Priority = events.Bulk
		}
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(time.Second)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(500 * time.Millisecond)
			for n := deliveries.ID(2_001); n <= 2_010; n++ {
				q.set(func(q *fakeQueue) {
					q.add()
					q.rows[n].job.Priority = events.Urgent
				})
				q.added <- struct{}{}
				let(3 * time.Second)
				require.Equal(t, deliveries.Sent, q.row(n).state, "after the attempts under way and its own")
			}
		})
	})
}

// TestUrgentOvertakesAtARate is about messages that are claimed many seconds before their slots.
func TestUrgentOvertakesAtARate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(200, channels.Settings{channels.SettingRatePerSecond: 2})
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(20 * time.Second)
			for n := deliveries.ID(201); n <= 220; n++ {
				q.set(func(q *fakeQueue) {
					q.add()
					q.rows[n].job.Priority = events.Urgent
				})
				q.added <- struct{}{}
				let(1100 * time.Millisecond)
				require.Equal(t, deliveries.Sent, q.row(n).state, "only the message before it is in its way")
			}
			let(20 * time.Second)
			require.LessOrEqual(t, q.count(deliveries.Sending), 30+16, "no more is held for them")
		})
	})
}

func TestClaimSizeOfSlowChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1_000, nil)
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(time.Second)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(40500 * time.Millisecond)
			require.Greater(t, q.count(deliveries.Sent), 600, "every connection is used")
			require.Less(t, q.count(deliveries.Sending), 96, "16 connections, and twice two for each")
		})
	})
}

// TestWorkerLostLease is about a store that is down for longer than a lease: deliveries that were
// claimed before are not sent.
func TestWorkerLostLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 1})
		var sent atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			sent.Add(1)
			let(time.Second)
			return nil
		}}
		set := settings()
		set.Unrecorded = 14 // One channel gets five of them.
		work(t, q, d, plainComposer{}, set, func() {
			let(3500 * time.Millisecond)
			q.set(func(q *fakeQueue) { q.away = errors.New("the database is away") })
			let(2 * set.Lease)
			require.EqualValues(t, 3+5, sent.Load(), "more must not be forgotten")
			q.set(func(q *fakeQueue) {
				q.away = nil
				for _, r := range q.rows {
					if r.state.Open() {
						r.state, r.owner, r.next = deliveries.Sending, "w2", time.Now().Add(time.Hour)
					}
				}
			})
			let(time.Minute)
			require.EqualValues(t, 3+5, sent.Load())
		})
	})
}

func TestWorkerResumesClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 1})
		var sent atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			sent.Add(1)
			let(time.Second)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(3500 * time.Millisecond)
			q.set(func(q *fakeQueue) { q.away = errors.New("the database is away") })
			let(3 * time.Minute)
			q.set(func(q *fakeQueue) { q.away = nil })
			let(5 * time.Minute)
			require.Equal(t, 100, q.count(deliveries.Sent))
			require.EqualValues(t, 100, sent.Load(), "each went out once")
		})
	})
}

// TestWorkerUnrecordedOutcome is about a store that accepts claims but no outcomes for longer than
// a lease.
func TestWorkerUnrecordedOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, nil)
		q.broken = errors.New("the disk is full")
		var sent atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			sent.Add(1)
			return nil
		}}
		set := settings()
		work(t, q, d, plainComposer{}, set, func() {
			let(3 * set.Lease)
			q.set(func(q *fakeQueue) { q.broken = nil })
			let(3 * set.Lease)
		})
		require.Equal(t, 20, q.count(deliveries.Sent))
		require.EqualValues(t, 20, sent.Load(), "each went out once")
	})
}

// TestWorkerGatesWithRateLimit is about a backlog of minutes: a gate that closes meanwhile stops
// all messages except those that are sent within a quarter of the lease.
func TestWorkerGatesWithRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(300, channels.Settings{"rate_per_second": 0.25})
		set := settings()
		work(t, q, fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}, plainComposer{}, set, func() {
			let(10 * time.Second)
			q.set(func(q *fakeQueue) {
				for _, row := range q.rows {
					row.job.Gates.MemberLocked = true
				}
			})
			let(10 * set.Lease)
		})
		within := int(0.25 * set.Lease.Seconds() / 4)
		require.LessOrEqual(t, q.count(deliveries.Sent), 3+within, "three had left before, and these were claimed")
		require.GreaterOrEqual(t, q.count(deliveries.Sent), 3)
		require.Equal(t, 300, q.count(deliveries.Sent)+q.count(deliveries.Skipped))
	})
}

// TestWorkerGatesWithTinyRateLimit is about a rate so low that the next message leaves much later:
// a channel that is made inactive meanwhile sends no more.
func TestWorkerGatesWithTinyRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(3, channels.Settings{channels.SettingRatePerSecond: 0.001})
		work(t, q, fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}, plainComposer{}, settings(), func() {
			let(time.Minute)
			require.Equal(t, 1, q.count(deliveries.Sent))
			q.set(func(q *fakeQueue) {
				for _, row := range q.rows {
					row.job.Gates.ChannelActive = false
				}
			})
			let(20 * time.Minute)
		})
		require.Equal(t, 1, q.count(deliveries.Sent))
		require.Equal(t, 2, q.count(deliveries.Skipped))
	})
}

// TestWorkerCorrectedRateLimit is about a rate that was too low by mistake: neither the next slot
// of the old rate nor what waits for it holds up the new one.
func TestWorkerCorrectedRateLimit(t *testing.T) {
	t.Parallel()
	for _, wrong := range []float64{0.0001, 0.1} {
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(20, channels.Settings{channels.SettingRatePerSecond: wrong})
			var sent atomic.Int32
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
				sent.Add(1)
				return nil
			}}
			work(t, q, d, plainComposer{}, settings(), func() {
				let(time.Second)
				require.EqualValues(t, 1, sent.Load())
				q.set(func(q *fakeQueue) { q.channel.Settings = channels.Settings{channels.SettingRatePerSecond: 10} })
				let(6 * time.Second)
				require.Equal(t, 20, q.count(deliveries.Sent))
				require.EqualValues(t, 20, sent.Load())
			})
		})
	}
}

func TestWorkerStopWithoutStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(5_000, channels.Settings{channels.SettingConcurrency: 256})
		q.broken = errors.New("the database is away")
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		var stopped time.Time
		work(t, q, d, plainComposer{}, settings(), func() {
			let(10 * time.Second)
			stopped = time.Now()
		})
		require.LessOrEqual(t, time.Since(stopped), 40*time.Second)
	})
}

func TestWorkerStopDuringClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, nil)
		q.reading = time.Second
		work(t, q, fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}, plainComposer{}, settings(),
			func() { let(time.Second / 2) })
		require.Equal(t, 100, q.count(deliveries.Pending), "nobody must wait until a lease ends that nobody holds")
	})
}

// TestWorkerPaused pauses an installation while a slow channel has claimed more than it has begun.
func TestWorkerPaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 2})
		var paused atomic.Bool
		var sent atomic.Int64
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			sent.Add(1)
			let(time.Second)
			return nil
		}}
		set := settings()
		set.Paused = paused.Load
		work(t, q, d, plainComposer{}, set, func() {
			let(3500 * time.Millisecond)
			paused.Store(true)
			let(time.Second)
			begun := sent.Load()
			assert.InDelta(t, 8, begun, 2)
			let(time.Minute)
			assert.Equal(t, begun, sent.Load())
			assert.Equal(t, int(begun), q.count(deliveries.Sent), "what was begun is finished")
			paused.Store(false)
			let(time.Minute)
		})
		assert.Equal(t, 100, q.count(deliveries.Sent))
		assert.EqualValues(t, 100, sent.Load())
	})
}

// TestWorkerPausedChangesNothing pauses an installation while a channel has used up its quota: a
// copy of the database that goes on later would see other rows.
func TestWorkerPausedChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, channels.Settings{channels.SettingQuotaPerDay: 10})
		second := q.pooled()
		var paused atomic.Bool
		d := fakeDriver{through: func(_ context.Context, c channels.ID, _ deliveries.Message) error {
			if c == second {
				return deliveries.Unreachable("the connection was refused")
			}
			return nil
		}}
		set := settings()
		set.Paused = paused.Load
		work(t, q, d, plainComposer{}, set, func() {
			let(30 * time.Second)
			paused.Store(true)
			q.set(func(q *fakeQueue) { q.unseen = true })
			let(time.Second)
			var allows, diverted int
			q.set(func(q *fakeQueue) { allows, diverted = q.allows, len(q.diverted) })
			assert.NotZero(t, allows)
			let(time.Hour)
			q.set(func(q *fakeQueue) {
				assert.Equal(t, allows, q.allows)
				assert.Len(t, q.diverted, diverted)
			})
			paused.Store(false)
			q.set(func(q *fakeQueue) { q.unseen = false })
			let(time.Hour)
			q.set(func(q *fakeQueue) { assert.Greater(t, q.allows, allows) })
		})
	})
}

func TestWorkerDeletedChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(3, nil)
		q.noChannel = channels.ErrNotFound
		for _, r := range q.rows {
			r.job.Gates.AddressGone = true
		}
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { panic("must not be sent") }}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Second) })
		require.Equal(t, 3, q.count(deliveries.Skipped))
		require.Equal(t, deliveries.AddressRemoved, q.row(1).outcome.Reason)
	})
}

func TestWorkerRetryOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		var attempts atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			if attempts.Add(1) == 1 {
				return deliveries.Postponed("451 later")
			}
			return nil
		}}
		set := settings()
		set.Poll, set.Retry.Base = time.Hour, time.Second
		work(t, q, d, plainComposer{}, set, func() {
			let(1100 * time.Millisecond)
			require.Equal(t, deliveries.Sent, q.row(1).state)
		})
	})
}

func TestWorkerRepairedChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, channels.Settings{"host": "wrong"})
		var right atomic.Bool
		d := fakeDriver{opened: func(c channels.Channel) { right.Store(c.Settings["host"] == "right") },
			dispatch: func(context.Context, deliveries.Message) error {
				if right.Load() {
					return nil
				}
				return deliveries.Unreachable("no such host")
			}}
		set := settings()
		set.Retry.Base = time.Second
		work(t, q, d, plainComposer{}, set, func() {
			let(560 * time.Second) // Now the breaker is open for a minute at a time, next until 615.
			q.set(func(q *fakeQueue) { q.channel.Settings = channels.Settings{"host": "right"} })
			let(10 * time.Second)
			require.Greater(t, q.count(deliveries.Sent), 50, "all but those which have a pause of their own")
			let(time.Hour)
			require.Equal(t, 100, q.count(deliveries.Sent))
		})
	})
}

// TestWorkerUndecryptableSettings is about a wrong secret_key: deliveries wait for the right one.
func TestWorkerUndecryptableSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(100, channels.Settings{"host": "localhost"})
		q.noChannel = channels.ErrSealed.With("they are encrypted under the key 0123")
		var sent atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			sent.Add(1)
			return nil
		}}
		set := settings()
		set.Retry.Base = time.Second
		work(t, q, d, plainComposer{}, set, func() {
			let(3 * time.Hour)
			require.Zero(t, sent.Load())
			require.Zero(t, q.count(deliveries.Failed))
			require.Less(t, q.reloads, 3*3600, "the channel is read every second or two, no more often")
			attempts, said := 0, ""
			for id := range deliveries.ID(100) {
				if r := q.row(id + 1); r.job.Attempts > 0 {
					attempts += r.job.Attempts
					said = r.outcome.Error
				}
			}
			require.Less(t, attempts, 3*60+50, "one a minute shows whether the channel is back")
			require.Contains(t, said, "they are encrypted under the key 0123", "who looks at the deliveries sees why")

			q.set(func(q *fakeQueue) { q.noChannel = nil })
			let(2 * time.Hour)
			require.Equal(t, 100, q.count(deliveries.Sent))
			require.EqualValues(t, 100, sent.Load())
		})
	})
}

// panickyComposer stands for a bug in a template engine.
type panickyComposer struct{ delivery.Composer }

func (panickyComposer) Compose(deliveries.RenderInput, deliveries.Job) (deliveries.Message, error) {
	panic("index out of range")
}

func TestWorkerComposerPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(2, nil)
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { panic("must not be sent") }}
		_, err := delivery.Compose(panickyComposer{}, deliveries.RenderInput{}, deliveries.Job{})
		require.EqualError(t, err, "index out of range", "users see no stack")
		work(t, q, d, panickyComposer{}, settings(), func() { let(time.Second) })
		require.Equal(t, 2, q.count(deliveries.Failed))
		require.Contains(t, q.row(1).outcome.Error, "index out of range")
	})
}

func TestWorkerChangedTemplate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1_000, channels.Settings{channels.SettingRatePerSecond: 10})
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Minute) })
		require.Greater(t, q.inputs, 2, "what all messages share is read anew now and then")
		require.Less(t, q.inputs, 60)
	})
}

// slowReader is a queue that takes its time to read a channel, and what messages share.
type slowReader struct{ *fakeQueue }

const readingTakes = 300 * time.Millisecond

func (q slowReader) Channel(ctx context.Context, id channels.ID) (channels.Channel, error) {
	let(readingTakes)
	return q.fakeQueue.Channel(ctx, id)
}

func (q slowReader) RenderInput(
	ctx context.Context, o events.Occurrence, n subscriptions.NotificationID, text events.TemplateID,
) (deliveries.RenderInput, error) {
	let(readingTakes)
	return q.fakeQueue.RenderInput(ctx, o, n, text)
}

// TestWorkerReadsItsChannelBesideSending checks that of messages that come now and then only the
// first one waits until the channel was read, and that none leaves by settings that are older than
// two seconds.
func TestWorkerReadsItsChannelBesideSending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := slowReader{newFakeQueue(1, nil)}
		var left atomic.Int64
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			left.Store(time.Now().UnixNano())
			return nil
		}}
		reloads := func() (n int) {
			q.set(func(q *fakeQueue) { n = q.reloads })
			return n
		}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(3 * time.Second)
			for range 20 {
				let(900 * time.Millisecond)
				q.set((*fakeQueue).add)
				came := time.Now()
				q.added <- struct{}{}
				let(100 * time.Millisecond)
				if reloads() > 2 { // Until then the settings were too old.
					require.GreaterOrEqual(t, left.Load(), came.UnixNano(), "it left at once")
				}
			}
			require.Greater(t, reloads(), 9, "settings are trusted for two seconds")
			require.Less(t, reloads(), 25)
			require.Equal(t, 21, q.count(deliveries.Sent))
		})
	})
}

func TestWorkerInvalidUTF8(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return deliveries.Refused("550 \xff no") }}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Second) })
		require.Equal(t, "550 \ufffd no", q.row(1).outcome.Error)
	})
}

func TestWorkerShortLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(64, channels.Settings{channels.SettingConcurrency: 1})
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(10 * time.Second)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(5 * time.Second)
			q.set(func(q *fakeQueue) { q.away = errors.New("leases cannot be renewed") })
			let(40 * time.Second) // Less than half of the lease is left.
			q.set(func(q *fakeQueue) { q.away = nil })
		})
		require.Positive(t, q.count(deliveries.Sent))
		require.Zero(t, q.count(deliveries.Sending), "nobody must wait until a lease ends that nobody uses")
	})
}
