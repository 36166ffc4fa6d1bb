package statistics_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/statistics"
)

func TestBucket(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int{
		-time.Second: 0, 0: 0, 49 * time.Millisecond: 0, 50 * time.Millisecond: 1, 99 * time.Millisecond: 1, time.Second: 5, 59 * time.Second: 9,
		time.Minute: 10, 24*time.Hour - 1: 14, 24 * time.Hour: 15, 1000 * time.Hour: 15,
	} {
		assert.Equal(t, want, statistics.Bucket(d), d)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	var none, one, many, late statistics.Histogram
	one[1] = 1
	many[0], many[5], many[9] = 90, 8, 2
	late[15] = 3
	for _, c := range []struct {
		of   statistics.Histogram
		q    float64
		want time.Duration
	}{
		{none, 0.5, 0},
		{one, 0.5, 75 * time.Millisecond},
		{one, 1, 100 * time.Millisecond},
		{many, 0.45, 25 * time.Millisecond},
		{many, 0.9, 50 * time.Millisecond},
		{many, 0.94, 1750 * time.Millisecond},
		{many, 1, time.Minute},
		{late, 0.5, 24 * time.Hour},
	} {
		assert.InDelta(t, float64(c.want), float64(c.of.Quantile(c.q)), float64(time.Microsecond))
	}
}

func TestHoursAddUp(t *testing.T) {
	t.Parallel()
	a := statistics.Hour{Start: time.Unix(0, 0), Occurrences: 1, Failed: 2, Skipped: 3, HandOff: statistics.Histogram{4}}
	b := statistics.Hour{Start: time.Unix(3600, 0), Occurrences: 10, Failed: 20, Skipped: 30, HandOff: statistics.Histogram{40, 5}}
	sum := a.Plus(b)
	assert.Equal(t, statistics.Hour{Start: time.Unix(0, 0), Occurrences: 11, Failed: 22, Skipped: 33, HandOff: statistics.Histogram{44, 5}}, sum)
	assert.Equal(t, 49, sum.Sent())
}
