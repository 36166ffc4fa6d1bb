package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Locks and switches belong to Profiles, too.

// SetLocked locks a member in the organization or lifts the lock; repeating it changes nothing.
// operators.ErrAbove, users.ErrNotFound.
func (p *Profiles) SetLocked(ctx context.Context, by operators.Officer, at Path, id users.MemberID, locked bool) error {
	return p.store.Update(ctx, func(tx ports.Tx) error {
		m, err := memberByID(ctx, tx, at, id)
		if err != nil || m.Locked == locked {
			return err
		}
		if err := by.MayChange(m); err != nil {
			return err
		}
		before := m.Locked
		m.Locked = locked
		if err := tx.Users().SetLocked(ctx, m); err != nil {
			return err
		}
		return p.record(ctx, tx, m, by, audit.MemberLocked, memberPath(at, m), "locked", before, locked)
	})
}

// SetMembershipLocked locks what an application records about a member or lifts the lock (contract
// 2.6), whether the member is registered or not; repeating it changes nothing. operators.ErrAbove,
// users.ErrNotFound, applications.ErrNotFound.
func (p *Profiles) SetMembershipLocked(ctx context.Context, by operators.Officer, at Path, id users.MemberID, locked bool) error {
	return p.store.Update(ctx, func(tx ports.Tx) error {
		m, app, ms, _, err := membership(ctx, tx, at, id)
		if err != nil || ms.Locked == locked {
			return err
		}
		if err := by.MayChange(m); err != nil {
			return err
		}
		if err := tx.Applications().SetLocked(ctx, app, id, locked); err != nil {
			return err
		}
		return p.record(ctx, tx, m, by, audit.MembershipLocked, membershipPath(at, m), "locked", ms.Locked, locked)
	})
}

// SetNotifications says whether an application may notify a registered member at all; repeating it
// changes nothing. operators.ErrAbove, users.ErrNotFound, applications.ErrNotFound,
// applications.ErrMembershipNotFound.
func (p *Profiles) SetNotifications(ctx context.Context, by operators.Officer, at Path, id users.MemberID, enabled bool) error {
	return p.store.Update(ctx, func(tx ports.Tx) error {
		m, app, ms, registered, err := membership(ctx, tx, at, id)
		switch {
		case err != nil:
			return err
		case !registered:
			return applications.ErrMembershipNotFound
		case ms.EnableNotifications == enabled:
			return nil
		}
		if err := by.MayChange(m); err != nil {
			return err
		}
		before := ms.EnableNotifications
		ms.EnableNotifications = enabled
		if err := tx.Applications().SaveMemberships(ctx, app, []applications.Membership{ms}); err != nil {
			return err
		}
		return p.record(ctx, tx, m, by, audit.NotificationsEnabled, membershipPath(at, m), "enable_notifications", before, enabled)
	})
}

// record notes a flag of a member that has changed.
func (p *Profiles) record(ctx context.Context, tx ports.Tx, m users.Member, by operators.Officer, a audit.Action, object, flag string, before, after bool) error {
	return tx.Audit().Record(ctx, audit.Entry{Organization: m.Organization, Actor: by.Actor, At: p.clock.Now(), Action: a, Object: object,
		Before: audit.State{flag: before}, After: audit.State{flag: after}})
}

func membershipPath(at Path, m users.Member) string { return at.Object("u", m.User.Username) }

// membership is what the path's application records about a member of the path's organization.
func membership(
	ctx context.Context, tx ports.Tx, at Path, id users.MemberID,
) (m users.Member, app applications.Application, ms applications.Membership, registered bool, err error) {
	if app, err = application(ctx, tx, at); err != nil {
		return m, app, ms, false, err
	}
	if m, err = tx.Users().ByID(ctx, app.Organization, id); err != nil {
		return m, app, ms, false, err
	}
	all, exist, err := tx.Applications().Memberships(ctx, app, []users.MemberID{id})
	if err != nil {
		return m, app, ms, false, err
	}
	return m, app, all[0], exist[0], nil
}
