package delivery_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// withRetryAfter returns the failure with a pause that the provider asks for.
func withRetryAfter(f *deliveries.Failure, pause time.Duration) *deliveries.Failure {
	f.RetryAfter = pause
	return f
}

// TestRetryAfterOfChannel is about a provider that asks for a pause as long as a message is tried.
// The channel pauses for an hour at most, and its trials sacrifice no message.
func TestRetryAfterOfChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(3, channels.Settings{channels.SettingConcurrency: 1})
		var mended atomic.Bool
		var refused atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			if mended.Load() {
				return nil
			}
			refused.Add(1)
			return withRetryAfter(deliveries.Unreachable("answered 429"), 24*time.Hour)
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(3*time.Hour + 30*time.Minute)
			assert.Zero(t, q.count(deliveries.Failed))
			assert.EqualValues(t, 4, refused.Load(), "one an hour shows whether the channel is back")
			mended.Store(true)
			let(time.Hour)
		})
		assert.Equal(t, 3, q.count(deliveries.Sent))
	})
}

// TestRetryAfterOfRecipient is about a recipient that asks for a pause as long as a message is
// tried. The message gets one more attempt, and its error says why there is no other one.
func TestRetryAfterOfRecipient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mended bool
		state  deliveries.State
		said   string
	}{
		"ThatIsBack":      {true, deliveries.Sent, ""},
		"ThatStaysBroken": {false, deliveries.Failed, "answered 503 (no attempt is left within retry_for)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(0, nil)
				hooks := q.open(1, channels.WEBHOOK, nil)
				q.addTo(hooks, "https://hooks.example/hook")
				var mended atomic.Bool
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
					if mended.Load() {
						return nil
					}
					return withRetryAfter(deliveries.Postponed("answered 503"), time.Hour)
				}}
				set := settings()
				set.Retry.For = time.Hour
				_, log := logged(t, q, d, set, func(*delivery.Worker) {
					let(30 * time.Minute)
					require.Equal(t, deliveries.Retrying, q.row(1).state)
					require.Equal(t, "answered 503", q.row(1).outcome.Error)
					mended.Store(c.mended)
					let(30 * time.Minute)
				})
				row := q.row(1)
				assert.Equal(t, c.state, row.state)
				assert.Equal(t, 2, row.outcome.Attempts)
				assert.Equal(t, c.said, row.outcome.Error)
				if failed := lines(log, "a delivery has failed"); c.said != "" && assert.Len(t, failed, 1) {
					assert.Equal(t, c.said, failed[0]["error"])
				}
			})
		})
	}
}

// TestFinalErrorLength checks that a long answer leaves room for the reason why it is final.
func TestFinalErrorLength(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		said := make([]rune, 2*deliveries.MaxError)
		for i := range said {
			said[i] = 'é'
		}
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return deliveries.Postponed("%s", string(said)) }}
		set := settings()
		set.Retry.For = time.Second
		work(t, q, d, plainComposer{}, set, func() { let(time.Second) })
		require.Equal(t, deliveries.Failed, q.row(1).state)
		require.Len(t, []rune(q.row(1).outcome.Error), deliveries.MaxError)
		require.Regexp(t, `é… \(no attempt is left within retry_for\)$`, q.row(1).outcome.Error)
	})
}

// TestRequestedPauseStopsAttempts is about one answer that asks for a pause while other attempts
// are under way. They succeed, and end no pause: not that of their own instance, and not that of
// the others.
func TestRequestedPauseStopsAttempts(t *testing.T) {
	t.Parallel()
	const pause, learned = 5 * time.Minute, 3 * time.Second
	for name, c := range map[string]struct {
		instances, concurrency int
		answer                 time.Duration
	}{
		"OneInstance":      {1, 16, 100 * time.Millisecond},
		"ThreeInstances":   {3, 16, time.Second},
		"SlowAnswers":      {2, 4, 5 * time.Second},
		"VerySlowAnswers":  {2, 4, 20 * time.Second},
		"OneAttemptAtOnce": {2, 1, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const count = 2_000
				q := newFakeQueue(count, channels.Settings{channels.SettingConcurrency: c.concurrency})
				var begun leaving
				asked := make(chan time.Time, 1)
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
					n := begun.note()
					if n != 3*c.concurrency {
						let(c.answer)
						return nil
					}
					let(c.answer / 2)
					asked <- time.Now()
					return withRetryAfter(deliveries.Unreachable("answered 429"), pause)
				}}
				workTogether(t, q, d, c.instances, func() {
					from := <-asked
					let(pause + time.Minute)
					assert.Zero(t, begun.between(from.Add(learned), from.Add(pause)), "attempts during the pause")
					assert.NotZero(t, begun.between(from.Add(pause), time.Now()), "attempts after the pause")
				})
			})
		})
	}
}

// TestHandOffDelayUsesServerClock is about a machine whose clock is a day ahead: its messages have
// not waited for a day.
func TestHandOffDelayUsesServerClock(t *testing.T) {
	t.Parallel()
	const ahead = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		q.skew = ahead
		clock, m, set := &jumping{}, &meter{recorded: map[deliveries.State]int{}}, settings()
		clock.ahead.Store(int64(ahead))
		set.Meter = m
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		workAt(t, clock, q, d, plainComposer{}, set, func() { let(time.Minute) })
		require.Len(t, m.attempts, 1)
		assert.Less(t, m.attempts[0].Waited, time.Minute)
	})
}

// TestRetryForUsesServerClock is about a machine whose clock is a day ahead: its messages are no
// older than those of others.
func TestRetryForUsesServerClock(t *testing.T) {
	t.Parallel()
	const ahead = 24 * time.Hour
	for name, failure := range map[string]*deliveries.Failure{
		"OfAMessage": withRetryAfter(deliveries.Postponed("answered 503"), 12*time.Hour),
		"OfAHost":    deliveries.Unanswered("the connection was refused"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const messages = 100
				q, _ := newHooks(messages, "https://gone.example/hook")
				q.skew = ahead
				clock := &jumping{}
				clock.ahead.Store(int64(ahead))
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return failure }}
				set := settings()
				set.Poll, set.Retry.For = 10*time.Second, 3*time.Hour
				workAt(t, clock, q, d, plainComposer{}, set, func() {
					let(2 * time.Hour)
					assert.Zero(t, q.count(deliveries.Failed), "the time is not up")
					// Those that waited for their host may have some attempts left after Retry.For.
					let(2*time.Hour + 4*set.Retry.Max)
				})
				assert.Equal(t, messages, q.count(deliveries.Failed))
			})
		})
	}
}
