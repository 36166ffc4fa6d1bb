package app

import (
	"context"

	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Applications shows applications and manages who is registered with them (contract 4.3 and 4.4).
type Applications struct {
	store       ports.Store
	limits      *quotas.Defaults
	registering *batch.Batcher[Path, registering]
}

// NewApplications returns the use cases on applications, of which organizations without limits of
// their own may have so many.
func NewApplications(store ports.Store, limits *quotas.Defaults) *Applications {
	a := &Applications{store: store, limits: limits}
	a.registering = batch.New(a.register, (*registering).username)
	return a
}

// Batched returns how many units of work Register has made, for how many calls.
func (a *Applications) Batched() (units, calls int64) { return a.registering.Served() }

// List returns the project's applications; orgs.ErrNotFound, orgs.ErrProjectNotFound.
func (a *Applications) List(ctx context.Context, at Path, p Page) (found []applications.Application, err error) {
	err = a.store.View(ctx, func(tx ports.Tx) error {
		project, err := tx.Orgs().Project(ctx, at.Organization, at.Project)
		if err != nil {
			return err
		}
		found, err = tx.Applications().List(ctx, project.Organization, project.ID, applications.ID(p.After), p.Limit)
		return err
	})
	return found, err
}

// Show returns an application; orgs.ErrNotFound, orgs.ErrProjectNotFound, applications.ErrNotFound.
func (a *Applications) Show(ctx context.Context, at Path) (found applications.Application, err error) {
	err = a.store.View(ctx, func(tx ports.Tx) error {
		found, err = application(ctx, tx, at)
		return err
	})
	return found, err
}

// Events lists the application's events.
func (a *Applications) Events(ctx context.Context, at Path, p Page) (found []events.Event, err error) {
	err = a.store.View(ctx, func(tx ports.Tx) error {
		app, err := application(ctx, tx, at)
		if err != nil {
			return err
		}
		found, err = tx.Events().List(ctx, app, events.ID(p.After), p.Limit)
		return err
	})
	return found, err
}

// Notifications lists the application's notifications.
func (a *Applications) Notifications(ctx context.Context, at Path, p Page) (found []subscriptions.Notification, err error) {
	err = a.store.View(ctx, func(tx ports.Tx) error {
		app, err := application(ctx, tx, at)
		if err != nil {
			return err
		}
		found, err = tx.Subscriptions().Notifications(ctx, app, subscriptions.NotificationID(p.After), p.Limit)
		return err
	})
	return found, err
}

// Unregister deletes a member's membership of the application and returns how many that were, 0 or
// 1. The user must be a member of the organization and is found by the username alone:
// users.ErrNotFound.
func (a *Applications) Unregister(ctx context.Context, by audit.Actor, at Path, username string) (deleted int, err error) {
	err = a.store.Update(ctx, func(tx ports.Tx) error {
		deleted = 0
		app, err := application(ctx, tx, at)
		if err != nil {
			return err
		}
		m, err := tx.Users().ByUsername(ctx, app.Organization, username)
		if err != nil {
			return err
		}
		were, _, err := tx.Applications().Memberships(ctx, app, []users.MemberID{m.ID})
		if err != nil {
			return err
		}
		existed, err := tx.Applications().Unregister(ctx, app, m.ID)
		if err != nil || !existed {
			return err
		}
		deleted = 1
		return tx.Audit().Record(ctx, audit.Entry{Organization: app.Organization, Actor: by, Action: audit.Unregistered, Object: membershipPath(at, m),
			Before: membershipState(were[0])})
	})
	return deleted, err
}

// Unsubscribe takes a member off every distribution list that is pinned to the application and
// returns how many entries that were; the membership stays. The member is found by the username
// alone: users.ErrNotFound.
func (a *Applications) Unsubscribe(ctx context.Context, by audit.Actor, at Path, username string) (deleted int, err error) {
	err = a.store.Update(ctx, func(tx ports.Tx) error {
		app, err := application(ctx, tx, at)
		if err != nil {
			return err
		}
		m, err := tx.Users().ByUsername(ctx, app.Organization, username)
		if err != nil {
			return err
		}
		if deleted, err = tx.Lists().RemoveFromPinned(ctx, app, m.ID); err != nil || deleted == 0 {
			return err
		}
		return tx.Audit().Record(ctx, audit.Entry{Organization: app.Organization, Actor: by, Action: audit.RecipientsRemoved, Object: membershipPath(at, m),
			After: audit.State{"removed": deleted, "lists": "pinned to the application"}})
	})
	return deleted, err
}

func application(ctx context.Context, tx ports.Tx, at Path) (applications.Application, error) {
	return tx.Applications().BySlug(ctx, at.Organization, at.Project, at.Application)
}
