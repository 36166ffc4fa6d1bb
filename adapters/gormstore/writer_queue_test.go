package gormstore_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/ports"
)

// add queues units of an organization that each take this long, and note their order.
func (q *queue) add(order *[]string, organization string, n int, takes time.Duration) {
	for range n {
		q.update(ports.ForOrganization(q.t.Context(), organization), nil, noting(order, organization, takes))
	}
}

// noting returns a unit of work that notes a name and takes this long.
func noting(order *[]string, name string, takes time.Duration) func(ports.Tx) error {
	return func(ports.Tx) error {
		*order = append(*order, name)
		time.Sleep(takes) //nolint:forbidigo // Time is synctest's: it takes none.
		return nil
	}
}

// TestWriterTurns is about an organization whose many long units wait before those of others.
func TestWriterTurns(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		var order []string
		q.add(&order, "greedy", 20, 200*time.Millisecond)
		q.add(&order, "modest", 10, 10*time.Millisecond)
		q.add(&order, "", 10, 40*time.Millisecond)
		q.release()
		assert.Len(t, order, 40)
		assert.Equal(t, 19, strings.Count(strings.Join(order[21:], " "), "greedy"), "after the first, %v", order)
		assert.Less(t, slices.Index(order, ""), 4)
		assert.Less(t, slices.Index(order, "modest"), 4)
	})
}

// TestWriterOwesNothingForIdleTime is about an organization that wrote nothing for long, and one
// that wrote alone. They take turns then.
func TestWriterOwesNothingForIdleTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, "sqlite::memory:")
		var alone, order []string
		for range 20 {
			require.NoError(t, s.Update(ports.ForOrganization(t.Context(), "one"), noting(&alone, "one", time.Second)))
		}
		synctest.Wait() // The writer has asked for the next unit, and found none.
		q := &queue{Store: s, t: t, hold: make(chan struct{})}
		q.update(t.Context(), nil, func(ports.Tx) error { <-q.hold; return nil })
		q.add(&order, "other", 4, time.Second)
		q.add(&order, "one", 4, time.Second)
		q.release()
		assert.Equal(t, []string{"other", "one", "other", "one", "other", "one", "other", "one"}, order)
	})
}
