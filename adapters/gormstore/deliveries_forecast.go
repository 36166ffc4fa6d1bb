package gormstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// forecastRow is a group of a forecast, or one of the assignments that would be sent to first.
type forecastRow struct {
	NotificationID subscriptions.NotificationID
	Name           string
	Channel        string
	Reason         deliveries.Reason
	Recipients     int
	AssignmentID   channels.AssignmentID // 0: a group
}

func (r forecastRow) group() deliveries.Group {
	return deliveries.Group{Notification: r.NotificationID, Name: r.Name, Channel: r.Channel, Reason: r.Reason, Recipients: r.Recipients}
}

// Forecast numbers those who share a notification, a protocol and an address as the expansion would come to them: the first gets it.
func (r deliveryRepo) Forecast(
	ctx context.Context, o events.Occurrence, samples int,
) (groups []deliveries.Group, jobs []deliveries.Job, err error) {
	c := candidatesOf(r.dialect, o)
	p := c.parameters()
	p["samples"] = samples
	rows, err := rowsOf[forecastRow](r.db(ctx).Raw(`WITH `+c.ways(bothChannels, "n.active")+`,
		judged AS (SELECT gated.*, `+reasonColumn()+` FROM (
			SELECT w.notification_id, w.channel_id, w.channel_name, w.phase, w.protocol, s.id AS assignment_id, a.value_key, `+gateColumns+
		candidatesFrom(c.sources())+`
		) AS gated),
		ranked AS MATERIALIZED (SELECT notification_id, channel_id, channel_name, phase, assignment_id, reason, CASE WHEN reason = ''
				THEN ROW_NUMBER() OVER (PARTITION BY notification_id, protocol, value_key, reason = '' ORDER BY phase, assignment_id)
				ELSE 1 END AS place
			FROM judged)
		SELECT n.id AS notification_id, n.name, counted.channel_name AS channel, counted.reason, counted.recipients, 0 AS assignment_id
		FROM (SELECT notification_id, channel_id, channel_name, phase, reason, COUNT(*) AS recipients FROM ranked WHERE place = 1
			GROUP BY notification_id, channel_id, channel_name, phase, reason) AS counted
		JOIN notifications n ON n.id = counted.notification_id
		UNION ALL
		SELECT notification_id, '', '', '', 0, assignment_id FROM (
			SELECT notification_id, assignment_id FROM ranked WHERE place = 1 AND reason = ''
			ORDER BY notification_id, phase, assignment_id LIMIT @samples ) AS first`, p))
	if err != nil {
		return nil, nil, err
	}
	var wanted []forecastRow
	for _, row := range rows {
		if row.AssignmentID == 0 {
			groups = append(groups, row.group())
		} else {
			wanted = append(wanted, row)
		}
	}
	sortGroups(groups)
	jobs, err = r.samples(ctx, o, wanted)
	return groups, jobs, err
}

// sortGroups puts what is delivered first, then what is not in the order of the gates.
func sortGroups(groups []deliveries.Group) {
	place := map[deliveries.Reason]int{}
	for i, g := range closedGates() {
		place[g.reason] = i + 1
	}
	slices.SortStableFunc(groups, func(a, b deliveries.Group) int {
		return cmp.Or(cmp.Compare(a.Notification, b.Notification), cmp.Compare(place[a.Reason], place[b.Reason]), cmp.Compare(a.Channel, b.Channel))
	})
}

// samples returns the jobs of assignments as workers would get them.
func (r deliveryRepo) samples(ctx context.Context, o events.Occurrence, wanted []forecastRow) ([]deliveries.Job, error) {
	rows, err := r.candidates(ctx, candidatesOf(r.dialect, o), "s.id @assignments ", map[string]any{
		"assignments": among(r.dialect, mapped(wanted, func(w forecastRow) channels.AssignmentID { return w.AssignmentID }))})
	if err != nil {
		return nil, err
	}
	jobs := make([]deliveries.Job, 0, len(wanted))
	for _, w := range wanted {
		for _, row := range rows {
			if row.Notification.ID == w.NotificationID && row.Assignment.ID == w.AssignmentID {
				jobs = append(jobs, row.job(o))
			}
		}
	}
	return jobs, nil
}
