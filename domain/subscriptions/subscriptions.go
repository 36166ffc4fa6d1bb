// Package subscriptions is about the recipients of an event: notifications, which join an event to
// a distribution list, and the subscriptions that reach a member without any list.
package subscriptions

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// Errors of this package.
var (
	ErrNotificationNotFound = fault.New(fault.NotFound, "the notification does not exist")
	ErrNotFound             = fault.New(fault.NotFound, "the subscription does not exist")
	ErrNameTaken            = fault.New(fault.Invalid, "a notification with this name exists already")
	ErrInUse                = fault.New(fault.Invalid, "the notification is in use")
)

type (
	// NotificationID identifies a notification. Identifiers are positive; 0 means "not stored yet".
	NotificationID int64
	// ID identifies a subscription to a notification.
	ID int64
)

// Notification determines who gets a message when an event is triggered: the recipients of its list
// and its active subscribers. Its name is unique in the event without regard to case.
type Notification struct {
	ID          NotificationID
	Application applications.ID // of its event
	Event       events.ID
	Name        string
	List        lists.ID // 0: none
	Active      bool
}

// NewNotification checks an operator's input for a notification.
func NewNotification(name string) (Notification, error) {
	name, err := names.Label("name", name)
	return Notification{Name: name, Active: true}, err
}

// Subscription links an assignment to a notification, with no list involved.
type Subscription struct {
	ID           ID
	Notification NotificationID
	Assignment   channels.AssignmentID
	Active       bool
}

// MemberSubscription is a subscription with its notification and its assignment.
type MemberSubscription struct {
	Subscription Subscription
	Notification Notification
	Application  applications.Application
	Assignment   channels.Assignment
}

// Subscriber is a subscription as it is listed, with what its assignment is.
type Subscriber struct {
	Subscription
	Member   users.MemberID
	Username string
	Address  string
	Channel  string
}

// Use is a notification that uses a list, with the event and the application that it is of.
type Use struct {
	Notification    Notification
	EventSlug       string
	EventName       string
	ApplicationSlug string
	ApplicationName string
}

// Repository keeps notifications and subscriptions.
type Repository interface {
	// Notification finds a notification of the application; ErrNotificationNotFound.
	Notification(ctx context.Context, a applications.Application, id NotificationID) (Notification, error)
	// ByName finds a notification of an event, without regard to case; ErrNotificationNotFound.
	ByName(ctx context.Context, e events.Event, name string) (Notification, error)
	// Notifications lists the application's notifications by id, at most limit after the given one.
	Notifications(ctx context.Context, a applications.Application, after NotificationID, limit int) ([]Notification, error)
	// OfEvent lists the notifications of an event by id, at most limit after the given one.
	OfEvent(ctx context.Context, e events.Event, after NotificationID, limit int) ([]Notification, error)
	// Create stores a new notification and returns it with its id; ErrNameTaken.
	Create(ctx context.Context, n Notification) (Notification, error)
	// Save stores the name, the list and the active flag; ErrNameTaken.
	Save(ctx context.Context, n Notification) error
	// Delete removes a notification with its templates, opt-outs and inactive subscriptions;
	// ErrInUse, naming those who are subscribed and occurrences with deliveries because of it, or
	// when very many occurrences of its event are kept.
	Delete(ctx context.Context, n Notification) error
	// Templates returns the notification's own templates.
	Templates(ctx context.Context, n Notification) ([]events.Template, error)
	// SaveTemplate is events.Repository.SaveTemplate for the notification's own template.
	SaveTemplate(ctx context.Context, n Notification, t events.Template, by string) (events.Template, error)
	// DeleteTemplate removes the notification's own template for a channel with its versions;
	// events.ErrTemplateNotFound.
	DeleteTemplate(ctx context.Context, n Notification, c channels.ID) error

	// Subscribe creates the subscription, or sets the active flag of the existing one.
	Subscribe(ctx context.Context, n Notification, a channels.AssignmentID, active bool) (s Subscription, created bool, err error)
	// Find returns the subscription of an assignment; ErrNotFound.
	Find(ctx context.Context, n Notification, a channels.AssignmentID) (Subscription, error)
	// OfMember returns the subscriptions of all assignments of a member of the organization by id,
	// at most limit.
	OfMember(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]MemberSubscription, error)
	// Unsubscribe clears the active flag; ErrNotFound.
	Unsubscribe(ctx context.Context, n Notification, a channels.AssignmentID) (Subscription, error)
	// Subscribers returns the notification's subscriptions by the id of their assignment, at most
	// limit after the given one.
	Subscribers(ctx context.Context, n Notification, after channels.AssignmentID, limit int) ([]Subscriber, error)
	// OfList returns the notifications that use a list by id, at most limit after the given one.
	OfList(ctx context.Context, l lists.List, after NotificationID, limit int) ([]Use, error)
}
