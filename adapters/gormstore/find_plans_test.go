package gormstore_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// TestDeliveryPlans is about the statements of the page of an occurrence, planned without
// statistics: nothing is sorted, and only the needed range of an index is read.
func TestDeliveryPlans(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		p := newPost(t, s)
		o := p.trigger(t, nil, nil)
		_, err := p.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
		require.NoError(t, err)
		var mu sync.Mutex
		var heard []string
		s.Overhear(func(statement string) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, statement)
		})
		require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
			if _, err := tx.Deliveries().Skipped(t.Context(), o, deliveries.OptedOut, 0, 10); err != nil {
				return err
			}
			_, _, err := tx.Deliveries().ByAddress(t.Context(), o, "ada", deliveries.Cursor{}, 10)
			return err
		}))
		plan := func(part string) string {
			for _, statement := range heard {
				if !strings.Contains(statement, part) {
					continue
				}
				if strings.HasPrefix(url, "postgres") {
					return strings.Join(lines(t, planning(t, s), 0, "EXPLAIN (COSTS OFF) "+statement), "\n")
				}
				return strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+statement), "\n")
			}
			require.Fail(t, "nobody asked for "+part)
			return ""
		}
		skipped, byAddress, kinds := plan("AND reason ="), plan("UNION"), plan("(notification_id, protocol) >")
		assert.Contains(t, skipped, "deliveries_reason")
		assert.Contains(t, byAddress, "deliveries_left_out")
		assert.Contains(t, byAddress, "deliveries_once")
		assert.Contains(t, kinds, "deliveries_once")
		if strings.HasPrefix(url, "postgres") {
			assert.Equal(t, 2, strings.Count(byAddress, "(address_key >= 'ada'::text) AND (address_key < "), byAddress)
			assert.NotContains(t, kinds, "Sort")
			_, ranges, _ := strings.Cut(byAddress, "Append")
			assert.NotContains(t, ranges, "Sort", "only what was found is sorted")
		} else {
			assert.Contains(t, byAddress, "deliveries_left_out (occurrence_id=? AND address_key>? AND address_key<?)")
			assert.Contains(t, byAddress, "deliveries_once (occurrence_id=? AND notification_id=? AND protocol=? AND address_key>? AND address_key<?)")
			assert.NotContains(t, kinds, "TEMP B-TREE")
		}
	})
}
