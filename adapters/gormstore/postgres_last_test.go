package gormstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/test/pgtest/pgproxy"
)

// TestAMessageTakesFewRoundTrips is about Postgres. What a message waits for on an idle system is,
// more than all else, the answers of the server, one after the other.
func TestAMessageTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	proxy, err := pgproxy.Start(t.Context(), pgtest.New(t))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, proxy.Close()) })
	s, err := gormstore.Open(t.Context(), gormstore.Config{URL: proxy.URL() + "&pool_max_conns=1", AutoMigrate: true, Clock: wall{},
		Keys: seal.NewRing([seal.KeySize]byte{1})})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	p := newPost(t, s)
	q, ctx := s.Queue(), t.Context()
	trips := 0
	for range 2 { // The first time statements are prepared.
		p.trigger(t, []string{"ada@example.org"}, nil)
		before := proxy.Sent()
		done, err := q.Expand(ctx, 10)
		require.NoError(t, err)
		require.Equal(t, 1, done.Deliveries)
		jobs, err := q.Claim(ctx, p.channel.ID, "w", 16, time.Minute)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.NotNil(t, jobs[0].Of, "the occurrence comes with it")
		lost, err := q.Record(ctx, "w", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Sent, Attempts: 1}})
		require.NoError(t, err)
		require.Zero(t, lost)
		trips = proxy.Sent() - before
	}
	const (
		expand = 5 // begin; whose turn it is; the set; its deliveries; the rest with the commit
		claim  = 6 // begin; what waits; locks; jobs; their occurrence; the rest with the commit
		record = 4 // begin; outcomes; their occurrences; the rest with the commit
		told   = 2 // other instances, of the trigger and of the expansion, meanwhile or later
	)
	assert.GreaterOrEqual(t, trips, expand+claim+record)
	assert.LessOrEqual(t, trips, expand+claim+record+told)
}
