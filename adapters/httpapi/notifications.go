package httpapi

import (
	"context"
	"net/http"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// notification is a notification in responses (decisions 6).
type notification struct {
	ID     subscriptions.NotificationID `json:"id"`
	Name   string                       `json:"name"`
	Event  events.ID                    `json:"event"`
	List   *lists.ID                    `json:"distribution_list"`
	Active bool                         `json:"active"`
}

func (a *API) listNotifications(c call) error {
	f := c.filters()
	name, event, list, active := f.equalFold("name"), f.idEquals("event"), f.idEquals("distribution_list"), f.active()
	return listing[subscriptions.Notification]{
		filters: f,
		match: func(n subscriptions.Notification) bool {
			return name(n.Name) && event(int64(n.Event)) && list(int64(n.List)) && active(n.Active)
		},
		page: func(ctx context.Context, p app.Page) ([]subscriptions.Notification, error) {
			return a.use.Applications.Notifications(ctx, c.at(), p)
		},
		id:  func(n subscriptions.Notification) int64 { return int64(n.ID) },
		row: func(n subscriptions.Notification) any { return showNotification(n) },
	}.send(c)
}

func showNotification(n subscriptions.Notification) notification {
	shown := notification{ID: n.ID, Name: n.Name, Event: n.Event, Active: n.Active}
	if n.List != 0 {
		shown.List = &n.List
	}
	return shown
}

func (a *API) createNotification(c call) error {
	body := c.object()
	change, err := bindNotification(body)
	if err != nil {
		return err
	}
	f := app.NotificationForm{Active: true}
	change(&f)
	made, err := a.use.Events.CreateNotification(c.ctx, c.actor(), c.at(), web.Param(c, "evt"), f)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, showNotification(made))
}

func (a *API) showNotification(c call) error {
	id := web.ID[subscriptions.NotificationID](c, "notification_pk")
	r, err := a.use.Events.ShowNotification(c.ctx, c.at(), web.Param(c, "evt"), id)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showNotification(r.Notification))
}

func (a *API) patchNotification(c call) error {
	id := web.ID[subscriptions.NotificationID](c, "notification_pk")
	body := c.object()
	change, err := bindNotification(body)
	if err != nil {
		return err
	}
	changed, err := a.use.Events.PatchNotification(c.ctx, c.actor(), c.at(), web.Param(c, "evt"), id, change)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showNotification(changed))
}

func (a *API) deleteNotification(c call) error {
	id := web.ID[subscriptions.NotificationID](c, "notification_pk")
	return c.answerDeleted(a.use.Events.DeleteNotification(c.ctx, c.actor(), c.at(), web.Param(c, "evt"), id))
}

// bindNotification reads the changeable fields of a notification. A null list means none.
func bindNotification(body *jsonbody.Object) (func(*app.NotificationForm), error) {
	body.Only("name", "distribution_list", "active")
	name, active := optionalText(body, "name"), optional(body, "active", boolReader(body))
	list, given := body.Integer("distribution_list")
	if given && list <= 0 {
		body.Check(lists.ErrUnknown.With("%s", lists.ErrNotFound.Error()).On("distribution_list")) // To the use case 0 would mean none.
	}
	return func(f *app.NotificationForm) {
		set(&f.Name, name)
		set(&f.Active, active)
		if body.Has("distribution_list") {
			f.List = lists.ID(list)
		}
	}, body.Err()
}
