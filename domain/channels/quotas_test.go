package channels_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
)

func TestQuota(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		moment, err := time.Parse("2006-01-02 15:04 -0700", s)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	noon := at("2026-03-31 12:00 +0000")
	both := channels.Quota{PerDay: 100, PerMonth: 1_000}
	t.Run("ADayAndAMonthEndInUTC", func(t *testing.T) {
		t.Parallel()
		used := channels.Usage{At: at("2026-03-30 23:00 +0000"), OfDay: 9, OfMonth: 90}
		assert.Equal(t, 9, used.On(at("2026-03-31 01:30 +0200")).OfDay)
		next := used.On(at("2026-03-31 00:00 +0000"))
		assert.Equal(t, channels.Usage{At: at("2026-03-31 00:00 +0000").UTC(), OfMonth: 90}, channels.Usage{At: next.At.UTC(), OfDay: next.OfDay, OfMonth: next.OfMonth})
		assert.Zero(t, used.On(at("2026-04-01 00:00 +0000")).OfMonth)
		assert.Equal(t, used, used.On(at("2026-03-29 12:00 +0000")), "a clock that goes back begins no new day")
	})
	t.Run("IsNeverExceeded", func(t *testing.T) {
		t.Parallel()
		used, taken := channels.Usage{}, 0
		for range 20 {
			var a channels.Allowance
			used, a = used.Allow(both, 7, channels.Allowance{}, noon)
			taken += a.Left
		}
		assert.Equal(t, 100, taken)
		assert.Equal(t, channels.Usage{At: noon, OfDay: 100, OfMonth: 100}, used)
		assert.Equal(t, at("2026-04-01 00:00 +0000").UTC(), used.UsedUp(both))
		_, none := used.Allow(both, 7, channels.Allowance{}, noon)
		assert.Equal(t, channels.Allowance{Taken: noon, Until: at("2026-04-01 00:00 +0000").UTC()}, none)
	})
	t.Run("ExhaustedMonthLeavesNothingForTheDay", func(t *testing.T) {
		t.Parallel()
		used := channels.Usage{At: at("2026-01-05 12:00 +0000"), OfDay: 1, OfMonth: 999}
		used, last := used.Allow(both, 50, channels.Allowance{}, used.At)
		assert.Equal(t, 1, last.Left)
		_, none := used.Allow(both, 50, channels.Allowance{}, used.At)
		assert.Equal(t, at("2026-02-01 00:00 +0000").UTC(), none.Until.UTC())
		assert.Zero(t, none.Left)
	})
	t.Run("RemainderReturnsToItsDayAndMonth", func(t *testing.T) {
		t.Parallel()
		used, a := channels.Usage{}.Allow(both, 40, channels.Allowance{}, noon)
		a.Left = 30
		same, _ := used.Allow(both, 0, a, noon)
		assert.Equal(t, channels.Usage{At: noon, OfDay: 10, OfMonth: 10}, same)
		begun := channels.Usage{At: at("2026-03-30 12:00 +0000"), OfDay: 40, OfMonth: 40}
		a.Taken = begun.At
		later, _ := begun.Allow(both, 5, a, noon)
		assert.Equal(t, channels.Usage{At: noon, OfDay: 5, OfMonth: 15}, later, "yesterday is over, and the month is not")
	})
	t.Run("WithoutOneEverythingIsAllowed", func(t *testing.T) {
		t.Parallel()
		assert.True(t, channels.Quota{}.None())
		used, a := channels.Usage{}.Allow(channels.Quota{}, 512, channels.Allowance{}, noon)
		assert.Equal(t, 512, a.Left)
		assert.Zero(t, used.UsedUp(channels.Quota{}))
	})
	for want, q := range map[int]channels.Quota{1: {PerDay: 5}, 2: {PerDay: 1_000_000, PerMonth: 200}, 30: {PerMonth: 3_000}, 10: {PerDay: 1_000, PerMonth: 30_000}, 512: {PerDay: 1_000_000}} {
		assert.Equal(t, want, q.Portion())
	}
}

func TestUsageOfAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	of := channels.Quota{PerDay: 10, PerMonth: 50}
	ahead, _ := channels.Usage{}.Allow(of, 10, channels.Allowance{}, now.AddDate(1, 0, 0))
	later, allowed := ahead.Allow(of, 10, channels.Allowance{}, now)
	assert.Equal(t, channels.Usage{At: now, OfDay: 10, OfMonth: 10}, later)
	assert.Equal(t, now, allowed.Taken)
	_, allowed = later.Allow(of, 10, channels.Allowance{}, now.Add(-13*time.Hour))
	assert.Zero(t, allowed.Left, "a small step back gives nothing twice")
}
