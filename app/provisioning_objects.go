package app

import (
	"errors"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// channels applies the channels of an organization (project 0) or of a project. Channels that lose
// the preference go first, so that a blueprint may move it in any order.
func (a *applier) channels(place string, where Path, org orgs.ID, project orgs.ProjectID, wanted []BlueprintChannel) error {
	demoted := map[channels.ID]channels.Channel{} // as they were
	for i, want := range wanted {
		was, exists, err := a.ownChannel(org, project, want.Name)
		if err != nil {
			return err
		}
		if exists && was.Preferred && !want.Preferred {
			demoted[was.ID] = was
			was.Preferred = false
			if err := a.tx.Channels().Save(a.ctx, was); err != nil {
				return at(index(place, "channels", i), err)
			}
		}
	}
	for i, want := range wanted {
		c, action, err := a.channel(where, org, project, want, demoted)
		if err != nil {
			return at(index(place, "channels", i), err)
		}
		a.note("channel", join(where.short(), c.Name), int64(c.ID), action)
	}
	return nil
}

// channel creates or updates a channel; demoted are those that lost the preference, as they were
// before.
func (a *applier) channel(
	where Path, org orgs.ID, project orgs.ProjectID, want BlueprintChannel, demoted map[channels.ID]channels.Channel,
) (is channels.Channel, action Action, err error) {
	was, exists, err := a.ownChannel(org, project, want.Name)
	if err != nil {
		return is, "", err
	}
	if before, had := demoted[was.ID]; had {
		was = before
	}
	is = was
	is.Organization, is.Project, is.Protocol, is.Driver = org, project, channels.Protocol(want.Protocol), want.Driver
	is.Preferred, is.Active, is.Settings = want.Preferred, want.Active, want.Settings
	is.Pool, is.Weight = want.Pool, want.Weight
	is.Unrestricted = a.trusted || was.Unrestricted && is.Driver == was.Driver && is.Settings.Equal(was.Settings)
	if !exists {
		is.Name = strings.TrimSpace(want.Name)
		is, err = createChannel(a.ctx, a.tx, a.by, a.limits, where, is)
		return is, Created, err
	}
	if is.Same(was) {
		return was, Unchanged, nil
	}
	if is.Protocol != was.Protocol {
		return is, "", fault.Field("protocol", "cannot be changed: the channel carries %s and addresses are assigned to it", was.Protocol)
	}
	if was.Pool != is.Pool {
		a.leftPools = append(a.leftPools, was) // An event that names the pool may follow.
	}
	return is, Updated, saveChannel(a.ctx, a.tx, a.by, where, was, is)
}

// ownChannel finds a channel of the organization or project itself, not of the project's
// organization.
func (a *applier) ownChannel(org orgs.ID, project orgs.ProjectID, name string) (channels.Channel, bool, error) {
	c, err := a.tx.Channels().Find(a.ctx, org, project, name)
	if errors.Is(err, channels.ErrNotFound) || (err == nil && c.Project != project) {
		return channels.Channel{}, false, nil
	}
	return c, err == nil, err
}

func (a *applier) list(place string, org orgs.Organization, project orgs.Project, want BlueprintList) error {
	var pinned applications.ID
	if want.Application != "" {
		app, err := a.tx.Applications().BySlug(a.ctx, org.Slug, project.Slug, want.Application)
		if err != nil {
			return at(place+".application", err)
		}
		pinned = app.ID
	}
	where := Path{Organization: org.Slug, Project: project.Slug}
	l, err := a.tx.Lists().ByName(a.ctx, org.ID, project.ID, want.Name)
	action := Unchanged
	switch {
	case errors.Is(err, lists.ErrNotFound):
		action = Created
		l, err = createList(a.ctx, a.tx, a.by, a.limits, where,
			lists.List{Organization: org.ID, Project: project.ID, Name: strings.TrimSpace(want.Name), Application: pinned}, want.Application)
	case err == nil && l.Application != pinned:
		action = Updated
		was := l
		l.Application = pinned
		err = saveList(a.ctx, a.tx, a.by, where, was, l)
	}
	if err != nil {
		return at(place, err)
	}
	a.note("list", join(org.Slug, project.Slug, l.Name), int64(l.ID), action)
	return nil
}

func (a *applier) events(place string, where Path, app applications.Application, wanted []BlueprintEvent) error {
	for i, want := range wanted {
		place := index(place, "events", i)
		e, action, err := a.event(where, app, want)
		if err != nil {
			return at(place, err)
		}
		path := join(where.short(), e.Slug)
		a.note("event", path, int64(e.ID), action)
		stored, err := a.tx.Events().Templates(a.ctx, e)
		if err != nil {
			return err
		}
		if err := a.templates(place, path, where, app, e, subscriptions.Notification{}, stored, want.Templates); err != nil {
			return err
		}
		for n, w := range want.Notifications {
			if err := a.notification(index(place, "notifications", n), path, where, app, e, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *applier) event(where Path, app applications.Application, want BlueprintEvent) (events.Event, Action, error) {
	var limited []events.Channel
	for i, name := range want.Channels {
		c, err := a.tx.Channels().Find(a.ctx, app.Organization, app.Project, name)
		if err != nil {
			return events.Event{}, "", at(index("", "channels", i), err)
		}
		limited = append(limited, events.Channel{ID: c.ID, Name: c.Name})
	}
	slices.SortFunc(limited, events.Channel.Compare)
	priority, err := events.ParsePriority("priority", want.Priority)
	if err != nil {
		return events.Event{}, "", err
	}
	e, err := a.tx.Events().BySlug(a.ctx, app, want.Slug)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return e, "", err
	}
	pools, faults := a.pools(app, e.Pools, want.Pools)
	switch {
	case faults != nil:
		return e, "", faults
	case errors.Is(err, events.ErrNotFound):
		schema, err := want.schema()
		if err != nil {
			return e, "", err
		}
		made, err := createEvent(a.ctx, a.tx, a.by, a.limits, where, events.Event{Organization: app.Organization, Application: app.ID, Slug: want.Slug,
			Name: want.Name, Description: want.Description, Active: want.Active, Schema: schema, Priority: priority, Channels: limited, Pools: pools})
		return made, Created, err
	}
	schema := e.Schema
	if want.Schema != nil {
		if schema, err = want.schema(); err != nil {
			return e, "", err
		}
	}
	// Parsing takes a while, during which others wait. It was done before, without the example.
	if schema != e.Schema && e.Example != "" {
		if err := want.checkSchema(e.Example); err != nil {
			return e, "", err
		}
	}
	if want.Priority == "" {
		priority = e.Priority
	}
	if e.Name == want.Name && e.Description == want.Description && e.Active == want.Active && e.Schema == schema && e.Priority == priority && slices.Equal(e.Channels, limited) && slices.Equal(e.Pools, pools) {
		return e, Unchanged, nil
	}
	was := e
	e.Name, e.Description, e.Active, e.Schema, e.Priority, e.Channels, e.Pools = want.Name, want.Description, want.Active, schema, priority, limited, pools
	return e, Updated, saveEvent(a.ctx, a.tx, a.by, where, was, e)
}

// pools finds the pools that an event is to be limited to; had are its present ones.
func (a *applier) pools(app applications.Application, had []events.Pool, named []string) ([]events.Pool, error) {
	if len(named) == 0 {
		return nil, nil
	}
	usable, err := usableChannels(a.ctx, a.tx, app.Organization, app.Project)
	if err != nil {
		return nil, err
	}
	return events.PoolsNamed(events.Pools(usable), had, named)
}

func (a *applier) notification(
	place, path string, where Path, app applications.Application, e events.Event, want BlueprintNotification,
) error {
	var list lists.ID
	if want.List != "" {
		l, err := a.tx.Lists().ByName(a.ctx, app.Organization, app.Project, want.List)
		if err != nil {
			return at(place+".list", err)
		}
		if !l.Serves(app.ID) {
			return at(place+".list", lists.ErrPinned)
		}
		list = l.ID
	}
	n, err := a.tx.Subscriptions().ByName(a.ctx, e, want.Name)
	action := Unchanged
	switch {
	case errors.Is(err, subscriptions.ErrNotificationNotFound):
		action = Created
		n, err = createNotification(a.ctx, a.tx, a.by, where, e,
			subscriptions.Notification{Application: app.ID, Event: e.ID, Name: strings.TrimSpace(want.Name), List: list, Active: want.Active}, want.List)
	case err == nil && (n.List != list || n.Active != want.Active):
		action = Updated
		var had lists.List
		if had, err = listOf(a.ctx, a.tx, app, n.List); err == nil {
			was := n
			n.List, n.Active = list, want.Active
			err = saveNotification(a.ctx, a.tx, a.by, where, e, was, n, had.Name, want.List)
		}
	}
	if err != nil {
		return at(place, err)
	}
	path = join(path, n.Name)
	a.note("notification", path, int64(n.ID), action)
	stored, err := a.tx.Subscriptions().Templates(a.ctx, n)
	if err != nil {
		return err
	}
	return a.templates(place, path, where, app, e, n, stored, want.Templates)
}

// templates applies the templates of an event, or of its notification n if that is set.
func (a *applier) templates(
	place, path string, where Path, app applications.Application, e events.Event, n subscriptions.Notification, stored []events.Template, wanted []BlueprintTemplate,
) error {
	for i, want := range wanted {
		place := index(place, "templates", i)
		c, err := a.tx.Channels().Find(a.ctx, app.Organization, app.Project, want.Channel)
		if err != nil {
			return at(place+".channel", err)
		}
		t := events.Template{Channel: c.ID, Subject: want.Subject, Text: want.Text, HTML: want.HTML, Markdown: want.Markdown}
		action := Created
		var was events.Template
		if n := slices.IndexFunc(stored, func(s events.Template) bool { return s.Channel == c.ID }); n >= 0 {
			action = Updated
			was = stored[n]
			if t.SameContent(was) {
				t.ID = was.ID
				action = Unchanged
			}
		}
		if action != Unchanged {
			if err := a.checkTemplate(e, t, c.Protocol); err != nil {
				return at(place, err)
			}
			if t, err = saveTemplate(a.ctx, a.tx, a.by, where, e, n, c.Name, was, t, 0); err != nil {
				return at(place, err)
			}
		}
		a.note("template", join(path, c.Name), int64(t.ID), action)
	}
	return nil
}
