package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/clocks"
)

func (q *fakeQueue) TakeQuota(_ context.Context, _ channels.ID, of channels.Quota, want int, back channels.Allowance) (a channels.Allowance, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away != nil {
		return a, q.away
	}
	q.allows++
	q.usage, a = q.usage.Allow(of, want, back, time.Now())
	q.taken += a.Left
	if q.usedUp = (time.Time{}); a.Left == 0 {
		q.usedUp = q.usage.UsedUp(of)
	}
	if q.unanswered != nil {
		return channels.Allowance{}, q.unanswered
	}
	return a, nil
}

// workTogether runs n instances that send through one queue until then returns.
func workTogether(t *testing.T, q *fakeQueue, d fakeDriver, n int, then func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range n {
		set := settings()
		set.Owner, set.Instance = fmt.Sprintf("w%d", i), fmt.Sprintf("host:%d", i)
		w := delivery.NewWorker(q, delivery.Drivers{d}, plainComposer{}, clocks.Wall{}, slog.New(slog.DiscardHandler), set)
		running.Go(func() { w.Run(ctx) })
	}
	then()
	stop()
	running.Wait()
}

// TestInstancesShareTheQuota is about three instances that begin two minutes before the end of a
// day and a month.
func TestInstancesShareTheQuota(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]channels.Settings{
		"OfADay":   {channels.SettingQuotaPerDay: 1_000},
		"OfAMonth": {channels.SettingQuotaPerDay: 5_000, channels.SettingQuotaPerMonth: 1_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				midnight := time.Now().UTC().AddDate(0, 1, 0)
				let(time.Until(midnight.Add(-2 * time.Minute)))
				q := newFakeQueue(2_500, settings)
				var left leaving
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
					let(5 * time.Millisecond)
					if left.note()%100 == 0 {
						return errors.New("451: it counts as well")
					}
					return nil
				}}
				workTogether(t, q, d, 3, func() {
					let(time.Minute)
					assert.Equal(t, 1_000, left.between(time.Time{}, time.Now()))
					let(30 * time.Second)
					assert.Equal(t, 1_000, left.between(time.Time{}, time.Now()))
					let(2 * time.Minute)
					assert.Equal(t, 2_000, left.between(time.Time{}, time.Now()))
					q.set(func(q *fakeQueue) {
						assert.Less(t, q.allows, 300, "an attempt costs no statement of its own")
						for _, r := range q.rows {
							assert.NotEqual(t, deliveries.Sending, r.state, "nobody holds what waits")
						}
					})
				})
				assert.Equal(t, 1_000, q.usage.OfDay)
			})
		})
	}
}

func TestQuotaDiverts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1_000, channels.Settings{channels.SettingQuotaPerDay: 300})
		second := q.pooled()
		var sent taken
		work(t, q, sent.driver(), plainComposer{}, settings(), func() {
			let(10 * time.Second)
			assert.Equal(t, 1_000, q.count(deliveries.Sent))
			assert.Equal(t, 300, sent.by(1))
			assert.Equal(t, 700, sent.by(second))
			require.NotEmpty(t, q.diverted)
			assert.Equal(t, channels.LimitReached, q.diverted[len(q.diverted)-1])
		})
	})
}

func TestAQuota(t *testing.T) {
	t.Parallel()
	run := func(name string, story func(t *testing.T, q *fakeQueue, sent *taken)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(300, channels.Settings{channels.SettingQuotaPerDay: 200})
				var sent taken
				work(t, q, sent.driver(), plainComposer{}, settings(), func() {
					let(5 * time.Second)
					require.Equal(t, 200, sent.by(1))
					story(t, q, &sent)
				})
				assert.Equal(t, sent.by(1), q.usage.OfDay, "what was not used is given back")
			})
		})
	}
	run("ThatIsRaisedLetsTheRestGo", func(t *testing.T, q *fakeQueue, sent *taken) {
		q.set(func(q *fakeQueue) {
			q.channel.Settings = channels.Settings{channels.SettingQuotaPerDay: 100_000}
		})
		let(2 * time.Minute)
		assert.Equal(t, 300, sent.by(1))
	})
	run("ThatIsTakenAwayLetsTheRestGo", func(t *testing.T, q *fakeQueue, sent *taken) {
		q.set(func(q *fakeQueue) {
			q.channel.Settings = nil
			q.usage.OfDay += 100
		})
		let(2 * time.Minute)
		assert.Equal(t, 300, sent.by(1))
	})
	run("OfWhichAnotherInstanceGivesSomethingBack", func(t *testing.T, q *fakeQueue, sent *taken) {
		q.set(func(q *fakeQueue) { q.usage.OfDay -= 10 })
		let(5 * time.Minute)
		assert.Equal(t, 210, sent.by(1))
		q.set(func(q *fakeQueue) { q.usage.OfDay += 10 })
	})
	run("IsNotExceededWhileTheStoreIsAway", func(t *testing.T, q *fakeQueue, sent *taken) {
		q.set(func(q *fakeQueue) { q.away = errors.New("the store is away") })
		let(3 * time.Minute)
		assert.Equal(t, 200, sent.by(1))
		q.set(func(q *fakeQueue) { q.away = nil })
		let(2 * time.Minute)
		assert.Equal(t, 200, sent.by(1))
	})
}

// TestRetryAfterQuota is about a message that waits for the next day longer than the retry window,
// and then fails temporarily.
func TestRetryAfterQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let(23*time.Hour + 30*time.Minute)
		q := newFakeQueue(3, channels.Settings{channels.SettingQuotaPerDay: 2})
		var attempts atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			if attempts.Add(1) == 3 {
				return deliveries.Postponed("451 later")
			}
			return nil
		}}
		set := settings()
		set.Retry.For = 15 * time.Minute
		work(t, q, d, plainComposer{}, set, func() {
			let(time.Minute)
			require.Equal(t, 2, q.count(deliveries.Sent))
			let(35 * time.Minute)
			require.Equal(t, 3, q.count(deliveries.Sent))
			require.EqualValues(t, 4, attempts.Load())
		})
	})
}

func TestQuotaRefund(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, channels.Settings{channels.SettingQuotaPerDay: 5})
		var fails, left atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(time.Second)
			switch fails.Add(1) {
			case 1, 2, 3, 4, 5, 6, 7:
				return deliveries.Unreachable("connection refused")
			case 8:
				left.Add(1)
				return deliveries.Unreachable("no answer").WithMaybeAccepted(true)
			}
			left.Add(1)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(30 * time.Minute)
			assert.EqualValues(t, 5, left.Load(), "all of it, and what may have left")
			q.set(func(q *fakeQueue) { assert.NotZero(t, q.usedUp) })
		})
		assert.Equal(t, 5, q.usage.OfDay)
	})
}

// TestQuotaLostAnswers is about a store that takes portions whose answers are lost.
func TestQuotaLostAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(2_000, channels.Settings{channels.SettingQuotaPerDay: 1_000})
		var left atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(50 * time.Millisecond)
			left.Add(1)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(200 * time.Millisecond)
			q.set(func(q *fakeQueue) { q.unanswered, q.taken = errors.New("the answer is lost"), 0 })
			let(time.Minute)
			q.set(func(q *fakeQueue) {
				assert.Positive(t, q.taken)
				assert.LessOrEqual(t, q.taken, 80, "it does not use the quota up")
				q.unanswered = nil
			})
			let(time.Hour)
			assert.Less(t, left.Load(), int32(1_000))
			assert.GreaterOrEqual(t, left.Load(), int32(900))
		})
	})
}

// TestReturnQuotaWithoutAnswer checks that the quota is returned once.
func TestReturnQuotaWithoutAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, channels.Settings{channels.SettingQuotaPerMonth: 1_000})
		var left atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			left.Add(1)
			return nil
		}}
		q.set(func(q *fakeQueue) { q.usage = channels.Usage{At: time.Now(), OfMonth: 500} })
		work(t, q, d, plainComposer{}, settings(), func() {
			let(5 * time.Second)
			q.set(func(q *fakeQueue) {
				q.add()
				q.unanswered = errors.New("the answer is lost")
				q.channel.Settings = channels.Settings{channels.SettingQuotaPerMonth: 550}
			})
			let(10 * time.Second)
			q.set(func(q *fakeQueue) { q.unanswered = nil })
			let(5 * time.Minute)
		})
		assert.EqualValues(t, 2, left.Load())
		assert.GreaterOrEqual(t, q.usage.OfMonth, 502, "no more is given back than was taken")
	})
}

func TestRemovedQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, channels.Settings{channels.SettingQuotaPerDay: 10})
		var sent taken
		work(t, q, sent.driver(), plainComposer{}, settings(), func() {
			let(5 * time.Second)
			q.set(func(q *fakeQueue) {
				assert.NotZero(t, q.usedUp)
				q.channel.Settings = nil // Meanwhile an instance with the old settings has recorded it.
			})
			let(2 * time.Minute)
			q.set(func(q *fakeQueue) { assert.Zero(t, q.usedUp) })
			assert.Equal(t, 20, sent.by(1))
		})
	})
}

// TestARaisedQuotaCountsAtOnce checks that deliveries that were claimed when nothing was left wait
// no longer than others.
func TestARaisedQuotaCountsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, channels.Settings{channels.SettingQuotaPerDay: 10})
		var sent taken
		work(t, q, sent.driver(), plainComposer{}, settings(), func() {
			let(5 * time.Second)
			assert.Equal(t, 10, sent.by(1))
			q.set(func(q *fakeQueue) { q.channel.Settings = channels.Settings{channels.SettingQuotaPerDay: 100} })
			let(10 * time.Second)
			assert.Equal(t, 20, sent.by(1))
		})
	})
}
