package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// The addresses of members belong to Users, too.

// Addresses lists a member's addresses.
func (u *Users) Addresses(ctx context.Context, at Path, username string, p Page) ([]users.Address, error) {
	return viewAt(ctx, u.store, at, bind(member, username), func(tx ports.Tx, m users.Member) ([]users.Address, error) {
		return tx.Addresses().List(ctx, m.Organization, m.ID, users.AddressID(p.After), p.Limit)
	})
}

// AddAddress gives a member an address, and on request assigns it to the organization's preferred
// channels. created is false when the member had it already. users.ErrProtected.
func (u *Users) AddAddress(
	ctx context.Context, by audit.Actor, at Path, username string, a users.Address, toPreferred bool,
) (added users.Address, created bool, err error) {
	err = changeAt(ctx, u.store, at, bind(changeableMember, username), func(tx ports.Tx, m users.Member) error {
		added, created, err = addAddress(ctx, tx, by, at, m, a, toPreferred)
		return err
	})
	return added, created, err
}

// addAddress is AddAddress for a member that was already found.
func addAddress(
	ctx context.Context, tx ports.Tx, by audit.Actor, at Path, m users.Member, a users.Address, toPreferred bool,
) (added users.Address, created bool, err error) {
	a.Member = m.ID
	stored, fresh, err := tx.Addresses().Ensure(ctx, m.Organization, []users.Address{a})
	if err != nil {
		return users.Address{}, false, err
	}
	added, created = stored[0], fresh[0]
	var assigned []string
	if toPreferred {
		if assigned, err = assignPreferred(ctx, tx, m, added); err != nil {
			return users.Address{}, false, err
		}
	}
	if !created && len(assigned) == 0 {
		return added, false, nil
	}
	return added, created, record(ctx, tx, by, m.Organization, audit.AddressAdded, memberPath(at, m), nil, audit.State{"address": added.Value, "name": added.Name, "new": created, "assigned": assigned})
}

// assignPreferred assigns an address to the organization's preferred channels and returns the names
// of those that it was not assigned to before.
func assignPreferred(ctx context.Context, tx ports.Tx, m users.Member, a users.Address) ([]string, error) {
	preferred, err := tx.Channels().Preferred(ctx, m.Organization, 0)
	if err != nil {
		return nil, err
	}
	var wanted []channels.Assignment
	for _, c := range channels.PreferredFor(a.Type, 0, preferred) {
		wanted = append(wanted, channels.Assign(a, c))
	}
	stored, created, err := tx.Assignments().Ensure(ctx, m.Organization, wanted)
	return newlyAssigned(stored, created), err
}

// newlyAssigned names the channels of the assignments that are new.
func newlyAssigned(as []channels.Assignment, created []bool) []string {
	var fresh []string
	for i, a := range as {
		if created[i] {
			fresh = append(fresh, a.Name)
		}
	}
	return fresh
}

// RemoveAddress removes an address of a member with everything that depends on it, and returns how
// many were removed: 1. users.ErrProtected.
func (u *Users) RemoveAddress(ctx context.Context, by audit.Actor, at Path, username string, id users.AddressID) (deleted int, err error) {
	err = changeAt(ctx, u.store, at, bind(changeableMember, username), func(tx ports.Tx, m users.Member) error {
		return removeAddress(ctx, tx, by, at, m, id)
	})
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// removeAddress is RemoveAddress for a member that was already found.
func removeAddress(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, m users.Member, id users.AddressID) error {
	was, err := tx.Addresses().ByID(ctx, m.Organization, m.ID, id)
	if err != nil {
		return err
	}
	if err := tx.Addresses().Remove(ctx, m.Organization, m.ID, id); err != nil {
		return err
	}
	return record(ctx, tx, by, m.Organization, audit.AddressRemoved, memberPath(at, m), audit.State{"address": was.Value, "name": was.Name}, nil)
}
