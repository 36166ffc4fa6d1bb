package app

import (
	"context"
	"strconv"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// Retries sends failed deliveries again, for operators of an organization.
type Retries struct {
	store ports.Store
	clock ports.Clock
}

// NewRetries returns the use case of retrying.
func NewRetries(store ports.Store, clock ports.Clock) *Retries {
	return &Retries{store: store, clock: clock}
}

// retryPage is how many failed deliveries become due in one unit of work. Others wait meanwhile.
const retryPage = 5_000

// Failed makes the failed deliveries of an occurrence of the path's application due again and
// returns how many; without a path, of any application: that is for the operator of the
// installation. When it returns an error, some may be due: each page is a unit of work, with its
// entry in the audit log. events.ErrOccurrenceNotFound, events.ErrCancelled, events.ErrExpired.
func (r *Retries) Failed(ctx context.Context, by audit.Actor, at Path, id events.OccurrenceID) (requeued int, err error) {
	var after deliveries.ID
	for {
		page, err := ports.Update(ctx, r.store, func(tx ports.Tx) (page []deliveries.ID, err error) {
			occurred, place, err := locate(ctx, tx, at, id)
			if err != nil {
				return page, err
			}
			if err := r.checkRetryable(occurred); err != nil {
				return page, err
			}
			if page, err = tx.Deliveries().Requeue(ctx, occurred, after, retryPage); err != nil || len(page) == 0 {
				return page, err
			}
			return page, record(ctx, tx, by, occurred.Organization, audit.DeliveriesRetried, occurrencePath(place, id), nil, audit.State{"retried": len(page)})
		})
		if err != nil {
			return requeued, err
		}
		if requeued += len(page); len(page) < retryPage {
			return requeued, nil
		}
		after = page[len(page)-1] // What fails again meanwhile is not retried twice.
	}
}

// WithCause makes the failed deliveries of an occurrence of the application that have one cause due
// again, and returns how many; events.ErrOccurrenceNotFound, events.ErrCancelled,
// events.ErrExpired.
func (r *Retries) WithCause(ctx context.Context, by audit.Actor, at Path, id events.OccurrenceID, cause deliveries.FailureCause) (int, error) {
	return ports.Update(ctx, r.store, func(tx ports.Tx) (requeued int, err error) {
		_, occurred, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return requeued, err
		}
		if err := r.checkRetryable(occurred); err != nil {
			return requeued, err
		}
		failed, err := tx.Deliveries().List(ctx, occurred, deliveries.Failed, 0, FailuresRead)
		if err != nil {
			return requeued, err
		}
		var same []deliveries.ID
		for _, d := range failed {
			if deliveries.FailureCauseOf(d) == cause {
				same = append(same, d.ID)
			}
		}
		again, err := tx.Deliveries().RequeueByIDs(ctx, occurred, same)
		if requeued = len(again); err != nil || requeued == 0 {
			return requeued, err
		}
		return requeued, record(ctx, tx, by, occurred.Organization, audit.DeliveriesRetried, occurrencePath(at, id), nil, audit.State{"retried": requeued, "cause": cause.Words})
	})
}

// One makes a failed delivery of an occurrence of the application due again and reports whether it
// had failed; events.ErrOccurrenceNotFound, deliveries.ErrNotFound, events.ErrCancelled,
// events.ErrExpired.
func (r *Retries) One(ctx context.Context, by audit.Actor, at Path, id events.OccurrenceID, delivery deliveries.ID) (bool, error) {
	return ports.Update(ctx, r.store, func(tx ports.Tx) (requeued bool, err error) {
		_, occurred, err := occurrence(ctx, tx, at, id)
		if err != nil {
			return requeued, err
		}
		d, err := tx.Deliveries().Delivery(ctx, occurred, delivery)
		if err != nil {
			return requeued, err
		}
		if err := r.checkRetryable(occurred); err != nil {
			return requeued, err
		}
		again, err := tx.Deliveries().RequeueByIDs(ctx, occurred, []deliveries.ID{delivery})
		if requeued = len(again) > 0; err != nil || !requeued {
			return requeued, err
		}
		object := occurrencePath(at, id) + "/d/" + strconv.FormatInt(int64(delivery), 10)
		return requeued, record(ctx, tx, by, occurred.Organization, audit.DeliveriesRetried, object, nil, audit.State{"retried": 1, "address": d.Address})
	})
}

// occurrencePath returns an occurrence as the audit log names it.
func occurrencePath(at Path, id events.OccurrenceID) string {
	return at.Object("occurrences", strconv.FormatInt(int64(id), 10))
}

// checkRetryable refuses a retry that would be skipped.
func (r *Retries) checkRetryable(o events.Occurrence) error {
	switch {
	case !o.Cancelled.IsZero():
		return events.ErrCancelled
	case o.Expired(r.clock.Now()):
		return events.ErrExpired
	}
	return nil
}

// locate finds an occurrence of the path's application, or without a path in any application.
func locate(ctx context.Context, tx ports.Tx, at Path, id events.OccurrenceID) (events.Occurrence, Path, error) {
	if at == (Path{}) {
		found, scope, err := tx.Deliveries().Locate(ctx, id)
		return found, Path(scope), err
	}
	_, found, err := occurrence(ctx, tx, at, id)
	return found, at, err
}
