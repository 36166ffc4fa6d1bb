package gormstore

import (
	"context"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// Cancel writes a separate row, not the occurrence: see cancellations in the schema.
func (r deliveryRepo) Cancel(ctx context.Context, o events.Occurrence) (bool, error) {
	p := occurrenceParams(o)
	p["now"], p["sent"] = r.clock(), stateNumber(deliveries.Sent)
	n, err := affected(r.db(ctx).Exec(`INSERT INTO cancellations (occurrence_id, cancelled_at)
		SELECT o.id, @now FROM occurrences o WHERE o.id = `+occurrenceID+` AND o.cancelled_at IS NULL
			AND (o.expanded_at IS NULL OR o.scheduled OR `+exists("SELECT 1 FROM deliveries d WHERE d.occurrence_id = o.id AND d.state < @sent ")+`)
		ON CONFLICT (occurrence_id) DO NOTHING`, p))
	return n > 0, err
}

// cancellationRow says when an occurrence was cancelled.
type cancellationRow struct {
	OccurrenceID events.OccurrenceID
	CancelledAt  time.Time
}

// withCancellations marks the occurrences as cancelled whose cancellations are not applied to their
// rows yet.
func (r deliveryRepo) withCancellations(ctx context.Context, os []events.Occurrence) ([]events.Occurrence, error) {
	rows, err := rowsOf[cancellationRow](r.db(ctx).Raw("SELECT occurrence_id, cancelled_at FROM cancellations WHERE NOT applied AND occurrence_id ?",
		among(r.dialect, mapped(os, func(o events.Occurrence) events.OccurrenceID { return o.ID }))))
	for _, row := range rows {
		i := slices.IndexFunc(os, func(o events.Occurrence) bool { return o.ID == row.OccurrenceID })
		os[i].Cancelled, os[i].Scheduled = row.CancelledAt.UTC(), false
	}
	return os, err
}
