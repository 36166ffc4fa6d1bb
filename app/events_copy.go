package app

import (
	"context"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// CopyForm is what an operator enters to copy an event.
type CopyForm struct {
	Application applications.ID // any of the organization
	Slug, Name  string          // of the copy
}

// CopyTarget is an application that events can be copied to.
type CopyTarget struct {
	Application applications.Application
	Project     orgs.Project
}

// CopyTargets returns the event and the applications of its organization, or none if there are more
// than a form offers; events.ErrNotFound.
func (s *Events) CopyTargets(ctx context.Context, at Path, slug string) (e events.Event, all []CopyTarget, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		from, err := application(ctx, tx, at)
		if err != nil {
			return err
		}
		if e, err = tx.Events().BySlug(ctx, from, slug); err != nil {
			return err
		}
		found, err := tx.Applications().OfOrganization(ctx, from.Organization, 0, maxUsable+1)
		if all = nil; err != nil || len(found) > maxUsable {
			return err
		}
		projects, err := projectsOf(ctx, tx, from.Organization)
		for _, a := range found {
			all = append(all, CopyTarget{Application: a, Project: projects[a.Project]})
		}
		return err
	})
	return e, all, err
}

// Copy makes a copy of an event with its templates and notifications, in any application of the
// organization, and returns it with its path. The copy is inactive. It uses the same channels where
// they are usable there, otherwise channels, pools and lists with the same names: a missing channel
// or pool is a fault about `application`, and so is one channel for two of the event. A
// notification whose list is missing has none and is inactive. Faults about the form,
// events.ErrNotFound, *quotas.Exceeded.
func (s *Events) Copy(ctx context.Context, by audit.Actor, at Path, slug string, f CopyForm) (made events.Event, to Path, err error) {
	wanted, err := events.New(f.Slug, f.Name, "")
	if err != nil {
		return made, to, err
	}
	err = changeAt(ctx, s.store, at, s.revise, func(tx ports.Tx, from applications.Application) error {
		e, err := tx.Events().BySlug(ctx, from, slug)
		if err != nil {
			return err
		}
		log := &deferredLog{Tx: tx, Repository: tx.Audit()}
		c := eventCopier{ctx: ctx, tx: log, by: by, limits: s.limits}
		if to, err = c.target(at, from.Organization, f.Application); err != nil {
			return err
		}
		if err := c.load(from); err != nil {
			return err
		}
		copied := e
		copied.ID, copied.Application, copied.Slug, copied.Name, copied.Active = 0, c.app.ID, wanted.Slug, wanted.Name, false
		if made, err = c.event(from, e, to, copied); err != nil {
			return err
		}
		return tx.Audit().Record(ctx, log.entries...)
	})
	return made, to, err
}

// eventCopier is the copy of one event under way.
type eventCopier struct {
	ctx         context.Context //nolint:containedctx // It lives exactly as long as the unit of work.
	tx          ports.Tx
	by          audit.Actor
	limits      *quotas.Defaults
	app         applications.Application    // where the copy goes
	source      map[channels.ID]channelKey  // the channels that the event may use
	usable      map[channels.ID]bool        // the channels that its copy may use
	destination map[channelKey]channels.ID  // the same, by name and protocol
	taken       map[channels.ID]channels.ID // the event's channel by that of the copy
	pools       []events.Pool               // that its copy may name
}

// channelKey is what a channel has in common with its counterpart.
type channelKey struct {
	name     string
	protocol channels.Protocol
}

func (c *eventCopier) target(at Path, org orgs.ID, id applications.ID) (to Path, err error) {
	found, err := c.tx.Applications().OfOrganization(c.ctx, org, id-1, 1)
	if err != nil {
		return to, err
	}
	if len(found) == 0 || found[0].ID != id {
		return to, fault.Field("application", "choose an application of the organization")
	}
	c.app = found[0]
	project, err := c.tx.Orgs().ProjectByID(c.ctx, org, c.app.Project)
	return Path{Organization: at.Organization, Project: project.Slug, Application: c.app.Slug}, err
}

// load finds what the event and its copy may use.
func (c *eventCopier) load(from applications.Application) error {
	here, err := usableChannels(c.ctx, c.tx, from.Organization, from.Project)
	if err != nil {
		return err
	}
	there, err := usableChannels(c.ctx, c.tx, c.app.Organization, c.app.Project)
	if err != nil {
		return err
	}
	c.source, c.destination = map[channels.ID]channelKey{}, map[channelKey]channels.ID{}
	c.usable, c.taken = map[channels.ID]bool{}, map[channels.ID]channels.ID{}
	for _, ch := range here {
		c.source[ch.ID] = channelKey{ch.Name, ch.Protocol}
	}
	c.pools = events.Pools(there)
	for _, ch := range slices.Backward(there) { // The project's come first and take precedence.
		c.destination[channelKey{ch.Name, ch.Protocol}] = ch.ID
		c.usable[ch.ID] = true
	}
	return nil
}

// channel returns the channel of the copy for one of the event: the same if it is usable there,
// otherwise that with its name and protocol. Two channels of the event are never one of the copy,
// because the templates of one would replace those of the other.
func (c *eventCopier) channel(id channels.ID) (channels.ID, error) {
	is, found := c.source[id], id
	if !c.usable[id] {
		var ok bool
		if found, ok = c.destination[is]; !ok {
			return 0, fault.Field("application", "has no channel %s for %s, which the event uses", is.name, is.protocol)
		}
	}
	if other, taken := c.taken[found]; taken && other != id {
		return 0, fault.Field("application", "has only one channel %s for %s, but the event uses two", is.name, is.protocol)
	}
	c.taken[found] = id
	return found, nil
}

func (c *eventCopier) event(from applications.Application, e events.Event, to Path, copied events.Event) (made events.Event, err error) {
	texts, err := c.tx.Events().Templates(c.ctx, e)
	if err != nil {
		return made, err
	}
	notifications, err := c.tx.Subscriptions().OfEvent(c.ctx, e, 0, MaxNotifications+1)
	if err != nil {
		return made, err
	}
	if len(notifications) > MaxNotifications {
		return made, fault.Field("application", "the event has more than %d notifications and cannot be copied", MaxNotifications)
	}
	limited := make([]events.Channel, len(e.Channels))
	for i, ch := range e.Channels {
		if limited[i].ID, err = c.channel(ch.ID); err != nil {
			return made, err
		}
		limited[i].Name = ch.Name
	}
	copied.Channels = limited
	for _, p := range e.Pools {
		if !slices.Contains(c.pools, p) {
			return made, fault.Field("application", "has no pool %s of %s, which the event uses", p.Name, p.Protocol)
		}
	}
	if made, err = createEvent(c.ctx, c.tx, c.by, c.limits, to, copied); err != nil {
		return made, err
	}
	if err := c.templates(to, made, subscriptions.Notification{}, texts); err != nil {
		return made, err
	}
	for _, n := range notifications {
		if err := c.notification(to, made, from, n); err != nil {
			return made, err
		}
	}
	return made, nil
}

func (c *eventCopier) notification(to Path, e events.Event, from applications.Application, n subscriptions.Notification) error {
	texts, err := c.tx.Subscriptions().Templates(c.ctx, n)
	if err != nil {
		return err
	}
	var list lists.List
	if n.List != 0 {
		if list, err = c.list(from, n.List); err != nil {
			return err
		}
		n.Active = n.Active && list.ID != 0
	}
	n.Application, n.Event, n.List = c.app.ID, e.ID, list.ID
	made, err := createNotification(c.ctx, c.tx, c.by, to, e, n, list.Name)
	if err != nil {
		return err
	}
	return c.templates(to, e, made, texts)
}

// list returns the list of the copy's project that has the name of this one and serves the
// application; none if there is no such list.
func (c *eventCopier) list(from applications.Application, id lists.ID) (lists.List, error) {
	had, err := c.tx.Lists().ByID(c.ctx, from.Organization, from.Project, id)
	if err != nil {
		return had, err
	}
	has, err := c.tx.Lists().ByName(c.ctx, c.app.Organization, c.app.Project, had.Name)
	if errors.Is(err, lists.ErrNotFound) || err == nil && !has.Serves(c.app.ID) {
		return lists.List{}, nil
	}
	return has, err
}

// templates copies the templates of an event, or of its notification n if that is set.
func (c *eventCopier) templates(to Path, e events.Event, n subscriptions.Notification, all []events.Template) error {
	for _, t := range all {
		name := c.source[t.Channel].name
		id, err := c.channel(t.Channel)
		if err != nil {
			return err
		}
		t.ID, t.Version, t.Channel = 0, 0, id
		if _, err := saveTemplate(c.ctx, c.tx, c.by, to, e, n, name, events.Template{}, t, 0); err != nil {
			return err
		}
	}
	return nil
}
