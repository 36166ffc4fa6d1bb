package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
)

const pageEvents = 100

// eventsView is the events of an application.
type eventsView struct {
	Here   string // the path of the page
	Events []events.Event
	Next   events.ID // 0: no more
	Form   form
}

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
		options = append(options, option{formatID(ch.ID), words.Of("%s (%s, %s)", ch.Name, string(ch.Protocol), place)})
	}
	return options
}

// poolOptions returns the pools of channels, with their members.
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
	return c.eventsPage(form{})
}

func (c call) eventsPage(f form) error {
	found, err := c.console.use.Applications.Events(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageEvents + 1})
	if err != nil {
		return err
	}
	v := eventsView{Here: c.below("e"), Form: f}
	v.Events, v.Next = paged(found, pageEvents, func(e events.Event) events.ID { return e.ID })
	return c.render(statusOf(f), "events", words.Of("Events"), v)
}

// createEvent creates a draft. Its other values are entered on its page.
func (c call) createEvent() error {
	made, err := c.console.use.Events.Create(c.ctx, c.actor(), c.at(),
		app.EventForm{Slug: c.FormValue("slug"), Name: c.FormValue("name"), Description: c.FormValue("description"), Example: c.FormValue("example")})
	return c.answerForm(err, c.eventsPage, c.below("e", made.Slug), "created-event")
}

// eventView is the first tab of an event: its templates and their variables.
type eventView struct {
	app.EventReport

	Here     string // the path of the page
	Tabs     []tab
	Form     form
	Deletion form
}

// ChannelTemplates returns the templates by channel, those that the event uses first.
func (v eventView) ChannelTemplates() []channelTemplate {
	used := v.Used(v.Event)
	rest := slices.DeleteFunc(slices.Clone(v.Usable), func(ch channels.Channel) bool {
		return slices.ContainsFunc(used, func(u channels.Channel) bool { return u.ID == ch.ID })
	})
	return channelTemplates(v.Here, slices.Concat(used, rest), v.Templates, nil)
}

// channelTemplate is the template that is used on a channel.
type channelTemplate struct {
	Channel   channels.Channel
	Path      string // of the editor
	Template  events.Template
	Own       bool
	Inherited bool
}

func channelTemplates(here string, usable []channels.Channel, own, inherited []events.Template) []channelTemplate {
	all := make([]channelTemplate, len(usable))
	for i, ch := range usable {
		all[i] = channelTemplate{Channel: ch, Path: here + web.Join("t", formatID(ch.ID))}
		is := func(t events.Template) bool { return t.Channel == ch.ID }
		if n := slices.IndexFunc(own, is); n >= 0 {
			all[i].Template, all[i].Own = own[n], true
		} else if n := slices.IndexFunc(inherited, is); n >= 0 {
			all[i].Template, all[i].Inherited = inherited[n], true
		}
	}
	return all
}

func (c call) showEvent() error { return c.eventPage(func(*eventView) {}) }

// eventPage renders the event of the path; adjust may change the view first.
func (c call) eventPage(adjust func(v *eventView)) error {
	slug := web.Param(c, "evt")
	v := eventView{Here: c.below("e", slug)}
	var err error
	if v.EventReport, err = c.console.use.Events.Brief(c.ctx, c.at(), slug); err != nil {
		return err
	}
	e := v.Event
	v.Tabs = c.tabs(v.Application, e, v.EventParts, contentTab)
	v.Form = storedContent(app.NewEventForm(e))
	adjust(&v)
	return c.render(statusOf(v.Form, v.Deletion), "event", e.Name, v)
}

// storedContent returns the form of the first tab of an event.
func storedContent(f app.EventForm) form {
	return newStoredForm("name", f.Name, "description", f.Description, "example", f.Example, "context_schema", f.Schema)
}

// saveEvent changes an event's names and its context schema.
func (c call) saveEvent() error {
	return c.patchEvent(func(f *app.EventForm) {
		f.Outdated = c.outdated(storedContent(*f))
		f.Name, f.Description, f.Example, f.Schema = c.FormValue("name"), c.FormValue("description"), c.FormValue("example"), c.FormValue("context_schema")
	}, func(f form) error { return c.eventPage(func(v *eventView) { v.Form = f.over(v.Form) }) }, "saved")
}

// patchEvent changes a part of an event and redirects to the form's tab. See answerForm.
func (c call) patchEvent(change func(*app.EventForm), redisplay func(form) error, done string, tab ...any) error {
	slug := web.Param(c, "evt")
	_, err := c.console.use.Events.Patch(c.ctx, c.actor(), c.at(), slug, change)
	return c.answerForm(err, redisplay, c.below(append([]any{"e", slug}, tab...)...), done)
}

func (c call) deleteEvent() error {
	err := c.console.use.Events.Delete(c.ctx, c.actor(), c.at(), web.Param(c, "evt"))
	return c.answerForm(err, func(f form) error { return c.eventPage(func(v *eventView) { v.Deletion = f }) }, c.below("e"), "deleted-event")
}
