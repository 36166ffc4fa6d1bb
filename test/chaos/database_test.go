package chaos_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

// TestDatabase lets the database crash and come back under load.
func TestDatabase(t *testing.T) {
	t.Parallel()
	t.Run(postgres, func(t *testing.T) {
		t.Parallel()
		server, err := pgserver.Start(t.Context(), pgserver.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, server.Stop()) })
		size := chosenSize()
		s := busy(t, size.people)
		w := newWorld(t, server.URL(), nil, s)
		i := w.serve()
		o := i.trigger(s)
		clients := i.ask(s, o)
		s.sink.await(size.people / 3)

		require.NoError(t, server.Interrupt(t.Context()))
		away, sent := time.Now(), len(s.sink.messages())
		until(t, stepTimeout, "every kind of request is answered 503", func() bool { return clients.all(http.StatusServiceUnavailable, away) })
		<-time.After(size.outage - time.Since(away))
		assert.LessOrEqual(t, len(s.sink.messages()), sent+repeatsPerKill, "no more leave than may be repeated")
		assert.Less(t, len(s.sink.messages()), size.people, "it was interrupted in the middle")
		assert.True(t, clients.all(http.StatusServiceUnavailable, away), "it stays so")
		require.NoError(t, server.Resume(t.Context()))
		back := time.Now()
		until(t, stepTimeout, "every kind of request succeeds again", func() bool { return clients.all(http.StatusOK, back) })
		t.Logf("after %s without a database every request succeeds within %s", back.Sub(away).Round(time.Millisecond), time.Since(back).Round(time.Millisecond))

		assert.Equal(t, all(map[string]int{"sent": size.people}), i.done(o))
		t.Logf("%d recipients: done %s after the database came back", size.people, time.Since(back).Round(time.Second))
		assert.Zero(t, s.repeats(t), "what was sent while the database was away is noted when it is back")
		settled := time.Now()
		until(t, stepTimeout, "all is as before", func() bool { return clients.all(http.StatusOK, settled) })
		clients.stop()
		i.stop()
	})
}
