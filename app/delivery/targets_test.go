package delivery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/deliveries"
)

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
				verdict, _ := all.offer("host", old, now)
				assert.Equal(t, admitted, verdict)
				all.end("host", notResponding("refused"), now)
			}
			verdict, off := all.offer("host", old, now)
			assert.Equal(t, postponed, verdict)
			assert.Equal(t, c.want, off.outcome(now, retryFor).State)
			young := off
			young.job.Created = now.Add(-time.Hour)
			assert.Equal(t, deliveries.Pending, young.outcome(now, retryFor).State)
		})
	}
}
