package statistics_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/statistics"
)

func TestASnoozeHolds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)
	hour := statistics.Snooze{Seen: "a", At: at, Until: at.Add(time.Hour)}
	assert.True(t, hour.Active(at.Add(time.Hour-1), "b"), "whatever becomes of the problem")
	assert.False(t, hour.Active(at.Add(time.Hour), "a"))
	unchanged := statistics.Snooze{Seen: "a", At: at}
	assert.True(t, unchanged.Active(at.Add(statistics.MaxSnooze-1), "a"))
	assert.False(t, unchanged.Active(at, "b"))
	assert.False(t, unchanged.Active(at.Add(statistics.MaxSnooze), "a"))
}
