package throttle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/web/throttle"
)

func TestTakeAt(t *testing.T) {
	t.Parallel()
	taken := func(left int, wait time.Duration) []any { return []any{left, wait} }
	answer := func(left int, wait time.Duration) []any { return []any{left, wait} }

	t.Run("ShowsTheRemainder", func(t *testing.T) {
		t.Parallel()
		c := start()
		limit := throttle.New[string](1, 10, c.now)
		assert.Equal(t, taken(2, 0), answer(limit.TakeAt("anna", 3)))
		assert.Equal(t, taken(1, 0), answer(limit.TakeAt("anna", 3)))
		assert.Equal(t, taken(0, 0), answer(limit.TakeAt("anna", 3)))
		left, wait := limit.TakeAt("anna", 3)
		assert.Zero(t, left)
		assert.InDelta(t, time.Second/3, wait, float64(time.Millisecond))
		c.advance(time.Second)
		assert.Equal(t, taken(2, 0), answer(limit.TakeAt("anna", 3)))
		assert.True(t, limit.Knows("anna"))
	})

	t.Run("TakesSeveralAtOnce", func(t *testing.T) {
		t.Parallel()
		c := start()
		limit := throttle.New[string](0, 10, c.now)
		assert.Equal(t, taken(3, 0), answer(limit.TakeN("anna", 10, 7)))
		left, wait := limit.TakeN("anna", 10, 5)
		assert.Equal(t, 3, left, "what has to wait is not taken")
		assert.InDelta(t, 200*time.Millisecond, wait, float64(time.Millisecond))
		c.advance(time.Second)
		assert.Equal(t, taken(0, 0), answer(limit.TakeN("anna", 10, 1000)), "more than a second's worth counts as a second's worth")
	})

	t.Run("ARateMayChange", func(t *testing.T) {
		t.Parallel()
		c := start()
		limit := throttle.New[string](0, 10, c.now)
		assert.Equal(t, taken(0, 0), answer(limit.TakeAt("anna", 1)))
		_, wait := limit.TakeAt("anna", 1)
		assert.Equal(t, time.Second, wait)
		assert.Equal(t, taken(99, 0), answer(limit.TakeAt("anna", 100)), "at another rate it starts afresh")
		assert.Equal(t, taken(98, 0), answer(limit.TakeAt("anna", 100)))
		assert.Equal(t, taken(0, 0), answer(limit.TakeAt("anna", 0.5)))
		_, wait = limit.TakeAt("anna", 0.5)
		assert.Equal(t, 2*time.Second, wait)
	})

	t.Run("NoRateIsNoLimit", func(t *testing.T) {
		t.Parallel()
		limit := throttle.New[string](1, 10, start().now)
		for range 10 {
			assert.Equal(t, taken(0, 0), answer(limit.TakeAt("anna", 0)))
		}
	})
}
