package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// Subscriptions is the use cases on direct subscriptions (contract 4.5).
type Subscriptions struct{ store ports.Store }

// NewSubscriptions returns the use cases on subscriptions.
func NewSubscriptions(store ports.Store) *Subscriptions { return &Subscriptions{store: store} }

// Subscribe creates the subscription of an assignment to a notification of the application, or sets the active flag of the one there
// is. subscriptions.ErrNotificationNotFound, channels.ErrAssignmentNotFound.
func (s *Subscriptions) Subscribe(ctx context.Context, at Path, id subscriptions.NotificationID, assignment channels.AssignmentID, active bool) (made subscriptions.Subscription, created bool, err error) {
	err = s.store.Update(ctx, func(tx ports.Tx) error {
		app, n, err := notification(ctx, tx, at, id)
		if err != nil {
			return err
		}
		if _, err := tx.Assignments().Find(ctx, app.Organization, app.Project, assignment); err != nil {
			return err
		}
		made, created, err = tx.Subscriptions().Subscribe(ctx, n, assignment, active)
		return err
	})
	return made, created, err
}

// Unsubscribe deactivates a subscription; subscriptions.ErrNotificationNotFound, subscriptions.ErrNotFound.
func (s *Subscriptions) Unsubscribe(ctx context.Context, at Path, id subscriptions.NotificationID, assignment channels.AssignmentID) (ended subscriptions.Subscription, err error) {
	err = s.store.Update(ctx, func(tx ports.Tx) error {
		_, n, err := notification(ctx, tx, at, id)
		if err != nil {
			return err
		}
		ended, err = tx.Subscriptions().Unsubscribe(ctx, n, assignment)
		return err
	})
	return ended, err
}

func notification(ctx context.Context, tx ports.Tx, at Path, id subscriptions.NotificationID) (applications.Application, subscriptions.Notification, error) {
	app, err := application(ctx, tx, at)
	if err != nil {
		return applications.Application{}, subscriptions.Notification{}, err
	}
	n, err := tx.Subscriptions().Notification(ctx, app, id)
	return app, n, err
}
