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

// TestWriterTurns is about an organization whose many long units wait before those of others.
func TestWriterTurns(t *testing.T) {
	inQueue(t, func(t *testing.T, q *queue) {
		var order []string
		add := func(organization string, n int, takes time.Duration) {
			for range n {
				q.update(ports.ForOrganization(t.Context(), organization), nil, func(ports.Tx) error {
					order = append(order, organization)
					time.Sleep(takes) //nolint:forbidigo // Time is synctest's: it takes none.
					return nil
				})
			}
		}
		add("greedy", 20, 200*time.Millisecond)
		add("modest", 10, 10*time.Millisecond)
		add("", 10, 40*time.Millisecond)
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
		one, other := ports.ForOrganization(t.Context(), "one"), ports.ForOrganization(t.Context(), "other")
		for range 20 {
			require.NoError(t, s.Update(one, func(ports.Tx) error {
				time.Sleep(time.Second) //nolint:forbidigo // Time is synctest's: it takes none.
				return nil
			}))
		}
		q := &queue{Store: s, t: t, hold: make(chan struct{})}
		q.update(t.Context(), nil, func(ports.Tx) error { <-q.hold; return nil })
		var order []string
		for range 4 {
			q.update(other, nil, func(ports.Tx) error {
				order = append(order, "other")
				time.Sleep(time.Second) //nolint:forbidigo // Time is synctest's: it takes none.
				return nil
			})
		}
		for range 4 {
			q.update(one, nil, func(ports.Tx) error {
				order = append(order, "one")
				time.Sleep(time.Second) //nolint:forbidigo // Time is synctest's: it takes none.
				return nil
			})
		}
		q.release()
		assert.Equal(t, []string{"other", "one", "other", "one", "other", "one", "other", "one"}, order)
	})
}
