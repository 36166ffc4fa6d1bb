package gormstore

import (
	"context"
	"maps"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
)

// candidateRow is one way in which a notification could reach a member.
type candidateRow struct {
	Notification       notificationRow `gorm:"embedded;embeddedPrefix:notification_"`
	ListName           string
	OnList             bool
	Subscribed         bool
	SubscriptionActive bool
	Chosen             bool
	EventInactive      bool
	Covered            bool
	CoveredBut         deliveries.Reason
	Assignment         assignmentRow `gorm:"embedded"`
	TemplateID         *events.TemplateID
	MemberID           int64
	Username           string
	users.Details
	CustomFields string
	Gates        gateRow `gorm:"embedded"`
}

func (r candidateRow) candidate() deliveries.Candidate {
	return deliveries.Candidate{
		Notification: r.Notification.notification(), ListName: r.ListName, Assignment: r.Assignment.assignment(), AssignmentActive: r.Assignment.Active, OnList: r.OnList,
		Subscribed: r.Subscribed, SubscriptionActive: r.SubscriptionActive, ChosenByOptions: r.Chosen, EventInactive: r.EventInactive,
		Covered: r.Covered, CoveredBut: r.CoveredBut, Gates: r.Gates.gates()}
}

// job returns the delivery that this candidate would get.
func (r candidateRow) job(o events.Occurrence) deliveries.Job {
	return deliveries.Job{Occurrence: o.ID, Notification: r.Notification.ID, Event: o.Event, Template: orZero(r.TemplateID),
		Address: r.Assignment.Value, Created: o.Created, Gates: r.Gates.gates(),
		Recipient: deliveries.Recipient{Member: r.MemberID, Username: r.Username, Details: r.Details, Fields: []byte(r.CustomFields)}}
}

func (r deliveryRepo) Candidates(ctx context.Context, o events.Occurrence, m users.MemberID) ([]deliveries.Candidate, error) {
	rows, err := r.candidates(ctx, candidatesOf(r.dialect, o), "m.id = @member ", map[string]any{"member": m})
	return mapped(rows, func(row candidateRow) deliveries.Candidate {
		c := row.candidate()
		c.Gates.Cancelled, c.Gates.Expired = !o.Cancelled.IsZero(), o.Expired(r.now())
		return c
	}), err
}

// candidates selects every way in which the event's notifications could reach assignments s of
// members m that meet a condition, in the order of an expansion. It includes those that the options
// of the occurrence exclude. The plus sign keeps SQLite from starting with all addresses of the
// organization.
func (r deliveryRepo) candidates(ctx context.Context, c candidates, condition string, more map[string]any) ([]candidateRow, error) {
	p := c.parameters()
	maps.Copy(p, more)
	p["occurrence"] = c.occurrence.ID
	return rowsOf[candidateRow](r.db(ctx).Raw(`WITH `+c.allWays()+`
		SELECT `+notificationColumns()+`,
			COALESCE(li.name, '') AS list_name, le.list_id IS NOT NULL AS on_list, sb.id IS NOT NULL AS subscribed,
			COALESCE(sb.active, FALSE) AS subscription_active, `+c.chosen()+` AS chosen,
			NOT `+eventActive+` AS event_inactive, other.id IS NOT NULL AS covered, COALESCE(other.reason, '') AS covered_but,
			s.id, a.id AS address, a.value, w.channel_id AS channel, w.project_id AS project, w.channel_name AS name, w.protocol, s.active, s.validated,
			w.template_id, m.id AS member_id, m.username, `+detailColumns("m")+`, m.custom_fields, `+gateColumns+`
		FROM members m
		JOIN addresses a ON a.organization_id = m.organization_id AND a.member_id = m.id
		JOIN assignments s ON s.address_id = a.id
		JOIN ways w ON w.channel_id = s.channel_id
		JOIN notifications n ON n.id = w.notification_id
		LEFT JOIN distribution_lists li ON li.id = n.list_id
		LEFT JOIN list_entries le ON le.list_id = n.list_id AND le.assignment_id = s.id
		LEFT JOIN subscriptions sb ON sb.notification_id = n.id AND sb.assignment_id = s.id
		LEFT JOIN deliveries other ON other.occurrence_id = @occurrence AND other.notification_id = n.id AND other.protocol = w.protocol
			AND other.address_key = a.value_key AND other.chosen AND other.assignment_id <> s.id`+gateJoins("m.id", "a.value_key")+`
		WHERE +m.organization_id = @organization AND (le.list_id IS NOT NULL OR sb.id IS NOT NULL) AND `+condition+`
		ORDER BY n.id, w.phase, s.id`, p))
}
