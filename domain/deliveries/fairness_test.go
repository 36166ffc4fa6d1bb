package deliveries_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// TestReservedSlots claims sets of random sizes, also one by one, while every class waits.
func TestReservedSlots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{1, 1, 1, 2, 3, 16, 17}), 1, 60).Draw(t, "sizes")
		var turn deliveries.RoundRobin
		sum, of := 0, map[events.Priority]int{}
		for _, n := range sizes {
			normal, bulk := turn.Reserved(events.Normal, n), turn.Reserved(events.Bulk, n)
			require.LessOrEqual(t, normal+bulk, n, "no slot is reserved twice")
			require.Zero(t, turn.Reserved(events.Urgent, n))
			turn = turn.Took(events.Urgent, n-normal-bulk).Took(events.Normal, normal).Took(events.Bulk, bulk)
			sum, of[events.Normal], of[events.Bulk] = sum+n, of[events.Normal]+normal, of[events.Bulk]+bulk
		}
		require.Equal(t, sum*2/16, of[events.Normal])
		require.Equal(t, (sum+4)/16, of[events.Bulk])
	})
}

// TestRetriesGetEverySecondSlot claims one by one while urgent deliveries wait, so that the other
// classes always get the same slots of a round.
func TestRetriesGetEverySecondSlot(t *testing.T) {
	t.Parallel()
	var turn deliveries.RoundRobin
	slots, retries := map[events.Priority]int{}, map[events.Priority]int{}
	for range 20 * 16 {
		p := events.Urgent
		for _, other := range []events.Priority{events.Normal, events.Bulk} {
			if turn.Reserved(other, 1) > 0 {
				p = other
			}
		}
		slots[p]++
		retries[p] += turn.Retries(p, 1)
		turn = turn.Took(p, 1)
	}
	assert.Equal(t, map[events.Priority]int{events.Urgent: 260, events.Normal: 40, events.Bulk: 20}, slots)
	for p, n := range slots {
		assert.Equal(t, n/2, retries[p], p)
	}
}

// TestExpansionQueues counts which queue is first in the expansions of each part.
func TestExpansionQueues(t *testing.T) {
	t.Parallel()
	small := map[deliveries.ExpansionQueue]int{{Priority: events.Urgent}: 60, {Priority: events.Normal}: 10, {Priority: events.Bulk}: 10}
	large := map[deliveries.ExpansionQueue]int{}
	for q, n := range small {
		q.Large = true
		large[q] = n
	}
	all := maps.Clone(large)
	maps.Copy(all, small)
	for _, c := range []struct {
		part             deliveries.ExpansionPart
		expansions, each int
		want             map[deliveries.ExpansionQueue]int
	}{
		{deliveries.AllOccurrences, 160, 6, all}, {deliveries.SmallOccurrences, 80, 3, small}, {deliveries.LargeOccurrences, 80, 3, large},
	} {
		first := map[deliveries.ExpansionQueue]int{}
		for n := range uint64(c.expansions) {
			queues := deliveries.ExpansionQueues(c.part, n)
			first[queues[0]]++
			assert.Len(t, queues, c.each)
			assert.ElementsMatch(t, slices.Collect(maps.Keys(c.want)), queues)
		}
		assert.Equal(t, c.want, first)
	}
}

// TestExpansionQueueOf is about the border between small and large occurrences.
func TestExpansionQueueOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names      int
		few, large bool
	}{
		{1, false, false}, {deliveries.SmallNames, false, false}, {deliveries.SmallNames + 1, true, true}, {0, false, true}, {0, true, false},
	} {
		o := events.Occurrence{Priority: events.Urgent, Options: events.Options{LimitTo: make([]string, c.names)}}
		assert.Equal(t, deliveries.ExpansionQueue{Large: c.large, Priority: events.Urgent}, deliveries.ExpansionQueueOf(o, c.few), c)
	}
}
