package app_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/test/databases"
)

// TestReportsUseServerClock checks that the database server's clock decides which messages the
// report of the installation, the page of a channel and the overview count as due, and how long
// they have been due.
func TestReportsUseServerClock(t *testing.T) {
	t.Parallel()
	for _, clock := range []wrong{wrong(time.Hour), wrong(-time.Hour)} {
		t.Run(time.Duration(clock).String(), func(t *testing.T) {
			t.Parallel()
			url := databases.Postgres(t)
			store, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clock, ServerClock: true, Keys: seal.NewRing(keyA)})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, store.Close()) })
			apply(t, store, shop())
			shopFront := app.Path{Organization: "acme", Project: "shop", Application: "web"}
			_, err = app.NewApplications(store, nil, batch.Pair).Register(t.Context(), audit.Actor{}, shopFront, app.Registration{
				User: users.User{Username: "ada"}, Details: users.Details{Email: "ada@example.org"}, Active: true, List: "Web users",
				Addresses: []app.RegisteredAddress{{Address: users.NewEmailAddress("ada@example.org"), ToPreferred: true}}})
			require.NoError(t, err)
			_, _, err = app.NewTriggers(store, nil, clock, app.NewQuotas(clock, nil, 0)).
				Trigger(t.Context(), audit.Actor{}, shopFront, "shipped", app.Trigger{Context: events.Context("{}")})
			require.NoError(t, err)
			_, err = store.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
			require.NoError(t, err)
			due, err := store.Queue().Due(t.Context())
			require.NoError(t, err)
			require.Len(t, due, 1)
			org := due[0].Organization

			system := app.NewSystem(store, clock, func(context.Context) app.InstanceInfo { return app.InstanceInfo{} })
			inAll := func() []statistics.Backlog {
				r, err := system.Show(t.Context())
				require.NoError(t, err)
				return r.Queue.Backlogs
			}
			ofChannel := func() int {
				r, err := app.NewChannels(store, realDrivers(), nil, clock).Show(t.Context(), app.Path{Organization: "acme"}, due[0].Channel)
				require.NoError(t, err)
				return r.Backlog.Waiting
			}
			late := func() app.Attention {
				a, err := app.NewOverviews(store, clock).Attention(t.Context(), []orgs.ID{org})
				require.NoError(t, err)
				return *a[org]
			}
			db, err := sql.Open("pgx", url)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, db.Close()) })
			since := func(minutes int) {
				_, err := db.ExecContext(t.Context(), "UPDATE deliveries SET next_at = now() - make_interval(mins => $1)", minutes)
				require.NoError(t, err)
			}

			since(-4)
			assert.Empty(t, inAll(), "it is due in four minutes")
			assert.Zero(t, ofChannel())
			since(4)
			assert.Len(t, inAll(), 1)
			assert.Equal(t, 1, ofChannel())
			assert.Empty(t, late().Backlogs, "it is not overdue yet")
			since(6)
			a := late()
			require.Len(t, a.Backlogs, 1)
			assert.InDelta(t, 6*time.Minute.Seconds(), a.Now.Sub(a.Backlogs[0].Oldest).Seconds(), 60)
		})
	}
}
