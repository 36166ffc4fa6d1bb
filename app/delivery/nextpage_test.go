package delivery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/app/delivery"
)

// The smallest and the largest page of an expansion, and the longest time that one may hold up
// another occurrence.
const (
	smallestPage = 1_000
	largestPage  = 10_000
	longestPage  = 100 * time.Millisecond
)

func TestNextPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		size, written int
		took          time.Duration
		want          int
	}{
		{"as long as it should", 4_000, 4_000, 50 * time.Millisecond, 4_000},
		{"a little quicker", 4_000, 4_000, 40 * time.Millisecond, 5_000},
		{"much quicker grows by a half", 4_000, 4_000, 5 * time.Millisecond, 6_000},
		{"never beyond the largest", 8_000, 8_000, 5 * time.Millisecond, largestPage},
		{"the largest stays", largestPage, largestPage, 50 * time.Millisecond, largestPage},
		{"a little slower", 4_000, 4_000, 64 * time.Millisecond, 3_125},
		{"a single slow page costs a quarter", 4_000, 4_000, 100 * time.Millisecond, 3_000},
		{"much too slow shrinks in proportion", 8_000, 8_000, 200 * time.Millisecond, 2_000},
		{"never below the smallest", largestPage, largestPage, 10 * time.Second, smallestPage},
		{"the smallest stays", smallestPage, smallestPage, 10 * time.Second, smallestPage},
		{"the last page of an occurrence counts by its rows", 8_000, 2_000, 50 * time.Millisecond, 6_000},
		{"few rows say nothing", 8_000, 499, 10 * time.Second, 8_000},
		{"enough rows say something", 8_000, 500, 10 * time.Second, smallestPage},
		{"no time says nothing", 4_000, 4_000, 0, 4_000},
		{"a clock that goes back says nothing", 4_000, 4_000, -time.Second, 4_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, delivery.NextPage(delivery.PageTime, c.size, c.written, c.took))
		})
	}
	assert.Equal(t, 4_000, delivery.NextPage(delivery.LargePageTime, 4_000, 4_000, 90*time.Millisecond), "as long as a page of large ones should")
	assert.Equal(t, 1_407, delivery.NextPage(delivery.LargePageTime, 2_734, 2_734, 174_875*time.Microsecond), "slow, so it shrinks in proportion")

	// The database has become faster or slower since the size of the first page was set. It writes
	// at least 16,000 rows a second, and each page has a fixed cost.
	t.Run("TwoPagesAreSlowAtMost", rapid.MakeCheck(func(t *rapid.T) {
		wanted := rapid.SampledFrom([]time.Duration{delivery.PageTime, delivery.LargePageTime}).Draw(t, "time of a page")
		size := rapid.IntRange(smallestPage, largestPage).Draw(t, "size")
		rate := rapid.IntRange(16_000, 1_000_000).Draw(t, "rows a second")
		own := time.Duration(rapid.IntRange(0, 10).Draw(t, "costs of a page")) * time.Millisecond
		for page := range 30 {
			took := own + time.Duration(size)*time.Second/time.Duration(rate)
			if page > 1 && took > longestPage {
				t.Fatalf("page %d of %d takes %s", page, size, took)
			}
			if size = delivery.NextPage(wanted, size, size, took); size < smallestPage || size > largestPage {
				t.Fatalf("a page of %d", size)
			}
		}
		fits := max(smallestPage, min(largestPage, int((wanted-own)*time.Duration(rate)/time.Second)))
		if float64(size) < 0.9*float64(fits) {
			t.Fatalf("pages of %d where %d fit", size, fits)
		}
	}))
}
