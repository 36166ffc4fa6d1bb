package channels_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/channels"
)

func TestPoolHealth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good, peer := channels.Member{ID: 1, Weight: 100, Active: true}, channels.Member{ID: 2, Weight: 100, Active: true}
	with := func(change func(m *channels.Member)) channels.Member {
		m := good
		change(&m)
		return m
	}
	for name, c := range map[string]struct {
		member channels.Member
		state  channels.MemberState
		share  float64 // in percent
	}{
		"Works":     {good, channels.MemberWorks, 50},
		"Standby":   {with(func(m *channels.Member) { m.Weight = 0 }), channels.MemberStandby, 0},
		"Inactive":  {with(func(m *channels.Member) { m.Active, m.Until = false, now.Add(time.Minute) }), channels.MemberInactive, 0},
		"UsedUp":    {with(func(m *channels.Member) { m.UsedUp = now.Add(time.Hour) }), channels.MemberUsedUp, 0},
		"Paused":    {with(func(m *channels.Member) { m.Until = now.Add(time.Second) }), channels.MemberPaused, 0},
		"OnTrial":   {with(func(m *channels.Member) { m.Until = now }), channels.MemberOnTrial, 2},
		"Returning": {with(func(m *channels.Member) { m.Recovered = now.Add(-channels.RampUpFor / 2) }), channels.MemberReturning, 33},
		"NewDay":    {with(func(m *channels.Member) { m.UsedUp = now.Add(-channels.RampUpFor / 2) }), channels.MemberReturning, 33},
		"Tried":     {with(func(m *channels.Member) { m.Until = now.Add(-channels.TrialFor) }), channels.MemberReturning, 9},
		"Forgotten": {with(func(m *channels.Member) { m.Until = now.Add(-channels.TrialFor - channels.RampUpFor) }), channels.MemberWorks, 50},
		"Reduced":   {with(func(m *channels.Member) { m.Quality = answering(now.Add(-2*time.Second), 100, 2, time.Second) }), channels.MemberReduced, 36},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := channels.PoolHealth([]channels.Member{c.member, peer}, now)
			require.Len(t, all, 2)
			assert.Equal(t, c.state, all[0].State)
			assert.InDelta(t, c.share, 100*all[0].Share, 1)
			assert.Equal(t, channels.MemberWorks, all[1].State)
			assert.InDelta(t, 1, all[0].Share+all[1].Share, 0.001)
		})
	}
}

// TestPoolHealthFigures compares the figures of a member with its attempts.
func TestPoolHealthFigures(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := channels.Member{ID: 1, Weight: 1, Active: true}
	assert.False(t, channels.PoolHealth([]channels.Member{m}, began)[0].Measured)

	m.Quality = answering(began, 100, 4, 300*time.Millisecond)
	h := channels.PoolHealth([]channels.Member{m}, began.Add(time.Minute))[0]
	assert.True(t, h.Measured)
	assert.InDelta(t, 0.25, h.FailureRate, 0.01)
	assert.InDelta(t, 300*time.Millisecond, h.ResponseTime, float64(time.Millisecond))

	m.Quality = channels.Quality{}.With(true, time.Second, began)
	h = channels.PoolHealth([]channels.Member{m}, began)[0]
	assert.InDelta(t, 1, h.FailureRate, 0.001)
	assert.Zero(t, h.ResponseTime, "none came")
	assert.False(t, channels.PoolHealth([]channels.Member{m}, began.Add(channels.QualityExpiry))[0].Measured)
}

// TestPoolHealthShares shows that the shares add up to the whole, or to nothing when no member
// works.
func TestPoolHealthShares(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		return now.Add(time.Duration(rapid.IntRange(-200, 200).Draw(t, "seconds")) * time.Second)
	})
	rapid.Check(t, func(t *rapid.T) {
		var members []channels.Member
		for i := range rapid.IntRange(1, 5).Draw(t, "members") {
			members = append(members, channels.Member{ID: channels.ID(i + 1), Weight: rapid.IntRange(0, 3).Draw(t, "weight"), Active: rapid.Bool().Draw(t, "active"),
				Until: moment.Draw(t, "until"), UsedUp: moment.Draw(t, "used up"), Recovered: moment.Draw(t, "recovered")})
		}
		sum, useful := 0.0, false
		for _, h := range channels.PoolHealth(members, now) {
			sum += h.Share
			switch h.State {
			case channels.MemberInactive, channels.MemberPaused, channels.MemberUsedUp:
				require.Zero(t, h.Share)
			default:
				useful = true
			}
		}
		if useful {
			require.InDelta(t, 1, sum, 0.001)
		} else {
			require.Zero(t, sum)
		}
	})
}
