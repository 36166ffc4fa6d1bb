package app

import (
	"context"

	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Applications shows applications and manages who is registered with them (contract 4.3 and 4.4).
type Applications struct {
	store         ports.Store
	limits        *quotas.Defaults
	registrations *batch.Batcher[Path, registerCall]
}

// NewApplications returns the use cases on applications. limits are for organizations without
// limits of their own, workers for concurrent calls of Register.
func NewApplications(store ports.Store, limits *quotas.Defaults, workers batch.Workers) *Applications {
	a := &Applications{store: store, limits: limits}
	a.registrations = batch.New(workers, a.register, (*registerCall).username, nil)
	return a
}

// Batched returns how many units of work Register has run, for how many calls.
func (a *Applications) Batched() (units, calls int64) { return a.registrations.Served() }

// List returns the project's applications; orgs.ErrNotFound, orgs.ErrProjectNotFound.
func (a *Applications) List(ctx context.Context, at Path, p Page) ([]applications.Application, error) {
	return viewAt(ctx, a.store, at, project, func(tx ports.Tx, project orgs.Project) ([]applications.Application, error) {
		return tx.Applications().List(ctx, project.Organization, project.ID, applications.ID(p.After), p.Limit)
	})
}

// Show returns an application; orgs.ErrNotFound, orgs.ErrProjectNotFound, applications.ErrNotFound.
func (a *Applications) Show(ctx context.Context, at Path) (applications.Application, error) {
	return ports.View(ctx, a.store, func(tx ports.Tx) (applications.Application, error) {
		return application(ctx, tx, at)
	})
}

// Events lists the application's events.
func (a *Applications) Events(ctx context.Context, at Path, p Page) ([]events.Event, error) {
	return viewAt(ctx, a.store, at, application, func(tx ports.Tx, app applications.Application) ([]events.Event, error) {
		return tx.Events().List(ctx, app, events.ID(p.After), p.Limit)
	})
}

// EventNames returns the names of these events of the application.
func (a *Applications) EventNames(ctx context.Context, at Path, ids []events.ID) ([]events.Name, error) {
	return viewAt(ctx, a.store, at, application, func(tx ports.Tx, app applications.Application) ([]events.Name, error) {
		return tx.Events().NamesOf(ctx, app, ids)
	})
}

// Notifications lists the application's notifications.
func (a *Applications) Notifications(ctx context.Context, at Path, p Page) ([]subscriptions.Notification, error) {
	return viewAt(ctx, a.store, at, application, func(tx ports.Tx, app applications.Application) ([]subscriptions.Notification, error) {
		return tx.Subscriptions().Notifications(ctx, app, subscriptions.NotificationID(p.After), p.Limit)
	})
}

// Unregister deletes a member's membership of the application and returns how many were deleted, 0
// or 1. The user must be a member of the organization and is found by the username alone:
// users.ErrNotFound.
func (a *Applications) Unregister(ctx context.Context, by audit.Actor, at Path, username string) (int, error) {
	return updateAt(ctx, a.store, at, application, func(tx ports.Tx, app applications.Application) (deleted int, err error) {
		m, err := tx.Users().ByUsername(ctx, app.Organization, username)
		if err != nil {
			return deleted, err
		}
		were, _, err := tx.Applications().Memberships(ctx, app, []users.MemberID{m.ID})
		if err != nil {
			return deleted, err
		}
		existed, err := tx.Applications().Unregister(ctx, app, m.ID)
		if err != nil || !existed {
			return deleted, err
		}
		deleted = 1
		return deleted, record(ctx, tx, by, app.Organization, audit.Unregistered, membershipPath(at, m), membershipState(were[0]), nil)
	})
}

// Unsubscribe removes a member from every distribution list that is pinned to the application and
// returns how many entries were removed; the membership stays. The member is found by the username
// alone: users.ErrNotFound.
func (a *Applications) Unsubscribe(ctx context.Context, by audit.Actor, at Path, username string) (int, error) {
	return updateAt(ctx, a.store, at, application, func(tx ports.Tx, app applications.Application) (deleted int, err error) {
		m, err := tx.Users().ByUsername(ctx, app.Organization, username)
		if err != nil {
			return deleted, err
		}
		if deleted, err = tx.Lists().RemoveFromPinned(ctx, app, m.ID); err != nil || deleted == 0 {
			return deleted, err
		}
		return deleted, record(ctx, tx, by, app.Organization, audit.RecipientsRemoved, membershipPath(at, m), nil, audit.State{"removed": deleted, "lists": "pinned to the application"})
	})
}

func application(ctx context.Context, tx ports.Tx, at Path) (applications.Application, error) {
	return tx.Applications().BySlug(ctx, at.Organization, at.Project, at.Application)
}
