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
}
