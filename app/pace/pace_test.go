package pace_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app/pace"
)

func TestShare(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	share := pace.NewShare(0.25, 100*time.Millisecond)
	work := func(d time.Duration) time.Duration {
		begin := now
		now = now.Add(d)
		rest := share.Worked(begin, now)
		now = now.Add(rest)
		return rest
	}
	assert.Zero(t, work(100*time.Millisecond), "the burst is free")
	var worked, waited time.Duration
	for range 1000 {
		worked += 3 * time.Millisecond
		waited += work(3 * time.Millisecond)
	}
	assert.InDelta(t, 0.25, float64(worked)/float64(worked+waited), 0.01, "a quarter of the time in the long run")
	assert.Equal(t, 400*time.Millisecond, work(time.Hour), "nobody owes more than a burst")
	now = now.Add(time.Minute)
	assert.Zero(t, work(100*time.Millisecond), "a quiet while earns the burst back")
}

func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		notified := make(chan struct{}, 1)
		for name, c := range map[string]struct {
			d, want time.Duration
			before  func()
		}{
			"until the time is over":       {d: time.Second, want: time.Second},
			"until a notification arrives": {d: time.Second, before: func() { notified <- struct{}{} }},
			"not at all":                   {d: -time.Second},
		} {
			if c.before != nil {
				c.before()
			}
			begin := time.Now()
			pace.Pause(ctx, c.d, notified)
			assert.Equal(t, c.want, time.Since(begin), name)
		}
		cancel()
		begin := time.Now()
		pace.Pause(ctx, time.Second, notified)
		assert.Zero(t, time.Since(begin), "until ctx ends")
	})
}
