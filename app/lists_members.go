package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// AddedMembers is what came of putting members on a list.
type AddedMembers struct {
	Added   int      // of whom an address is on the list that was not
	Without []string // by username: those who hold no e-mail address
}

// AddMembers puts every e-mail address of members on a list, as Add would. users.ErrNotFound, ErrSelection, lists.ErrNotFound,
// lists.ErrNoChannel.
func (l *Lists) AddMembers(ctx context.Context, by audit.Actor, at Path, id lists.ID, ids []users.MemberID) (done AddedMembers, err error) {
	err = l.store.Update(ctx, func(tx ports.Tx) error {
		done = AddedMembers{}
		list, err := list(ctx, tx, at, id)
		if err != nil {
			return err
		}
		ms, err := selected(ctx, tx, at, ids)
		if err != nil {
			return err
		}
		held, err := tx.Addresses().OfMembers(ctx, list.Organization, ids, users.Email)
		if err != nil {
			return err
		}
		assignments, err := reach(ctx, tx, list, held)
		if err != nil {
			return err
		}
		fresh, err := tx.Lists().Add(ctx, list, assignmentIDs(assignments))
		if err != nil {
			return err
		}
		holds, gained := gains(held, assignments, fresh)
		var entries []audit.Entry
		for _, m := range ms {
			if !holds[m.ID] {
				done.Without = append(done.Without, m.User.Username)
			}
			if added := gained[m.ID]; len(added) > 0 {
				done.Added++
				entries = append(entries, audit.Entry{Organization: m.Organization, Actor: by, Action: audit.RecipientsAdded, Object: listPath(at, list),
					After: audit.State{"user": m.User.Username, "added": added}})
			}
		}
		if len(entries) == 0 {
			return nil
		}
		return tx.Audit().Record(ctx, entries...)
	})
	return done, err
}

// gains tells which members hold any of the addresses, and which addresses of each came to the list.
func gains(held []users.Address, as []channels.Assignment, fresh []channels.AssignmentID) (holds map[users.MemberID]bool, gained map[users.MemberID][]string) {
	isFresh := make(map[channels.AssignmentID]bool, len(fresh))
	for _, id := range fresh {
		isFresh[id] = true
	}
	came := map[users.AddressID]bool{}
	for _, a := range as {
		came[a.Address] = came[a.Address] || isFresh[a.ID]
	}
	holds, gained = map[users.MemberID]bool{}, map[users.MemberID][]string{}
	for _, a := range held {
		holds[a.Member] = true
		if came[a.ID] {
			gained[a.Member] = append(gained[a.Member], a.Value)
		}
	}
	return holds, gained
}
