package console

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

const pageEventList = 100

// eventRoutes are the routes of an application's events, their notifications and the templates of both.
func eventRoutes(application string) []Route {
	const get, post = http.MethodGet, http.MethodPost
	list := application + "e/"
	event := list + "{evt}/"
	notification := event + "n/{notification}/"
	return slices.Concat([]Route{
		{get, list, operators.Viewer, call.showEvents},
		{post, list, operators.Administrator, call.createEvent},
		{get, event, operators.Viewer, call.showEvent},
		{post, event, operators.Administrator, call.saveEvent},
		{post, event + "delete/", operators.Administrator, call.deleteEvent},
		{get, event + "n/", operators.Administrator, call.showNewNotification},
		{post, event + "n/", operators.Administrator, call.createNotification},
		{get, notification, operators.Viewer, call.showNotification},
		{post, notification, operators.Administrator, call.saveNotification},
		{post, notification + "delete/", operators.Administrator, call.deleteNotification},
	}, templateRoutes(event), templateRoutes(notification))
}

// eventsView is the events of an application.
type eventsView struct {
	Here   string // the path of the page
	Events []events.Event
	Next   events.ID // 0: no more
	Usable []channels.Channel
	Form   form
}

// Choices are the channels that a new event may be limited to.
func (v eventsView) Choices() []option { return channelOptions(v.Usable) }

func channelOptions(all []channels.Channel) []option {
	var options []option
	for _, ch := range all {
		place := "of the organization"
		if ch.Project != 0 {
			place = "of the project"
		}
		if !ch.Active {
			place += ", inactive"
		}
		options = append(options, option{fmt.Sprint(ch.ID), fmt.Sprintf("%s (%s, %s)", ch.Name, ch.Protocol, place)})
	}
	return options
}

func (c call) showEvents() error { return c.events(http.StatusOK, filled("active", "true")) }

func (c call) events(status int, f form) error {
	found, err := c.console.use.Applications.Events(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageEventList + 1})
	if err != nil {
		return err
	}
	v := eventsView{Here: c.eventsPath(), Events: found, Form: f}
	if len(found) > pageEventList {
		v.Events = found[:pageEventList]
		v.Next = v.Events[pageEventList-1].ID
	}
	if v.Usable, err = c.console.use.Events.Usable(c.ctx, c.at()); err != nil {
		return err
	}
	return c.render(status, "events", "Events", v)
}

func (c call) createEvent() error {
	f, err := c.eventForm()
	var made events.Event
	if err == nil {
		made, err = c.console.use.Events.Create(c.ctx, c.actor(), c.at(), f)
	}
	if f, mendable := c.refused(err); mendable {
		return c.events(web.Status(fault.Invalid), f)
	}
	if err != nil {
		return err
	}
	return c.to(c.eventPath(made.Slug) + "?done=saved")
}

// eventView is one event with its form.
type eventView struct {
	app.EventReport

	Here     string // the path of the page
	Form     form
	Deletion form
}

// Choices are the channels that the event may be limited to.
func (v eventView) Choices() []option { return channelOptions(v.Usable) }

// Texts are the templates by channel.
func (v eventView) Texts() []textOfChannel { return texts(v.Here, v.Usable, v.Templates, nil) }

// textOfChannel tells which template counts on a channel.
type textOfChannel struct {
	Channel   channels.Channel
	Path      string // of the editor
	Template  events.Template
	Own       bool
	Inherited bool
}

func texts(here string, usable []channels.Channel, own, inherited []events.Template) []textOfChannel {
	all := make([]textOfChannel, len(usable))
	for i, ch := range usable {
		all[i] = textOfChannel{Channel: ch, Path: here + web.Join("t", fmt.Sprint(ch.ID))}
		is := func(t events.Template) bool { return t.Channel == ch.ID }
		if n := slices.IndexFunc(own, is); n >= 0 {
			all[i].Template, all[i].Own = own[n], true
		} else if n := slices.IndexFunc(inherited, is); n >= 0 {
			all[i].Template, all[i].Inherited = inherited[n], true
		}
	}
	return all
}

func (c call) showEvent() error { return c.event(http.StatusOK, func(*eventView) {}) }

// event shows the event of the path, as adjust leaves it.
func (c call) event(status int, adjust func(v *eventView)) error {
	slug := web.Param(c, "evt")
	v := eventView{Here: c.eventPath(slug)}
	var err error
	if v.EventReport, err = c.console.use.Events.Show(c.ctx, c.at(), slug); err != nil {
		return err
	}
	e := v.Event
	pairs := []string{"name", e.Name, "description", e.Description, "active", strconv.FormatBool(e.Active), "example", e.Example}
	for _, ch := range e.Channels {
		pairs = append(pairs, "channels", fmt.Sprint(ch.ID))
	}
	v.Form = filled(pairs...)
	adjust(&v)
	return c.render(status, "event", e.Name, v)
}

func (c call) saveEvent() error {
	slug := web.Param(c, "evt")
	f, err := c.eventForm()
	if err == nil {
		err = c.console.use.Events.Save(c.ctx, c.actor(), c.at(), slug, f)
	}
	if f, mendable := c.refused(err); mendable {
		return c.event(web.Status(fault.Invalid), func(v *eventView) { v.Form = f })
	}
	if err != nil {
		return err
	}
	return c.to(c.eventPath(slug) + "?done=saved")
}

func (c call) deleteEvent() error {
	err := c.console.use.Events.Delete(c.ctx, c.actor(), c.at(), web.Param(c, "evt"))
	if f, mendable := c.refused(err); mendable {
		return c.event(web.Status(fault.Invalid), func(v *eventView) { v.Deletion = f })
	}
	if err != nil {
		return err
	}
	return c.to(c.eventsPath() + "?done=deleted")
}

// eventForm is what the form of an event says.
func (c call) eventForm() (app.EventForm, error) {
	f := app.EventForm{Slug: c.FormValue("slug"), Name: c.FormValue("name"), Description: c.FormValue("description"), Active: c.FormValue("active") == "true",
		Example: c.FormValue("example")}
	for _, sent := range c.fields()["channels"] {
		id, err := strconv.ParseInt(sent, 10, 64)
		if err != nil {
			return f, fault.Field("channels", "%s", channels.ErrNotFound.Error())
		}
		f.Channels = append(f.Channels, channels.ID(id))
	}
	return f, nil
}

// eventsPath is the path of the events of the application of the page.
func (c call) eventsPath() string {
	at := c.at()
	return c.path(Prefix) + web.Join("o", at.Organization, "p", at.Project, "a", at.Application, "e")
}

func (c call) eventPath(slug string) string { return c.eventsPath() + web.Join(slug) }
