package channels_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	for all := 1; all <= 20; all++ {
		for holders := 1; holders <= 25; holders++ {
			sum := 0
			for before := range holders {
				part := channels.Places{All: all}.Part(before, holders, 0)
				assert.InDelta(t, float64(all)/float64(holders), part, 1)
				assert.LessOrEqual(t, channels.Places{All: all}.Part(before, holders+1, 0), part, "who comes takes nothing that others do not give up")
				sum += part
			}
			assert.Equal(t, all, sum)
		}
	}
	assert.Equal(t, 3, channels.Places{All: 16}.Part(0, 2, 13))
	assert.Zero(t, channels.Places{All: 16}.Part(0, 2, 20), "the limit was lowered")
	assert.Zero(t, channels.Places{}.Part(1, 2, 0))
}
