package channels_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		concurrency any
		want        int
		valid       bool
	}{
		{1, 1, true}, {256, 256, true}, {int64(7), 7, true}, {8.0, 8, true}, {json.Number("9"), 9, true}, {json.Number("1e2"), 100, true},
		{0, 16, false}, {-1, 16, false}, {257, 16, false}, {1.5, 16, false}, {math.NaN(), 16, false}, {math.Inf(1), 16, false},
		{"7", 7, true}, {"seven", 16, false}, {"", 16, false}, {true, 16, false}, {nil, 16, false}, {json.Number("x"), 16, false}, {[]any{7}, 16, false},
	} {
		t.Run(fmt.Sprintf("Concurrency/%T %v", c.concurrency, c.concurrency), func(t *testing.T) {
			t.Parallel()
			s := channels.Settings{"concurrency": c.concurrency}
			assert.Equal(t, channels.Limits{Concurrency: c.want, Shared: c.valid}, s.Limits(), "what is wrong has its default")
			assert.Equal(t, c.valid, s.CheckLimits() == nil)
		})
	}
	for _, c := range []struct {
		rate  any
		want  float64
		valid bool
	}{
		{1, 1, true}, {0.1, 0.1, true}, {100_000, 100_000, true}, {json.Number("2.5"), 2.5, true},
		{0, 0, false}, {-0.5, 0, false}, {100_001, 0, false}, {math.NaN(), 0, false}, {math.Inf(1), 0, false}, {"1.5", 1.5, true}, {"inf", 0, false}, {nil, 0, false},
		{0.0000116, 0.0000116, true}, {1e-5, 1.0 / 86_400, false}, {1e-11, 1.0 / 86_400, false}, // No limit would send everything at once.
	} {
		t.Run(fmt.Sprintf("Rate/%T %v", c.rate, c.rate), func(t *testing.T) {
			t.Parallel()
			s := channels.Settings{"rate_per_second": c.rate}
			assert.Equal(t, channels.Limits{Concurrency: 16, PerSecond: c.want}, s.Limits(), "what is wrong has its default")
			assert.Equal(t, c.valid, s.CheckLimits() == nil)
		})
	}
	for _, c := range []struct {
		quota any
		want  int
		valid bool
	}{
		{1, 1, true}, {0, 0, true}, {"50000", 50_000, true}, {json.Number("1e6"), 1_000_000, true}, {1_000_000_000, 1_000_000_000, true},
		{-1, 0, false}, {1.5, 0, false}, {1_000_000_001, 0, false}, {math.NaN(), 0, false}, {math.Inf(1), 0, false}, {"many", 0, false}, {nil, 0, false},
	} {
		for _, name := range []string{"quota_per_day", "quota_per_month"} {
			t.Run(fmt.Sprintf("Quota/%s %T %v", name, c.quota, c.quota), func(t *testing.T) {
				t.Parallel()
				s := channels.Settings{name: c.quota}
				want := channels.Quota{PerDay: c.want}
				if name == "quota_per_month" {
					want = channels.Quota{PerMonth: c.want}
				}
				assert.Equal(t, channels.Limits{Concurrency: 16, Quota: want}, s.Limits(), "what is wrong has its default")
				assert.Equal(t, c.valid, s.CheckLimits() == nil)
			})
		}
	}
	t.Run("WithoutSettingsThereAreTheDefaults", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, channels.Limits{Concurrency: 16}, channels.Settings(nil).Limits())
		assert.NoError(t, channels.Settings(nil).CheckLimits())
	})
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		err := channels.Channel{Settings: channels.Settings{"concurrency": 0, "rate_per_second": 0}}.CheckSettings()
		var e *fault.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, fault.Fields{{Name: "settings.concurrency", Messages: []string{"must be a whole number from 1 to 256"}},
			{Name: "settings.rate_per_second", Messages: []string{"must be a number above 0 and at most 100000"}}}, e.Fields())
	})
	t.Run("NamesTheLowestRate", func(t *testing.T) {
		t.Parallel()
		require.ErrorContains(t, channels.Settings{"rate_per_second": 1e-5}.CheckLimits(), "must be at least 0.0000116, one message a day")
	})
}
