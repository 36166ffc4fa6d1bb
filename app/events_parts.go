package app

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// EventParts are the parts of an event: what is sent, to whom, and through which channels.
type EventParts struct {
	Templates     []events.Template            // of the event
	Notifications []subscriptions.Notification // at most MaxNotifications
	Usable        []channels.Channel           // that the event may be limited to, the project's first
}

// eventParts reads the parts of an event whose templates are known.
func eventParts(ctx context.Context, tx ports.Tx, a applications.Application, e events.Event, own []events.Template) (s EventParts, err error) {
	s.Templates = own
	if s.Notifications, err = tx.Subscriptions().OfEvent(ctx, e, 0, MaxNotifications); err != nil {
		return s, err
	}
	s.Usable, err = usableChannels(ctx, tx, a.Organization, a.Project)
	return s, err
}

// Used returns the channels that messages of the event may go through, active or not.
func (s EventParts) Used(e events.Event) []channels.Channel {
	if len(e.Channels) == 0 && len(e.Pools) == 0 {
		return s.Usable
	}
	return slices.DeleteFunc(slices.Clone(s.Usable), func(c channels.Channel) bool {
		named := slices.ContainsFunc(e.Channels, func(l events.Channel) bool { return l.ID == c.ID })
		return !named && !slices.ContainsFunc(e.Pools, func(p events.Pool) bool { return p.Name == c.Pool && p.Protocol == c.Protocol })
	})
}

// Template returns the event's template for a channel; Version 0: none.
func (s EventParts) Template(id channels.ID) events.Template { return onChannel(s.Templates, id) }

// Brief is Show without the lists of the notifications.
func (s *Events) Brief(ctx context.Context, at Path, slug string) (EventReport, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (EventReport, error) { return eventOf(ctx, tx, at, slug) })
}

// eventOf finds an event and its parts.
func eventOf(ctx context.Context, tx ports.Tx, at Path, slug string) (r EventReport, err error) {
	if r.Application, err = application(ctx, tx, at); err != nil {
		return r, err
	}
	if r.Event, err = tx.Events().BySlug(ctx, r.Application, slug); err != nil {
		return r, err
	}
	own, err := tx.Events().Templates(ctx, r.Event)
	if err != nil {
		return r, err
	}
	r.EventParts, err = eventParts(ctx, tx, r.Application, r.Event, own)
	return r, err
}

// Audience is Show with the lists that a new notification may use.
func (s *Events) Audience(ctx context.Context, at Path, slug string) (r EventReport, usable []lists.List, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		if r, err = eventOf(ctx, tx, at, slug); err != nil {
			return err
		}
		if usable, r.MoreLists, err = usableLists(ctx, tx, r.Application, 0); err != nil {
			return err
		}
		r.Lists, err = listsOf(ctx, tx, r.Application, r.Notifications, usable)
		return err
	})
	return r, usable, err
}

// listsOf returns the lists of notifications, of which some are known already.
func listsOf(ctx context.Context, tx ports.Tx, a applications.Application, all []subscriptions.Notification, known []lists.List) (map[lists.ID]lists.List, error) {
	found := map[lists.ID]lists.List{}
	for _, l := range known {
		found[l.ID] = l
	}
	for _, n := range all {
		if _, is := found[n.List]; n.List == 0 || is {
			continue
		}
		l, err := tx.Lists().ByID(ctx, a.Organization, a.Project, n.List)
		if err != nil {
			return nil, err
		}
		found[n.List] = l
	}
	return found, nil
}
