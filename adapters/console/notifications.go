package console

import (
	"strconv"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// notificationView is one notification with its form.
type notificationView struct {
	app.NotificationReport

	Here     string // the path of the page
	Tabs     []tab
	Form     form
	Deletion form
}

// Choices returns the lists that the notification may use.
func (v notificationView) Choices() []option { return listOptions(v.Lists) }

// List returns the name of its list; empty: none.
func (v notificationView) List() string {
	for _, l := range v.Lists {
		if l.ID == v.Notification.List {
			return l.Name
		}
	}
	return ""
}

// ChannelTemplates returns the templates by channel.
func (v notificationView) ChannelTemplates() []channelTemplate {
	return channelTemplates(v.Here, v.Parts.Usable, v.Templates, v.Parts.Templates)
}

func listOptions(all []lists.List) []option {
	options := []option{{"", words.Of("No list: only those who are subscribed")}}
	for _, l := range all {
		options = append(options, option{formatID(l.ID), l.Name})
	}
	return options
}

// audienceView is the tab with the recipients of an event.
type audienceView struct {
	app.EventReport

	Here    string // the path of the event
	Tabs    []tab
	Form    form     // of a new notification
	Choices []option // the lists that it may use
}

func (c call) showAudience() error { return c.audiencePage(newForm("active", "true")) }

func (c call) audiencePage(f form) error {
	slug := web.Param(c, "evt")
	v := audienceView{Here: c.below("e", slug), Form: f.renameField("distribution_list", "list")}
	r, usable, err := c.console.use.Events.Audience(c.ctx, c.at(), slug)
	if err != nil {
		return err
	}
	v.EventReport, v.Choices = r, listOptions(usable)
	v.Tabs = c.tabs(r.Application, r.Event, r.EventParts, audienceTab)
	return c.render(statusOf(v.Form), "event-audience", words.Of("%s: audience", r.Event.Name), v)
}

func (c call) createNotification() error {
	event := web.Param(c, "evt")
	f, err := c.notificationForm()
	if err == nil {
		_, err = c.console.use.Events.CreateNotification(c.ctx, c.actor(), c.at(), event, f)
	}
	return c.answerForm(err, c.audiencePage, c.below("e", event, audienceTab), "created-notification")
}

func (c call) showNotification() error { return c.notificationPage(func(*notificationView) {}) }

// notificationPage renders the notification of the path; adjust may change the view first.
func (c call) notificationPage(adjust func(v *notificationView)) error {
	event := web.Param(c, "evt")
	id := web.ID[subscriptions.NotificationID](c, "notification")
	v := notificationView{Here: c.below("e", event, "n", id)}
	var err error
	if v.NotificationReport, err = c.console.use.Events.ShowNotification(c.ctx, c.at(), event, id); err != nil {
		return err
	}
	v.Tabs = c.tabs(v.Application, v.Event, v.Parts, audienceTab)
	v.Form = storedNotification(app.NewNotificationForm(v.Notification))
	adjust(&v)
	return c.render(statusOf(v.Form, v.Deletion), "notification", v.Notification.Name, v)
}

func storedNotification(f app.NotificationForm) form {
	return newStoredForm("name", f.Name, "list", formatOptionalID(f.List), "active", strconv.FormatBool(f.Active))
}

func (c call) saveNotification() error {
	event := web.Param(c, "evt")
	id := web.ID[subscriptions.NotificationID](c, "notification")
	sent, err := c.notificationForm()
	if err == nil {
		_, err = c.console.use.Events.PatchNotification(c.ctx, c.actor(), c.at(), event, id, func(f *app.NotificationForm) {
			sent.Outdated = c.outdated(storedNotification(*f))
			*f = sent
		})
	}
	redisplay := func(f form) error {
		return c.notificationPage(func(v *notificationView) { v.Form = f.renameField("distribution_list", "list").over(v.Form) })
	}
	return c.answerForm(err, redisplay, c.below("e", event, "n", id), "saved")
}

func (c call) deleteNotification() error {
	event := web.Param(c, "evt")
	id := web.ID[subscriptions.NotificationID](c, "notification")
	err := c.console.use.Events.DeleteNotification(c.ctx, c.actor(), c.at(), event, id)
	redisplay := func(f form) error { return c.notificationPage(func(v *notificationView) { v.Deletion = f }) }
	return c.answerForm(err, redisplay, c.below("e", event, audienceTab), "deleted-notification")
}

// notificationForm parses the form of a notification.
func (c call) notificationForm() (app.NotificationForm, error) {
	f := app.NotificationForm{Name: c.FormValue("name"), Active: c.FormValue("active") == "true"}
	if sent := c.FormValue("list"); sent != "" {
		id, err := strconv.ParseInt(sent, 10, 64)
		if err != nil || id <= 0 {
			return f, fault.Field("list", "%s", lists.ErrNotFound.Error())
		}
		f.List = lists.ID(id)
	}
	return f, nil
}
