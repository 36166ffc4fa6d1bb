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

// channels applies the channels of an organization (project 0) or of a project. Channels that stop being preferred
// go first, so that a blueprint may move the preference in any order.
func (a *applying) channels(place, path string, org orgs.ID, project orgs.ProjectID, wanted []BlueprintChannel) error {
	demoted := map[channels.ID]bool{}
	for i, want := range wanted {
		was, exists, err := a.ownChannel(org, project, want.Name)
		if err != nil {
			return err
		}
		if exists && was.Preferred && !want.Preferred {
			demoted[was.ID] = true
			was.Preferred = false
			if err := a.tx.Channels().Save(a.ctx, was); err != nil {
				return at(index(place, "channels", i), err)
			}
		}
	}
	for i, want := range wanted {
		c, action, err := a.channel(org, project, want)
		if err != nil {
			return at(index(place, "channels", i), err)
		}
		if demoted[c.ID] {
			action = Updated
		}
		a.note("channel", join(path, c.Name), int64(c.ID), action)
	}
	return nil
}

func (a *applying) channel(org orgs.ID, project orgs.ProjectID, want BlueprintChannel) (channels.Channel, Action, error) {
	was, exists, err := a.ownChannel(org, project, want.Name)
	if err != nil {
		return was, "", err
	}
	is := was
	is.Organization, is.Project, is.Protocol, is.Driver = org, project, channels.Protocol(want.Protocol), want.Driver
	is.Preferred, is.Active, is.Settings = want.Preferred, want.Active, want.Settings
	if !exists {
		is.Name = strings.TrimSpace(want.Name)
		made, err := a.tx.Channels().Create(a.ctx, is)
		return made, Created, err
	}
	if is.Protocol == was.Protocol && is.Driver == was.Driver && is.Preferred == was.Preferred && is.Active == was.Active &&
		is.Settings.Equal(was.Settings) {
		return was, Unchanged, nil
	}
	if is.Protocol != was.Protocol {
		return was, "", fault.Field("protocol", "cannot be changed: the channel carries %s and addresses are assigned to it", was.Protocol)
	}
	return is, Updated, a.tx.Channels().Save(a.ctx, is)
}

// ownChannel finds a channel of the place itself, not of the organization around a project.
func (a *applying) ownChannel(org orgs.ID, project orgs.ProjectID, name string) (channels.Channel, bool, error) {
	c, err := a.tx.Channels().Find(a.ctx, org, project, name)
	if errors.Is(err, channels.ErrNotFound) || (err == nil && c.Project != project) {
		return channels.Channel{}, false, nil
	}
	return c, err == nil, err
}

func (a *applying) list(place string, org orgs.Organization, project orgs.Project, want BlueprintList) error {
	var pinned applications.ID
	if want.Application != "" {
		app, err := a.tx.Applications().BySlug(a.ctx, org.Slug, project.Slug, want.Application)
		if err != nil {
			return at(place+".application", err)
		}
		pinned = app.ID
	}
	l, err := a.tx.Lists().ByName(a.ctx, org.ID, project.ID, want.Name)
	action := Unchanged
	switch {
	case errors.Is(err, lists.ErrNotFound):
		action = Created
		l, err = a.tx.Lists().Create(a.ctx, lists.List{Organization: org.ID, Project: project.ID, Name: strings.TrimSpace(want.Name), Application: pinned})
	case err == nil && l.Application != pinned:
		action = Updated
		l.Application = pinned
		err = a.pin(l)
	}
	if err != nil {
		return at(place, err)
	}
	a.note("list", join(org.Slug, project.Slug, l.Name), int64(l.ID), action)
	return nil
}

// pin moves a list's pin unless that would take it from a notification that uses it.
func (a *applying) pin(l lists.List) error {
	if l.Application != 0 {
		users, err := a.tx.Lists().Users(a.ctx, l, l.Application)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return lists.ErrRepinned.With("the list cannot be pinned to this application: it is used by %s", strings.Join(users, ", "))
		}
	}
	return a.tx.Lists().Save(a.ctx, l)
}

func (a *applying) events(place, path string, app applications.Application, wanted []BlueprintEvent) error {
	for i, want := range wanted {
		place := index(place, "events", i)
		e, action, err := a.event(app, want)
		if err != nil {
			return at(place, err)
		}
		path := join(path, e.Slug)
		a.note("event", path, int64(e.ID), action)
		stored, err := a.tx.Events().Templates(a.ctx, e)
		if err != nil {
			return err
		}
		save := func(t events.Template) (events.Template, error) {
			return a.tx.Events().SaveTemplate(a.ctx, e, t, author(a.by))
		}
		if err := a.templates(place, path, app, stored, want.Templates, save); err != nil {
			return err
		}
		for n, w := range want.Notifications {
			if err := a.notification(index(place, "notifications", n), path, app, e, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *applying) event(app applications.Application, want BlueprintEvent) (events.Event, Action, error) {
	var limited []events.Channel
	for i, name := range want.Channels {
		c, err := a.tx.Channels().Find(a.ctx, app.Organization, app.Project, name)
		if err != nil {
			return events.Event{}, "", at(index("", "channels", i), err)
		}
		limited = append(limited, events.Channel{ID: c.ID, Name: c.Name})
	}
	slices.SortFunc(limited, func(x, y events.Channel) int { return strings.Compare(x.Name, y.Name) })
	e, err := a.tx.Events().BySlug(a.ctx, app, want.Slug)
	switch {
	case errors.Is(err, events.ErrNotFound):
		made, err := a.tx.Events().Create(a.ctx, events.Event{Organization: app.Organization, Application: app.ID, Slug: want.Slug,
			Name: want.Name, Description: want.Description, Active: want.Active, Channels: limited})
		return made, Created, err
	case err != nil:
		return e, "", err
	case e.Name == want.Name && e.Description == want.Description && e.Active == want.Active && slices.Equal(e.Channels, limited):
		return e, Unchanged, nil
	}
	e.Name, e.Description, e.Active, e.Channels = want.Name, want.Description, want.Active, limited
	return e, Updated, a.tx.Events().Save(a.ctx, e)
}

func (a *applying) notification(place, path string, app applications.Application, e events.Event, want BlueprintNotification) error {
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
		n, err = a.tx.Subscriptions().Create(a.ctx, subscriptions.Notification{Application: app.ID, Event: e.ID,
			Name: strings.TrimSpace(want.Name), List: list, Active: want.Active})
	case err == nil && (n.List != list || n.Active != want.Active):
		action = Updated
		n.List, n.Active = list, want.Active
		err = a.tx.Subscriptions().Save(a.ctx, n)
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
	save := func(t events.Template) (events.Template, error) {
		return a.tx.Subscriptions().SaveTemplate(a.ctx, n, t, author(a.by))
	}
	return a.templates(place, path, app, stored, want.Templates, save)
}

// templates applies the templates of an event or of a notification; save stores one of them there.
func (a *applying) templates(place, path string, app applications.Application, stored []events.Template, wanted []BlueprintTemplate,
	save func(events.Template) (events.Template, error)) error {
	for i, want := range wanted {
		place := index(place, "templates", i)
		c, err := a.tx.Channels().Find(a.ctx, app.Organization, app.Project, want.Channel)
		if err != nil {
			return at(place+".channel", err)
		}
		t := events.Template{Channel: c.ID, Subject: want.Subject, Text: want.Text, HTML: want.HTML}
		action := Created
		if n := slices.IndexFunc(stored, func(s events.Template) bool { return s.Channel == c.ID }); n >= 0 {
			action = Updated
			if t.Says(stored[n]) {
				t.ID = stored[n].ID
				action = Unchanged
			}
		}
		if action != Unchanged {
			if t, err = save(t); err != nil {
				return at(place, err)
			}
		}
		a.note("template", join(path, c.Name), int64(t.ID), action)
	}
	return nil
}
