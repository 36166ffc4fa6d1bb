package app

import (
	"context"
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Creating, editing and removing members.

// Create makes a person a member of the organization like POST (decisions 4), and of a group in
// addition to the Default one (0: none); whatever exists already stays. orgs.ErrNotFound,
// orgs.ErrGroupNotFound; operators.ErrHigherRole for an existing member with a higher role.
func (p *Members) Create(
	ctx context.Context, by operators.Editor, at Path, e users.Enrollment, group orgs.GroupID,
) (users.Enrolled, error) {
	c := createCall{Enrollment: e, by: by.Actor}
	err := p.store.Update(ctx, func(tx ports.Tx) error {
		done, err := Enroll(ctx, tx, at.Organization, users.Batch{Enrollments: []users.Enrollment{e}, Group: group})
		if err != nil {
			return err
		}
		c.done = done[0]
		if err := by.MayChange(c.done.Member); err != nil {
			return err
		}
		entry, changed := c.entry(at.Organization, c.done)
		if !changed {
			return nil
		}
		return tx.Audit().Record(ctx, entry)
	})
	if err != nil {
		return users.Enrolled{}, err
	}
	return c.done, c.done.Err
}

// SaveDetails changes the names and the e-mail of a member like PATCH: blank values change nothing.
// operators.ErrHigherRole, users.ErrNotFound.
func (p *Members) SaveDetails(ctx context.Context, by operators.Editor, at Path, id users.MemberID, given users.Details) error {
	return p.edit(ctx, by, at, id, func(tx ports.Tx, m *users.Member) error { return saveDetails(ctx, tx, m, given) })
}

// SaveFields replaces the metadata of a member, if it still has the digest shown.
// operators.ErrHigherRole, users.ErrNotFound, users.ErrChanged.
func (p *Members) SaveFields(
	ctx context.Context, by operators.Editor, at Path, id users.MemberID, shown string, fields metadata.Map,
) error {
	return p.edit(ctx, by, at, id, func(tx ports.Tx, m *users.Member) error {
		if m.CustomFields.Digest() != shown && !m.CustomFields.Equal(fields) {
			return users.ErrChanged.On("custom_fields")
		}
		return applyFields(ctx, tx, m, MemberPatch{Fields: fields, Mode: metadata.Rewrite})
	})
}

// edit changes a member and records the differences.
func (p *Members) edit(
	ctx context.Context, by operators.Editor, at Path, id users.MemberID, change func(tx ports.Tx, m *users.Member) error,
) error {
	return p.change(ctx, by, at, id, func(tx ports.Tx, m users.Member) error {
		was := memberState(m)
		if err := change(tx, &m); err != nil {
			return err
		}
		before, after := audit.Changed(was, memberState(m))
		if len(after) == 0 {
			return nil
		}
		return record(ctx, tx, by.Actor, m.Organization, audit.MemberUpdated, memberPath(at, m), before, after)
	})
}

// change runs a unit of work on a member whom the editor may change.
func (p *Members) change(ctx context.Context, by operators.Editor, at Path, id users.MemberID, fn func(tx ports.Tx, m users.Member) error) error {
	return changeAt(ctx, p.store, at, bind(memberByID, id), func(tx ports.Tx, m users.Member) error {
		if err := by.MayChange(m); err != nil {
			return err
		}
		return fn(tx, m)
	})
}

// MaxSelected is the largest number of members that one call changes.
const MaxSelected = 200

// ErrSelection refuses an empty selection, and one of more than MaxSelected.
var ErrSelection = fault.New(fault.Invalid, "select 1 to 200 users")

// selected finds members by their ids, each once; users.ErrNotFound when one of them has been
// removed since they were selected.
func selected(ctx context.Context, tx ports.Tx, at Path, ids []users.MemberID) ([]users.Member, error) {
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	if err != nil {
		return nil, err
	}
	distinct := map[users.MemberID]bool{}
	for _, id := range ids {
		distinct[id] = true
	}
	if len(distinct) == 0 || len(distinct) > MaxSelected {
		return nil, ErrSelection
	}
	ms, err := tx.Users().ByIDs(ctx, org.ID, ids, 0)
	if err == nil && len(ms) != len(distinct) {
		for _, m := range ms {
			delete(distinct, m.ID)
		}
		err = &NotMembersError{IDs: slices.Sorted(maps.Keys(distinct))}
	}
	return ms, err
}

// NotMembersError refuses a selection with users who are not members of the organization; it is a
// users.ErrNotFound.
type NotMembersError struct{ IDs []users.MemberID }

func (e *NotMembersError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error in words for users.
func (e *NotMembersError) Unwrap() error {
	return users.ErrNotFound.With("one of these users is not a member of this organization any more")
}

// Selected returns members by their ids; users.ErrNotFound, ErrSelection.
func (p *Members) Selected(ctx context.Context, at Path, ids []users.MemberID) ([]users.Member, error) {
	return ports.View(ctx, p.store, func(tx ports.Tx) ([]users.Member, error) {
		return selected(ctx, tx, at, ids)
	})
}

// Remove ends memberships with everything that depends on them, all or none.
// operators.ErrHigherRole, users.ErrNotFound, ErrSelection.
func (p *Members) Remove(ctx context.Context, by operators.Editor, at Path, ids ...users.MemberID) error {
	return changeAt(ctx, p.store, at, bind(selected, ids), func(tx ports.Tx, ms []users.Member) error {
		if err := by.MayChange(ms...); err != nil {
			return err
		}
		if err := tx.Users().Remove(ctx, ms...); err != nil {
			return err
		}
		entries := make([]audit.Entry, len(ms))
		for i, m := range ms {
			entries[i] = audit.Entry{Organization: m.Organization, Actor: by.Actor, Action: audit.MemberRemoved, Object: memberPath(at, m), Before: memberState(m)}
		}
		return tx.Audit().Record(ctx, entries...)
	})
}

// Lock locks members in the organization or lifts their locks, all or none, and returns how many
// changed. operators.ErrHigherRole, users.ErrNotFound, ErrSelection.
func (p *Members) Lock(ctx context.Context, by operators.Editor, at Path, ids []users.MemberID, locked bool) (int, error) {
	return updateAt(ctx, p.store, at, bind(selected, ids), func(tx ports.Tx, ms []users.Member) (int, error) {
		return lockMembers(ctx, tx, by, at, ms, locked)
	})
}
