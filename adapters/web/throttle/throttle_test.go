package throttle_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/web/throttle"
)

type clock struct{ time.Time }

func (c *clock) now() time.Time          { return c.Time }
func (c *clock) advance(d time.Duration) { c.Time = c.Add(d) }

func start() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func TestTake(t *testing.T) {
	t.Parallel()

	t.Run("AllowsASecondsWorthAtOnceThenOnePerInterval", func(t *testing.T) {
		t.Parallel()
		c := start()
		limit := throttle.New[string](5, 10, c.now)
		for range 5 {
			assert.Zero(t, limit.Take("anna"))
		}
		assert.Equal(t, 200*time.Millisecond, limit.Take("anna"))
		assert.Equal(t, 200*time.Millisecond, limit.Take("anna"), "an event that must wait is not counted")
		c.advance(200 * time.Millisecond)
		assert.Zero(t, limit.Take("anna"))
		assert.NotZero(t, limit.Take("anna"))
	})

	t.Run("AllowsABurstAtOnceWhateverTheRate", func(t *testing.T) {
		t.Parallel()
		c := start()
		limit := throttle.NewBurst[string](0.5, 3, 10, c.now)
		for range 3 {
			assert.Zero(t, limit.Take("anna"))
		}
		assert.Equal(t, 2*time.Second, limit.Take("anna"))
		c.advance(time.Hour)
		for range 3 {
			assert.Zero(t, limit.Take("anna"))
		}
		assert.NotZero(t, limit.Take("anna"), "a long quiet saves up no more than the burst")
	})

	t.Run("CountsEveryKeyForItself", func(t *testing.T) {
		t.Parallel()
		limit := throttle.New[string](1, 10, start().now)
		assert.Zero(t, limit.Take("anna"))
		assert.NotZero(t, limit.Take("anna"))
		assert.Zero(t, limit.Take("berta"))
	})

	t.Run("LessThanOnePerSecond", func(t *testing.T) {
		t.Parallel()
		c := start()
		limit := throttle.New[string](0.1, 10, c.now)
		assert.Zero(t, limit.Take("anna"))
		assert.Equal(t, 10*time.Second, limit.Take("anna"))
		c.advance(10 * time.Second)
		assert.Zero(t, limit.Take("anna"))
	})

	t.Run("ZeroDelaysNobody", func(t *testing.T) {
		t.Parallel()
		limit := throttle.New[string](0, 10, start().now)
		for range 1_000 {
			assert.Zero(t, limit.Take("anna"))
		}
		assert.Zero(t, limit.Wait("anna"))
		assert.False(t, limit.Knows("anna"), "nothing is remembered")
	})

	t.Run("EvictsTheLeastRecentlyUsed", func(t *testing.T) {
		t.Parallel()
		limit := throttle.New[int](1, 3, start().now)
		for key := range 3 {
			assert.Zero(t, limit.Take(key))
		}
		assert.NotZero(t, limit.Take(0))
		assert.Zero(t, limit.Take(3), "takes the place of 1")
		assert.False(t, limit.Knows(1))
		assert.True(t, limit.Knows(0))
		assert.NotZero(t, limit.Take(0))
	})

	t.Run("ParallelEventsAreAllCounted", func(t *testing.T) {
		t.Parallel()
		limit := throttle.New[string](50, 10, start().now)
		var group sync.WaitGroup
		var mu sync.Mutex
		welcome := 0
		for range 200 {
			group.Go(func() {
				if limit.Take("anna") == 0 {
					mu.Lock()
					welcome++
					mu.Unlock()
				}
			})
		}
		group.Wait()
		assert.Equal(t, 50, welcome)
	})
}

func TestWaitDoesNotCount(t *testing.T) {
	t.Parallel()
	c := start()
	limit := throttle.New[string](2, 10, c.now)
	for range 10 {
		assert.Zero(t, limit.Wait("anna"))
	}
	assert.False(t, limit.Knows("anna"))
	limit.Take("anna")
	limit.Take("anna")
	assert.Equal(t, 500*time.Millisecond, limit.Wait("anna"))
	c.advance(500 * time.Millisecond)
	assert.Zero(t, limit.Wait("anna"))
}
