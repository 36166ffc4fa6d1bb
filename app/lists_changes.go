package app

import (
	"context"
	"errors"
	"strings"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// Change sets a list's name, and pins it to an application of its project or (0) to none. It is
// refused if it changes anything and outdated reports true about the stored list.
// lists.ErrNotFound, lists.ErrNameTaken, lists.ErrApplication, ErrOutdated, and lists.ErrRepinned,
// naming the notifications of other applications that use it.
func (l *Lists) Change(
	ctx context.Context, by audit.Actor, at Path, id lists.ID, name string, pinned applications.ID, outdated func(lists.List) bool,
) error {
	_, err := l.patch(ctx, by, at, id, &name, &pinned, outdated)
	return err
}

// Patch is Change for the fields that are not nil, of any stored list.
func (l *Lists) Patch(ctx context.Context, by audit.Actor, at Path, id lists.ID, name *string, pinned *applications.ID) (lists.List, error) {
	return l.patch(ctx, by, at, id, name, pinned, func(lists.List) bool { return false })
}

func (l *Lists) patch(
	ctx context.Context, by audit.Actor, at Path, id lists.ID, name *string, pinned *applications.ID, outdated func(lists.List) bool,
) (is lists.List, err error) {
	var wanted lists.List
	if name != nil {
		if wanted, err = lists.New(*name); err != nil {
			return is, err
		}
	}
	return updateAt(ctx, l.store, at, bind(revised, id), func(tx ports.Tx, was lists.List) (is lists.List, err error) {
		is = was
		if name != nil {
			is.Name = wanted.Name
		}
		if pinned != nil {
			is.Application = *pinned
		}
		if is == was {
			return is, nil
		}
		if outdated(was) {
			return is, ErrOutdated
		}
		return is, saveList(ctx, tx, by, at, was, is)
	})
}

// saveList changes the name of a list and its pin; the errors of Change.
func saveList(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, was, is lists.List) error {
	from, err := pinnedTo(ctx, tx, was)
	if err != nil {
		return err
	}
	to, err := pinnedTo(ctx, tx, is)
	if errors.Is(err, applications.ErrNotFound) {
		return lists.ErrApplication.On("application")
	}
	if err != nil {
		return err
	}
	if err := checkPin(ctx, tx, is); err != nil {
		return err
	}
	if err := tx.Lists().Save(ctx, is); err != nil {
		return fieldOf("name", lists.ErrNameTaken, err)
	}
	before, after := audit.Changed(listState(was.Name, from), listState(is.Name, to))
	return record(ctx, tx, by, is.Organization, audit.ListUpdated, listPath(at, was), before, after)
}

// pinnedTo returns the slug of the application that a list is pinned to, empty when it is pinned to
// none.
func pinnedTo(ctx context.Context, tx ports.Tx, l lists.List) (string, error) {
	if l.Application == 0 {
		return "", nil
	}
	a, err := tx.Applications().ByID(ctx, l.Organization, l.Project, l.Application)
	return a.Slug, err
}

// checkPin refuses a pin that would take the list from notifications that use it (decisions
// 5).
func checkPin(ctx context.Context, tx ports.Tx, l lists.List) error {
	if l.Application == 0 {
		return nil
	}
	users, err := tx.Lists().Users(ctx, l, l.Application)
	if err == nil && len(users) > 0 {
		return lists.ErrRepinned.With("the list cannot be pinned to this application: it is used by %s", strings.Join(users, ", ")).On("application")
	}
	return err
}

// Delete removes a list with its recipients' entries; lists.ErrNotFound, and lists.ErrInUse, naming
// the notifications that use it.
func (l *Lists) Delete(ctx context.Context, by audit.Actor, at Path, id lists.ID) error {
	return changeAt(ctx, l.store, at, bind(revised, id), func(tx ports.Tx, list lists.List) error {
		return deleteList(ctx, tx, by, at, list)
	})
}

func deleteList(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, l lists.List) error {
	pinned, err := pinnedTo(ctx, tx, l)
	if err != nil {
		return err
	}
	if err := tx.Lists().Delete(ctx, l); err != nil {
		return err
	}
	return record(ctx, tx, by, l.Organization, audit.ListDeleted, listPath(at, l), listState(l.Name, pinned), nil)
}

// revised finds a list in a unit of work that changes its organization's structure.
func revised(ctx context.Context, tx ports.Tx, at Path, id lists.ID) (lists.List, error) {
	found, err := list(ctx, tx, at, id)
	if err != nil {
		return lists.List{}, err
	}
	if err := tx.Orgs().Revise(ctx, found.Organization); err != nil {
		return lists.List{}, err
	}
	return list(ctx, tx, at, id)
}

// Uses returns the notifications that use a list; lists.ErrNotFound.
func (l *Lists) Uses(ctx context.Context, at Path, id lists.ID, p Page) ([]subscriptions.Use, error) {
	return viewAt(ctx, l.store, at, bind(list, id), func(tx ports.Tx, list lists.List) ([]subscriptions.Use, error) {
		return tx.Subscriptions().OfList(ctx, list, subscriptions.NotificationID(p.After), p.Limit)
	})
}
