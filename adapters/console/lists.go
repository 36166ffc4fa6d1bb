package console

import (
	"net/http"
	"strconv"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

const (
	pageLists  = 50
	pageUses   = 50
	mostPinned = 1_000 // applications that a list can be pinned to in the form
)

// listsView is a page of a project's distribution lists.
type listsView struct {
	Lists        []lists.List
	Applications []applications.Application
	Next         lists.ID // 0: no more
	New          form
}

// Pinned is the name of the application that a list is pinned to, empty when it is pinned to none.
func (v listsView) Pinned(l lists.List) string { return nameOf(v.Applications, l.Application) }

func (c call) showLists() error { return c.lists(http.StatusOK, form{}) }

func (c call) lists(status int, fresh form) error {
	found, err := c.console.use.Lists.List(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageLists + 1})
	if err != nil {
		return err
	}
	v := listsView{Lists: found, New: fresh}
	if len(found) > pageLists {
		v.Lists = found[:pageLists]
		v.Next = v.Lists[pageLists-1].ID
	}
	if v.Applications, err = c.pinnable(); err != nil {
		return err
	}
	return c.render(status, "lists", "Distribution lists", v)
}

// pinnable are the applications that a list of the path's project can be pinned to.
func (c call) pinnable() ([]applications.Application, error) {
	return c.console.use.Applications.List(c.ctx, c.at(), app.Page{Limit: mostPinned})
}

func nameOf(all []applications.Application, id applications.ID) string {
	for _, a := range all {
		if a.ID == id {
			return a.Name
		}
	}
	return ""
}

// Pins are the choices of what a list is pinned to.
func (v listsView) Pins() []option { return pins(v.Applications) }

func pins(all []applications.Application) []option {
	options := []option{{"", "No application"}}
	for _, a := range all {
		options = append(options, option{text(a.ID), a.Name + " (" + a.Slug + ")"})
	}
	return options
}

// text is an id as a form or a path has it.
func text[T ~int64](id T) string { return strconv.FormatInt(int64(id), 10) }

// listForm is what the form of a list says.
func (c call) listForm() (name string, pinned applications.ID, err error) {
	name = c.FormValue("name")
	sent := c.FormValue("application")
	if sent == "" {
		return name, 0, nil
	}
	id, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || id <= 0 {
		return name, 0, lists.ErrApplication.On("application")
	}
	return name, applications.ID(id), nil
}

func (c call) createList() error {
	name, pinned, err := c.listForm()
	var created lists.List
	if err == nil {
		created, err = lists.New(name)
	}
	if err == nil {
		created, err = c.console.use.Lists.Create(c.ctx, c.actor(), c.at(), created, pinned)
	}
	if f, mendable := c.refused(err); mendable {
		return c.lists(web.Status(fault.Invalid), f)
	}
	if err != nil {
		return err
	}
	return c.to(c.listPath(created.ID) + "?done=saved")
}

func (c call) listPath(id lists.ID) string {
	return c.path(Prefix) + web.Join("o", c.at().Organization, "p", c.at().Project, "d", text(id))
}

// listView is a distribution list with a page of its recipients.
type listView struct {
	List         lists.List
	Applications []applications.Application
	Uses         []subscriptions.Use
	NextUse      subscriptions.NotificationID // 0: no more
	Recipients   recipientsView
	People       peopleView
	Settings     form
	Emails       form
	Failed       form // what became of an action that is one button
}

// Pinned is the application that the list is pinned to; its slug is empty when it is pinned to none.
func (v listView) Pinned() (a applications.Application) {
	for _, a := range v.Applications {
		if a.ID == v.List.Application {
			return a
		}
	}
	return a
}

// Pins are the choices of what the list is pinned to.
func (v listView) Pins() []option { return pins(v.Applications) }

func (c call) showList() error { return c.list(http.StatusOK, func(*listView) {}) }

// list shows the list of the path, as adjust leaves it.
func (c call) list(status int, adjust func(v *listView)) error {
	id, err := web.ID[lists.ID](c, "list")
	if err != nil {
		return err
	}
	var v listView
	if v.List, err = c.console.use.Lists.Show(c.ctx, c.at(), id); err != nil {
		return err
	}
	if v.Applications, err = c.pinnable(); err != nil {
		return err
	}
	if v.Uses, err = c.console.use.Lists.Uses(c.ctx, c.at(), id, app.Page{After: c.number("after_use"), Limit: pageUses + 1}); err != nil {
		return err
	}
	if len(v.Uses) > pageUses {
		v.Uses = v.Uses[:pageUses]
		v.NextUse = v.Uses[pageUses-1].Notification.ID
	}
	if v.Recipients, err = c.listRecipients(id); err != nil {
		return err
	}
	if v.People, err = c.people(c.listPath(id)); err != nil {
		return err
	}
	pinned := ""
	if v.List.Application != 0 {
		pinned = text(v.List.Application)
	}
	v.Settings = filled("name", v.List.Name, "application", pinned)
	adjust(&v)
	return c.render(status, "list", v.List.Name, v)
}

func (c call) changeList() error {
	id, err := web.ID[lists.ID](c, "list")
	if err != nil {
		return err
	}
	name, pinned, err := c.listForm()
	if err == nil {
		err = c.console.use.Lists.Change(c.ctx, c.actor(), c.at(), id, name, pinned)
	}
	if f, mendable := c.refused(err); mendable {
		return c.list(web.Status(fault.Invalid), func(v *listView) { v.Settings = f })
	}
	if err != nil {
		return err
	}
	return c.to(c.listPath(id) + "?done=saved")
}

func (c call) deleteList() error {
	id, err := web.ID[lists.ID](c, "list")
	if err != nil {
		return err
	}
	err = c.console.use.Lists.Delete(c.ctx, c.actor(), c.at(), id)
	if f, mendable := c.refused(err); mendable {
		return c.list(web.Status(fault.Invalid), func(v *listView) { v.Failed = f })
	}
	if err != nil {
		return err
	}
	return c.to(c.path(Prefix) + web.Join("o", c.at().Organization, "p", c.at().Project, "d") + "?done=deleted")
}
