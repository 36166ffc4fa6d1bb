package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// Notification returns a notification of the path's application;
// subscriptions.ErrNotificationNotFound.
func (s *Subscriptions) Notification(ctx context.Context, at Path, id subscriptions.NotificationID) (subscriptions.Notification, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (found subscriptions.Notification, err error) {
		_, found, err = notification(ctx, tx, at, id)
		return found, err
	})
}

// Subscribers returns the subscriptions to a notification by their assignment, at most limit after
// the given one; subscriptions.ErrNotificationNotFound.
func (s *Subscriptions) Subscribers(
	ctx context.Context, at Path, id subscriptions.NotificationID, after channels.AssignmentID, limit int,
) ([]subscriptions.Subscriber, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) ([]subscriptions.Subscriber, error) {
		_, n, err := notification(ctx, tx, at, id)
		if err != nil {
			return nil, err
		}
		return tx.Subscriptions().Subscribers(ctx, n, after, limit)
	})
}

// Unsubscribers returns the opt-outs from a notification by member and address, at most limit after
// the given one; subscriptions.ErrNotificationNotFound.
func (s *Subscriptions) Unsubscribers(
	ctx context.Context, at Path, id subscriptions.NotificationID, after deliveries.OptOut, limit int,
) ([]deliveries.Unsubscriber, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) ([]deliveries.Unsubscriber, error) {
		_, n, err := notification(ctx, tx, at, id)
		if err != nil {
			return nil, err
		}
		return tx.Deliveries().Unsubscribers(ctx, n, after, limit)
	})
}

// WithdrawOptOut undoes the opt-out of a member's address from a notification (decisions 6);
// without one it changes nothing. subscriptions.ErrNotificationNotFound, users.ErrNotFound.
func (s *Subscriptions) WithdrawOptOut(ctx context.Context, by audit.Actor, at Path, o deliveries.OptOut) error {
	return s.store.Update(ctx, func(tx ports.Tx) error {
		app, n, err := notification(ctx, tx, at, o.Notification)
		if err != nil {
			return err
		}
		m, err := tx.Users().ByID(ctx, app.Organization, o.Member)
		if err != nil {
			return err
		}
		changed, err := tx.Deliveries().SetOptOut(ctx, o, false)
		if err != nil || !changed {
			return err
		}
		return record(ctx, tx, by, app.Organization, audit.OptOutSet, membershipPath(at, m), audit.State{"opt_out": true}, audit.State{"opt_out": false, "notification": n.Name, "address": o.AddressKey})
	})
}
