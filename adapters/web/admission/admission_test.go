package admission_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/web/admission"
	"github.com/tocsin/tocsin/test/clocks"
)

func enter(t *testing.T, g *admission.Gate) *admission.Place {
	t.Helper()
	p, err := g.Enter(t.Context())
	require.NoError(t, err)
	return p
}

func TestWaitInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(clocks.Wall{}, 2, 5*time.Second)
		first, second := enter(t, g), enter(t, g)
		var served []int
		var all sync.WaitGroup
		for n := range 40 {
			all.Go(func() {
				p := enter(t, g)
				served = append(served, n) // One at a time: first keeps its place.
				<-time.After(100 * time.Millisecond)
				p.Leave()
			})
			synctest.Wait()
		}
		second.Leave()
		all.Wait()
		for n := range served {
			assert.Equal(t, n, served[n])
		}
		assert.Len(t, served, 40)
		first.Leave()
		enter(t, g).Leave()
	})
}

// TestClaims is about an owner that has all places, and another one that wants one.
func TestClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(clocks.Wall{}, 8, 5*time.Second)
		// next waits for a place and claims it.
		next := func(owner string) chan error {
			claimed := make(chan error, 1)
			go func() {
				p, err := g.Enter(t.Context())
				if err == nil {
					err = p.Claim(owner)
				}
				claimed <- err
				if err != nil {
					p.Leave()
				}
			}()
			synctest.Wait()
			return claimed
		}
		var greedy []*admission.Place
		for range 8 {
			p := enter(t, g)
			require.NoError(t, p.Claim("greedy"))
			greedy = append(greedy, p)
		}
		first, second := next("greedy"), next("greedy")
		greedy[0].Leave()
		require.NoError(t, <-first, "alone it may have all of them")
		modest := next("modest")
		greedy[1].Leave()
		require.NoError(t, <-second, "it was alone until now")
		third := next("greedy")
		fourth := next("greedy") // There is always one that waits.
		greedy[2].Leave()
		require.NoError(t, <-modest)
		greedy[3].Leave()
		require.ErrorIs(t, <-third, admission.ErrOverloaded, "it has more than half of them, and others wait")
		require.NoError(t, <-fourth, "nobody waits behind it")
	})
}

// TestRefuseAfterTheWait sends five times as many requests as can be served: those that
// start do so soon, and as many are served as without the others.
func TestRefuseAfterTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const places, takes, patience, length = 10, 100 * time.Millisecond, 5 * time.Second, 20 * time.Second
		const capacity = places * int(time.Second/takes)
		g := admission.New(clocks.Wall{}, places, patience)
		var mu sync.Mutex
		served, refused, longest := 0, 0, time.Duration(0)
		var all sync.WaitGroup
		began := time.Now()
		for time.Since(began) < length {
			all.Go(func() {
				came := time.Now()
				p, err := g.Enter(t.Context())
				waited := time.Since(came)
				if err == nil {
					<-time.After(takes)
					p.Leave()
				}
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, admission.ErrOverloaded):
					refused++
					assert.LessOrEqual(t, waited, patience)
				case came.Sub(began) > 2*patience: // The burst at the beginning has been served.
					longest = max(longest, waited)
					fallthrough
				default:
					served++
				}
			})
			<-time.After(time.Second / time.Duration(5*capacity))
		}
		all.Wait()
		assert.GreaterOrEqual(t, served, capacity*int(length/time.Second)*95/100)
		assert.LessOrEqual(t, longest, patience/20)
		assert.Positive(t, refused)

		calm := enter(t, g)
		calm.Leave()
	})
}

func TestNoEndlessWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(clocks.Wall{}, 1, 5*time.Second)
		stuck := enter(t, g)
		for _, want := range []time.Duration{5 * time.Second, 250 * time.Millisecond, 250 * time.Millisecond} {
			began := time.Now()
			_, err := g.Enter(t.Context())
			require.ErrorIs(t, err, admission.ErrOverloaded)
			assert.Equal(t, want, time.Since(began))
		}
		stuck.Leave()
		enter(t, g).Leave()
		stuck = enter(t, g)
		began := time.Now()
		_, err := g.Enter(t.Context())
		require.ErrorIs(t, err, admission.ErrOverloaded)
		assert.Equal(t, 5*time.Second, time.Since(began), "it was calm again")
		stuck.Leave()
	})
}

func TestLeaveAndEnterAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(clocks.Wall{}, 1, time.Second)
		p := enter(t, g)
		require.NoError(t, p.Enter(t.Context()), "it is held")
		p.Leave()
		p.Leave()
		other := enter(t, g)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, p.Enter(ctx), context.DeadlineExceeded)
		p.Leave()
		require.ErrorIs(t, p.Enter(t.Context()), admission.ErrOverloaded, "the other one has it still")
		other.Leave()
		require.NoError(t, p.Enter(t.Context()))
		p.Leave()
	})
}

func TestMaxWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(clocks.Wall{}, 1, time.Minute)
		p := enter(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 4096 {
			all.Go(func() {
				_, err := g.Enter(ctx)
				assert.ErrorIs(t, err, context.Canceled)
			})
		}
		synctest.Wait()
		_, err := g.Enter(ctx)
		require.ErrorIs(t, err, admission.ErrOverloaded)
		cancel()
		all.Wait()
		p.Leave()
		enter(t, g).Leave()
	})
}
