package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

func (q *Quotas) Context(ctx context.Context, tx ports.Tx, org orgs.ID, size, more int) (refusal, err error) {
	return q.context(ctx, tx, org, size, more)
}

// HavePlaces reports, for each cause of waiting, whether the messages before it are counted.
func HavePlaces(ds []deliveries.Delivery) (all []bool) {
	for _, w := range waitsOf(ds) {
		all = append(all, w.untried)
	}
	return all
}

func (q *Quotas) RecordContext(org orgs.ID, size int) { q.recordContext(org, size) }

func (q *Quotas) DryRun(ctx context.Context, tx ports.Tx, org orgs.ID) (done func(context.Context), err error) {
	return q.dryRun(ctx, tx, org)
}

// MostPerSecond is mostPerSecond for what these deliveries wait for.
func MostPerSecond(ds []deliveries.Delivery) float64 { return mostPerSecond(waitsOf(ds)) }
