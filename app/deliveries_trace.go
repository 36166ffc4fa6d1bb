package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// DeliveryTrace is the history of one delivery, as far as it is kept.
type DeliveryTrace struct {
	Place      Path   // of the application
	Event      string // the slug; empty: the event was deleted
	Occurrence events.Occurrence
	Delivery   deliveries.Delivery
}

// Trace returns the history of a delivery of any application, for operators of the installation;
// deliveries.ErrNotFound.
func (o *Occurrences) Trace(ctx context.Context, id deliveries.ID) (DeliveryTrace, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (t DeliveryTrace, err error) {
		if t.Delivery, err = tx.Deliveries().LocateDelivery(ctx, id); err != nil {
			return t, err
		}
		if t.Occurrence, t.Place, err = locate(ctx, tx, Path{}, t.Delivery.Occurrence); err != nil {
			return t, err
		}
		a, err := application(ctx, tx, t.Place)
		if err != nil {
			return t, err
		}
		next, err := tx.Events().List(ctx, a, t.Occurrence.Event-1, 1)
		if err != nil {
			return t, err
		}
		if len(next) == 1 && next[0].ID == t.Occurrence.Event {
			t.Event = next[0].Slug
		}
		err = setWaiting(ctx, tx, a.Organization, o.clock.Now(), []*deliveries.Delivery{&t.Delivery})
		return t, err
	})
}
