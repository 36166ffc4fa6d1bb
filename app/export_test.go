package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

func (q *Quotas) Context(ctx context.Context, tx ports.Tx, org orgs.ID, size, more int) (refusal, err error) {
	return q.context(ctx, tx, org, size, more)
}

func (q *Quotas) RecordContext(org orgs.ID, size int) { q.recordContext(org, size) }

func (q *Quotas) DryRun(ctx context.Context, tx ports.Tx, org orgs.ID) (done func(context.Context), err error) {
	return q.dryRun(ctx, tx, org)
}
