package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/ports"
)

// Search returns a batch of the recipients of a list whose members match the words of a query;
// lists.ErrNotFound.
func (l *Lists) Search(ctx context.Context, at Path, id lists.ID, q lists.Query) (lists.Found, error) {
	return viewAt(ctx, l.store, at, bind(list, id), func(tx ports.Tx, list lists.List) (lists.Found, error) {
		return tx.Lists().Search(ctx, list, q)
	})
}

// AddAssignment puts one assignment of any protocol on a list, and reports whether it was not on
// it. lists.ErrNotFound, channels.ErrAssignmentNotFound.
func (l *Lists) AddAssignment(ctx context.Context, by audit.Actor, at Path, id lists.ID, assignment channels.AssignmentID) (bool, error) {
	return updateAt(ctx, l.store, at, bind(list, id), func(tx ports.Tx, list lists.List) (added bool, err error) {
		a, err := tx.Assignments().Find(ctx, list.Organization, list.Project, assignment)
		if err != nil {
			return added, err
		}
		fresh, err := tx.Lists().Add(ctx, list, []channels.AssignmentID{a.ID})
		if added = len(fresh) > 0; err != nil || !added {
			return added, err
		}
		return added, recordAdded(ctx, tx, by, at, list, []string{a.Value}, nil)
	})
}

// Remove removes recipients from a list and returns those that were on it; lists.ErrNotFound.
func (l *Lists) Remove(ctx context.Context, by audit.Actor, at Path, id lists.ID, recipients []channels.AssignmentID) ([]lists.Recipient, error) {
	return updateAt(ctx, l.store, at, bind(list, id), func(tx ports.Tx, list lists.List) (removed []lists.Recipient, err error) {
		if removed, err = tx.Lists().Remove(ctx, list, recipients); err != nil || len(removed) == 0 {
			return removed, err
		}
		addresses := make([]string, len(removed))
		for i, r := range removed {
			addresses[i] = r.Address
		}
		return removed, record(ctx, tx, by, list.Organization, audit.RecipientsRemoved, listPath(at, list), audit.State{"count": len(removed), "removed": addresses}, nil)
	})
}

// recordAdded records which addresses are new on a list, if any, and how many assignments were made
// for that.
func recordAdded(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, l lists.List, added []string, made []channels.Assignment) error {
	if len(added) == 0 {
		return nil
	}
	after := audit.State{"count": len(added), "added": added}
	if len(made) > 0 { // All to one channel, the preferred one.
		after["assigned"], after["channel"] = len(made), made[0].Name
	}
	return record(ctx, tx, by, l.Organization, audit.RecipientsAdded, listPath(at, l), nil, after)
}
