package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

// busy returns a shop with as many messages in progress as an instance may have. Its mail server is
// slow, so that a kill interrupts them.
func busy(t *testing.T, people int) project {
	t.Helper()
	return project{project: "shop", people: people, concurrency: 256, sink: newMailServer(t, 200*time.Millisecond)}
}

// TestKill kills the program with kill -9 in the middle of its work, again and again.
func TestKill(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		size := chosenSize()
		s := busy(t, size.people)
		w := newWorld(t, url, nil, s)
		i := w.serve()
		o := i.trigger(s)
		for n := range size.kills {
			s.sink.await(size.people * (n + 1) / (size.kills + 1))
			i.kill()
			i = w.serve()
		}
		started := time.Now()
		assert.Equal(t, all(map[string]int{"sent": size.people}), i.done(o))
		repeats := s.repeats(t)
		t.Logf("%d recipients, %d kills: done %s after the last start, %d messages repeated", size.people, size.kills, time.Since(started).Round(time.Second), repeats)
		assert.LessOrEqual(t, repeats, repeatsPerKill*size.kills)
		assert.Less(t, time.Since(started), recoveryLimit)
		i.stop()
	})
}

// TestKillRightAfterTheTrigger checks that a trigger that was answered with 201 is not lost.
func TestKillRightAfterTheTrigger(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		s := busy(t, chosenSize().members)
		w := newWorld(t, url, nil, s)
		i := w.serve("--no-worker")
		o := i.trigger(s)
		i.kill()
		i = w.serve()
		assert.Equal(t, all(map[string]int{"sent": s.people}), i.done(o))
		assert.Zero(t, s.repeats(t))
		i.stop()
	})
}

// TestTerminate stops the program with SIGTERM in the middle of its work.
func TestTerminate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		size := chosenSize()
		s := busy(t, size.people)
		w := newWorld(t, url, nil, s)
		i := w.serve()
		o := i.trigger(s)
		for n := range size.kills {
			s.sink.await(size.people * (n + 1) / (size.kills + 1))
			i.stop()
			sent := len(s.sink.messages())
			require.Less(t, sent, size.people, "it was stopped in the middle")
			i = w.serve("--no-worker")
			counts := i.show(o).Counts
			assert.Equal(t, sent, counts["sent"], "every outcome is noted before it ends")
			assert.Zero(t, counts["sending"], "what was not begun is given back")
			i.stop()
			i = w.serve()
		}
		assert.Equal(t, all(map[string]int{"sent": size.people}), i.done(o))
		assert.Zero(t, s.repeats(t), "each exactly once")
		i.stop()
	})
}

// TestInstances kills one of two instances that work on one database, and adds another.
func TestInstances(t *testing.T) {
	t.Parallel()
	t.Run(postgres, func(t *testing.T) {
		t.Parallel()
		size := chosenSize()
		s := busy(t, size.people)
		w := newWorld(t, pgtest.New(t), nil, s)
		one, other := w.serve(), w.serve()
		o := one.trigger(s)
		s.sink.await(size.people / 3)
		one.kill()
		s.sink.await(size.people / 2)
		added := w.serve()
		started := time.Now()
		assert.Equal(t, all(map[string]int{"sent": size.people}), added.done(o))
		repeats := s.repeats(t)
		t.Logf("%d recipients: done %s after the third instance came, %d messages repeated", size.people, time.Since(started).Round(time.Second), repeats)
		assert.LessOrEqual(t, repeats, repeatsPerKill)
		other.stop()
		added.stop()
	})
}
