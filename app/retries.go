package app

import (
	"context"
	"fmt"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// Retries sends again what has failed, for those who look after an organization.
type Retries struct {
	store ports.Store
	clock ports.Clock
}

// NewRetries returns the use case of sending again.
func NewRetries(store ports.Store, clock ports.Clock) *Retries {
	return &Retries{store: store, clock: clock}
}

// Failed makes the failed deliveries of an occurrence of the application due again and returns how many; events.ErrOccurrenceNotFound.
func (r *Retries) Failed(ctx context.Context, by audit.Actor, at Path, id events.OccurrenceID) (requeued int, err error) {
	err = r.store.Update(ctx, func(tx ports.Tx) error {
		_, occurred, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return err
		}
		if requeued, err = tx.Deliveries().Requeue(ctx, occurred); err != nil || requeued == 0 {
			return err
		}
		return tx.Audit().Record(ctx, audit.Entry{Organization: occurred.Organization, Actor: by, At: r.clock.Now(), Action: audit.DeliveriesRetried,
			Object: fmt.Sprintf("%s/p/%s/a/%s/occurrences/%d", at.Organization, at.Project, at.Application, id), After: audit.State{"retried": requeued}})
	})
	return requeued, err
}
