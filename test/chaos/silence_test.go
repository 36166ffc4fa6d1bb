package chaos_test

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/test/pgtest/pgproxy"
)

// cuttable returns a path to an empty database that can be cut.
func cuttable(t *testing.T) *pgproxy.Proxy {
	t.Helper()
	p, err := pgproxy.Start(t.Context(), pgtest.New(t))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// ready is the readiness report of an instance.
func (i *instance) ready() int {
	status, _, err := i.try(i.t.Context(), http.MethodGet, "/readyz", "")
	assert.NoError(i.t, err)
	return status
}

// TestSilentPath cuts the path to the database in the middle of sending: nothing passes, but no
// connection is closed.
func TestSilentPath(t *testing.T) {
	t.Run(postgres, func(t *testing.T) {
		size := chosenSize()
		p := cuttable(t)
		s := busy(t, size.people)
		w := newWorld(t, p.URL(), nil, s)
		i := w.serve()
		o := i.trigger(s)
		s.sink.await(size.people / 3)

		p.Cut()
		cut, sent := time.Now(), len(s.sink.messages())
		until(t, stepTimeout, "it says that it is not ready", func() bool { return i.ready() == http.StatusServiceUnavailable })
		<-time.After(max(size.outage, 15*time.Second) - time.Since(cut)) // longer than any connection waits for an answer
		require.LessOrEqual(t, len(s.sink.messages()), sent+repeatsPerKill, "no more leave than may be repeated")
		require.Less(t, len(s.sink.messages()), size.people, "it was cut in the middle")
		before := len(s.sink.messages())
		p.Heal()
		back := time.Now()
		s.sink.await(before + 1)
		resumed := time.Since(back)
		assert.Less(t, resumed, resumeLimit, "messages leave again")
		assert.Equal(t, all(map[string]int{"sent": size.people}), i.done(o))
		assert.Zero(t, s.repeats(t), "what was sent while the path was cut is noted when it is back")
		assert.Equal(t, http.StatusOK, i.ready())
		t.Logf("%d recipients: messages leave %s after the path is back, done after %s", size.people, resumed.Round(time.Millisecond), time.Since(back).Round(time.Second))
		i.stop()
	})
}

// TestTerminateOnASilentPath checks that an instance ends in time after SIGTERM, while it sends and
// the path to the database is cut.
func TestTerminateOnASilentPath(t *testing.T) {
	t.Run(postgres, func(t *testing.T) {
		const shutdown, attempt = 4 * time.Second, 3 * time.Second
		size := chosenSize()
		p := cuttable(t)
		s := busy(t, size.people)
		w := newWorld(t, p.URL(), []string{"TOCSIN_SHUTDOWN_TIMEOUT=" + shutdown.String(), "TOCSIN_SEND_TIMEOUT=" + attempt.String()}, s)
		i := w.serve()
		o := i.trigger(s)
		s.sink.await(size.people / 3)
		p.Cut()
		stopped := time.Now()
		require.NoError(t, i.cmd.Process.Signal(syscall.SIGTERM))
		i.ended()
		took := time.Since(stopped)
		assert.Less(t, took, shutdown+attempt+2*time.Second, "the rest is for a busy machine")
		p.Heal()
		i = w.serve()
		assert.Equal(t, all(map[string]int{"sent": size.people}), i.done(o))
		repeats := s.repeats(t)
		assert.LessOrEqual(t, repeats, repeatsPerKill)
		t.Logf("ended %s after SIGTERM, %d messages repeated", took.Round(time.Millisecond), repeats)
		i.stop()
	})
}
