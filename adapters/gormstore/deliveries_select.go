package gormstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// Select reads a batch of the application's occurrences, or of those with a delivery for the
// member, in the order of their index. It filters the batch and returns at most Limit of them.
func (r deliveryRepo) Select(ctx context.Context, a applications.Application, q deliveries.Selection) (found deliveries.Selected, err error) {
	p := map[string]any{"application": a.ID, "organization": a.Organization, "member": q.Member, "event": q.Event, "state": stateNumber(q.State), "sent": stateNumber(deliveries.Sent),
		"from": nullTime(q.From), "until": nullTime(q.Until), "limit": q.Searched, "bound": int64(math.MaxInt64)}
	comparison, order := "<", "DESC"
	switch {
	case q.After != 0:
		comparison, order, p["bound"] = ">", "ASC", q.After
	case q.Before != 0:
		p["bound"] = q.Before
	}
	batch := "SELECT id FROM occurrences WHERE application_id = @application AND " + unindexed("organization_id") + " = @organization AND id " + comparison + " @bound ORDER BY id " + order + " LIMIT @limit"
	if q.Member != 0 {
		batch = "SELECT DISTINCT occurrence_id FROM deliveries WHERE member_id = @member AND occurrence_id " + comparison + " @bound ORDER BY occurrence_id " + order + " LIMIT @limit"
	}
	var looked, ids []events.OccurrenceID
	if err := r.db(ctx).Raw(batch, p).Scan(&looked).Error; err != nil || len(looked) == 0 {
		return found, err
	}
	found.Last, found.More = looked[len(looked)-1], len(looked) == q.Searched
	p["ids"] = among(r.dialect, looked)
	if err := r.db(ctx).Raw(filterQuery(q), p).Scan(&ids).Error; err != nil {
		return deliveries.Selected{}, err
	}
	slices.Sort(ids)
	if q.After == 0 {
		slices.Reverse(ids)
	}
	if len(ids) > q.Limit {
		ids, found.More = ids[:q.Limit], true
		found.Last = ids[len(ids)-1]
	}
	found.Occurrences, err = r.occurrencesOf(ctx, a, ids)
	return found, err
}

// filterQuery returns the statement that filters the occurrences @ids by a query.
func filterQuery(q deliveries.Selection) string {
	conditions := []string{"o.id @ids", unindexed("o.application_id") + " = @application", unindexed("o.organization_id") + " = @organization"}
	add := func(asked bool, condition string) {
		if asked {
			conditions = append(conditions, condition)
		}
	}
	add(q.Event != 0, unindexed("o.event_id")+" = @event")
	add(!q.From.IsZero(), "o.created_at >= @from")
	add(!q.Until.IsZero(), "o.created_at < @until")
	const of = "SELECT 1 FROM deliveries d WHERE d.occurrence_id = o.id AND d.state "
	add(q.State == deliveries.Pending, "(o.expanded_at IS NULL OR o.scheduled OR "+exists(of+"< @sent ")+")")
	add(q.State != "" && q.State != deliveries.Pending, exists(of+"= @state "))
	return "SELECT o.id FROM occurrences o WHERE " + strings.Join(conditions, " AND ")
}

// occurrencesOf returns the occurrences of an application with these ids, the newest first.
func (r deliveryRepo) occurrencesOf(ctx context.Context, a applications.Application, ids []events.OccurrenceID) ([]events.Occurrence, error) {
	os, err := decodeAll(r.db(ctx).Where("id @ids AND "+unindexed("application_id")+" = @application AND "+unindexed("organization_id")+" = @organization",
		map[string]any{"ids": among(r.dialect, ids), "application": a.ID, "organization": a.Organization}), occurrenceRow.occurrence)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(os, func(x, y events.Occurrence) int { return cmp.Compare(y.ID, x.ID) })
	return r.withCancellations(ctx, os)
}
