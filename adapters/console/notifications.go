package console

import (
	"fmt"
	"net/http"
	"strconv"

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
	Event    string // the path of its event
	Form     form
	Deletion form
}

// Choices are the lists that the notification may use.
func (v notificationView) Choices() []option { return listOptions(v.Lists) }

// List is the name of the list that it uses; empty: none.
func (v notificationView) List() string {
	for _, l := range v.Lists {
		if l.ID == v.Notification.List {
			return l.Name
		}
	}
	return ""
}

// Texts are the templates by channel.
func (v notificationView) Texts() []textOfChannel {
	return texts(v.Here, v.Usable, v.Templates, v.Inherited)
}

func listOptions(all []lists.List) []option {
	options := []option{{"", "No list: only those who are subscribed"}}
	for _, l := range all {
		options = append(options, option{fmt.Sprint(l.ID), l.Name})
	}
	return options
}

// newNotificationView is the form of a notification of an event.
type newNotificationView struct {
	Event   string // its path
	Form    form
	Choices []option // the lists that it may use
}

func (c call) showNewNotification() error {
	return c.newNotification(http.StatusOK, filled("active", "true"))
}

func (c call) newNotification(status int, f form) error {
	usable, err := c.console.use.Events.Lists(c.ctx, c.at())
	if err != nil {
		return err
	}
	return c.render(status, "notification-new", "New notification", newNotificationView{Event: c.eventPath(web.Param(c, "evt")), Form: f, Choices: listOptions(usable)})
}

func (c call) createNotification() error {
	event := web.Param(c, "evt")
	f, err := c.notificationForm()
	var made subscriptions.Notification
	if err == nil {
		made, err = c.console.use.Events.CreateNotification(c.ctx, c.actor(), c.at(), event, f)
	}
	if f, mendable := c.refused(err); mendable {
		return c.newNotification(web.Status(fault.Invalid), f)
	}
	if err != nil {
		return err
	}
	return c.to(c.notificationPath(event, made.ID) + "?done=saved")
}

func (c call) showNotification() error {
	return c.notification(http.StatusOK, func(*notificationView) {})
}

// notification shows the notification of the path, as adjust leaves it.
func (c call) notification(status int, adjust func(v *notificationView)) error {
	event := web.Param(c, "evt")
	id, err := web.ID[subscriptions.NotificationID](c, "notification")
	if err != nil {
		return err
	}
	v := notificationView{Here: c.notificationPath(event, id), Event: c.eventPath(event)}
	if v.NotificationReport, err = c.console.use.Events.ShowNotification(c.ctx, c.at(), event, id); err != nil {
		return err
	}
	n, list := v.Notification, ""
	if n.List != 0 {
		list = fmt.Sprint(n.List)
	}
	v.Form = filled("name", n.Name, "list", list, "active", strconv.FormatBool(n.Active))
	adjust(&v)
	return c.render(status, "notification", n.Name, v)
}

func (c call) saveNotification() error {
	event := web.Param(c, "evt")
	id, err := web.ID[subscriptions.NotificationID](c, "notification")
	if err != nil {
		return err
	}
	f, err := c.notificationForm()
	if err == nil {
		err = c.console.use.Events.SaveNotification(c.ctx, c.actor(), c.at(), event, id, f)
	}
	if f, mendable := c.refused(err); mendable {
		return c.notification(web.Status(fault.Invalid), func(v *notificationView) { v.Form = f })
	}
	if err != nil {
		return err
	}
	return c.to(c.notificationPath(event, id) + "?done=saved")
}

func (c call) deleteNotification() error {
	event := web.Param(c, "evt")
	id, err := web.ID[subscriptions.NotificationID](c, "notification")
	if err != nil {
		return err
	}
	err = c.console.use.Events.DeleteNotification(c.ctx, c.actor(), c.at(), event, id)
	if f, mendable := c.refused(err); mendable {
		return c.notification(web.Status(fault.Invalid), func(v *notificationView) { v.Deletion = f })
	}
	if err != nil {
		return err
	}
	return c.to(c.eventPath(event) + "?done=deleted")
}

// notificationForm is what the form of a notification says.
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

func (c call) notificationPath(event string, id subscriptions.NotificationID) string {
	return c.eventPath(event) + web.Join("n", fmt.Sprint(id))
}
