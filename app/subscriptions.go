package app

import (
	"context"
	"errors"
	"strconv"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// Subscriptions is the use cases on direct subscriptions (contract 4.5).
type Subscriptions struct{ store ports.Store }

// NewSubscriptions returns the use cases on subscriptions.
func NewSubscriptions(store ports.Store) *Subscriptions { return &Subscriptions{store: store} }

// Subscribe creates the subscription of an assignment to a notification of the application, or sets
// the active flag of the existing one. subscriptions.ErrNotificationNotFound,
// channels.ErrAssignmentNotFound.
func (s *Subscriptions) Subscribe(
	ctx context.Context, by audit.Actor, at Path, id subscriptions.NotificationID, assignment channels.AssignmentID, active bool,
) (made subscriptions.Subscription, created bool, err error) {
	err = s.store.Update(ctx, func(tx ports.Tx) error {
		app, n, err := notification(ctx, tx, at, id)
		if err != nil {
			return err
		}
		a, err := tx.Assignments().Find(ctx, app.Organization, app.Project, assignment)
		if err != nil {
			return err
		}
		was, err := tx.Subscriptions().Find(ctx, n, assignment)
		if err != nil && !errors.Is(err, subscriptions.ErrNotFound) {
			return err
		}
		if made, created, err = tx.Subscriptions().Subscribe(ctx, n, assignment, active); err != nil {
			return err
		}
		return recordSubscription(ctx, tx, by, at, app, n, a, was, made)
	})
	return made, created, err
}

// Unsubscribe deactivates a subscription; subscriptions.ErrNotificationNotFound,
// subscriptions.ErrNotFound.
func (s *Subscriptions) Unsubscribe(
	ctx context.Context, by audit.Actor, at Path, id subscriptions.NotificationID, assignment channels.AssignmentID,
) (subscriptions.Subscription, error) {
	return ports.Update(ctx, s.store, func(tx ports.Tx) (ended subscriptions.Subscription, err error) {
		app, n, err := notification(ctx, tx, at, id)
		if err != nil {
			return ended, err
		}
		was, err := tx.Subscriptions().Find(ctx, n, assignment)
		if err != nil {
			return ended, err
		}
		if ended, err = tx.Subscriptions().Unsubscribe(ctx, n, assignment); err != nil {
			return ended, err
		}
		a, err := tx.Assignments().Find(ctx, app.Organization, app.Project, assignment)
		if err != nil {
			return ended, err
		}
		return ended, recordSubscription(ctx, tx, by, at, app, n, a, was, ended)
	})
}

// recordSubscription records that a subscription is new (was is zero then) or that its flag has
// changed.
func recordSubscription(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, app applications.Application, n subscriptions.Notification,
	a channels.Assignment, was, is subscriptions.Subscription) error {
	if was == is {
		return nil
	}
	e := audit.Entry{Organization: app.Organization, Actor: by, Action: audit.SubscriptionSet, Object: at.Object("n", strconv.FormatInt(int64(n.ID), 10)),
		After: audit.State{"notification": n.Name, "address": a.Value, "channel": a.Name, "active": is.Active}}
	if was.ID != 0 {
		e.Before = audit.State{"active": was.Active}
	}
	return tx.Audit().Record(ctx, e)
}

func notification(ctx context.Context, tx ports.Tx, at Path, id subscriptions.NotificationID) (applications.Application, subscriptions.Notification, error) {
	app, err := application(ctx, tx, at)
	if err != nil {
		return applications.Application{}, subscriptions.Notification{}, err
	}
	n, err := tx.Subscriptions().Notification(ctx, app, id)
	return app, n, err
}
