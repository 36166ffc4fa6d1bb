package smtp_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/smtp"
)

func TestConnections(t *testing.T) {
	t.Parallel()
	for style, greeting := range map[string]string{"InTurn": "", "Grouped": groups} {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			testConnections(t, greeting)
		})
	}
}

// testConnections tests a server with this greeting.
func testConnections(t *testing.T, greeting string) {
	t.Helper()
	t.Run("OneServesManyMessages", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		d := s.open(nil, smtp.Timeouts{})
		for range 50 {
			require.NoError(t, d.Dispatch(t.Context(), message()))
		}
		assert.Equal(t, 1, s.opened())
		assert.Len(t, s.taken(), 50)
		assert.Zero(t, s.count("RSET")+s.count("NOOP"), "a message that was taken leaves nothing to reset")
	})
	t.Run("NeverMoreThanMessagesUnderWay", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		s.answer("RCPT", "450 later", "550 no", "421 closing", "", drop, "") // some failures
		d := s.open(nil, smtp.Timeouts{})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 25 {
					_ = d.Dispatch(t.Context(), message()) // Four of them fail.
				}
			})
		}
		wg.Wait()
		assert.LessOrEqual(t, s.held.Most(), 16)
		assert.LessOrEqual(t, s.opened(), 16+2, "two were lost")
		assert.Len(t, s.taken(), 16*25-4)
	})
	t.Run("OneThatTheServerClosedIsReplaced", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		d := s.open(nil, smtp.Timeouts{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { assert.NoError(t, d.Dispatch(t.Context(), message())) })
		}
		wg.Wait()
		before := s.opened()
		s.hangUp()
		require.NoError(t, d.Dispatch(t.Context(), message()), "the message does not notice")
		assert.Equal(t, before+1, s.opened())
		assert.Len(t, s.taken(), 5)
	})
	t.Run("OneThatTheServerHasHadEnoughOfIsReplaced", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		s.answer("MAIL", "", "421 4.7.0 enough messages on this connection", "")
		d := s.open(nil, smtp.Timeouts{})
		require.NoError(t, d.Dispatch(t.Context(), message()))
		require.NoError(t, d.Dispatch(t.Context(), message()))
		assert.Equal(t, 2, s.opened())
	})
	t.Run("GoneServerIsNotTriedForever", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		s.answer("MAIL", "", "421 4.3.2 shutting down")
		d := s.open(nil, smtp.Timeouts{})
		require.NoError(t, d.Dispatch(t.Context(), message()))
		assert.Equal(t, unreachable, kindOf(dispatch(t, d, message())))
		assert.Equal(t, 2, s.opened())
	})
	t.Run("OneThatBreaksInAMessageIsDroppedAndTheMessageNotRepeated", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		s.answer(".", "", drop, "")
		d := s.open(nil, smtp.Timeouts{})
		require.NoError(t, d.Dispatch(t.Context(), message()))
		assert.Equal(t, unreachable, kindOf(dispatch(t, d, message())), "the server may have taken it: the delivery decides, not the driver")
		assert.Len(t, s.taken(), 2)
		require.NoError(t, d.Dispatch(t.Context(), message()))
		assert.Equal(t, 2, s.opened())
	})
	t.Run("OneThatCannotBeResetIsDropped", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		s.answer("RCPT", "550 no", "")
		s.answer("RSET", "500 what", "")
		d := s.open(nil, smtp.Timeouts{})
		assert.Equal(t, refused, kindOf(dispatch(t, d, message())))
		require.NoError(t, d.Dispatch(t.Context(), message()))
		assert.Equal(t, 2, s.opened())
	})
	t.Run("OneThatWaitsTooLongIsClosed", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		d := s.open(nil, smtp.Timeouts{Idle: 20 * time.Millisecond})
		require.NoError(t, d.Dispatch(t.Context(), message()))
		<-s.farewell
		require.NoError(t, d.Dispatch(t.Context(), message()))
		assert.Equal(t, 2, s.opened())
	})
	t.Run("OldOneIsClosed", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		d := s.open(nil, smtp.Timeouts{Age: time.Nanosecond})
		for range 3 {
			require.NoError(t, d.Dispatch(t.Context(), message()))
			<-s.farewell
		}
		assert.Equal(t, 3, s.opened())
		assert.Equal(t, 1, s.held.Most())
	})
	t.Run("CloseSaysGoodbyeOnAll", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		s.answer("QUIT", hang, "") // A server that does not answer delays no caller for long.
		d := s.open(nil, smtp.Timeouts{})
		var wg sync.WaitGroup
		gate := make(chan struct{})
		for range 4 {
			wg.Go(func() {
				<-gate
				assert.NoError(t, d.Dispatch(t.Context(), message()))
			})
		}
		close(gate)
		wg.Wait()
		opened := s.opened()
		require.NoError(t, d.Close())
		// Close waits two seconds for answers, and the server may read later.
		assert.Eventually(t, func() bool { return s.count("QUIT") == opened }, time.Minute, time.Millisecond)
	})
	t.Run("LongMessageIsSent", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", greeting)
		m := message()
		m.Text = strings.Repeat("0123456789 abcdefghijklmnopqrstuvwxyz\n.\n", 25_000)
		m.HTML = ""
		require.NoError(t, s.open(nil, smtp.Timeouts{}).Dispatch(t.Context(), m))
		assert.Greater(t, len(s.taken()[0].content), 900_000)
	})
}
