package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

// subscriberRow is a subscription with its member, address and channel.
type subscriberRow struct {
	Row subscriptionRow `gorm:"embedded"`

	MemberID users.MemberID
	Username string
	Address  string
	Channel  string
}

func (r subscriberRow) subscriber() subscriptions.Subscriber {
	return subscriptions.Subscriber{Subscription: r.Row.subscription(), Member: r.MemberID, Username: r.Username, Address: r.Address, Channel: r.Channel}
}

// subscriberPage selects the next subscriptions in the order of an index by assignment.
const subscriberPage = `SELECT id, notification_id, assignment_id, active FROM subscriptions
	WHERE notification_id = ? AND assignment_id > ? AND EXISTS (SELECT 1 FROM notifications WHERE id = ? AND application_id = ?)
	ORDER BY assignment_id LIMIT ?`

func (r subscriptionRepo) Subscribers(
	ctx context.Context, n subscriptions.Notification, after channels.AssignmentID, limit int,
) ([]subscriptions.Subscriber, error) {
	return all(r.db(ctx).Raw(r.dialect.lookUpJoined(
		[]string{"s.id", "s.notification_id", "s.assignment_id AS assignment_id", "s.active", "m.id AS member_id", "m.username", "a.value AS address", "c.name AS channel"},
		joinedTable{"assignments e", "e.id = s.assignment_id"}, joinedTable{"addresses a", "a.id = e.address_id"}, joinedTable{"channels c", "c.id = e.channel_id"},
		joinedTable{"members m", "m.id = a.member_id"})+" ORDER BY assignment_id",
		map[string]any{"set": clause.Expr{SQL: subscriberPage, Vars: []any{n.ID, after, n.ID, n.Application, limit}}}), subscriberRow.subscriber)
}

// listUseRow is a notification with its event and application.
type listUseRow struct {
	Row notificationRow `gorm:"embedded"`

	EventSlug       string
	EventName       string
	ApplicationSlug string
	ApplicationName string
}

func (r listUseRow) use() subscriptions.Use {
	return subscriptions.Use{Notification: r.Row.notification(), EventSlug: r.EventSlug, EventName: r.EventName,
		ApplicationSlug: r.ApplicationSlug, ApplicationName: r.ApplicationName}
}

func (r subscriptionRepo) OfList(
	ctx context.Context, l lists.List, after subscriptions.NotificationID, limit int,
) ([]subscriptions.Use, error) {
	return all(r.db(ctx).Raw(`SELECT n.id, n.application_id, n.event_id, n.name, n.list_id, n.active,
			e.slug AS event_slug, e.name AS event_name, a.slug AS application_slug, a.name AS application_name
		FROM notifications n JOIN events e ON e.id = n.event_id JOIN applications a ON a.id = e.application_id
		WHERE n.list_id = ? AND n.id > ? AND a.project_id = ? AND a.organization_id = ? ORDER BY n.id LIMIT ?`,
		l.ID, after, l.Project, l.Organization, limit), listUseRow.use)
}

// unsubscriberRow is an opt-out with its member.
type unsubscriberRow struct {
	MemberID       users.MemberID
	NotificationID subscriptions.NotificationID
	AddressKey     string
	Username       string
	CreatedAt      time.Time
}

func (r unsubscriberRow) unsubscriber() deliveries.Unsubscriber {
	return deliveries.Unsubscriber{OptOut: deliveries.OptOut{Member: r.MemberID, AddressKey: r.AddressKey, Notification: r.NotificationID},
		Username: r.Username, Since: r.CreatedAt.UTC()}
}

// optOutPage selects the next opt-outs in the order of an index.
const optOutPage = `SELECT member_id, notification_id, address_key, created_at FROM opt_outs
	WHERE notification_id = ? AND (member_id, address_key) > (?, ?) AND EXISTS (SELECT 1 FROM notifications WHERE id = ? AND application_id = ?)
	ORDER BY member_id, address_key LIMIT ?`

func (r deliveryRepo) Unsubscribers(
	ctx context.Context, n subscriptions.Notification, after deliveries.OptOut, limit int,
) ([]deliveries.Unsubscriber, error) {
	return all(r.db(ctx).Raw(r.dialect.lookUpJoined([]string{"s.member_id AS member_id", "s.notification_id", "s.address_key AS address_key", "s.created_at", "m.username"},
		joinedTable{"members m", "m.id = s.member_id"})+" ORDER BY member_id, address_key",
		map[string]any{"set": clause.Expr{SQL: optOutPage, Vars: []any{n.ID, after.Member, after.AddressKey, n.ID, n.Application, limit}}}), unsubscriberRow.unsubscriber)
}
