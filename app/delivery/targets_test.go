package delivery

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// none are no further deliveries.
func none(func(string) bool) {}

// TestTargetGone checks that an old delivery fails only when its host was asked again and again for
// an hour, and not because of a failure of days ago.
func TestTargetGone(t *testing.T) {
	t.Parallel()
	const retryFor = 24 * time.Hour
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	old := deliveries.Job{ID: 1, Created: start.Add(-2 * retryFor)}
	for name, c := range map[string]struct {
		failures []time.Duration // since start
		want     deliveries.State
	}{
		"AnHour":       {[]time.Duration{0, time.Minute, 30 * time.Minute, time.Hour}, deliveries.Failed},
		"AMoment":      {[]time.Duration{0, time.Minute}, deliveries.Pending},
		"AMomentTwice": {[]time.Duration{0, 48 * time.Hour, 48*time.Hour + time.Minute}, deliveries.Pending},
		"AnHourLater":  {[]time.Duration{0, 48 * time.Hour, 48*time.Hour + time.Minute, 48*time.Hour + 30*time.Minute, 49 * time.Hour}, deliveries.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := newTargets(16)
			now := start
			for _, after := range c.failures {
				now = start.Add(after)
				verdict, _ := all.offer("host", old, none, now)
				assert.Equal(t, admitted, verdict)
				all.end("host", notResponding("refused"), now)
			}
			verdict, off := all.offer("host", old, none, now)
			assert.Equal(t, postponed, verdict)
			assert.Equal(t, c.want, off.outcome(now, now, retryFor).State)
			young := off
			young.job.Created = now.Add(-time.Hour)
			assert.Equal(t, deliveries.Pending, young.outcome(now, now, retryFor).State)
		})
	}
}

// TestTargetSlow checks when a delivery is postponed although its target answers: when it holds up
// a delivery to another target for which an attempt is free, and parked deliveries wait for long.
func TestTargetSlow(t *testing.T) {
	t.Parallel()
	const limit, share = 16, 12
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	only := func(name string) iter.Seq[string] { return slices.Values([]string{name}) }
	all := newTargets(limit)
	offered := func(name string, next iter.Seq[string], after time.Duration) admission {
		verdict, off := all.offer(name, deliveries.Job{Attempts: 2}, next, start.Add(after))
		if verdict == postponed {
			assert.Equal(t, start.Add(after+targetBehind), off.until)
			assert.Equal(t, deliveries.Outcome{State: deliveries.Retrying, Attempts: 2, Next: off.until}, off.outcome(start, start, time.Hour))
			off.job.Attempts = 0
			assert.Equal(t, deliveries.Outcome{State: deliveries.Pending, Next: off.until, Error: slowReason}, off.outcome(start, start, time.Hour))
		}
		return verdict
	}
	for range share {
		assert.Equal(t, admitted, offered("slow", none, 0))
	}
	for range targetParked {
		assert.Equal(t, parked, offered("slow", none, 0))
	}
	assert.Equal(t, mustWait, offered("slow", only("other"), targetSlow-1), "it may still be fast")
	assert.Equal(t, mustWait, offered("slow", none, targetSlow), "nobody gains anything")
	assert.Equal(t, mustWait, offered("slow", only("slow"), targetSlow), "nobody gains anything")
	assert.Equal(t, postponed, offered("slow", only("other"), targetSlow))
	for range 3 {
		assert.Equal(t, admitted, offered("other", none, targetSlow))
	}
	assert.Equal(t, mustWait, offered("slow", only("other"), targetSlow), "the other one has its share, too")
	assert.Equal(t, postponed, offered("slow", only("third"), targetSlow))
	assert.Equal(t, admitted, offered("third", none, targetSlow))
	assert.Equal(t, mustWait, offered("slow", only("fourth"), targetSlow), "no attempt is free")
}
