package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// What a member got, and does not want, belongs to deliveryRepo, too.

// recentRow is a delivery with what it belongs to.
type recentRow struct {
	Delivery     deliveryRow    `gorm:"embedded"`
	Application  applicationRow `gorm:"embedded;embeddedPrefix:application_"`
	Notification string
}

func (r recentRow) recent() deliveries.Recent {
	return deliveries.Recent{Delivery: r.Delivery.delivery(), Application: r.Application.application(), Notification: r.Notification}
}

// latestOfMember selects the deliveries to a member from the end of the index that holds them by
// occurrence.
const latestOfMember = `SELECT d.id, d.occurrence_id, d.notification_id, d.assignment_id, d.channel_id, d.address, d.protocol, d.state, d.reason, d.attempts,
		d.last_error, d.created_at, d.next_at, d.finished_at
	FROM deliveries d WHERE d.member_id = ? ORDER BY d.occurrence_id DESC, d.id DESC LIMIT ?`

func (r deliveryRepo) Latest(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]deliveries.Recent, error) {
	return all(r.db(ctx).Raw(`SELECT found.*, m.username AS username, COALESCE(c.name, '') AS channel, COALESCE(n.name, '') AS notification, `+applicationBeside("p")+`
		FROM (`+latestOfMember+`) AS found JOIN occurrences o ON o.id = found.occurrence_id JOIN applications p ON p.id = o.application_id
		JOIN members m ON m.id = ? AND `+unindexed("m.organization_id")+` = ?
		LEFT JOIN channels c ON c.id = found.channel_id LEFT JOIN notifications n ON n.id = found.notification_id
		WHERE o.organization_id = ? ORDER BY found.occurrence_id DESC, found.id DESC`, m, limit, m, org, org), recentRow.recent)
}

// silenceRow is an opt-out with what it is about.
type silenceRow struct {
	MemberID     users.MemberID
	AddressKey   string
	CreatedAt    time.Time
	Notification notificationRow `gorm:"embedded;embeddedPrefix:notification_"`
	Application  applicationRow  `gorm:"embedded;embeddedPrefix:application_"`
}

func (r silenceRow) silence() deliveries.Silence {
	return deliveries.Silence{OptOut: deliveries.OptOut{Member: r.MemberID, AddressKey: r.AddressKey, Notification: r.Notification.ID},
		Notification: r.Notification.notification(), Application: r.Application.application(), Since: r.CreatedAt.UTC()}
}

func (r deliveryRepo) OptOuts(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]deliveries.Silence, error) {
	return all(r.db(ctx).Raw(`SELECT o.member_id, o.address_key, o.created_at, `+notificationBeside()+", "+applicationBeside("p")+`
		FROM opt_outs o JOIN notifications n ON n.id = o.notification_id JOIN applications p ON p.id = n.application_id
		WHERE o.member_id = ? AND p.organization_id = ? ORDER BY o.notification_id, o.address_key LIMIT ?`, m, org, limit), silenceRow.silence)
}
