package delivery_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// asksForAnHour counts attempts. Each is answered with a request for a pause of an hour.
func asksForAnHour(attempts *atomic.Int32) fakeDriver {
	return fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
		attempts.Add(1)
		return withRetryAfter(deliveries.Unreachable("answered 429"), time.Hour)
	}}
}

// TestToggledChannelIsTriedAgain is about an operator who makes a channel inactive and active
// again, which removes its outages, while its provider has asked for a long pause. The channel is
// tried again, and another pause is reported.
func TestToggledChannelIsTriedAgain(t *testing.T) {
	t.Parallel()
	inactive := func(q *fakeQueue) { q.channel.Active, q.outages = false, nil }
	active := func(q *fakeQueue) {
		q.channel.Active, q.outages = true, nil
		q.add()
	}
	for name, pause := range map[string]time.Duration{"Slowly": 10 * time.Second, "BeforeAnybodyLooks": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(3, nil)
				var attempts atomic.Int32
				d := asksForAnHour(&attempts)
				work(t, q, d, plainComposer{}, settings(), func() {
					let(10 * time.Second)
					before := attempts.Load()
					q.set(func(q *fakeQueue) {
						inactive(q)
						for _, r := range q.rows {
							r.job.Gates.ChannelActive = false
						}
					})
					let(pause)
					q.set(active)
					let(10 * time.Second)
					assert.Equal(t, before+1, attempts.Load())
					if reported := q.reportedOutages(); assert.Len(t, reported, 1) {
						assert.True(t, reported[0].ForAll)
						assert.Equal(t, "answered 429", reported[0].Error)
					}
					let(10 * time.Minute)
					assert.Equal(t, before+1, attempts.Load(), "the pause holds")
				})
			})
		})
	}
}

// TestPauseWithNewLimits checks that new limits of a channel end no pause that its provider asked
// for, and that new settings do.
func TestPauseWithNewLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings channels.Settings
		ends     bool
	}{
		"Limits":   {channels.Settings{channels.SettingRatePerSecond: 5, channels.SettingConcurrency: 3, channels.SettingQuotaPerDay: 1_000, channels.SettingQuotaPerMonth: 2_000}, false},
		"Provider": {channels.Settings{"host": "other.example.org"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(3, nil)
				var attempts atomic.Int32
				d := asksForAnHour(&attempts)
				logged(t, q, d, settings(), func(w *delivery.Worker) {
					let(10 * time.Second)
					before := attempts.Load()
					q.set(func(q *fakeQueue) {
						q.channel.Settings = c.settings
						if c.ends {
							q.outages = nil
						}
					})
					let(10 * time.Minute)
					assert.Equal(t, c.ends, attempts.Load() > before)
					assert.Equal(t, delivery.Requested, w.PausedChannels()[1].Reason)
				})
			})
		})
	}
}
