package gormstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// TestPausesUseServerClock is about instances that share a Postgres database and whose clocks
// differ by 20 minutes: each sees the pauses of the others begin and end when they do.
func TestPausesUseServerClock(t *testing.T) {
	t.Parallel()
	const apart = 20 * time.Minute
	url := databases.Postgres(t)
	clocks := map[string]ports.Clock{"right": wall{}, "ahead": wrong(apart), "behind": wrong(-apart)}
	stores := map[string]*gormstore.Store{}
	for name, c := range clocks {
		stores[name] = instance(t, url, c)
	}
	p := newPost(t, stores["right"])
	p.channel.Pool, p.channel.Weight = "mail", 100
	require.NoError(t, p.Update(t.Context(), func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), p.channel) }))
	report := func(name string, until time.Duration) {
		t.Helper()
		now := clocks[name].Now()
		require.NoError(t, stores[name].Queue().ReportOutage(t.Context(), channels.Outage{Channel: p.channel.ID, Instance: name,
			Since: now.Add(until - time.Hour), Last: now.Add(until - time.Minute), Until: now.Add(until), ForAll: true, Error: "429"}))
	}
	// seen returns the outages as an instance sees them, and checks that their times are right.
	seen := func(name string, until map[string]time.Duration) {
		t.Helper()
		now := clocks[name].Now()
		near := func(want time.Duration, got time.Time) {
			t.Helper()
			assert.InDelta(t, want.Seconds(), got.Sub(now).Seconds(), 30)
		}
		var found channels.Condition
		var failing []channels.Failing
		require.NoError(t, stores[name].View(t.Context(), func(tx ports.Tx) error {
			all, err := tx.Channels().Conditions(t.Context(), p.channel.Organization, []channels.ID{p.channel.ID})
			require.NoError(t, err)
			found = all[p.channel.ID]
			failing, err = tx.Channels().Failing(t.Context(), []orgs.ID{p.channel.Organization}, 10)
			return err
		}))
		require.Len(t, found.Outages, len(until))
		longest := -time.Hour
		for _, o := range found.Outages {
			want, known := until[o.Instance]
			require.True(t, known, o.Instance)
			near(want, o.Until)
			near(want-time.Minute, o.Last)
			near(want-time.Hour, o.Since)
			longest = max(longest, want)
		}
		c, err := stores[name].Queue().Channel(t.Context(), p.channel.ID)
		require.NoError(t, err)
		if longest < 0 {
			assert.Zero(t, c.Paused)
			assert.Empty(t, failing)
			return
		}
		near(longest, c.Paused)
		require.Len(t, failing, 1)
		near(until[failing[0].Instance]-time.Hour, failing[0].Since)
		members, err := stores[name].Queue().Pool(t.Context(), p.channel.Organization, p.channel.ID)
		require.NoError(t, err)
		require.Len(t, members, 1)
		near(longest, members[0].Until)
	}
	all := func(until map[string]time.Duration) {
		t.Helper()
		for name := range stores {
			seen(name, until)
		}
	}
	for _, name := range []string{"right", "ahead", "behind"} {
		report(name, 5*time.Minute)
		all(map[string]time.Duration{name: 5 * time.Minute})
		report(name, -5*time.Minute)
		all(map[string]time.Duration{name: -5 * time.Minute})
		require.NoError(t, stores[name].Queue().ClearOutage(t.Context(), p.channel.ID, name))
		all(nil)
		for reader, c := range clocks {
			members, err := stores[reader].Queue().Pool(t.Context(), p.channel.Organization, p.channel.ID)
			require.NoError(t, err)
			assert.InDelta(t, 0, c.Now().Sub(members[0].Recovered).Seconds(), 30, "%s sees that it has just returned on %s", reader, name)
		}
	}

	report("right", 5*time.Minute-channels.OutageOverdue)
	report("behind", -5*time.Minute-channels.OutageOverdue)
	require.NoError(t, stores["ahead"].Queue().ClearOutage(t.Context(), p.channel.ID, "ahead"))
	all(map[string]time.Duration{"right": 5*time.Minute - channels.OutageOverdue})

	report("right", 5*time.Minute-channels.OutageExpiry)
	all(map[string]time.Duration{"right": 5*time.Minute - channels.OutageExpiry})
	report("ahead", -time.Minute)
	all(map[string]time.Duration{"right": 5*time.Minute - channels.OutageExpiry, "ahead": -time.Minute})
	report("right", -5*time.Minute-channels.OutageExpiry)
	all(map[string]time.Duration{"ahead": -time.Minute})
}

// TestReadPausesUseServerClock is about a machine whose clock is wrong and that only reads: pauses
// last as long for it as for the one that has reported them.
func TestReadPausesUseServerClock(t *testing.T) {
	t.Parallel()
	url := databases.Postgres(t)
	right := instance(t, url, wall{})
	p := newPost(t, right)
	for _, apart := range []time.Duration{-20 * time.Minute, 20 * time.Minute} {
		reader := instance(t, url, wrong(apart))
		for _, left := range []time.Duration{-time.Minute, time.Minute} {
			now := time.Now()
			require.NoError(t, right.Queue().ReportOutage(t.Context(), channels.Outage{Channel: p.channel.ID, Instance: "right",
				Since: now.Add(-time.Hour), Last: now.Add(left - time.Minute), Until: now.Add(left), ForAll: true, Error: "429"}))
			c, err := reader.Queue().Channel(t.Context(), p.channel.ID)
			require.NoError(t, err)
			assert.Equal(t, left > 0, c.Paused.After(wrong(apart).Now()), "%s, with %s left", apart, left)
			if left > 0 {
				assert.InDelta(t, left.Seconds(), c.Paused.Sub(wrong(apart).Now()).Seconds(), 30)
			}
		}
	}
}
