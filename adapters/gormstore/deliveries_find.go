package gormstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

func (r deliveryRepo) Skipped(
	ctx context.Context, o events.Occurrence, why deliveries.Reason, after deliveries.ID, limit int,
) ([]deliveries.Delivery, error) {
	p := occurrenceParams(o)
	p["reason"], p["after"], p["limit"] = why, after, limit
	return r.deliveries(ctx, `d.id IN (SELECT id FROM deliveries WHERE occurrence_id = `+occurrenceID+` AND `+inState(deliveries.Skipped)+` AND reason = @reason
		AND id > @after ORDER BY id LIMIT @limit )`, p)
}

// keyedRow is a delivery with the sort key of a listing by address.
type keyedRow struct {
	ID         deliveries.ID
	AddressKey string
}

func (r deliveryRepo) ByAddress(
	ctx context.Context, o events.Occurrence, prefix string, after deliveries.Cursor, limit int,
) ([]deliveries.Delivery, deliveries.Cursor, error) {
	kinds, err := r.kinds(ctx, o)
	if err != nil {
		return nil, deliveries.Cursor{}, err
	}
	p := occurrenceParams(o)
	p["after"], p["id"], p["limit"] = after.Key, after.ID, limit
	// Each kind is a range of the unique index of chosen deliveries; the others have their own
	// index.
	var pages []string
	for i, form := range slices.Compact([]string{prefix, names.Fold(prefix)}) { // E-mails are stored folded, other addresses as they are.
		p[fmt.Sprintf("from%d", i)], p[fmt.Sprintf("to%d", i)] = max(form, after.Key), form+users.PrefixEnd
		page := func(condition, order string) {
			pages = append(pages, fmt.Sprintf(`SELECT id, address_key FROM (SELECT id, address_key FROM deliveries WHERE occurrence_id = %[1]s AND %[2]s
				AND address_key >= @from%[3]d AND address_key < @to%[3]d AND (address_key > @after OR id > @id )
				ORDER BY %[5]s LIMIT @limit ) AS page%[4]d`, occurrenceID, condition, i, len(pages), order))
		}
		page("NOT chosen", "address_key, id")
		for n, k := range kinds {
			p[fmt.Sprintf("n%d", n)], p[fmt.Sprintf("p%d", n)] = k.NotificationID, k.Protocol
			page(fmt.Sprintf("chosen AND notification_id = @n%[1]d AND protocol = @p%[1]d", n), "address_key") // This is unique within the range.
		}
	}
	rows, err := rowsOf[keyedRow](r.db(ctx).Raw(strings.Join(pages, " UNION ")+" ORDER BY address_key, id LIMIT @limit", p))
	if err != nil || len(rows) == 0 {
		return nil, after, err
	}
	ids := mapped(rows, func(k keyedRow) deliveries.ID { return k.ID })
	p["ids"] = among(r.dialect, ids)
	found, err := r.deliveries(ctx, "d.id @ids", p)
	sortByIDs(found, func(d deliveries.Delivery) deliveries.ID { return d.ID }, ids)
	last := rows[len(rows)-1]
	return found, deliveries.Cursor{Key: last.AddressKey, ID: last.ID}, err
}

// kindRow has the columns of the unique index before the address.
type kindRow struct {
	NotificationID subscriptions.NotificationID
	Protocol       channels.Protocol
}

// maxKinds is the maximum number of kinds that are searched. An occurrence has at most one for each
// notification of its event and each protocol.
const maxKinds = 200

// kinds returns the kinds of an occurrence's deliveries, by one look-up in the index for each.
func (r deliveryRepo) kinds(ctx context.Context, o events.Occurrence) (kinds []kindRow, err error) {
	p := occurrenceParams(o)
	for last := (kindRow{}); len(kinds) < maxKinds; {
		p["notification"], p["protocol"] = last.NotificationID, last.Protocol
		last, err = one[kindRow](r.db(ctx).Raw(`SELECT notification_id, protocol FROM deliveries WHERE occurrence_id = `+occurrenceID+` AND chosen
			AND (notification_id, protocol) > (@notification , @protocol ) ORDER BY notification_id, protocol LIMIT 1`, p), deliveries.ErrNotFound)
		if errors.Is(err, deliveries.ErrNotFound) {
			return kinds, nil
		}
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, last)
	}
	return kinds, nil
}

func (r deliveryRepo) Delivery(ctx context.Context, o events.Occurrence, id deliveries.ID) (deliveries.Delivery, error) {
	p := occurrenceParams(o)
	p["id"] = id
	return r.delivery(ctx, "d.id = @id AND d.occurrence_id = "+occurrenceID, p)
}

func (r deliveryRepo) LocateDelivery(ctx context.Context, id deliveries.ID) (deliveries.Delivery, error) {
	return r.delivery(ctx, "d.id = @id", map[string]any{"id": id})
}

// delivery returns the delivery that meets a condition.
func (r deliveryRepo) delivery(ctx context.Context, condition string, p map[string]any) (deliveries.Delivery, error) {
	found, err := r.deliveries(ctx, condition, p)
	if err == nil && len(found) == 0 {
		err = deliveries.ErrNotFound
	}
	if err != nil {
		return deliveries.Delivery{}, err
	}
	return found[0], nil
}

func (r deliveryRepo) Job(ctx context.Context, o events.Occurrence, id deliveries.ID) (deliveries.Job, error) {
	type throughRow struct{ ChannelID, Named channels.ID }
	p := occurrenceParams(o)
	p["id"] = id
	through, err := one[throughRow](r.db(ctx).Raw("SELECT channel_id, COALESCE(named_channel_id, channel_id) AS named FROM deliveries WHERE id = @id AND occurrence_id = "+occurrenceID, p), deliveries.ErrNotFound)
	if err != nil {
		return deliveries.Job{}, err
	}
	jobs, err := r.jobs(ctx, through.ChannelID, []channels.ID{through.Named}, []deliveries.ID{id}, false)
	if err == nil && len(jobs) == 0 {
		err = deliveries.ErrNotFound
	}
	if err != nil {
		return deliveries.Job{}, err
	}
	return jobs[0], nil
}
