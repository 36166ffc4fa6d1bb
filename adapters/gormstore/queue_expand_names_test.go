package gormstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// namePeople returns a household of nine, and the names of all but the first one.
func namePeople(t *testing.T, url string) (h *household, names []string) {
	t.Helper()
	h = newHousehold(t, open(t, url), 9)
	for n := range 8 {
		names = append(names, fmt.Sprintf("person%d@example.org", n))
	}
	return h, names
}

// TestNamesAreLookedUpOnce is about an occurrence that names more recipients than a page has.
func TestNamesAreLookedUpOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		h, names := namePeople(t, url)
		h.trigger(t, names, nil)
		var mentions atomic.Int64
		h.Overhear(func(statement string) {
			if strings.Contains(statement, names[7]) {
				mentions.Add(1)
			}
		})
		assert.Equal(t, []int{3, 3, 2}, h.expandAll(t))
		assert.EqualValues(t, 1, mentions.Load())
		h.assertOnce(t, 8)
	})
}

// TestListChangesBetweenPagesOfNames is about a named recipient who leaves the list before the page
// with it, and about another instance that continues the expansion.
func TestListChangesBetweenPagesOfNames(t *testing.T) {
	t.Parallel()
	onDisk(t, func(t *testing.T, url string) {
		h, names := namePeople(t, url)
		h.trigger(t, names, nil)
		_, err := h.Queue().Expand(t.Context(), deliveries.AllOccurrences, pageOfFew)
		require.NoError(t, err)
		require.NoError(t, h.Update(t.Context(), func(tx ports.Tx) error {
			on, err := tx.Lists().Recipients(t.Context(), h.list, 0, 100)
			require.NoError(t, err)
			_, err = tx.Lists().Remove(t.Context(), h.list, []channels.AssignmentID{on[8].ID})
			return err
		}))
		_, err = open(t, url).Queue().Expand(t.Context(), deliveries.AllOccurrences, pageOfFew)
		require.NoError(t, err)
		h.expandAll(t)
		h.assertOnce(t, 7)
	})
}
