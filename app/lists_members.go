package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// AddedMembers is the result of adding members to a list.
type AddedMembers struct {
	Added   int      // members with an address that is new on the list
	Without []string // by username: members without an e-mail address
}

// AddMembers puts every e-mail address of members on a list, as Add would. users.ErrNotFound,
// ErrSelection, lists.ErrNotFound, lists.ErrNoChannel.
func (l *Lists) AddMembers(ctx context.Context, by audit.Actor, at Path, id lists.ID, ids []users.MemberID) (AddedMembers, error) {
	return updateAt(ctx, l.store, at, bind(list, id), func(tx ports.Tx, list lists.List) (done AddedMembers, err error) {
		ms, err := selected(ctx, tx, at, ids)
		if err != nil {
			return done, err
		}
		held, err := tx.Addresses().OfMembers(ctx, list.Organization, ids, users.Email, lists.MaxHolders+1)
		if err != nil {
			return done, err
		}
		if len(held) > lists.MaxHolders {
			return done, tooManyHolders()
		}
		assignments, made, err := assignmentsFor(ctx, tx, list, held)
		if err != nil {
			return done, err
		}
		fresh, err := tx.Lists().Add(ctx, list, assignmentIDs(assignments))
		if err != nil {
			return done, err
		}
		gained := gains(held, assignments, made, fresh)
		var entries []audit.Entry
		for _, m := range ms {
			g, holds := gained[m.ID]
			if !holds {
				done.Without = append(done.Without, m.User.Username)
			}
			if len(g.added) == 0 {
				continue
			}
			done.Added++
			after := audit.State{"user": m.User.Username, "added": g.added}
			if len(g.assigned) > 0 {
				after["assigned"], after["channel"] = g.assigned, made[0].Name // the preferred one for all
			}
			entries = append(entries, audit.Entry{Organization: m.Organization, Actor: by, Action: audit.RecipientsAdded, Object: listPath(at, list), After: after})
		}
		if len(entries) == 0 {
			return done, nil
		}
		return done, tx.Audit().Record(ctx, entries...)
	})
}

// gain is what a member gained by being added to a list, as addresses.
type gain struct {
	added    []string // new on the list
	assigned []string // newly assigned for that
}

// gains returns the gain of each member who holds any of the addresses. as are the assignments that
// belong on the list, made those of them that are new altogether, and fresh those that were not on
// it.
func gains(held []users.Address, as, made []channels.Assignment, fresh []channels.AssignmentID) map[users.MemberID]gain {
	isFresh := make(map[channels.AssignmentID]bool, len(fresh))
	for _, id := range fresh {
		isFresh[id] = true
	}
	came, assigned := map[users.AddressID]bool{}, map[users.AddressID]bool{}
	for _, a := range as {
		came[a.Address] = came[a.Address] || isFresh[a.ID]
	}
	for _, a := range made {
		assigned[a.Address] = true
	}
	all := map[users.MemberID]gain{}
	for _, a := range held {
		g := all[a.Member]
		if came[a.ID] {
			g.added = append(g.added, a.Value)
		}
		if assigned[a.ID] {
			g.assigned = append(g.assigned, a.Value)
		}
		all[a.Member] = g
	}
	return all
}
