package gormstore

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// A member's deliveries and opt-outs belong to deliveryRepo too.

// recentRow is a delivery with its occurrence, event and application.
type recentRow struct {
	Delivery     deliveryRow    `gorm:"embedded"`
	Application  applicationRow `gorm:"embedded;embeddedPrefix:application_"`
	Notification string
	TriggeredAt  time.Time
}

func (r recentRow) recent() deliveries.Recent {
	return deliveries.Recent{Delivery: r.Delivery.delivery(), Application: r.Application.application(), Notification: r.Notification,
		Triggered: r.TriggeredAt.UTC()}
}

// memberDeliveries selects deliveries to a member from a cursor on, in the order of the index by
// occurrence, and returns that order.
func memberDeliveries(failed, newer bool) (sql, order string) {
	than, order := "<", "DESC"
	if newer {
		than, order = ">=", "ASC"
	}
	in := ""
	if failed {
		in = " AND d.state = " + strconv.Itoa(stateNumber(deliveries.Failed))
	}
	return `SELECT d.id, d.occurrence_id, d.notification_id, d.assignment_id, d.channel_id, d.address, d.protocol, d.state, d.reason, d.attempts,
		d.last_error, d.created_at, d.next_at, d.finished_at
	FROM deliveries d WHERE d.member_id = ?` + in + ` AND (d.occurrence_id, d.id) ` + than + ` (?, ?) ORDER BY d.occurrence_id ` + order + ", d.id " + order + ` LIMIT ?`, order
}

func (r deliveryRepo) ToMember(ctx context.Context, q deliveries.MemberQuery) ([]deliveries.Recent, error) {
	if q.From.IsZero() {
		q.From = deliveries.MemberCursor{Occurrence: math.MaxInt64, ID: math.MaxInt64}
	}
	page, order := memberDeliveries(q.Failed, q.Newer)
	return all(r.db(ctx).Raw(`SELECT found.*, o.created_at AS triggered_at, m.username AS username, COALESCE(c.name, '') AS channel, COALESCE(n.name, '') AS notification,
			`+applicationColumns("p")+`
		FROM (`+page+`) AS found JOIN occurrences o ON o.id = found.occurrence_id JOIN applications p ON p.id = o.application_id
		JOIN members m ON m.id = ? AND `+unindexed("m.organization_id")+` = ?
		LEFT JOIN channels c ON c.id = found.channel_id LEFT JOIN notifications n ON n.id = found.notification_id
		WHERE o.organization_id = ? ORDER BY found.occurrence_id `+order+", found.id "+order,
		q.Member, q.From.Occurrence, q.From.ID, q.Limit, q.Member, q.Organization, q.Organization), recentRow.recent)
}

// optOutListRow is an opt-out with its notification and application.
type optOutListRow struct {
	MemberID     users.MemberID
	AddressKey   string
	CreatedAt    time.Time
	Notification notificationRow `gorm:"embedded;embeddedPrefix:notification_"`
	Application  applicationRow  `gorm:"embedded;embeddedPrefix:application_"`
}

func (r optOutListRow) optOut() deliveries.ListedOptOut {
	return deliveries.ListedOptOut{OptOut: deliveries.OptOut{Member: r.MemberID, AddressKey: r.AddressKey, Notification: r.Notification.ID},
		Notification: r.Notification.notification(), Application: r.Application.application(), Since: r.CreatedAt.UTC()}
}

func (r deliveryRepo) OptOuts(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]deliveries.ListedOptOut, error) {
	return all(r.db(ctx).Raw(`SELECT o.member_id, o.address_key, o.created_at, `+notificationColumns()+", "+applicationColumns("p")+`
		FROM opt_outs o JOIN notifications n ON n.id = o.notification_id JOIN applications p ON p.id = n.application_id
		WHERE o.member_id = ? AND p.organization_id = ? ORDER BY o.notification_id, o.address_key LIMIT ?`, m, org, limit), optOutListRow.optOut)
}
