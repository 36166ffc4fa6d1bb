package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

type notificationRow struct {
	ID            subscriptions.NotificationID
	ApplicationID applications.ID
	EventID       events.ID
	Name          string
	NameFold      string
	ListID        *lists.ID
	Active        bool
	CreatedAt     time.Time
}

func (notificationRow) TableName() string { return "notifications" }

// newNotificationRow returns the row without its id.
func newNotificationRow(n subscriptions.Notification, now time.Time) notificationRow {
	return notificationRow{ApplicationID: n.Application, EventID: n.Event, Name: n.Name, NameFold: names.Fold(n.Name),
		ListID: orNull(n.List), Active: n.Active, CreatedAt: now}
}

func (r notificationRow) notification() subscriptions.Notification {
	return subscriptions.Notification{ID: r.ID, Application: r.ApplicationID, Event: r.EventID, Name: r.Name,
		List: orZero(r.ListID), Active: r.Active}
}

// notificationColumns selects the columns of a notificationRow that is embedded in another row.
func notificationColumns() string {
	return prefixedColumns("notification_", "n", "id", "application_id", "event_id", "name", "list_id", "active")
}

type subscriptionRow struct {
	ID             subscriptions.ID
	NotificationID subscriptions.NotificationID
	AssignmentID   channels.AssignmentID
	Active         bool
}

func (r subscriptionRow) subscription() subscriptions.Subscription {
	return subscriptions.Subscription{ID: r.ID, Notification: r.NotificationID, Assignment: r.AssignmentID, Active: r.Active}
}

type subscriptionRepo struct{ tx }

func (r subscriptionRepo) Notification(
	ctx context.Context, a applications.Application, id subscriptions.NotificationID,
) (subscriptions.Notification, error) {
	row, err := one[notificationRow](r.db(ctx).Where("id = ?", id).Where(inApplication, a.ID, a.Organization),
		subscriptions.ErrNotificationNotFound)
	return row.notification(), err
}

func (r subscriptionRepo) ByName(ctx context.Context, e events.Event, name string) (subscriptions.Notification, error) {
	row, err := one[notificationRow](
		r.db(ctx).Where("event_id = ? AND name_fold = ?", e.ID, names.Fold(name)).Where(inApplication, e.Application, e.Organization),
		subscriptions.ErrNotificationNotFound)
	return row.notification(), err
}

func (r subscriptionRepo) Notifications(
	ctx context.Context, a applications.Application, after subscriptions.NotificationID, limit int,
) ([]subscriptions.Notification, error) {
	return page(r.db(ctx).Where(inApplication, a.ID, a.Organization), after, limit, notificationRow.notification)
}

func (r subscriptionRepo) OfEvent(
	ctx context.Context, e events.Event, after subscriptions.NotificationID, limit int,
) ([]subscriptions.Notification, error) {
	return page(r.db(ctx).Where("event_id = ?", e.ID).Where(inApplication, e.Application, e.Organization), after, limit, notificationRow.notification)
}

func (r subscriptionRepo) Create(
	ctx context.Context, n subscriptions.Notification,
) (subscriptions.Notification, error) {
	if err := r.listUsable(ctx, n); err != nil {
		return subscriptions.Notification{}, err
	}
	row := newNotificationRow(n, r.now())
	if err := insertNew(r.db(ctx), &row, subscriptions.ErrNameTaken); err != nil {
		return subscriptions.Notification{}, err
	}
	return row.notification(), nil
}

func (r subscriptionRepo) Save(ctx context.Context, n subscriptions.Notification) error {
	if err := r.listUsable(ctx, n); err != nil {
		return err
	}
	row := newNotificationRow(n, r.now())
	_, err := one[notificationRow](r.db(ctx).Where("event_id = ? AND name_fold = ? AND id <> ? AND application_id = ?", n.Event, row.NameFold, n.ID, n.Application),
		subscriptions.ErrNotificationNotFound)
	switch {
	case err == nil:
		return subscriptions.ErrNameTaken
	case !errors.Is(err, subscriptions.ErrNotificationNotFound):
		return err
	}
	return changed(r.db(ctx).Where("id = ? AND event_id = ? AND application_id = ?", n.ID, n.Event, n.Application).
		Select("*").Omit("ID", "ApplicationID", "EventID", "CreatedAt").Updates(&row), subscriptions.ErrNotificationNotFound)
}

func (r subscriptionRepo) Delete(ctx context.Context, n subscriptions.Notification) error {
	if err := r.checkUnused(ctx, usesOfNotification(n), subscriptions.ErrInUse, "notification", n.Name); err != nil {
		return err
	}
	if err := r.checkFewOccurrences(ctx, n.Event, n.Application, maxOccurrencesExamined, subscriptions.ErrInUse, "notification", n.Name); err != nil {
		return err
	}
	const one = "(SELECT id FROM notifications WHERE id = ? AND event_id = ? AND application_id = ?)"
	if err := r.db(ctx).Exec("DELETE FROM subscriptions WHERE NOT active AND notification_id IN "+one, n.ID, n.Event, n.Application).Error; err != nil {
		return err
	}
	return changed(r.db(ctx).Where("id IN "+one, n.ID, n.Event, n.Application).Delete(&notificationRow{}), subscriptions.ErrNotificationNotFound)
}

// listUsable returns lists.ErrNotFound when the notification's list does not belong to its project.
func (r subscriptionRepo) listUsable(ctx context.Context, n subscriptions.Notification) error {
	if n.List == 0 {
		return nil
	}
	_, err := one[listRow](r.db(ctx).
		Where("id = ? AND project_id IN (SELECT project_id FROM applications WHERE id = ?)", n.List, n.Application), lists.ErrNotFound)
	return err
}

// Subscribe first updates an existing subscription: one statement if it exists, two if it is new.
func (r subscriptionRepo) Subscribe(
	ctx context.Context, n subscriptions.Notification, a channels.AssignmentID, active bool,
) (subscriptions.Subscription, bool, error) {
	s, err := r.setActive(ctx, n, a, active)
	if !errors.Is(err, subscriptions.ErrNotFound) {
		return s, false, err
	}
	row, err := one[subscriptionRow](r.db(ctx).Raw(`
		INSERT INTO subscriptions (notification_id, assignment_id, active)
		SELECT n.id, s.id, CAST(? AS BOOLEAN)
		FROM notifications n JOIN applications a ON a.id = n.application_id
		JOIN assignments s ON s.organization_id = a.organization_id
		JOIN channels c ON c.id = s.channel_id AND `+channelOf("a.project_id")+`
		WHERE n.id = ? AND n.application_id = ? AND s.id = ?
		ON CONFLICT DO NOTHING RETURNING id, notification_id, assignment_id, active`,
		active, n.ID, n.Application, a), channels.ErrAssignmentNotFound)
	return row.subscription(), err == nil, err
}

func (r subscriptionRepo) Find(ctx context.Context, n subscriptions.Notification, a channels.AssignmentID) (subscriptions.Subscription, error) {
	row, err := one[subscriptionRow](r.db(ctx).Raw(`SELECT id, notification_id, assignment_id, active FROM subscriptions
		WHERE assignment_id = ? AND notification_id IN (SELECT id FROM notifications WHERE id = ? AND application_id = ?)`,
		a, n.ID, n.Application), subscriptions.ErrNotFound)
	return row.subscription(), err
}

// reachRow is a subscription with its notification, application and assignment.
type reachRow struct {
	ID           subscriptions.ID
	Active       bool
	Notification notificationRow `gorm:"embedded;embeddedPrefix:notification_"`
	Application  applicationRow  `gorm:"embedded;embeddedPrefix:application_"`
	Assignment   assignmentRow   `gorm:"embedded;embeddedPrefix:assignment_"`
}

func (r reachRow) reach() subscriptions.MemberSubscription {
	return subscriptions.MemberSubscription{
		Subscription: subscriptions.Subscription{ID: r.ID, Notification: r.Notification.ID, Assignment: r.Assignment.ID, Active: r.Active},
		Notification: r.Notification.notification(), Application: r.Application.application(), Assignment: r.Assignment.assignment()}
}

func (r subscriptionRepo) OfMember(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]subscriptions.MemberSubscription, error) {
	return all(r.db(ctx).Raw(`SELECT sb.id, sb.active, `+notificationColumns()+", "+applicationColumns("p")+`,
			s.id AS assignment_id, a.id AS assignment_address, a.value AS assignment_value, c.id AS assignment_channel, c.project_id AS assignment_project,
			c.name AS assignment_name, c.protocol AS assignment_protocol, s.active AS assignment_active, s.validated AS assignment_validated
		FROM addresses a JOIN assignments s ON s.address_id = a.id JOIN channels c ON c.id = s.channel_id
		JOIN subscriptions sb ON sb.assignment_id = s.id JOIN notifications n ON n.id = sb.notification_id JOIN applications p ON p.id = n.application_id
		WHERE a.organization_id = ? AND a.member_id = ? AND p.organization_id = ? ORDER BY sb.id LIMIT ?`, org, m, org, limit), reachRow.reach)
}

func (r subscriptionRepo) Unsubscribe(
	ctx context.Context, n subscriptions.Notification, a channels.AssignmentID,
) (subscriptions.Subscription, error) {
	return r.setActive(ctx, n, a, false)
}

func (r subscriptionRepo) setActive(
	ctx context.Context, n subscriptions.Notification, a channels.AssignmentID, active bool,
) (subscriptions.Subscription, error) {
	row, err := one[subscriptionRow](r.db(ctx).Raw(`UPDATE subscriptions SET active = ? WHERE assignment_id = ?
		AND notification_id IN (SELECT id FROM notifications WHERE id = ? AND application_id = ?)
		RETURNING id, notification_id, assignment_id, active`, active, a, n.ID, n.Application), subscriptions.ErrNotFound)
	return row.subscription(), err
}
