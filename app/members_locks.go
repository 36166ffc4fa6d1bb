package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Locks of members and of their memberships.

// SetLocked locks a member in the organization or lifts the lock; repeating it changes nothing.
// operators.ErrHigherRole, users.ErrNotFound.
func (p *Members) SetLocked(ctx context.Context, by operators.Editor, at Path, id users.MemberID, locked bool) error {
	return changeAt(ctx, p.store, at, bind(memberByID, id), func(tx ports.Tx, m users.Member) error {
		_, err := lockMembers(ctx, tx, by, at, []users.Member{m}, locked)
		return err
	})
}

// lockMembers locks members or lifts their locks, all or none, and returns how many changed.
func lockMembers(ctx context.Context, tx ports.Tx, by operators.Editor, at Path, ms []users.Member, locked bool) (int, error) {
	var changed []users.Member
	var entries []audit.Entry
	for _, m := range ms {
		if m.Locked == locked {
			continue
		}
		m.Locked = locked
		changed = append(changed, m)
		entries = append(entries, audit.Entry{Organization: m.Organization, Actor: by.Actor, Action: audit.MemberLocked, Object: memberPath(at, m),
			Before: audit.State{"locked": !locked}, After: audit.State{"locked": locked}})
	}
	if len(changed) == 0 {
		return 0, nil
	}
	if err := by.MayChange(changed...); err != nil {
		return 0, err
	}
	if err := tx.Users().SetLocked(ctx, changed...); err != nil {
		return 0, err
	}
	return len(changed), tx.Audit().Record(ctx, entries...)
}

// SetLockedByName is SetLocked for the member with exactly this username, and returns that member;
// locked nil changes nothing. users.ErrNotFound.
func (p *Members) SetLockedByName(ctx context.Context, by operators.Editor, at Path, username string, locked *bool) (users.Member, error) {
	return ports.Update(ctx, p.store, func(tx ports.Tx) (is users.Member, err error) {
		if is, err = memberByUsername(ctx, tx, at, username); err != nil || locked == nil {
			return is, err
		}
		_, err = lockMembers(ctx, tx, by, at, []users.Member{is}, *locked)
		is.Locked = *locked
		return is, err
	})
}

// Member returns the member with exactly this username; users.ErrNotFound.
func (p *Members) Member(ctx context.Context, at Path, username string) (users.Member, error) {
	return ports.View(ctx, p.store, func(tx ports.Tx) (users.Member, error) {
		return memberByUsername(ctx, tx, at, username)
	})
}

// SetMembershipLocked locks what an application records about a member or lifts the lock (contract
// 2.6), whether the member is registered or not; repeating it changes nothing.
// operators.ErrHigherRole, users.ErrNotFound, applications.ErrNotFound.
func (p *Members) SetMembershipLocked(ctx context.Context, by operators.Editor, at Path, id users.MemberID, locked bool) error {
	return changeAt(ctx, p.store, at, bind(membership, id), func(tx ports.Tx, in MembershipReport) error {
		return p.lockMembership(ctx, tx, by, at, &in, locked)
	})
}

func (p *Members) lockMembership(ctx context.Context, tx ports.Tx, by operators.Editor, at Path, in *MembershipReport, locked bool) error {
	before := in.Membership.Locked
	if before == locked {
		return nil
	}
	if err := by.MayChange(in.Member); err != nil {
		return err
	}
	in.Membership.Locked = locked
	if err := tx.Applications().SetLocked(ctx, in.Application, in.Member.ID, locked); err != nil {
		return err
	}
	return recordFlag(ctx, tx, in.Member, by, audit.MembershipLocked, membershipPath(at, in.Member), "locked", before, locked)
}

// SetNotifications sets whether an application may notify a registered member at all; repeating it
// changes nothing. operators.ErrHigherRole, users.ErrNotFound, applications.ErrNotFound,
// applications.ErrMembershipNotFound.
func (p *Members) SetNotifications(ctx context.Context, by operators.Editor, at Path, id users.MemberID, enabled bool) error {
	return changeAt(ctx, p.store, at, bind(membership, id), func(tx ports.Tx, in MembershipReport) error {
		return p.enable(ctx, tx, by, at, &in, enabled)
	})
}

func (p *Members) enable(ctx context.Context, tx ports.Tx, by operators.Editor, at Path, in *MembershipReport, enabled bool) error {
	before := in.Membership.EnableNotifications
	switch {
	case !in.Registered:
		return applications.ErrMembershipNotFound
	case before == enabled:
		return nil
	}
	if err := by.MayChange(in.Member); err != nil {
		return err
	}
	in.Membership.EnableNotifications = enabled
	if err := tx.Applications().SaveMemberships(ctx, in.Application, []applications.Membership{in.Membership}); err != nil {
		return err
	}
	return recordFlag(ctx, tx, in.Member, by, audit.NotificationsEnabled, membershipPath(at, in.Member), "enable_notifications", before, enabled)
}

// MembershipChange is a change of a membership; nil fields stay unchanged.
type MembershipChange struct {
	Locked        *bool
	Notifications *bool
}

// PatchMembership is SetMembershipLocked and SetNotifications for the member with exactly this
// username, and returns the changed membership.
func (p *Members) PatchMembership(
	ctx context.Context, by operators.Editor, at Path, username string, change MembershipChange,
) (MembershipReport, error) {
	return ports.Update(ctx, p.store, func(tx ports.Tx) (is MembershipReport, err error) {
		if is, err = membershipByUsername(ctx, tx, at, username); err != nil {
			return is, err
		}
		if change.Locked != nil {
			if err := p.lockMembership(ctx, tx, by, at, &is, *change.Locked); err != nil {
				return is, err
			}
		}
		if change.Notifications != nil {
			err = p.enable(ctx, tx, by, at, &is, *change.Notifications)
			return is, err
		}
		return is, nil
	})
}

// Membership returns what the path's application records about the member with exactly this
// username, whether the member is registered or not; applications.ErrNotFound, users.ErrNotFound.
func (p *Members) Membership(ctx context.Context, at Path, username string) (MembershipReport, error) {
	return ports.View(ctx, p.store, func(tx ports.Tx) (MembershipReport, error) {
		return membershipByUsername(ctx, tx, at, username)
	})
}

// recordFlag records a changed flag of a member.
func recordFlag(ctx context.Context, tx ports.Tx, m users.Member, by operators.Editor, a audit.Action, object, flag string, before, after bool) error {
	return record(ctx, tx, by.Actor, m.Organization, a, object, audit.State{flag: before}, audit.State{flag: after})
}

func membershipPath(at Path, m users.Member) string { return at.Object("u", m.User.Username) }

// membership returns what the path's application records about a member of the path's organization.
func membership(ctx context.Context, tx ports.Tx, at Path, id users.MemberID) (MembershipReport, error) {
	return membershipOf(ctx, tx, at, id, tx.Users().ByID)
}

func membershipByUsername(ctx context.Context, tx ports.Tx, at Path, username string) (MembershipReport, error) {
	return membershipOf(ctx, tx, at, username, tx.Users().ByUsername)
}

func membershipOf[K any](
	ctx context.Context, tx ports.Tx, at Path, key K, find func(context.Context, orgs.ID, K) (users.Member, error),
) (MembershipReport, error) {
	app, err := application(ctx, tx, at)
	if err != nil {
		return MembershipReport{}, err
	}
	m, err := find(ctx, app.Organization, key)
	if err != nil {
		return MembershipReport{}, err
	}
	all, exist, err := tx.Applications().Memberships(ctx, app, []users.MemberID{m.ID})
	if err != nil {
		return MembershipReport{}, err
	}
	return MembershipReport{Application: app, Member: m, Membership: all[0], Registered: exist[0]}, nil
}
