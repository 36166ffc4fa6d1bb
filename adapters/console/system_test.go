package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/users"
)

// facts returns the information about the instance of the tests.
func facts(context.Context) app.InstanceInfo {
	at := time.Date(2026, time.March, 4, 1, 2, 3, 0, time.UTC)
	return app.InstanceInfo{Version: "1.2.3", Runtime: "go1.26", Instance: "host:7" + payload, Started: at,
		Database:   app.Database{Kind: "SQLite", Version: "3.53", Size: 5 << 20},
		Migrations: []app.Migration{{Name: "00001_init", Applied: at}, {Name: "00002_more", Applied: at}, {Name: "00003_late"}},
		Checks:     []health.Check{{Name: "the database answers"}, {Name: "the schema can be read", Err: errors.New("it is <torn>")}},
		Settings:   []app.Setting{{Name: "secret_key", Value: "********", Origin: "environment"}},
		Problems:   []app.Problem{{At: at, Level: "warn", Text: "something <odd>, error: it was"}, {At: at, Level: "warn", Text: payload}}}
}

// heartbeat records that a worker runs.
func (f *fixture) heartbeat(p deliveries.Presence) {
	f.Helper()
	_, err := f.store.Queue().Heartbeat(f.Context(), p)
	require.NoError(f, err)
}

func TestSystem(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.account("root", true))
		const system = "/console/system/"
		idle := b.get(system).is(f.T, http.StatusOK).text()
		for _, part := range []string{
			"OK the database answers failing the schema can be read it is <torn>", "Version 1.2.3 go1.26", "This instance host:7" + payload + " , since 2026-03-04 01:02:03 UTC",
			"Database SQLite 3.53, 5.0 MiB", "Schema 00002_more 1 not applied", "00003_late not yet", "0 due deliveries 0 occurrences wait",
			"No worker is running", "2026-03-04 01:02:03 UTC warn something <odd>, error: it was", "1 setting of this instance", "secret_key ******** environment",
		} {
			assert.Contains(f, idle, part)
		}
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		f.newOccurrence()
		f.expand()
		f.newOccurrence()
		for _, p := range []deliveries.Presence{{Owner: "a", Instance: "here:1", Version: "1.2.3", Started: f.clock.Now()}, {Owner: "b", Instance: "gone:2"}} {
			f.heartbeat(p)
			if p.Owner == "b" {
				continue
			}
			f.clock.Advance(2 * time.Minute)
		}
		f.heartbeat(deliveries.Presence{Owner: "b", Instance: "here:2", Version: "1.2.4", Started: f.clock.Now()})
		busy := b.get(system).text()
		assert.Contains(f, busy, "1 due delivery 1 occurrence waiting for its recipients to be looked up")
		assert.Contains(f, busy, "acme 0 1 0 2026-03-04 05:06:07 UTC", "by organization")
		assert.Contains(f, busy, "mail acme 1 normal 2026-03-04 05:06:07 UTC", "by channel")
		assert.Contains(f, b.get(atAcme+"channels/").text(), "Waiting: 1 normal")
		mail := f.channel(app.Path{Organization: "acme"}, "mail")
		assert.Contains(f, b.get(fmt.Sprintf("%schannels/%d/", atAcme, mail.ID)).text(), "Waiting 1 normal due since 2026-03-04 05:06:07 UTC")
		assert.Contains(f, busy, "here:1 1.2.3 2026-03-04 05:06:07 UTC 2026-03-04 05:06:07 UTC lost")
		assert.Contains(f, busy, "here:2 1.2.4")
		assert.Contains(f, busy, "2026-03-04 05:08:07 UTC working")
		assert.NotContains(f, busy, "No worker is running")
	})
}
