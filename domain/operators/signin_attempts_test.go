package operators_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

func TestAttempts(t *testing.T) {
	t.Parallel()
	fail := func(g operators.Attempts, times int, at time.Time) operators.Attempts {
		for range times {
			var wait time.Duration
			g, wait = g.Try(at)
			require.Zero(t, wait)
			g = g.Failed(at)
		}
		return g
	}
	t.Run("TheFirstCostNothing", func(t *testing.T) {
		t.Parallel()
		_, wait := fail(operators.Attempts{}, operators.FreeAttempts-1, noon).Try(noon)
		assert.Zero(t, wait)
	})
	t.Run("ThenOneWaitsTwiceAsLongEachTime", func(t *testing.T) {
		t.Parallel()
		g, at := fail(operators.Attempts{}, operators.FreeAttempts, noon), noon
		for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 320 * time.Second,
			640 * time.Second, operators.LongestDelay, operators.LongestDelay} {
			refused, wait := g.Try(at)
			assert.Equal(t, want, wait)
			assert.Equal(t, operators.Attempts{Failures: g.Failures, Until: g.Until, Refused: true}, refused, "what comes too early is not counted")
			_, wait = refused.Try(at.Add(want - 1))
			assert.Equal(t, time.Duration(1), wait)
			at = at.Add(want)
			g = fail(refused, 1, at)
			assert.False(t, g.Refused)
		}
	})
	t.Run("PendingAttemptsCount", func(t *testing.T) {
		t.Parallel()
		var g operators.Attempts
		for range operators.FreeAttempts {
			var wait time.Duration
			g, wait = g.Try(noon) // Nobody knows yet whether any of them is right.
			assert.Zero(t, wait)
		}
		_, wait := g.Try(noon)
		assert.Equal(t, operators.FirstDelay, wait)
	})
	t.Run("TheWaitBeginsWithTheAnswer", func(t *testing.T) {
		t.Parallel()
		g, _ := operators.Attempts{Failures: 2, Until: noon}.Try(noon)
		_, wait := g.Failed(noon.Add(5 * time.Second)).Try(noon.Add(5 * time.Second))
		assert.Equal(t, operators.FirstDelay, wait)
	})
	t.Run("AfterAWhileOneStartsAfresh", func(t *testing.T) {
		t.Parallel()
		g := fail(operators.Attempts{}, operators.FreeAttempts, noon)
		again, wait := g.Try(g.Expires())
		assert.Zero(t, wait)
		assert.Equal(t, 1, again.Failures)
		again, _ = g.Try(g.Expires().Add(-1))
		assert.Equal(t, operators.FreeAttempts+1, again.Failures)
	})
}

func TestAttemptKey(t *testing.T) {
	t.Parallel()
	here, there := operators.Origin{Network: "192.0.2.1/32"}, operators.Origin{Network: "192.0.2.2/32"}
	key := here.AttemptKey("Ada", operators.Digest{}, false)
	assert.Equal(t, key, here.AttemptKey("ADA", operators.Digest{1}, false), "without regard to case, and a device that is not known is none")
	assert.NotEqual(t, key, there.AttemptKey("ada", operators.Digest{}, false))
	assert.NotEqual(t, key, here.AttemptKey("bob", operators.Digest{}, false))
	known := here.AttemptKey("ada", operators.Digest{1}, true)
	assert.Equal(t, known, there.AttemptKey("ada", operators.Digest{1}, true), "a device that is known is the same in every network")
	assert.NotEqual(t, key, known)
	assert.NotEqual(t, known, here.AttemptKey("ada", operators.Digest{2}, true))
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	err := error(operators.TooManyError{Wait: 90 * time.Second})
	require.ErrorIs(t, err, operators.ErrTooMany)
	assert.Equal(t, fault.Limited, fault.KindOf(err))
	assert.Equal(t, "too many wrong passwords: try again in 1m30s", err.Error())
}
