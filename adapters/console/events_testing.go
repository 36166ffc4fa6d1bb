package console

import (
	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
)

// eventTestView is the tab from which a stored template is sent once, marked as a test.
type eventTestView struct {
	Here     string // the path of the page
	Tabs     []tab
	Choices  []link // the channels that have a template
	Channel  channels.Channel
	Template events.Template // for the channel; Version 0: none
	Preview  previewView
	Form     form
	Tested   *testView
}

func (c call) showEventTest() error {
	return c.eventTestPage(channels.ID(c.number("channel")), func(v *eventTestView) error {
		own, err := c.console.use.ChannelTests.AddressOf(c.ctx, c.at(), v.Channel.Protocol, c.operator.User)
		v.Form = newForm("user", c.QueryParam("user"), "to", own)
		return err
	})
}

// eventTestPage renders the template for a channel and its preview; adjust may change the view
// first. With channel 0 it takes the first template.
func (c call) eventTestPage(id channels.ID, adjust func(v *eventTestView) error) error {
	slug := web.Param(c, "evt")
	v := eventTestView{Here: c.below("e", slug, testTab)}
	r, err := c.console.use.Events.Brief(c.ctx, c.at(), slug)
	if err != nil {
		return err
	}
	v.Tabs = c.tabs(r.Application, r.Event, r.EventParts, testTab)
	for _, ch := range testableChannels(r.Event, r.EventParts) {
		current := ch.ID == id || id == 0 && len(v.Choices) == 0
		if current {
			v.Channel, v.Template = ch, r.Template(ch.ID)
		}
		v.Choices = append(v.Choices, link{Text: ch.Name, Path: v.Here + "?channel=" + formatID(ch.ID), Current: current})
	}
	switch {
	case v.Template.Version != 0:
		err = c.previewTest(&v, r.Event, adjust)
	case id != 0:
		err = channels.ErrNotFound
	}
	if err != nil {
		return err
	}
	return c.render(statusOf(v.Form), "event-test", words.Of("%s: test", r.Event.Name), v)
}

// previewTest adds the preview of the message to the view.
func (c call) previewTest(v *eventTestView, e events.Event, adjust func(v *eventTestView) error) error {
	if err := adjust(v); err != nil {
		return err
	}
	of := app.TemplateName{Event: e.Slug, Channel: v.Channel.ID}
	user := v.Form.Value("user")
	v.Preview.Source = c.templatePath(of) + "html/?" + pairs([]string{"user", user}).Encode()
	var err error
	v.Preview.Preview, err = c.console.use.Templates.Preview(c.ctx, c.at(), of, app.Draft(v.Template.Source()), app.PreviewOptions{User: user, Example: e.Example})
	if f, correctable := c.refused(err); correctable {
		v.Preview.Form, err = f, nil
	}
	return err
}

// testEvent sends the stored template for a channel, and says what the provider answered.
func (c call) testEvent() error {
	of := app.TemplateName{Event: web.Param(c, "evt"), Channel: channels.ID(c.selectedID("channel"))}
	r, err := c.console.use.Templates.Show(c.ctx, c.at(), of)
	if err != nil {
		return err
	}
	// A provider may take longer than a page; the use case has a bound of its own.
	done, err := c.console.use.Templates.Test(c.Request().Context(), c.actor(), c.at(), of, app.Draft(r.Template.Source()),
		app.PreviewOptions{User: c.FormValue("user"), Example: r.Event.Example}, c.FormValue("to"))
	f, correctable := c.refused(err)
	if err != nil && !correctable {
		return err
	}
	return c.eventTestPage(of.Channel, func(v *eventTestView) error {
		v.Form = f
		if !correctable {
			v.Form, v.Tested = c.asSent(), c.testResult(done)
		}
		return nil
	})
}
