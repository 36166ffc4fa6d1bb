package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
)

const pageEvents = 100

// eventsView is the events of an application.
type eventsView struct {
	Here   string // the path of the page
	Events []events.Event
	Next   events.ID // 0: no more
	Usable []channels.Channel
	Form   form
}

// Priorities are the choices of an event's priority.
func (eventsView) Priorities() []option { return priorities() }

// Choices are the channels that a new event may be limited to.
func (v eventsView) Choices() []option { return channelOptions(v.Usable) }

// Pools are the pools that a new event may be limited to.
func (v eventsView) Pools() []option { return poolOptions(v.Usable) }

func priorities() []option {
	var all []option
	for _, p := range events.Priorities() {
		all = append(all, option{p.String(), p})
	}
	return all
}

func channelOptions(all []channels.Channel) []option {
	var options []option
	for _, ch := range all {
		place := words.Of("of the organization")
		if ch.Project != 0 {
			place = words.Of("of the project")
		}
		if !ch.Active {
			place = words.Of("%s, inactive", place)
		}
		options = append(options, option{text(ch.ID), words.Of("%s (%s, %s)", ch.Name, string(ch.Protocol), place)})
	}
	return options
}

// poolOptions are the pools of channels, with who is in each.
func poolOptions(all []channels.Channel) []option {
	var options []option
	for _, p := range events.Pools(all) {
		var members []string
		for _, ch := range all {
			if ch.Pool == p.Name && ch.Protocol == p.Protocol {
				members = append(members, ch.Name)
			}
		}
		options = append(options, option{p.Name, fmt.Sprintf("%s (%s: %s)", p.Name, p.Protocol, strings.Join(members, ", "))})
	}
	return options
}

func (c call) showEvents() error {
	return c.eventsPage(filled("active", "true", "priority", events.Normal.String()))
}

func (c call) eventsPage(f form) error {
	found, err := c.console.use.Applications.Events(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageEvents + 1})
	if err != nil {
		return err
	}
	v := eventsView{Here: c.below("e"), Form: f}
	v.Events, v.Next = paged(found, pageEvents, func(e events.Event) events.ID { return e.ID })
	if v.Usable, err = c.console.use.Events.Usable(c.ctx, c.at()); err != nil {
		return err
	}
	return c.render(statusOf(f), "events", words.Of("Events"), v)
}

func (c call) createEvent() error {
	f, err := c.eventForm()
	var made events.Event
	if err == nil {
		made, err = c.console.use.Events.Create(c.ctx, c.actor(), c.at(), f)
	}
	return c.settle(err, c.eventsPage, c.below("e", made.Slug), "created-event")
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

// Pools are the pools that the event may be limited to, and those that it is limited to although no
// channel is in them any more.
func (v eventView) Pools() []option {
	options, usable := poolOptions(v.Usable), events.Pools(v.Usable)
	for _, p := range v.Event.Pools {
		if !slices.Contains(usable, p) {
			options = append(options, option{p.Name, fmt.Sprintf("%s (%s)", p.Name, p.Protocol)})
		}
	}
	return options
}

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
		all[i] = textOfChannel{Channel: ch, Path: here + web.Join("t", text(ch.ID))}
		is := func(t events.Template) bool { return t.Channel == ch.ID }
		if n := slices.IndexFunc(own, is); n >= 0 {
			all[i].Template, all[i].Own = own[n], true
		} else if n := slices.IndexFunc(inherited, is); n >= 0 {
			all[i].Template, all[i].Inherited = inherited[n], true
		}
	}
	return all
}

// Priorities are the choices of the event's priority.
func (eventView) Priorities() []option { return priorities() }

func (c call) showEvent() error { return c.eventPage(func(*eventView) {}) }

// eventPage shows the event of the path, as adjust leaves it.
func (c call) eventPage(adjust func(v *eventView)) error {
	slug := web.Param(c, "evt")
	v := eventView{Here: c.below("e", slug)}
	var err error
	if v.EventReport, err = c.console.use.Events.Show(c.ctx, c.at(), slug); err != nil {
		return err
	}
	e := v.Event
	pairs := []string{"name", e.Name, "description", e.Description, "active", strconv.FormatBool(e.Active), "example", e.Example, "context_schema", e.Schema, "priority", e.Priority.String()}
	for _, ch := range e.Channels {
		pairs = append(pairs, "channels", text(ch.ID))
	}
	for _, p := range e.Pools {
		pairs = append(pairs, "pools", p.Name)
	}
	v.Form = filled(pairs...)
	adjust(&v)
	return c.render(statusOf(v.Form, v.Deletion), "event", e.Name, v)
}

func (c call) saveEvent() error {
	slug := web.Param(c, "evt")
	f, err := c.eventForm()
	if err == nil {
		err = c.console.use.Events.Save(c.ctx, c.actor(), c.at(), slug, f)
	}
	return c.settle(err, func(f form) error { return c.eventPage(func(v *eventView) { v.Form = f }) }, c.below("e", slug), "saved")
}

// makeEventLive makes an inactive event active, and changes nothing else of it.
func (c call) makeEventLive() error {
	slug := web.Param(c, "evt")
	_, err := c.console.use.Events.Patch(c.ctx, c.actor(), c.at(), slug, func(f *app.EventForm) { f.Active = true })
	return c.settle(err, func(f form) error {
		return c.eventPage(func(v *eventView) {
			f.values = v.Form.values // What was sent is the button alone.
			v.Form = f
		})
	}, c.below("e", slug), "live")
}

func (c call) deleteEvent() error {
	err := c.console.use.Events.Delete(c.ctx, c.actor(), c.at(), web.Param(c, "evt"))
	return c.settle(err, func(f form) error { return c.eventPage(func(v *eventView) { v.Deletion = f }) }, c.below("e"), "deleted-event")
}

// eventForm is what the form of an event says.
func (c call) eventForm() (app.EventForm, error) {
	f := app.EventForm{Slug: c.FormValue("slug"), Name: c.FormValue("name"), Description: c.FormValue("description"), Active: c.FormValue("active") == "true",
		Example: c.FormValue("example"), Schema: c.FormValue("context_schema"), Priority: c.FormValue("priority"), Pools: c.values("pools")}
	for _, sent := range c.values("channels") {
		id, err := strconv.ParseInt(sent, 10, 64)
		if err != nil {
			return f, fault.Field("channels", "%s", channels.ErrNotFound.Error())
		}
		f.Channels = append(f.Channels, channels.ID(id))
	}
	return f, nil
}
