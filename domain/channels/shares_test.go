package channels_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
)

func TestPlacesAreDividedEvenly(t *testing.T) {
	t.Parallel()
	for all := 1; all <= 20; all++ {
		for holders := 1; holders <= 25; holders++ {
			var who []channels.Holder
			for i := range holders {
				who = append(who, channels.Holder{Owner: fmt.Sprint(i), Joined: int64(i)})
			}
			places := 0
			for _, h := range who {
				part := channels.Concurrency{Limit: all}.Share(h.Owner, who)
				assert.InDelta(t, float64(all)/float64(holders), part, 1)
				places += part
			}
			assert.Equal(t, all, places)
		}
	}
}

func TestPlacesDoNotOverlap(t *testing.T) {
	t.Parallel()
	two := func(others int) []channels.Holder {
		return []channels.Holder{{Owner: "a", Joined: 1}, {Owner: "b", Joined: 2, Concurrency: others}}
	}
	assert.Equal(t, 3, channels.Concurrency{Limit: 16}.Share("a", two(13)))
	assert.Zero(t, channels.Concurrency{Limit: 16}.Share("a", two(20)), "the limit was lowered")
}

// instance is one that sends, as the model of TestPlacesHold knows it.
type instance struct {
	all, may, running int // what it takes the limit for
}

// TestPlacesHold starts, stops and kills sending instances at random. Answers of the store get
// lost, and the limit changes. There are never more attempts in progress than the highest limit
// that any instance knows, and in the end all places are in use.
func TestPlacesHold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		limit, number := 1+r.IntN(20), int64(0)
		var held []channels.Holder // as the store has it
		alive := map[string]*instance{}
		renew := func(name string, lost bool) {
			one := alive[name]
			at := slices.IndexFunc(held, func(h channels.Holder) bool { return h.Owner == name })
			if number++; at < 0 {
				at = len(held)
				held = append(held, channels.Holder{Owner: name, Joined: number})
			}
			asks := channels.Concurrency{Limit: one.all, Held: max(one.may, one.running)}
			part := asks.Share(name, held)
			held[at].Concurrency = max(part, asks.Held)
			if !lost {
				one.may = part
			}
		}
		forget := func(name string) {
			delete(alive, name)
			held = slices.DeleteFunc(held, func(h channels.Holder) bool { return h.Owner == name })
		}
		for range 500 {
			name := fmt.Sprint(r.IntN(5))
			one := alive[name]
			switch {
			case one == nil:
				alive[name] = &instance{all: limit}
			case r.IntN(60) == 0:
				limit = 1 + r.IntN(20)
			case r.IntN(40) == 0: // Killed, and its lease has ended.
				forget(name)
			case r.IntN(3) > 0 && one.running < one.may:
				one.running++
			case one.running > 0 && r.IntN(2) == 0:
				one.running--
			case r.IntN(10) == 0 && one.running == 0: // It has seen the limit, or has nothing to send.
				forget(name)
			default:
				renew(name, r.IntN(10) == 0)
			}
			running, highest := 0, 0
			for _, one := range alive {
				running, highest = running+one.running, max(highest, one.all)
			}
			require.LessOrEqual(t, running, highest, "seed %d", seed)
		}
		for range 4 { // Attempts end, and all learn of the limit.
			for name, one := range alive {
				one.running, one.all = 0, limit
				renew(name, false)
			}
		}
		sum := 0
		for _, one := range alive {
			sum += one.may
		}
		assert.Equal(t, limit, sum, "seed %d: no place is lost", seed)
	}
}
