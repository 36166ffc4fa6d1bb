package chaos_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

// pair starts a server and a synchronous standby of it, and returns them with the URL that names
// both.
func pair(t *testing.T) (primary, standby *pgserver.Server, both string) {
	t.Helper()
	primary, err := pgserver.Start(t.Context(), pgserver.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, primary.Stop()) })
	standby, err = primary.Standby(t.Context(), pgserver.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, standby.Stop()) })
	first, err := url.Parse(primary.URL())
	require.NoError(t, err)
	second, err := url.Parse(standby.URL())
	require.NoError(t, err)
	first.Host += "," + second.Host
	first.RawQuery += "&target_session_attrs=read-write"
	return primary, standby, first.String()
}

// TestFailover lets the server of the database die in the middle of sending, and promotes its
// synchronous standby.
func TestFailover(t *testing.T) {
	t.Run(postgres, func(t *testing.T) {
		primary, standby, both := pair(t)
		size := chosenSize()
		s := busy(t, size.people)
		w := newWorld(t, both, nil, s)
		i := w.serve()
		o := i.trigger(s)
		clients := i.ask(s, o)
		s.sink.await(size.people / 3)

		require.NoError(t, primary.Interrupt(t.Context()))
		away := time.Now()
		until(t, stepTimeout, "every kind of request is answered 503", func() bool { return clients.all(http.StatusServiceUnavailable, away) })
		require.Less(t, len(s.sink.messages()), size.people, "it was interrupted in the middle")
		require.NoError(t, standby.Promote(t.Context()))
		promoted := time.Now()
		until(t, stepTimeout, "every kind of request succeeds again", func() bool { return clients.all(http.StatusOK, promoted) })
		back := time.Since(promoted)
		assert.Less(t, back, resumeLimit)
		assert.Equal(t, all(map[string]int{"sent": size.people}), i.done(o))
		assert.Zero(t, s.repeats(t), "what was sent meanwhile is noted at the new primary")
		clients.stop()
		t.Logf("%d recipients: every request succeeds %s after the promotion, done after %s", size.people, back.Round(time.Millisecond), time.Since(promoted).Round(time.Second))
		clients.kept(i)
		i.stop()
	})
}
