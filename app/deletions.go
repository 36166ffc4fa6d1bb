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

// Delete removes the object at a path, which is spelled as [Applied] spells it. What others use is
// not removed: the ErrInUse of its package names them. A path that leads nowhere gets the not-found
// fault of the first thing that is missing.
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
		var e audit.Entry
		switch kind {
		case DeletableList:
			e, err = deleteList(ctx, tx, org, parts[1], parts[2])
		case DeletableChannel:
			e, err = deleteChannel(ctx, tx, org, parts[1])
		case DeletableApplication:
			e, err = deleteApplication(ctx, tx, org, parts[1], parts[2])
		default:
			e, err = deleteEvent(ctx, tx, org, parts[1], parts[2], parts[3])
		}
		if err != nil {
			return err
		}
		e.Organization, e.Actor = org.ID, by
		return tx.Audit().Record(ctx, e)
	})
}

// CheckPath reports what is wrong with the form of a path.
func (kind Deletable) CheckPath(path string) error {
	_, err := kind.split(path)
	return err
}

// split takes a path apart. Names may contain slashes and slugs may not, so what is left at the end
// is the name.
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

func deleteList(ctx context.Context, tx ports.Tx, org orgs.Organization, project, name string) (audit.Entry, error) {
	p, err := tx.Orgs().Project(ctx, org.Slug, project)
	if err != nil {
		return audit.Entry{}, err
	}
	l, err := tx.Lists().ByName(ctx, org.ID, p.ID, name)
	if err != nil {
		return audit.Entry{}, err
	}
	pinned, err := pinnedTo(ctx, tx, l)
	if err != nil {
		return audit.Entry{}, err
	}
	at := Path{Organization: org.Slug, Project: project}
	return audit.Entry{Action: audit.ListDeleted, Object: listPath(at, l), Before: listState(l.Name, pinned)}, tx.Lists().Delete(ctx, l)
}

// deleteChannel deletes the channel of a project when the rest of the path begins with the slug of
// one, else the organization's.
func deleteChannel(ctx context.Context, tx ports.Tx, org orgs.Organization, rest string) (audit.Entry, error) {
	var in orgs.ProjectID
	at, name := Path{Organization: org.Slug}, rest
	if slug, below, nested := strings.Cut(rest, "/"); nested {
		p, err := tx.Orgs().Project(ctx, org.Slug, slug)
		if err == nil {
			in, at.Project, name = p.ID, p.Slug, below
		} else if !errors.Is(err, orgs.ErrProjectNotFound) {
			return audit.Entry{}, err
		}
	}
	c, err := tx.Channels().Find(ctx, org.ID, in, name)
	if err != nil {
		return audit.Entry{}, err
	}
	if c.Project != in {
		return audit.Entry{}, channels.ErrNotFound.With("the channel does not exist in this project; the organization has one of this name")
	}
	return audit.Entry{Action: audit.ChannelDeleted, Object: at.Object("c", c.Name), Before: channelState(c)}, tx.Channels().Delete(ctx, c)
}

func deleteApplication(ctx context.Context, tx ports.Tx, org orgs.Organization, project, slug string) (audit.Entry, error) {
	a, err := tx.Applications().BySlug(ctx, org.Slug, project, slug)
	if err != nil {
		return audit.Entry{}, err
	}
	at := Path{Organization: org.Slug, Project: project, Application: slug}
	return audit.Entry{Action: audit.ApplicationDeleted, Object: at.Object(), Before: applicationState(a)}, tx.Applications().Delete(ctx, a)
}

func deleteEvent(ctx context.Context, tx ports.Tx, org orgs.Organization, project, app, slug string) (audit.Entry, error) {
	a, err := tx.Applications().BySlug(ctx, org.Slug, project, app)
	if err != nil {
		return audit.Entry{}, err
	}
	e, err := tx.Events().BySlug(ctx, a, slug)
	if err != nil {
		return audit.Entry{}, err
	}
	at := Path{Organization: org.Slug, Project: project, Application: app}
	return audit.Entry{Action: audit.EventDeleted, Object: at.Object("e", slug), Before: eventState(e)}, tx.Events().Delete(ctx, e)
}
