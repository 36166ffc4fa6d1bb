package console

import (
	"strconv"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

const (
	pageLists   = 50
	pageUses    = 50
	maxPinnable = 1_000 // applications that a list can be pinned to in the form
)

// listsView is a page of a project's distribution lists.
type listsView struct {
	pinnable

	Lists []lists.List
	Next  lists.ID // 0: no more
	New   form
}

func (c call) showLists() error { return c.listsPage(form{}) }

func (c call) listsPage(f form) error {
	found, err := c.console.use.Lists.List(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageLists + 1})
	if err != nil {
		return err
	}
	v := listsView{New: f}
	v.Lists, v.Next = paged(found, pageLists, func(l lists.List) lists.ID { return l.ID })
	if v.pinnable, err = c.pinnable(v.Lists...); err != nil {
		return err
	}
	return c.render(statusOf(f), "lists", words.Of("Distribution lists"), v)
}

// pinnable are the applications that a project's lists can be pinned to.
type pinnable struct {
	applications []applications.Application
	MorePins     bool // the project has more
}

// pinnable returns the first applications of the project, and those that these lists are pinned to.
func (c call) pinnable(all ...lists.List) (p pinnable, err error) {
	found, err := c.console.use.Applications.List(c.ctx, c.at(), app.Page{Limit: maxPinnable + 1})
	p.applications, p.MorePins = found[:min(len(found), maxPinnable)], len(found) > maxPinnable
	for _, l := range all {
		if err != nil || l.Application == 0 || p.PinOf(l).ID != 0 {
			continue
		}
		found, err = c.console.use.Applications.List(c.ctx, c.at(), app.Page{After: int64(l.Application) - 1, Limit: 1})
		p.applications = append(p.applications, found...)
	}
	return p, err
}

// PinOf returns the application that a list is pinned to; its slug is empty if it is not pinned.
func (p pinnable) PinOf(l lists.List) (a applications.Application) {
	for _, a := range p.applications {
		if a.ID == l.Application {
			return a
		}
	}
	return a
}

// Pins returns the choices for pinning a list.
func (p pinnable) Pins() []option {
	options := []option{{"", words.Of("No application")}}
	for _, a := range p.applications {
		options = append(options, option{formatID(a.ID), a.Name + " (" + a.Slug + ")"})
	}
	return options
}

// listForm parses the form of a list.
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
	return c.answerForm(err, c.listsPage, c.below("d", created.ID), "created-list")
}

// listView is a distribution list with a page of its recipients.
type listView struct {
	pinnable

	List         lists.List
	Uses         []subscriptions.Use
	NextUse      subscriptions.NotificationID // 0: no more
	Recipients   recipientsView
	MemberSearch memberSearchView
	Settings     form
	Emails       form
	Failed       form // the fault of a one-button form
}

func (c call) showList() error { return c.listPage(func(*listView) {}) }

// listPage renders the list of the path; adjust may change the view first.
func (c call) listPage(adjust func(v *listView)) error {
	id := web.ID[lists.ID](c, "list")
	var v listView
	var err error
	if v.List, err = c.console.use.Lists.Show(c.ctx, c.at(), id); err != nil {
		return err
	}
	if v.pinnable, err = c.pinnable(v.List); err != nil {
		return err
	}
	uses, err := c.console.use.Lists.Uses(c.ctx, c.at(), id, app.Page{After: c.number("after_use"), Limit: pageUses + 1})
	if err != nil {
		return err
	}
	v.Uses, v.NextUse = paged(uses, pageUses, func(u subscriptions.Use) subscriptions.NotificationID { return u.Notification.ID })
	if v.Recipients, err = c.listRecipients(id); err != nil {
		return err
	}
	if v.MemberSearch, err = c.searchMembers(c.below("d", id)); err != nil {
		return err
	}
	v.Settings = storedList(v.List)
	adjust(&v)
	return c.render(statusOf(v.Settings, v.Emails, v.Failed), "list", v.List.Name, v)
}

func storedList(l lists.List) form {
	return newStoredForm("name", l.Name, "application", formatOptionalID(l.Application))
}

// listFailed renders the list with the fault of a form without fields.
func (c call) listFailed(f form) error { return c.listPage(func(v *listView) { v.Failed = f }) }

func (c call) changeList() error {
	id := web.ID[lists.ID](c, "list")
	name, pinned, err := c.listForm()
	if err == nil {
		err = c.console.use.Lists.Change(c.ctx, c.actor(), c.at(), id, name, pinned, func(l lists.List) bool { return c.outdated(storedList(l)) })
	}
	return c.answerForm(err, func(f form) error { return c.listPage(func(v *listView) { v.Settings = f.over(v.Settings) }) }, c.below("d", id), "saved")
}

func (c call) deleteList() error {
	id := web.ID[lists.ID](c, "list")
	err := c.console.use.Lists.Delete(c.ctx, c.actor(), c.at(), id)
	return c.answerForm(err, c.listFailed, c.below("d"), "deleted-list")
}
