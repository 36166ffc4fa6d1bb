package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/harness"
)

// pending triggers an event for ada some time ago, and optionally expands it to her.
func (d *fixture) pending(t *testing.T, ago time.Duration, find bool) events.OccurrenceID {
	t.Helper()
	s, web := d.store(t), app.Path{Organization: "acme", Project: "shop", Application: "web"}
	parts := d.parts(s)
	parts.Clock = clocks.At(frozen{}.Now().Add(-ago))
	use := harness.Assemble(parts).API
	_, err := use.Applications.Register(t.Context(), audit.Actor{}, web, app.Registration{
		User: users.User{Username: "ada"}, Details: users.Details{Email: "ada@example.org"}, Active: true, List: "Web users",
		Addresses: []app.RegisteredAddress{{Address: users.NewEmailAddress("ada@example.org"), ToPreferred: true}}})
	require.NoError(t, err)
	o, _, err := use.Triggers.Trigger(t.Context(), audit.Actor{}, web, "shipped", app.Trigger{Context: events.Context("{}")})
	require.NoError(t, err)
	if find {
		_, err = s.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
		require.NoError(t, err)
	}
	return o.ID
}

func TestRelease(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	d.In = strings.NewReader(`{organizations: [{slug: acme, name: Acme, projects: [{slug: shop, name: Shop, applications: [{slug: web, name: Web,
		events: [{slug: shipped, name: Shipped, channels: [mail], templates: [{channel: mail, text: Hello}]}]}]}]}]}`)
	d.done(t, "apply", "-f", "-")
	old := d.pending(t, 30*24*time.Hour, true)
	d.pending(t, 25*time.Hour, true)
	fresh := d.pending(t, 30*time.Minute, false)
	_, err := d.use(t).CLI.Installation.Hold(t.Context(), audit.Actor{})
	require.NoError(t, err)

	const waiting = "WAITS FOR      OCCURRENCES  MESSAGES  RECIPIENTS UNKNOWN\n" +
		"less than 1 h  1            0         1\n" +
		"1 h to 6 h     0            0         0\n" +
		"6 h to 1 d     0            0         0\n" +
		"1 d to 7 d     1            1         0\n" +
		"7 d or more    1            1         0\n" +
		"scheduled      0            0         0\n"
	assert.Equal(t, waiting+"would be cancelled, because older than 24h0m0s: 2 occurrences with 2 messages\n"+
		"nothing was changed; the installation is held since 2026-02-03T04:05:06Z\n", d.done(t, "release", "--dry-run", "--cancel-older-than", "24h"))
	states := func() map[deliveries.State]int {
		all := map[deliveries.State]int{}
		s := d.store(t)
		require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
			for _, id := range []events.OccurrenceID{old, old + 1, fresh} {
				o, _, err := tx.Deliveries().Locate(t.Context(), id)
				if err != nil {
					return err
				}
				counts, err := tx.Deliveries().Counts(t.Context(), o)
				if err != nil {
					return err
				}
				for state, n := range counts {
					all[state] += n
				}
			}
			return nil
		}))
		return all
	}
	assert.Equal(t, 2, states()[deliveries.Pending])
	assert.Equal(t, waiting+"cancelled, because older than 24h0m0s: 2 occurrences with 2 messages\nreleased: messages are sent from now on\n",
		d.done(t, "release", "--cancel-older-than", "24h"))
	assert.Equal(t, 2, states()[deliveries.Skipped], "they are skipped before the first message leaves")
	assert.Zero(t, states()[deliveries.Pending])

	var left struct {
		HeldSince *time.Time `json:"held_since"`
		Waiting   []struct{ Occurrences int }
	}
	require.NoError(t, json.Unmarshal([]byte(d.done(t, "release", "-o", "json")), &left))
	assert.Nil(t, left.HeldSince)
	assert.Equal(t, 1, left.Waiting[0].Occurrences, "what is fresh is left")
	assert.Zero(t, left.Waiting[4].Occurrences)

	log := d.done(t, "audit", "list")
	assert.Contains(t, log, "installation.release")
	assert.Contains(t, d.done(t, "audit", "list", "--org", "acme"), "acme/p/shop/a/web/occurrences/1")
	assert.Equal(t, 2, d.run(t, "release", "--cancel-older-than", "0s"))
	assert.Equal(t, 2, d.run(t, "release", "now"))
}
