package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Addresses and assignments of members.

// AddAddress gives a member an address, and on request assigns it to the organization's preferred
// channels, like the API (decisions 4); whatever exists already stays. operators.ErrHigherRole,
// users.ErrNotFound.
func (p *Members) AddAddress(ctx context.Context, by operators.Editor, at Path, id users.MemberID, a users.Address, toPreferred bool) error {
	return p.change(ctx, by, at, id, func(tx ports.Tx, m users.Member) error {
		_, _, err := addAddress(ctx, tx, by.Actor, at, m, a, toPreferred)
		return err
	})
}

// RemoveAddress removes an address of a member with everything that depends on it.
// operators.ErrHigherRole, users.ErrNotFound, users.ErrAddressNotFound.
func (p *Members) RemoveAddress(ctx context.Context, by operators.Editor, at Path, id users.MemberID, address users.AddressID) error {
	return p.change(ctx, by, at, id, func(tx ports.Tx, m users.Member) error {
		return removeAddress(ctx, tx, by.Actor, at, m, address)
	})
}

// Assign assigns an address of a member to a channel of the organization or of any of its projects,
// as registration would: active and validated. operators.ErrHigherRole, users.ErrNotFound,
// users.ErrAddressNotFound, channels.ErrNotFound, channels.ErrIncompatible.
func (p *Members) Assign(
	ctx context.Context, by operators.Editor, at Path, id users.MemberID, address users.AddressID, channel channels.ID,
) error {
	return p.change(ctx, by, at, id, func(tx ports.Tx, m users.Member) error {
		a, err := tx.Addresses().ByID(ctx, m.Organization, m.ID, address)
		if err != nil {
			return err
		}
		c, err := tx.Channels().Within(ctx, m.Organization, channel)
		if err != nil {
			return err
		}
		if !c.Protocol.Accepts(a.Type) {
			return channels.ErrIncompatible.On("channel")
		}
		stored, created, err := tx.Assignments().Ensure(ctx, m.Organization, []channels.Assignment{channels.Assign(a, c)})
		if err != nil || !created[0] {
			return err
		}
		return record(ctx, tx, by.Actor, m.Organization, audit.AssignmentAdded, memberPath(at, m), nil, assignmentState(stored[0]))
	})
}

// SetAssignment sets whether an assignment of a member is active and validated; repeating it
// changes nothing. operators.ErrHigherRole, users.ErrNotFound, channels.ErrAssignmentNotFound.
func (p *Members) SetAssignment(
	ctx context.Context, by operators.Editor, at Path, id users.MemberID, assignment channels.AssignmentID, active, validated bool,
) error {
	return p.change(ctx, by, at, id, func(tx ports.Tx, m users.Member) error {
		was, err := tx.Assignments().OfMemberByID(ctx, m.Organization, m.ID, assignment)
		if err != nil {
			return err
		}
		is := was
		if is.Active, is.Validated = active, validated; is == was {
			return nil
		}
		if err := tx.Assignments().Save(ctx, m.Organization, is); err != nil {
			return err
		}
		return record(ctx, tx, by.Actor, m.Organization, audit.AssignmentUpdated, memberPath(at, m), assignmentState(was), assignmentState(is))
	})
}

// Unassign ends an assignment of a member with its list entries and subscriptions.
// operators.ErrHigherRole, users.ErrNotFound, channels.ErrAssignmentNotFound.
func (p *Members) Unassign(ctx context.Context, by operators.Editor, at Path, id users.MemberID, assignment channels.AssignmentID) error {
	return p.change(ctx, by, at, id, func(tx ports.Tx, m users.Member) error {
		was, err := tx.Assignments().OfMemberByID(ctx, m.Organization, m.ID, assignment)
		if err != nil {
			return err
		}
		if err := tx.Assignments().Remove(ctx, m.Organization, was); err != nil {
			return err
		}
		return record(ctx, tx, by.Actor, m.Organization, audit.AssignmentRemoved, memberPath(at, m), assignmentState(was), nil)
	})
}

func assignmentState(a channels.Assignment) audit.State {
	return audit.State{"address": a.Value, "channel": a.Name, "active": a.Active, "validated": a.Validated}
}
