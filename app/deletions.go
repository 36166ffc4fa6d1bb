package app

import (
	"context"
	"errors"
	"strings"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Deletions removes what provisioning made and nothing refers to any more.
type Deletions struct{ store ports.Store }

// NewDeletions returns the use case of deleting.
func NewDeletions(store ports.Store) *Deletions { return &Deletions{store: store} }

// Deletable is a kind of object that can be deleted.
type Deletable string

// The kinds, each with paths that name one of it.
const (
	DeletableList        Deletable = "list"        // acme/shop/customers
	DeletableChannel     Deletable = "channel"     // acme/mail, or acme/shop/mail where it is a project's
	DeletableApplication Deletable = "application" // acme/shop/web
	DeletableEvent       Deletable = "event"       // acme/shop/web/order-shipped
)

// Delete removes the object at a path, which is spelled as [Applied] spells it. What others use is not removed: the ErrInUse of
// its package names them. A path that leads nowhere gets the not-found fault of the first thing that is missing.
func (d *Deletions) Delete(ctx context.Context, kind Deletable, path string) error {
	parts, err := kind.split(path)
	if err != nil {
		return err
	}
	return d.store.Update(ctx, func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(ctx, parts[0])
		if err != nil {
			return err
		}
		if err := tx.Orgs().Revise(ctx, org.ID); err != nil {
			return err
		}
		switch kind {
		case DeletableList:
			return deleteList(ctx, tx, org, parts[1], parts[2])
		case DeletableChannel:
			return deleteChannel(ctx, tx, org, parts[1])
		case DeletableApplication:
			return deleteApplication(ctx, tx, org, parts[1], parts[2])
		default:
			return deleteEvent(ctx, tx, org, parts[1], parts[2], parts[3])
		}
	})
}

// CheckPath reports what is wrong with the form of a path.
func (kind Deletable) CheckPath(path string) error {
	_, err := kind.split(path)
	return err
}

// split takes a path apart. Names may contain slashes and slugs may not, so what is left at the end is the name.
func (kind Deletable) split(path string) ([]string, error) {
	var shape string
	levels := 3
	switch kind {
	case DeletableList:
		shape = "ORGANIZATION/PROJECT/LIST"
	case DeletableChannel:
		shape, levels = "ORGANIZATION/CHANNEL or ORGANIZATION/PROJECT/CHANNEL", 2
	case DeletableApplication:
		shape = "ORGANIZATION/PROJECT/APPLICATION"
	case DeletableEvent:
		shape, levels = "ORGANIZATION/PROJECT/APPLICATION/EVENT", 4
	default:
		return nil, fault.Field("kind", "cannot be deleted")
	}
	parts := strings.SplitN(path, "/", levels)
	if len(parts) < levels || strings.TrimSpace(parts[levels-1]) == "" {
		return nil, fault.Field("path", "must be %s", shape)
	}
	return parts, nil
}

func deleteList(ctx context.Context, tx ports.Tx, org orgs.Organization, project, name string) error {
	p, err := tx.Orgs().Project(ctx, org.Slug, project)
	if err != nil {
		return err
	}
	l, err := tx.Lists().ByName(ctx, org.ID, p.ID, name)
	if err != nil {
		return err
	}
	return tx.Lists().Delete(ctx, l)
}

// deleteChannel deletes the channel of a project when the rest of the path begins with the slug of one, else the organization's.
func deleteChannel(ctx context.Context, tx ports.Tx, org orgs.Organization, rest string) error {
	var in orgs.ProjectID
	name := rest
	if slug, below, nested := strings.Cut(rest, "/"); nested {
		p, err := tx.Orgs().Project(ctx, org.Slug, slug)
		if err == nil {
			in, name = p.ID, below
		} else if !errors.Is(err, orgs.ErrProjectNotFound) {
			return err
		}
	}
	c, err := tx.Channels().Find(ctx, org.ID, in, name)
	if err != nil {
		return err
	}
	if c.Project != in {
		return channels.ErrNotFound.With("the channel does not exist in this project; the organization has one of this name")
	}
	return tx.Channels().Delete(ctx, c)
}

func deleteApplication(ctx context.Context, tx ports.Tx, org orgs.Organization, project, slug string) error {
	a, err := tx.Applications().BySlug(ctx, org.Slug, project, slug)
	if err != nil {
		return err
	}
	return tx.Applications().Delete(ctx, a)
}

func deleteEvent(ctx context.Context, tx ports.Tx, org orgs.Organization, project, app, slug string) error {
	a, err := tx.Applications().BySlug(ctx, org.Slug, project, app)
	if err != nil {
		return err
	}
	e, err := tx.Events().BySlug(ctx, a, slug)
	if err != nil {
		return err
	}
	return tx.Events().Delete(ctx, e)
}
