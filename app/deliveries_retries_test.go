package app_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
)

// failures is a store with failed deliveries of one occurrence, whose ids are 1, 2 and so on. Each
// fails again as soon as it is retried.
type failures struct {
	ports.Store
	deliveries.Repository

	count    deliveries.ID
	recorded []audit.Entry
}

func (f *failures) Update(_ context.Context, fn func(ports.Tx) error) error {
	return fn(failuresTx{failures: f})
}

func (f *failures) Locate(context.Context, events.OccurrenceID) (events.Occurrence, access.Scope, error) {
	return events.Occurrence{}, access.Scope{}, nil
}

func (f *failures) Requeue(_ context.Context, _ events.Occurrence, after deliveries.ID, limit int) (page []deliveries.ID, err error) {
	for id := after + 1; id <= f.count && len(page) < limit; id++ {
		page = append(page, id)
	}
	return page, nil
}

type failuresTx struct {
	ports.Tx
	audit.Repository
	*failures
}

func (tx failuresTx) Deliveries() deliveries.Repository { return tx.failures }

func (tx failuresTx) Audit() audit.Repository { return tx }

func (tx failuresTx) Record(_ context.Context, es ...audit.Entry) error {
	tx.recorded = append(tx.recorded, es...)
	return nil
}

// TestRetryInPages checks that many failed deliveries are retried in units of work of a limited
// size, each once, and that the audit log counts them.
func TestRetryInPages(t *testing.T) {
	t.Parallel()
	const page = 5_000
	for count, units := range map[deliveries.ID][]int{0: nil, 3: {3}, page: {page}, 2*page + 1: {page, page, 1}} {
		store := &failures{count: count}
		requeued, err := app.NewRetries(store, clocks.Wall{}).Failed(t.Context(), audit.Actor{}, app.Path{}, 1)
		require.NoError(t, err)
		assert.EqualValues(t, count, requeued)
		var recorded []int
		for _, e := range store.recorded {
			assert.Equal(t, audit.DeliveriesRetried, e.Action)
			recorded = append(recorded, e.After["retried"].(int))
		}
		assert.Equal(t, units, recorded)
	}
}
