package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/ports"
)

// TestApplyClearsOutages checks that a changed channel is tried at once, as after a change in the
// console: the pause may have been that of another provider.
func TestApplyClearsOutages(t *testing.T) {
	t.Parallel()
	store := emptyInstallation(t)
	b := shop()
	apply(t, store, b)
	mail := func() (c channels.Channel, outages []channels.Outage) {
		require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
			org, err := tx.Orgs().BySlug(t.Context(), "acme")
			require.NoError(t, err)
			c, err = tx.Channels().Find(t.Context(), org.ID, 0, "mail")
			require.NoError(t, err)
			found, err := tx.Channels().Conditions(t.Context(), org.ID, []channels.ID{c.ID})
			outages = found[c.ID].Outages
			return err
		}))
		return c, outages
	}
	c, _ := mail()
	now := time.Now()
	require.NoError(t, store.Queue().ReportOutage(t.Context(), channels.Outage{Channel: c.ID, Instance: "a", Since: now, Last: now, Until: now.Add(time.Hour), ForAll: true}))
	apply(t, store, b)
	_, outages := mail()
	assert.Len(t, outages, 1, "nothing was changed")
	b.Organizations[0].Channels[0].Preferred = false
	b.Organizations[0].Channels[0].Pool, b.Organizations[0].Channels[0].Weight = "post", 10
	apply(t, store, b)
	_, outages = mail()
	assert.Len(t, outages, 1, "the provider is the same, and it asked for a pause")
	for name, limit := range map[string]any{channels.SettingConcurrency: 3, channels.SettingRatePerSecond: 5, channels.SettingQuotaPerDay: 10, channels.SettingQuotaPerMonth: 20} {
		b.Organizations[0].Channels[0].Settings[name] = limit
		apply(t, store, b)
		c, outages = mail()
		assert.Len(t, outages, 1, name)
		assert.Equal(t, fmt.Sprint(limit), fmt.Sprint(c.Settings[name]), "it is stored")
	}
	b.Organizations[0].Channels[0].Settings["port"] = 25
	apply(t, store, b)
	_, outages = mail()
	assert.Empty(t, outages)

	require.NoError(t, store.Queue().ReportOutage(t.Context(), channels.Outage{Channel: c.ID, Instance: "a", Since: now, Last: now, Until: now.Add(time.Hour), ForAll: true}))
	b.Organizations[0].Channels[0].Active = false
	apply(t, store, b)
	_, outages = mail()
	assert.Empty(t, outages, "it was made inactive")
}
