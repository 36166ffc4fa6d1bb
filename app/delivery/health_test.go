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

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// reportedOutages returns the reports about the channel so far.
func (q *fakeQueue) reportedOutages() []channels.Outage {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]channels.Outage(nil), q.outages...)
}

func TestWorkerReportsOutages(t *testing.T) {
	t.Parallel()
	well := channels.Outage{Channel: 1, Instance: "host:1"}

	t.Run("OneThatWorksIsReportedOnce", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(1_000, nil)
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
			work(t, q, d, plainComposer{}, settings(), func() { let(time.Minute) })
			assert.Equal(t, []channels.Outage{well}, q.reportedOutages())
		})
	})

	t.Run("RefusedRecipientsAreNoOutage", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(100, nil)
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return deliveries.Refused("no such mailbox") }}
			work(t, q, d, plainComposer{}, settings(), func() { let(time.Minute) })
			assert.Equal(t, []channels.Outage{well}, q.reportedOutages())
		})
	})

	t.Run("PausedOneIsReportedAgainAndClearedWhenItWorks", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 1})
			var mended atomic.Bool
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
				if mended.Load() {
					return nil
				}
				return deliveries.Unreachable("connection refused")
			}}
			work(t, q, d, plainComposer{}, settings(), func() {
				let(17 * time.Second) // pauses of 5 and 10 seconds; a third has begun
				mended.Store(true)
				let(5 * time.Minute)
			})
			reported := q.reportedOutages()
			require.Len(t, reported, 4)
			for i, rest := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
				assert.Equal(t, "connection refused", reported[i].Error)
				assert.Equal(t, "host:1", reported[i].Instance)
				assert.Equal(t, begun, reported[i].Since)
				assert.Equal(t, rest, reported[i].Until.Sub(reported[i].Last))
			}
			assert.Equal(t, well, reported[3])
		})
	})

	for name, pause := range map[string]time.Duration{"FewFailuresInAMinuteAreAnOutage": 10 * time.Second, "FewFailuresInAnHourAreAnOutage": 20 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(1, nil)
				var attempts atomic.Int32
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
					attempts.Add(1)
					return deliveries.Unreachable("no such host")
				}}
				set := settings()
				set.Retry.Base = pause
				work(t, q, d, plainComposer{}, set, func() {
					for len(q.reportedOutages()) == 0 && attempts.Load() < 5 {
						let(time.Second)
					}
				})
				reported := q.reportedOutages()
				require.Len(t, reported, 1)
				assert.Equal(t, "no such host", reported[0].Error)
				assert.LessOrEqual(t, attempts.Load(), int32(4))
			})
		})
	}

	t.Run("OutagesOfOthersAreClearedAgain", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 1})
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
				let(30 * time.Second)
				return nil
			}}
			work(t, q, d, plainComposer{}, settings(), func() { let(2*channels.OutageOverdue + 2*time.Minute) })
			assert.Equal(t, []channels.Outage{well, well, well}, q.reportedOutages())
		})
	})

	t.Run("OneThatPausesIsReportedAgainAfterAFailedReport", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(1, nil)
			q.noReports = errors.New("the store is away")
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
				return withRetryAfter(deliveries.Unreachable("answered 429"), time.Hour)
			}}
			work(t, q, d, plainComposer{}, settings(), func() {
				let(time.Second)
				require.Len(t, q.reportedOutages(), 1)
				q.set(func(q *fakeQueue) {
					q.outages, q.noReports = nil, nil
					q.add()
				})
				let(10 * time.Minute)
			})
			reported := q.reportedOutages()
			require.Len(t, reported, 1)
			assert.True(t, reported[0].ForAll)
		})
	})

	t.Run("PauseOfAnEarlierProcessIsNotCleared", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(1, nil)
			asked := channels.Outage{Channel: 1, Instance: "host:1", Until: time.Now().Add(time.Hour), ForAll: true}
			q.outages = []channels.Outage{asked}
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
			work(t, q, d, plainComposer{}, settings(), func() { let(10 * time.Minute) })
			assert.Equal(t, []channels.Outage{asked}, q.reportedOutages())
		})
	})

	t.Run("FailedReportDelaysNoMessage", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			q := newFakeQueue(100, channels.Settings{channels.SettingConcurrency: 1})
			q.noReports = errors.New("no")
			d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
			work(t, q, d, plainComposer{}, settings(), func() { let(time.Second) })
			assert.Equal(t, 100, q.count(deliveries.Sent))
			assert.Len(t, q.reportedOutages(), 1)
		})
	})
}

// TestFailureDetailNotStored checks that details for operators of the installation are neither
// stored with a delivery nor reported about the channel.
func TestFailureDetailNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(20, channels.Settings{channels.SettingConcurrency: 1})
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			failed := deliveries.Unreachable("the connection was refused")
			failed.Detail = errors.New("dial tcp 10.0.0.7:25: connection refused")
			return failed
		}}
		work(t, q, d, plainComposer{}, settings(), func() { let(time.Minute) })
		require.NotEmpty(t, q.reportedOutages())
		for _, o := range q.reportedOutages() {
			assert.Equal(t, "the connection was refused", o.Error)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		var failed int
		for _, row := range q.rows {
			if row.outcome.Error != "" {
				failed++
				assert.Equal(t, "the connection was refused", row.outcome.Error)
			}
		}
		assert.Positive(t, failed)
	})
}

// TestChangedUnrestricted checks that the dispatcher of an unrestricted channel is closed
// when the channel becomes restricted.
func TestChangedUnrestricted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(1, nil)
		q.channel.Unrestricted = true
		var opened []bool
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return deliveries.Unreachable("no") },
			opened: func(c channels.Channel) { opened = append(opened, c.Unrestricted) }}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(time.Second)
			q.mu.Lock()
			q.channel.Unrestricted = false
			q.mu.Unlock()
			let(time.Minute)
		})
		assert.Equal(t, []bool{true, false}, opened)
	})
}
