package channels_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
)

func TestTheLongestOutageCounts(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_, failing := channels.Condition{PerSecond: 5}.Outage()
	assert.False(t, failing)
	late, b, a := channels.Outage{Instance: "0", Since: began.Add(time.Second)}, channels.Outage{Instance: "b", Since: began}, channels.Outage{Instance: "a", Since: began}
	longest, failing := channels.Condition{Outages: []channels.Outage{late, b, a}}.Outage()
	assert.True(t, failing)
	assert.Equal(t, a, longest)

	asked, longer := a, b
	asked.ForAll, longer.ForAll, asked.Until, longer.Until = true, true, began.Add(time.Minute), began.Add(time.Hour)
	asked.Since = began.Add(-time.Hour)
	both := channels.Condition{Outages: []channels.Outage{asked, longer, late}}
	longest, failing = both.Outage()
	assert.True(t, failing)
	assert.Equal(t, late, longest, "a pause that the provider asked for is no outage")
	_, failing = channels.Condition{Outages: []channels.Outage{asked, longer}}.Outage()
	assert.False(t, failing)
	pause, paused := both.RequestedPause(began)
	assert.True(t, paused)
	assert.Equal(t, longer, pause)
	_, paused = both.RequestedPause(longer.Until)
	assert.False(t, paused, "it is over")
	_, paused = channels.Condition{Outages: []channels.Outage{a, b}}.RequestedPause(began)
	assert.False(t, paused)
}
