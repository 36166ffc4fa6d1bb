package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// recipientCountRow is the number of recipients of an occurrence.
type recipientCountRow struct {
	Occurrence events.OccurrenceID // its index in the request
	People     int
}

// CountRecipients runs one query for all occurrences that name no recipients and choose the same
// channels, because they have the same recipients, and one for those that name recipients.
func (r deliveryRepo) CountRecipients(ctx context.Context, ts []deliveries.TriggerRequest) error {
	named, all := map[string][]*events.Occurrence{}, map[string][]*events.Occurrence{}
	for i := range ts {
		o := &ts[i].Occurrence
		channels := jsonArray(o.Options.Channels)
		switch n := len(o.Options.LimitTo); {
		case ts[i].Refusal != nil:
		case n == 0:
			all[channels] = append(all[channels], o)
		case n <= deliveries.CountedNames:
			named[channels] = append(named[channels], o)
		}
	}
	if err := r.useGenericPlans(ctx); err != nil {
		return err
	}
	for _, some := range named {
		if err := r.countNamed(ctx, some); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	entries, err := r.entries(ctx, ts[0].Occurrence)
	if err != nil || entries > deliveries.CountedEntries {
		return err
	}
	for _, some := range all {
		people := 0
		if entries > 0 {
			if people, err = r.countAll(ctx, *some[0]); err != nil {
				return err
			}
		}
		for _, o := range some {
			o.Recipients = &people
		}
	}
	return nil
}

// entries returns the number of list entries and active subscriptions of the event's notifications.
// It counts each up to the limit.
func (t tx) entries(ctx context.Context, o events.Occurrence) (n int, err error) {
	p := candidatesOf(t.dialect, o).parameters()
	p["most"] = deliveries.CountedEntries + 1
	err = t.db(ctx).Raw(`SELECT COALESCE(SUM(listed + subscribed), 0) FROM (SELECT
			(SELECT COUNT(*) FROM (SELECT 1 FROM list_entries le WHERE le.list_id = n.list_id LIMIT @most ) AS listed) AS listed,
			(SELECT COUNT(*) FROM (SELECT 1 FROM subscriptions sb WHERE sb.notification_id = n.id AND sb.active LIMIT @most ) AS subscribed) AS subscribed
		FROM notifications n WHERE `+ofItsEvent+` AND n.active) AS counted`, p).Scan(&n).Error
	return n, err
}

// countAll returns the number of recipients of an occurrence that names none.
func (r deliveryRepo) countAll(ctx context.Context, o events.Occurrence) (int, error) {
	c := candidatesOf(r.dialect, o)
	rows, err := rowsOf[recipientCountRow](r.db(ctx).Raw(countQuery(c, "0", candidatesFrom(c.dialect, c.sources(), absences{})), c.parameters()))
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].People, nil
}

// countNamed counts the recipients of occurrences that name them and choose the same channels.
func (r deliveryRepo) countNamed(ctx context.Context, some []*events.Occurrence) error {
	var wanted []namedRecipientRow
	people := make([]int, len(some))
	for i, o := range some {
		numbered := *o
		numbered.ID = events.OccurrenceID(i)
		wanted = append(wanted, namedRecipients(numbered)...)
		o.Recipients = &people[i]
	}
	c := candidatesOf(r.dialect, *some[0])
	p := c.parameters()
	p["set"] = namedRecipientSet(r.dialect, wanted)
	rows, err := rowsOf[recipientCountRow](r.db(ctx).Raw(countQuery(c, "r.occurrence", namedRecipientFrom(r.dialect)), p))
	for _, row := range rows {
		people[row.Occurrence] = row.People
	}
	return err
}

// countQuery counts, by occurrence, the recipients whose gates are open. If several members share
// an address, only the first one counts, as in an expansion.
func countQuery(c candidates, occurrence, from string) string {
	return `WITH ` + c.ways(bothChannels, "n.active") + `
		SELECT occurrence, COUNT(DISTINCT member_id) AS people FROM (
			SELECT occurrence, member_id, ROW_NUMBER() OVER (PARTITION BY occurrence, notification_id, protocol, value_key
				ORDER BY phase, assignment_id) AS place
			FROM (SELECT gated.*, ` + reasonColumn() + ` FROM (
				SELECT ` + occurrence + ` AS occurrence, w.notification_id, w.phase, w.protocol, s.id AS assignment_id, a.member_id, a.value_key, ` +
		gateColumns + from + `
			) AS gated) AS judged WHERE reason = ''
		) AS ranked WHERE place = 1 GROUP BY occurrence`
}
