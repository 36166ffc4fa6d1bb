package delivery_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// twoParts is a queue whose small and large occurrences are expanded side by side. Each page of a
// large one takes pageTakes.
type twoParts struct {
	*fakeQueue
	pages atomic.Int32 // that are left
	idle  atomic.Int32 // searches for large occurrences that found none
	fails bool         // whether these searches find one that cannot be expanded
}

const pageTakes = 80 * time.Millisecond

func (q *twoParts) ExpansionParts() []deliveries.ExpansionPart {
	return []deliveries.ExpansionPart{deliveries.SmallOccurrences, deliveries.LargeOccurrences}
}

func (q *twoParts) Expand(ctx context.Context, part deliveries.ExpansionPart, limit int) (deliveries.Expansion, error) {
	if part != deliveries.LargeOccurrences {
		return q.fakeQueue.Expand(ctx, part, limit)
	}
	if q.pages.Load() == 0 {
		q.idle.Add(1)
		if q.fails {
			return deliveries.Expansion{Occurrence: 1}, errors.New("refused")
		}
		return deliveries.Expansion{}, deliveries.ErrNothingToDo
	}
	let(pageTakes)
	q.pages.Add(-1)
	return deliveries.Expansion{Deliveries: limit}, nil
}

// TestSmallBesideLarge checks that a small occurrence does not wait for the page of a large one.
func TestSmallBesideLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &twoParts{fakeQueue: newFakeQueue(1, nil)}
		q.unseen = true
		q.pages.Store(10)
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(pageTakes / 2)
			q.mu.Lock()
			q.expansions = []deliveries.Expansion{{Deliveries: 1, Due: []deliveries.Due{{Channel: 1, At: time.Now()}}, Completed: 1}}
			q.mu.Unlock()
			asked := q.looks()
			q.added <- struct{}{}
			let(time.Millisecond)
			require.Equal(t, deliveries.Sent, q.row(1).state)
			require.Equal(t, asked+1, q.looks(), "only the sender lets the queue be searched, after its claim")
			require.EqualValues(t, 10, q.pages.Load(), "the first page is still being written")
			let(10 * pageTakes)
			require.Zero(t, q.pages.Load())
		})
	})
}

// TestFailingLargeOccurrence checks that an occurrence that cannot be expanded is not tried again
// whenever a small one comes.
func TestFailingLargeOccurrence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &twoParts{fakeQueue: newFakeQueue(0, nil), fails: true}
		work(t, q, fakeDriver{}, plainComposer{}, settings(), func() {
			for range 900 {
				q.added <- struct{}{}
				let(time.Millisecond)
			}
			require.EqualValues(t, 4, q.idle.Load())
		})
	})
}

// TestLooksForLargeOccurrences checks that many small occurrences do not cause as many searches for
// large ones, and that a large one is found soon.
func TestLooksForLargeOccurrences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &twoParts{fakeQueue: newFakeQueue(0, nil)}
		work(t, q, fakeDriver{}, plainComposer{}, settings(), func() {
			for range 500 {
				q.added <- struct{}{}
				let(time.Millisecond)
			}
			looks := q.idle.Load()
			require.LessOrEqual(t, looks, int32(30))
			require.GreaterOrEqual(t, looks, int32(20))
			q.pages.Store(1)
			q.added <- struct{}{}
			let(25*time.Millisecond + pageTakes)
			require.Zero(t, q.pages.Load())
		})
	})
}
