package app

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Groups is the use cases on the groups of an organization and their members.
type Groups struct {
	store  ports.Store
	limits *quotas.Defaults
}

// NewGroups returns the use cases on groups. limits are for organizations without limits of their
// own.
func NewGroups(store ports.Store, limits *quotas.Defaults) *Groups {
	return &Groups{store: store, limits: limits}
}

// List returns the groups of an organization; orgs.ErrNotFound.
func (g *Groups) List(ctx context.Context, at Path, p Page) ([]orgs.Group, error) {
	return viewAt(ctx, g.store, at, organization, func(tx ports.Tx, org orgs.Organization) ([]orgs.Group, error) {
		return tx.Orgs().Groups(ctx, org.ID, orgs.GroupID(p.After), p.Limit)
	})
}

// Show returns a group; orgs.ErrNotFound, orgs.ErrGroupNotFound.
func (g *Groups) Show(ctx context.Context, at Path, id orgs.GroupID) (orgs.Group, error) {
	return ports.View(ctx, g.store, func(tx ports.Tx) (orgs.Group, error) {
		return group(ctx, tx, at, id)
	})
}

func group(ctx context.Context, tx ports.Tx, at Path, id orgs.GroupID) (orgs.Group, error) {
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	if err != nil {
		return orgs.Group{}, err
	}
	return tx.Orgs().GroupByID(ctx, org.ID, id)
}

// Create makes a group; orgs.ErrNotFound, orgs.ErrGroupTaken, *quotas.Exceeded.
func (g *Groups) Create(ctx context.Context, by audit.Actor, at Path, name string) (made orgs.Group, err error) {
	wanted, err := orgs.NewGroup(0, name)
	if err != nil {
		return orgs.Group{}, err
	}
	return updateAt(ctx, g.store, at, organization, func(tx ports.Tx, org orgs.Organization) (orgs.Group, error) {
		made, created, err := EnsureGroup(ctx, tx, by, g.limits, at, org.ID, wanted.Name)
		if err == nil && !created {
			err = orgs.ErrGroupTaken.On("name")
		}
		return made, err
	})
}

// EnsureGroup returns the group of the path's organization with this name, and reports whether it
// made it; *quotas.Exceeded.
func EnsureGroup(
	ctx context.Context, tx ports.Tx, by audit.Actor, limits *quotas.Defaults, at Path, org orgs.ID, name string,
) (orgs.Group, bool, error) {
	found, created, err := tx.Orgs().EnsureGroup(ctx, org, name)
	if err != nil || !created {
		return found, false, err
	}
	if err := WithinQuota(ctx, tx, limits, org, quotas.Groups); err != nil {
		return found, false, err
	}
	return found, true, record(ctx, tx, by, org, audit.GroupCreated, groupPath(at, found), nil, nameState(found.Name))
}

// Rename changes the name of a group; orgs.ErrGroupNotFound, orgs.ErrGroupTaken,
// orgs.ErrGroupDefault.
func (g *Groups) Rename(ctx context.Context, by audit.Actor, at Path, id orgs.GroupID, name string) error {
	wanted, err := orgs.NewGroup(0, name)
	if err != nil {
		return err
	}
	return changeAt(ctx, g.store, at, bind(group, id), func(tx ports.Tx, was orgs.Group) error {
		if was.Name == wanted.Name {
			return nil
		}
		if was.IsDefault() {
			return orgs.ErrGroupDefault
		}
		is := was
		is.Name = wanted.Name
		if err := tx.Orgs().RenameGroup(ctx, is); err != nil {
			return fieldOf("name", orgs.ErrGroupTaken, err)
		}
		return record(ctx, tx, by, was.Organization, audit.GroupUpdated, groupPath(at, was), nameState(was.Name), nameState(is.Name))
	})
}

// Delete removes an empty group; orgs.ErrGroupNotFound, orgs.ErrGroupInUse, orgs.ErrGroupDefault.
func (g *Groups) Delete(ctx context.Context, by audit.Actor, at Path, id orgs.GroupID) error {
	return changeAt(ctx, g.store, at, bind(group, id), func(tx ports.Tx, was orgs.Group) error {
		if was.IsDefault() {
			return orgs.ErrGroupDefault
		}
		if err := tx.Orgs().DeleteGroup(ctx, was); err != nil {
			return err
		}
		return record(ctx, tx, by, was.Organization, audit.GroupDeleted, groupPath(at, was), nameState(was.Name), nil)
	})
}

// Link adds members to a group, all or none, and returns how many were not in it.
// operators.ErrHigherRole, orgs.ErrGroupNotFound, users.ErrNotFound, ErrSelection.
func (g *Groups) Link(ctx context.Context, by operators.Editor, at Path, id orgs.GroupID, ids ...users.MemberID) (int, error) {
	return g.regroup(ctx, by, at, id, ids, users.Repository.Link, func(groups []string, name string) []string {
		return slices.Sorted(slices.Values(append(slices.Clone(groups), name)))
	})
}

// Unlink removes members from a group, all or none, and returns how many were in it.
// operators.ErrHigherRole, orgs.ErrGroupNotFound, users.ErrNotFound, ErrSelection.
func (g *Groups) Unlink(ctx context.Context, by operators.Editor, at Path, id orgs.GroupID, ids ...users.MemberID) (int, error) {
	return g.regroup(ctx, by, at, id, ids, users.Repository.Unlink, func(groups []string, name string) []string {
		return slices.DeleteFunc(slices.Clone(groups), func(n string) bool { return n == name })
	})
}

func (g *Groups) regroup(
	ctx context.Context, by operators.Editor, at Path, id orgs.GroupID, ids []users.MemberID,
	move func(users.Repository, context.Context, orgs.Group, []users.MemberID) ([]users.MemberID, error), after func(groups []string, name string) []string,
) (int, error) {
	return updateAt(ctx, g.store, at, bind(group, id), func(tx ports.Tx, to orgs.Group) (moved int, err error) {
		ms, err := selected(ctx, tx, at, ids)
		if err != nil {
			return moved, err
		}
		if err := by.MayChange(ms...); err != nil {
			return moved, err
		}
		changed, err := move(tx.Users(), ctx, to, ids)
		if err != nil {
			return moved, err
		}
		var entries []audit.Entry
		for _, m := range ms {
			if slices.Contains(changed, m.ID) {
				entries = append(entries, audit.Entry{Organization: m.Organization, Actor: by.Actor, Action: audit.MemberUpdated, Object: memberPath(at, m),
					Before: audit.State{"groups": m.Groups}, After: audit.State{"groups": after(m.Groups, to.Name)}})
			}
		}
		if moved = len(changed); moved == 0 {
			return moved, nil
		}
		return moved, tx.Audit().Record(ctx, entries...)
	})
}

func groupPath(at Path, g orgs.Group) string {
	return Path{Organization: at.Organization}.Object("groups", g.Name)
}
