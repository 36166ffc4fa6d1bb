package app

import (
	"context"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Mailbox is the use cases on kept messages.
type Mailbox struct{ store ports.Store }

// NewMailbox returns the use cases on the mailbox.
func NewMailbox(store ports.Store) *Mailbox { return &Mailbox{store: store} }

// ChannelName names a channel as a person would.
type ChannelName struct {
	Organization string // slug; empty: the only one of the installation
	Project      string // slug; empty: channels of the organization itself
	Channel      string // in the project if it has one with this name, else in the organization
}

// List returns kept messages, the newest first and at most limit, without their texts: of one
// channel, or of all when none is named, and to one address unless that is empty. orgs.ErrNotFound,
// orgs.ErrSeveral, channels.ErrNotFound.
func (m *Mailbox) List(ctx context.Context, of ChannelName, to string, limit int) ([]deliveries.MailboxMessage, error) {
	f := deliveries.MailboxFilter{Limit: limit}
	if to != "" {
		address, err := users.NewAddress(to, "")
		if err != nil {
			return nil, err
		}
		f.AddressKey = address.Key()
	}
	return ports.View(ctx, m.store, func(tx ports.Tx) ([]deliveries.MailboxMessage, error) {
		org, c, err := named(ctx, tx, of)
		if err != nil {
			return nil, err
		}
		f.Channel = c.ID
		return tx.Mailbox().List(ctx, org.ID, f)
	})
}

// MailboxPage is a page of the mailbox.
type MailboxPage struct {
	Messages []deliveries.MailboxMessage // the newest first, without their texts
	Channels []channels.Channel          // with messages, at most as many as a form offers
}

// Browse returns kept messages of the path's organization: of one channel or with 0 of all, to one
// address unless that is empty, kept before another one (0: from the newest on), at most limit. A
// fault about `to`; orgs.ErrNotFound.
func (m *Mailbox) Browse(ctx context.Context, at Path, channel channels.ID, to string, before deliveries.MailboxID, limit int) (found MailboxPage, err error) {
	f := deliveries.MailboxFilter{Channel: channel, Before: before, Limit: limit}
	if strings.TrimSpace(to) != "" {
		address, err := users.NewAddress(to, "")
		if err != nil {
			return found, fault.Field("to", "%s", fault.Reason(err))
		}
		f.AddressKey = address.Key()
	}
	return viewAt(ctx, m.store, at, organization, func(tx ports.Tx, org orgs.Organization) (found MailboxPage, err error) {
		if found.Messages, err = tx.Mailbox().List(ctx, org.ID, f); err != nil {
			return found, err
		}
		found.Channels, err = tx.Mailbox().Channels(ctx, org.ID, maxUsable)
		return found, err
	})
}

// Show returns one kept message; orgs.ErrNotFound, orgs.ErrSeveral, deliveries.ErrMessageNotFound.
func (m *Mailbox) Show(ctx context.Context, organization string, id deliveries.MailboxID) (deliveries.MailboxMessage, error) {
	return ports.View(ctx, m.store, func(tx ports.Tx) (deliveries.MailboxMessage, error) {
		org, _, err := named(ctx, tx, ChannelName{Organization: organization})
		if err != nil {
			return deliveries.MailboxMessage{}, err
		}
		return tx.Mailbox().Find(ctx, org.ID, id)
	})
}

// clearedAtOnce is how many messages are deleted in one unit of work, so that others can write in
// between.
const clearedAtOnce = 1_000

// Clear deletes the kept messages of a channel, or all when none is named, and returns how many
// were deleted. It is the exception to the rule of one unit of work: after an error some may be
// deleted. orgs.ErrNotFound, orgs.ErrSeveral, channels.ErrNotFound.
func (m *Mailbox) Clear(ctx context.Context, by audit.Actor, of ChannelName) (gone int, err error) {
	return m.clear(ctx, by, func(tx ports.Tx) (orgs.Organization, channels.Channel, error) { return named(ctx, tx, of) })
}

// ClearChannel is Clear for a channel of the path's organization, or with 0 for all of them;
// orgs.ErrNotFound. It deletes nothing of a channel of another organization.
func (m *Mailbox) ClearChannel(ctx context.Context, by audit.Actor, at Path, id channels.ID) (gone int, err error) {
	return m.clear(ctx, by, func(tx ports.Tx) (orgs.Organization, channels.Channel, error) {
		org, err := tx.Orgs().BySlug(ctx, at.Organization)
		if err != nil || id == 0 {
			return org, channels.Channel{}, err
		}
		all, err := tx.Mailbox().Channels(ctx, org.ID, maxUsable)
		i := slices.IndexFunc(all, func(c channels.Channel) bool { return c.ID == id })
		if err != nil || i < 0 {
			return org, channels.Channel{ID: id}, err
		}
		return org, all[i], nil
	})
}

func (m *Mailbox) clear(ctx context.Context, by audit.Actor, find func(ports.Tx) (orgs.Organization, channels.Channel, error)) (gone int, err error) {
	for {
		n, err := ports.Update(ctx, m.store, func(tx ports.Tx) (n int, err error) {
			org, c, err := find(tx)
			if err != nil {
				return n, err
			}
			if n, err = tx.Mailbox().Clear(ctx, org.ID, c.ID, clearedAtOnce); err != nil || n == 0 {
				return n, err
			}
			return n, record(ctx, tx, by, org.ID, audit.MailboxCleared, Path{Organization: org.Slug}.Object("mailbox"), audit.State{"messages": n, "channel": c.Name}, nil)
		})
		if err != nil {
			return gone, err
		}
		if gone += n; n < clearedAtOnce {
			return gone, nil
		}
	}
}

// named finds an organization and, when one is named, a channel of it.
func named(ctx context.Context, tx ports.Tx, n ChannelName) (org orgs.Organization, c channels.Channel, err error) {
	if n.Organization == "" {
		org, err = tx.Orgs().Only(ctx)
	} else {
		org, err = tx.Orgs().BySlug(ctx, n.Organization)
	}
	var project orgs.Project
	if err == nil && n.Project != "" {
		project, err = tx.Orgs().Project(ctx, org.Slug, n.Project)
	}
	if err == nil && n.Channel != "" {
		c, err = tx.Channels().Find(ctx, org.ID, project.ID, n.Channel)
	}
	return org, c, err
}
