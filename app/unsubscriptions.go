package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// Unsubscriptions is what a recipient can do with the signed link in a message, without signing in.
type Unsubscriptions struct {
	store ports.Store
	links deliveries.Links
}

// NewUnsubscriptions returns the use cases behind unsubscribe links.
func NewUnsubscriptions(store ports.Store, links deliveries.Links) *Unsubscriptions {
	return &Unsubscriptions{store: store, links: links}
}

// Show returns what a link refers to and changes nothing; deliveries.ErrLink,
// deliveries.ErrLinkOutdated.
func (u *Unsubscriptions) Show(ctx context.Context, token string) (shown deliveries.Unsubscription, err error) {
	o, err := u.links.Parse(token)
	if err != nil {
		return deliveries.Unsubscription{}, err
	}
	return ports.View(ctx, u.store, func(tx ports.Tx) (deliveries.Unsubscription, error) {
		return tx.Deliveries().Unsubscription(ctx, o)
	})
}

// Set records (out) or withdraws the opt-out of the link's address from its notification; repeating
// it changes nothing. In the audit log the actor is the member, whatever by says.
// deliveries.ErrLink, deliveries.ErrLinkOutdated.
func (u *Unsubscriptions) Set(ctx context.Context, by audit.Actor, token string, out bool) (shown deliveries.Unsubscription, err error) {
	o, err := u.links.Parse(token)
	if err != nil {
		return deliveries.Unsubscription{}, err
	}
	return ports.Update(ctx, u.store, func(tx ports.Tx) (shown deliveries.Unsubscription, err error) {
		if shown, err = tx.Deliveries().Unsubscription(ctx, o); err != nil {
			return shown, err
		}
		changed, err := tx.Deliveries().SetOptOut(ctx, o, out)
		shown.Out = out
		if err != nil || !changed {
			return shown, err
		}
		by.Name = shown.Username
		return shown, record(ctx, tx, by, shown.OrganizationID, audit.OptOutSet, Path(shown.Place).Object("u", shown.Username), audit.State{"opt_out": !out}, audit.State{"opt_out": out, "notification": shown.Notification, "address": o.AddressKey})
	})
}
