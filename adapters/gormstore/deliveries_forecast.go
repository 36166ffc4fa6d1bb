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

// forecastRow is a group of a forecast, or the number of recipients (without a notification), or
// one of the assignments that are shown as examples.
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

// Forecast numbers the assignments with the same notification, protocol and address in the order of
// an expansion: the first one gets the message.
func (r deliveryRepo) Forecast(
	ctx context.Context, o events.Occurrence, samples int,
) (f deliveries.Forecast, err error) {
	c := candidatesOf(r.dialect, o)
	p := c.parameters()
	p["samples"] = samples
	rows, err := rowsOf[forecastRow](r.db(ctx).Raw(`WITH `+c.ways(bothChannels, "n.active")+`,
		judged AS (SELECT gated.*, `+reasonColumn()+` FROM (
			SELECT w.notification_id, w.channel_id, w.channel_name, w.phase, w.protocol, s.id AS assignment_id, a.member_id, a.value_key, `+gateColumns+
		candidatesFrom(c.dialect, c.sources(), absences{})+`
		) AS gated),
		ranked AS MATERIALIZED (SELECT notification_id, channel_id, channel_name, phase, assignment_id, member_id, reason,
				CASE WHEN reason = ''
				THEN ROW_NUMBER() OVER (PARTITION BY notification_id, protocol, value_key, reason = '' ORDER BY phase, assignment_id)
				ELSE 1 END AS place
			FROM judged)
		SELECT n.id AS notification_id, n.name, counted.channel_name AS channel, counted.reason, counted.recipients, 0 AS assignment_id
		FROM (SELECT notification_id, channel_id, channel_name, phase, reason, COUNT(*) AS recipients FROM ranked WHERE place = 1
			GROUP BY notification_id, channel_id, channel_name, phase, reason) AS counted
		JOIN notifications n ON n.id = counted.notification_id
		UNION ALL
		SELECT notification_id, '', channel_name, reason, 0, assignment_id FROM (
			SELECT ranked.*, ROW_NUMBER() OVER (PARTITION BY notification_id, channel_id, reason ORDER BY assignment_id) AS nth
			FROM ranked WHERE reason <> '') AS left_out WHERE nth <= @samples
		UNION ALL
		SELECT 0, '', '', '', COUNT(DISTINCT member_id), 0 FROM ranked WHERE place = 1 AND reason = ''
		UNION ALL
		SELECT notification_id, '', '', '', 0, assignment_id FROM (
			SELECT notification_id, assignment_id FROM (
				SELECT ranked.*, ROW_NUMBER() OVER (PARTITION BY notification_id, channel_id ORDER BY phase, assignment_id) AS nth
				FROM ranked WHERE place = 1 AND reason = '') AS sent
			ORDER BY nth, notification_id, phase, assignment_id LIMIT @samples ) AS first`, p))
	if err != nil {
		return f, err
	}
	var sampled, leftOut []forecastRow
	for _, row := range rows {
		switch {
		case row.NotificationID == 0:
			f.People = row.Recipients
		case row.AssignmentID == 0:
			f.Groups = append(f.Groups, row.group())
		case row.Reason == "":
			sampled = append(sampled, row)
		default:
			leftOut = append(leftOut, row)
		}
	}
	sortGroups(f.Groups)
	slices.SortFunc(leftOut, func(a, b forecastRow) int { return cmp.Compare(a.AssignmentID, b.AssignmentID) })
	wanted := slices.Concat(sampled, leftOut)
	found, err := r.candidates(ctx, c, "s.id @assignments ", map[string]any{
		"assignments": among(r.dialect, mapped(wanted, func(w forecastRow) channels.AssignmentID { return w.AssignmentID }))})
	if err != nil {
		return f, err
	}
	for _, w := range wanted {
		for _, row := range found {
			switch {
			case row.Notification.ID != w.NotificationID || row.Assignment.ID != w.AssignmentID:
			case w.Reason == "":
				f.Jobs = append(f.Jobs, row.job(o))
			default:
				addUser(f.Groups, w, row.Username)
			}
		}
	}
	return f, nil
}

// addUser adds a user to the group of users that are skipped for the same reason.
func addUser(groups []deliveries.Group, w forecastRow, username string) {
	i := slices.IndexFunc(groups, func(g deliveries.Group) bool {
		return g.Notification == w.NotificationID && g.Channel == w.Channel && g.Reason == w.Reason
	})
	if i >= 0 && !slices.Contains(groups[i].Users, username) {
		groups[i].Users = append(groups[i].Users, username)
	}
}

// sortGroups sorts delivered groups first, then the others in the order of the gates.
func sortGroups(groups []deliveries.Group) {
	place := map[deliveries.Reason]int{}
	for i, g := range closedGates() {
		place[g.reason] = i + 1
	}
	slices.SortStableFunc(groups, func(a, b deliveries.Group) int {
		return cmp.Or(cmp.Compare(a.Notification, b.Notification), cmp.Compare(place[a.Reason], place[b.Reason]), cmp.Compare(a.Channel, b.Channel))
	})
}
