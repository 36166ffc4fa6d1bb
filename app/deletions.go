package app

import (
	"context"
	"errors"
	"strings"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Deletions removes provisioned objects that nothing refers to any more.
type Deletions struct{ store ports.Store }

// NewDeletions returns the use case of deleting.
func NewDeletions(store ports.Store) *Deletions { return &Deletions{store: store} }

// Deletable is a kind of object that can be deleted.
type Deletable string

// The kinds, each with example paths.
const (
	DeletableList        Deletable = "list"        // acme/shop/customers
	DeletableChannel     Deletable = "channel"     // acme/mail, or acme/shop/mail for a project's channel
	DeletableApplication Deletable = "application" // acme/shop/web
	DeletableEvent       Deletable = "event"       // acme/shop/web/order-shipped
)

// Delete removes the object at a path, in the notation of [Applied]. An object in use is not
// removed: the ErrInUse of its package names its uses. A path that leads nowhere returns the
// not-found error of the first missing part.
func (d *Deletions) Delete(ctx context.Context, by audit.Actor, kind Deletable, path string) error {
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
		at := Path{Organization: org.Slug, Project: parts[1]}
		if kind == DeletableChannel {
			return deleteChannelNamed(ctx, tx, by, Path{Organization: org.Slug}, org, parts[1])
		}
		if kind == DeletableList {
			p, err := project(ctx, tx, at)
			if err != nil {
				return err
			}
			l, err := tx.Lists().ByName(ctx, org.ID, p.ID, parts[2])
			if err != nil {
				return err
			}
			return deleteList(ctx, tx, by, at, l)
		}
		at.Application = parts[2]
		a, err := application(ctx, tx, at)
		if err != nil {
			return err
		}
		if kind == DeletableApplication {
			return deleteApplication(ctx, tx, by, at, a)
		}
		e, err := tx.Events().BySlug(ctx, a, parts[3])
		if err != nil {
			return err
		}
		return deleteEvent(ctx, tx, by, at, e)
	})
}

// CheckPath reports a fault in the form of a path.
func (kind Deletable) CheckPath(path string) error {
	_, err := kind.split(path)
	return err
}

// split splits a path. Names may contain slashes and slugs may not, so the rest at the end is the
// name.
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

// deleteChannelNamed deletes the channel of a project when the rest of the path begins with the
// slug of one, else the organization's.
func deleteChannelNamed(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, org orgs.Organization, rest string) error {
	var in orgs.ProjectID
	name := rest
	if slug, below, nested := strings.Cut(rest, "/"); nested {
		p, err := tx.Orgs().Project(ctx, org.Slug, slug)
		if err == nil {
			in, at.Project, name = p.ID, p.Slug, below
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
	return deleteChannel(ctx, tx, by, at, c)
}
