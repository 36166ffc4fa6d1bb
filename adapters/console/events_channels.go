package console

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
)

// eventChannelsView is the tab with the channels of an event.
type eventChannelsView struct {
	app.EventReport

	Here string // the path of the page
	Tabs []tab
	Form form
}

// ChannelTemplates returns the channels that messages of the event may use, with their templates.
func (v eventChannelsView) ChannelTemplates() []channelTemplate {
	return channelTemplates(v.Tabs[0].Path, v.Used(v.Event), v.Templates, nil)
}

// Choices returns the channels that the event may be limited to.
func (v eventChannelsView) Choices() []option { return channelOptions(v.Usable) }

// Pools returns the pools that the event may be limited to, including empty ones that it is limited
// to. The form identifies pools by name.
func (v eventChannelsView) Pools() []option {
	options, usable := poolOptions(v.Usable), events.Pools(v.Usable)
	for _, p := range v.Event.Pools {
		if !slices.ContainsFunc(usable, func(u events.Pool) bool { return u.Name == p.Name }) {
			options = append(options, option{p.Name, fmt.Sprintf("%s (%s)", p.Name, p.Protocol)})
		}
	}
	return options
}

// Priorities returns the choices of the event's priority.
func (eventChannelsView) Priorities() []option { return priorities() }

func (c call) showEventChannels() error { return c.eventChannelsPage(nil) }

// eventChannelsPage shows the tab with the sent form or, if that is nil, with the stored values.
func (c call) eventChannelsPage(sent *form) error {
	slug := web.Param(c, "evt")
	v := eventChannelsView{Here: c.below("e", slug, channelsTab)}
	var err error
	if v.EventReport, err = c.console.use.Events.Brief(c.ctx, c.at(), slug); err != nil {
		return err
	}
	e := v.Event
	v.Tabs = c.tabs(v.Application, e, v.EventParts, channelsTab)
	v.Form = storedEventChannels(app.NewEventForm(e))
	if sent != nil {
		v.Form = sent.over(v.Form)
	}
	return c.render(statusOf(v.Form), "event-channels", words.Of("%s: channels", e.Name), v)
}

// storedEventChannels returns the form of the tab with the channels of an event.
func storedEventChannels(f app.EventForm) form {
	pairs := []string{"priority", f.Priority, "channels", "", "pools", ""}
	for _, id := range f.Channels {
		pairs = append(pairs, "channels", formatID(id))
	}
	for _, p := range f.Pools {
		pairs = append(pairs, "pools", p)
	}
	return newStoredForm(pairs...)
}

func (c call) saveEventChannels() error {
	redisplay := func(f form) error { return c.eventChannelsPage(&f) }
	var chosen []channels.ID
	for _, sent := range c.values("channels") {
		id, err := strconv.ParseInt(sent, 10, 64)
		if err != nil {
			return c.answerForm(fault.Field("channels", "%s", channels.ErrNotFound.Error()), redisplay, "", "")
		}
		chosen = append(chosen, channels.ID(id))
	}
	return c.patchEvent(func(f *app.EventForm) {
		f.Outdated = c.outdated(storedEventChannels(*f))
		f.Channels, f.Pools, f.Priority = chosen, c.values("pools"), c.FormValue("priority")
	}, redisplay, "saved", channelsTab)
}
