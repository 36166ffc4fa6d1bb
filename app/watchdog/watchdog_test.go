package watchdog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/test/clocks"
)

// let lets time pass in the bubble of a test.
func let(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // Time is synctest's: it takes none.

// detected is the longest time until a stalled loop is noticed.
const detected = watchdog.Patience + 15*time.Second

// scene is a watchdog with a log.
type scene struct {
	dog *watchdog.Watchdog
	log *bytes.Buffer

	running sync.WaitGroup
	stop    context.CancelFunc
}

// watched runs a test in a bubble with a watchdog. Loops that the test has begun end after it.
func watched(t *testing.T, test func(t *testing.T, ctx context.Context, s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{log: &bytes.Buffer{}}
		s.dog = watchdog.New(clocks.Wall{}, slog.New(slog.NewTextHandler(s.log, nil)))
		ctx, stop := context.WithCancel(t.Context())
		s.stop = stop
		test(t, ctx, s)
		stop()
		s.running.Wait()
		assert.Empty(t, s.dog.Loops(), "what has ended is not watched")
	})
}

func (s *scene) run(ctx context.Context, loop func(ctx context.Context, turns *watchdog.Loop)) {
	s.running.Go(func() { s.dog.Run(ctx, "loop", loop) })
}

// logged returns the log once all goroutines wait.
func (s *scene) logged() string {
	synctest.Wait()
	return s.log.String()
}

func (s *scene) said(message string) int { return strings.Count(s.logged(), message) }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func TestTickingLoop(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]func(ctx context.Context, turns *watchdog.Loop){
		"Often":        func(ctx context.Context, turns *watchdog.Loop) { turns.Tick(); pause(ctx, 20*time.Second) },
		"Slowly":       func(ctx context.Context, turns *watchdog.Loop) { turns.Tick(); pause(ctx, 59*time.Second) },
		"Seldom":       func(ctx context.Context, turns *watchdog.Loop) { turns.Pause(time.Hour); pause(ctx, time.Hour) },
		"WhenReported": func(ctx context.Context, turns *watchdog.Loop) { turns.Idle(); pause(ctx, 100*time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watched(t, func(t *testing.T, ctx context.Context, s *scene) {
				var begun atomic.Int32
				s.run(ctx, func(ctx context.Context, turns *watchdog.Loop) {
					for begun.Add(1); ctx.Err() == nil; {
						turn(ctx, turns)
					}
				})
				let(300 * time.Hour)
				require.NoError(t, s.dog.CheckStalled())
				require.NoError(t, s.dog.CheckAlive())
				assert.EqualValues(t, 1, begun.Load())
				assert.Empty(t, s.logged())
				states := s.dog.Loops()
				require.Len(t, states, 1)
				assert.Equal(t, "loop", states[0].Name)
				assert.Zero(t, states[0].Restarts)
			})
		})
	}
}

// TestAStalledLoopIsRestarted is about a loop that waits for ever, and ends or does not end when it
// is abandoned.
func TestAStalledLoopIsRestarted(t *testing.T) {
	t.Parallel()
	for name, heeds := range map[string]bool{"HeedsIt": true, "DoesNotHeedIt": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watched(t, func(t *testing.T, ctx context.Context, s *scene) {
				var begun, left atomic.Int32
				never := make(chan struct{})
				s.run(ctx, func(ctx context.Context, turns *watchdog.Loop) {
					defer left.Add(1)
					turns.Tick()
					if begun.Add(1) == 1 {
						if heeds {
							<-ctx.Done()
						} else {
							<-never
							turns.Tick() // A report of an abandoned run does not count.
						}
						return
					}
					for ctx.Err() == nil {
						turns.Tick()
						pause(ctx, time.Second)
					}
				})
				let(watchdog.Patience)
				require.NoError(t, s.dog.CheckStalled(), "it may have been the process that stood still")
				let(detected - watchdog.Patience)
				assert.Equal(t, 1, s.said("is stuck"))
				let(10 * time.Second)
				assert.EqualValues(t, 2, begun.Load())
				require.NoError(t, s.dog.CheckStalled(), "the new one turns")
				assert.Equal(t, 1, s.said("runs again"))
				assert.Equal(t, 1, s.dog.Loops()[0].Restarts)
				let(time.Hour)
				assert.EqualValues(t, 2, begun.Load())
				close(never)
				synctest.Wait()
				assert.EqualValues(t, 1, left.Load())
				require.NoError(t, s.dog.CheckStalled())
			})
		})
	}
}

// TestCheckAlive is about a loop that stalls in each of its runs.
func TestCheckAlive(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, ctx context.Context, s *scene) {
		var begun atomic.Int32
		never := make(chan struct{})
		s.run(ctx, func(_ context.Context, turns *watchdog.Loop) {
			begun.Add(1)
			turns.Tick()
			<-never
		})
		since := time.Now().UTC().Format(time.DateTime)
		let(detected)
		require.EqualError(t, s.dog.CheckStalled(), "a background loop is stuck: loop (since "+since+")")
		require.NoError(t, s.dog.CheckAlive(), "the new one may turn")
		let(watchdog.StallLimit)
		require.EqualError(t, s.dog.CheckStalled(), "a background loop is stuck: loop (since "+since+")", "that it was begun is no turn")
		require.Error(t, s.dog.CheckAlive())
		let(24 * time.Hour)
		assert.Less(t, begun.Load(), int32(100), "few are left behind")
		s.stop()
		s.running.Wait() // Nobody waits for those.
		close(never)
	})
}

// TestWatch is about a loop that only reports its state.
func TestWatch(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, _ context.Context, s *scene) {
		turns := s.dog.Watch("sender")
		for range 2 {
			turns.Tick()
			let(detected)
			require.ErrorContains(t, s.dog.CheckStalled(), "sender")
			require.NoError(t, s.dog.CheckAlive())
			let(watchdog.StallLimit)
			require.Error(t, s.dog.CheckAlive())
			turns.Idle()
			require.NoError(t, s.dog.CheckStalled())
			let(time.Hour)
			require.NoError(t, s.dog.CheckAlive())
		}
		assert.Equal(t, 2, s.said("is stuck"))
		assert.Equal(t, 2, s.said("runs again"))
		turns.End()
	})
}

// TestResult checks that an error that lasts is logged once a minute, and its end once.
func TestResult(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, ctx context.Context, s *scene) {
		turns := s.dog.Watch("send")
		defer turns.End()
		const what = "the queue could not be read"
		away, expected := errors.New("the database is away"), errors.New("nothing to do")
		fails := func(err error, times int) {
			for range times {
				turns.Tick()
				turns.Result(ctx, what, err, expected)
				let(time.Second)
			}
		}
		fails(nil, 10)
		fails(fmt.Errorf("there is %w", expected), 10)
		ended, end := context.WithCancel(ctx)
		end()
		turns.Result(ended, what, away)
		assert.Empty(t, s.logged())
		since := time.Now().UTC()
		fails(away, 60)
		assert.Equal(t, 1, s.said(what))
		fails(away, 60)
		assert.Equal(t, 2, s.said(what))
		assert.Contains(t, s.logged(), "failures=61")
		fails(errors.New("the disk is full"), 60)
		assert.Equal(t, 3, s.said(what), "it is another error")
		assert.Equal(t, 1, s.said("the disk is full"))
		for n := range 60 {
			fails(fmt.Errorf("connection %d was reset", n), 1)
		}
		assert.Equal(t, 3+6, s.said(what), "some errors differ each time")
		fails(nil, 10)
		assert.Equal(t, 1, s.said("works again"))
		assert.Contains(t, s.logged(), `msg="a background loop works again" loop=send failing_since=`+since.Format("2006-01-02T15:04:05.000Z07:00")+" failures=240")

		fails(away, 1)
		for range 20 {
			fails(nil, 1)
			fails(away, 1)
		}
		assert.Equal(t, 3+6+1, s.said(what), "an error that comes and goes is logged once a minute, too")
		assert.Equal(t, 2, s.said("works again"), "once for each logged error")
	})
}

func TestFewLoopsAreNamed(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, _ context.Context, s *scene) {
		var all []*watchdog.Loop
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			all = append(all, s.dog.Watch(name))
		}
		let(detected)
		err := s.dog.CheckStalled()
		for _, l := range all {
			l.End()
		}
		require.ErrorContains(t, err, "and 2 others")
	})
}
