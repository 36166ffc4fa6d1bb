package health_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/test/clocks"
)

func well(context.Context) error { return nil }

func TestReady(t *testing.T) {
	t.Parallel()
	ports := fault.New(fault.Unavailable, "the database is not available")
	for name, c := range map[string]struct {
		ask    func(context.Context) error
		took   time.Duration
		reason string
	}{
		"Well":              {well, 0, ""},
		"AFaultOfOurs":      {func(context.Context) error { return fmt.Errorf("%w: dial tocsin@db", ports) }, 0, "the database is not available"},
		"AFaultOfAnother":   {func(context.Context) error { return errors.New("dial tocsin@db") }, 0, "it failed; the log says more"},
		"SlowButStops":      {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 2 * time.Second, "there was no answer within 2s"},
		"IgnoresContext":    {func(context.Context) error { <-time.After(time.Hour); return nil }, 2 * time.Second, "there was no answer within 2s"},
		"SlowAndThenAFault": {func(ctx context.Context) error { <-ctx.Done(); return ports }, 2 * time.Second, "there was no answer within 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := health.New(clocks.Wall{}, health.Lifetime, health.Probe{Ask: well}, health.Probe{Name: "first", Ask: well}, health.Probe{Name: "second", Ask: c.ask})
				start := time.Now()
				err := h.Ready(t.Context())
				assert.Equal(t, c.took, time.Since(start))
				report := h.Report(t.Context())
				require.Len(t, report, 3)
				assert.Equal(t, []string{"takes requests", "first", "second"}, []string{report[0].Name, report[1].Name, report[2].Name})
				assert.Equal(t, c.reason, report[2].Reason())
				if c.reason == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, "second: ")
				assert.NoError(t, report[1].Err)
				<-time.After(2 * time.Hour) // The abandoned probes answer.
			})
		})
	}
}

func TestAnswersAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		h := health.New(clocks.Wall{}, health.Lifetime, health.Probe{Ask: well}, health.Probe{Name: "slow", Ask: func(context.Context) error {
			asked.Add(1)
			<-time.After(100 * time.Millisecond)
			return nil
		}})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { assert.NoError(t, h.Ready(t.Context())) })
		}
		all.Wait()
		require.NoError(t, h.Ready(t.Context()))
		assert.EqualValues(t, 1, asked.Load(), "whoever asks at the same time or a moment later shares the answer")
		<-time.After(time.Second)
		require.NoError(t, h.Ready(t.Context()))
		assert.EqualValues(t, 2, asked.Load())
	})
}

// TestConsecutiveRounds checks that a probe that has answered can run again at once. Each of many
// rounds begins as soon as the one before it has its answers.
func TestConsecutiveRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // A machine that stalls takes none of the time of a probe.
		h := health.New(clocks.Wall{}, 0, health.Probe{Ask: well}, health.Probe{Name: "first", Ask: well}, health.Probe{Name: "second", Ask: well})
		for range 20_000 {
			require.NoError(t, h.Ready(t.Context()))
		}
	})
}

func TestHangingProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		h := health.New(clocks.Wall{}, health.Lifetime, health.Probe{Ask: well}, health.Probe{Name: "silent", Ask: func(context.Context) error {
			asked.Add(1)
			<-time.After(time.Hour)
			return nil
		}})
		for range 5 {
			require.Error(t, h.Ready(t.Context()))
			<-time.After(time.Minute)
		}
		assert.EqualValues(t, 1, asked.Load())
		<-time.After(time.Hour)
		require.Error(t, h.Ready(t.Context()))
		assert.EqualValues(t, 2, asked.Load())
		<-time.After(time.Hour)
	})
}

func TestCancelledCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := health.New(clocks.Wall{}, health.Lifetime, health.Probe{Ask: well}, health.Probe{Name: "slow", Ask: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				return nil
			}
		}})
		hasty, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		require.ErrorIs(t, h.Ready(hasty), context.DeadlineExceeded)
		require.NoError(t, h.Ready(t.Context()))
	})
}

func TestDraining(t *testing.T) {
	t.Parallel()
	h := health.New(clocks.Wall{}, health.Lifetime, health.Probe{Ask: well}, health.Probe{Name: "first", Ask: well})
	require.NoError(t, h.Ready(t.Context()))
	h.Drain()
	require.EqualError(t, h.Ready(t.Context()), "takes requests: the instance is shutting down", "at once, whatever was answered before")
	require.NoError(t, h.Alive(t.Context()))
}

func TestLatestWaitsOnlyAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var wait atomic.Int64
		full := errors.New("the disk is full")
		h := health.New(clocks.Wall{}, health.Lifetime, health.Probe{Ask: well}, health.Probe{Name: "writes", Ask: func(context.Context) error {
			<-time.After(time.Duration(wait.Load()))
			if wait.Load() == 0 {
				return nil
			}
			return full
		}})
		wait.Store(int64(time.Second))
		start := time.Now()
		assert.Empty(t, h.Latest(t.Context()), "nothing is known yet")
		assert.Equal(t, 100*time.Millisecond, time.Since(start))
		<-time.After(time.Second)
		assert.Equal(t, []health.Check{{Name: "writes", Err: full}}, h.Latest(t.Context()))
		<-time.After(2 * time.Second)
		assert.Equal(t, []health.Check{{Name: "writes", Err: full}}, h.Latest(t.Context()), "what was known before")
		<-time.After(2 * time.Second)
		wait.Store(0)
		assert.Equal(t, []health.Check{{Name: "writes"}}, h.Latest(t.Context()))
	})
}
