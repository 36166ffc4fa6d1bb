package delivery_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
)

// TestCacheHoldsUpOnlyTheSameKey checks that others do not wait while a value is made, and that
// those who want the same value share it.
func TestCacheHoldsUpOnlyTheSameKey(t *testing.T) {
	t.Parallel()
	c := delivery.NewCache(10, 0)
	began, goOn, made := make(chan struct{}), make(chan struct{}), 0
	var asking sync.WaitGroup
	ask := func() {
		n, err := c.Get("slow", func() (int, error) {
			made++
			close(began)
			<-goOn
			return 1, nil
		})
		assert.NoError(t, err)
		assert.Equal(t, 1, n)
	}
	asking.Go(ask)
	<-began
	asking.Go(ask)
	n, err := c.Get("quick", func() (int, error) { return 2, nil })
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	close(goOn)
	asking.Wait()
	assert.Equal(t, 1, made)
}

// TestCacheForgetsSingleValues checks that a value that has no room replaces one other, not all.
func TestCacheForgetsSingleValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]delivery.Cache{"number": delivery.NewCache(10, 0), "size": delivery.NewCache(100, 10)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := 0
			value := func() (int, error) {
				made++
				return made, nil
			}
			for i := range 11 {
				_, err := c.Get(strconv.Itoa(i), value)
				require.NoError(t, err)
			}
			require.Equal(t, 11, made)
			n, err := c.Get("10", value)
			require.NoError(t, err)
			require.Equal(t, 11, n, "the newest is there")
			kept := 0
			for i := range 10 {
				if c.Has(strconv.Itoa(i)) {
					kept++
				}
			}
			assert.Equal(t, 9, kept)
		})
	}
}

// TestCacheBoundsSizesKnownLater checks that values whose size is set later replace others.
func TestCacheBoundsSizesKnownLater(t *testing.T) {
	t.Parallel()
	c := delivery.NewCache(100, 10)
	for i := range 10 {
		key := strconv.Itoa(i)
		_, err := c.Get(key, func() (int, error) {
			c.Resize(key, 4)
			return i, nil
		})
		require.NoError(t, err)
		assert.True(t, c.Has(key))
	}
	kept := 0
	for i := range 10 {
		if c.Has(strconv.Itoa(i)) {
			kept++
		}
	}
	assert.Equal(t, 2, kept)
	c.Resize("0", 1_000)
	c.Resize("9", 1_000)
	assert.True(t, c.Has("9"), "a value that is too large stays until the next one comes")
}
