package gormstore_test

import (
	"fmt"
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
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/test/databases"
	"github.com/tocsin/tocsin/test/pgtest/pgproxy"
)

// TestRoundTrips is about Postgres. On an idle system, a message mainly waits for the answers of
// the server, one after the other.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	proxy, s := oneConnection(t)
	p := newPost(t, s)
	triggers := app.NewTriggers(s, nil, wall{}, app.NewQuotas(wall{}, quotas.NewDefaults(quotas.Limits{}), 0))
	var err error
	what := app.Trigger{Context: p.occurs.Context}
	what.Options, err = events.NewOptions([]string{"ada@example.org"}, nil)
	require.NoError(t, err)
	q, ctx := s.Queue(), t.Context()
	trips, of := 0, map[string]int{}
	for range 2 { // The first time statements are prepared.
		before := proxy.Sent()
		step := func(name string) { of[name], before = proxy.Sent()-before, proxy.Sent() }
		all := before
		_, _, err := triggers.Trigger(ctx, audit.Actor{Name: "shop"}, app.Path{Organization: "acme", Project: "shop", Application: "web"}, "order", what)
		require.NoError(t, err)
		step("trigger")
		done, err := q.Expand(ctx, deliveries.AllOccurrences, 10)
		require.NoError(t, err)
		require.Equal(t, 1, done.Deliveries)
		step("expand")
		jobs, err := q.Claim(ctx, p.channel.ID, "w", 16, time.Minute)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.NotNil(t, jobs[0].Of, "the occurrence comes with it")
		step("claim")
		lost, err := q.Record(ctx, "w", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Sent, Attempts: 1}})
		require.NoError(t, err)
		require.Zero(t, lost)
		step("record")
		trips = proxy.Sent() - all
	}
	const (
		trigger = 5 // begin and the event; names; recipients; the occurrence; the rest with the commit
		expand  = 4 // begin and whose turn it is; the set; its deliveries; the rest with the commit
		claim   = 4 // begin and what waits; locks; jobs with their occurrence; the rest with the commit
		record  = 3 // begin and outcomes; their occurrences; the rest with the commit
		told    = 2 // other instances, of the trigger and of the expansion, meanwhile or later
	)
	assert.GreaterOrEqual(t, trips, trigger+expand+claim+record, "%v", of)
	assert.LessOrEqual(t, trips, trigger+expand+claim+record+told, "%v", of)
}

// TestEnrollmentRoundTrips is about Postgres on another machine: an enrolment waits for the answers
// of the server, one after the other.
func TestEnrollmentRoundTrips(t *testing.T) {
	t.Parallel()
	proxy, s := oneConnection(t)
	newPost(t, s)
	people, registrations := app.NewUsers(s, batch.Pair), app.NewApplications(s, quotas.NewDefaults(quotas.Limits{}), batch.Pair)
	by, at := audit.Actor{Name: "shop"}, app.Path{Organization: "acme", Project: "shop", Application: "web"}
	named := 0
	email := func() string {
		named++
		return fmt.Sprintf("p%d@example.org", named)
	}
	trips := func(run func()) int {
		before := proxy.Sent()
		run()
		return proxy.Sent() - before
	}
	create := func(n int) func() {
		return func() {
			all := make([]users.Enrollment, n)
			for i := range all {
				all[i].Email, all[i].FirstName = email(), "Ada"
			}
			done, err := people.CreateAll(t.Context(), by, at, all)
			require.NoError(t, err)
			for _, d := range done {
				require.True(t, d.Enrolled)
			}
		}
	}
	register := func() {
		u := users.User{Username: email()}
		done, err := registrations.Register(t.Context(), by, at, app.Registration{User: u, Active: true,
			Addresses: []app.RegisteredAddress{{Address: users.NewEmailAddress(u.Username)}}})
		require.NoError(t, err)
		require.True(t, done.Created)
	}
	var one, ten, registered int
	for range 2 { // The first time statements are prepared.
		one, ten, registered = trips(create(1)), trips(create(10)), trips(register)
	}
	assert.Equal(t, 6, one, "begin and the organization; who exists; the identity; the member; its words; the rest with the commit")
	assert.Equal(t, 5, ten, "the same without words, which are indexed later")
	assert.Equal(t, 8, registered, "begin and the application; the identity; the member; the membership, before and after; the address; words; the rest with the commit")
}

// oneConnection returns a store with one connection to Postgres, and the proxy that counts what the
// store sends.
func oneConnection(t *testing.T) (*pgproxy.Proxy, *gormstore.Store) {
	t.Helper()
	return openThrough(t, databases.Postgres(t), "&pool_max_conns=1", gormstore.Config{Keys: seal.NewRing([seal.KeySize]byte{1})})
}
