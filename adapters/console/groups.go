package console

import (
	"context"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

const pageGroups = 100

// groupsView is the groups of an organization.
type groupsView struct {
	Groups []orgs.Group
	Next   orgs.GroupID // 0: no more
	Form   form
}

func (c call) showGroups() error { return c.groupsPage(form{}) }

func (c call) groupsPage(f form) error {
	found, err := c.console.use.Groups.List(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageGroups + 1})
	if err != nil {
		return err
	}
	v := groupsView{Form: f}
	v.Groups, v.Next = paged(found, pageGroups, func(g orgs.Group) orgs.GroupID { return g.ID })
	return c.render(statusOf(f), "groups", words.Of("Groups"), v)
}

func (c call) createGroup() error {
	_, err := c.console.use.Groups.Create(c.ctx, c.actor(), c.at(), c.FormValue("name"))
	return c.answerForm(err, c.groupsPage, c.below("groups"), "created-group")
}

// groupView is one group.
type groupView struct {
	orgs.Group
	Form     form
	Deletion form
}

func (c call) showGroup() error { return c.groupPage(func(*groupView) {}) }

// groupPage shows the group of the path, changed by adjust.
func (c call) groupPage(adjust func(v *groupView)) error {
	id := web.ID[orgs.GroupID](c, "group")
	g, err := c.console.use.Groups.Show(c.ctx, c.at(), id)
	if err != nil {
		return err
	}
	v := groupView{Group: g, Form: newForm("name", g.Name)}
	adjust(&v)
	return c.render(statusOf(v.Form, v.Deletion), "group", g.Name, v)
}

func (c call) renameGroup() error {
	id := web.ID[orgs.GroupID](c, "group")
	err := c.console.use.Groups.Rename(c.ctx, c.actor(), c.at(), id, c.FormValue("name"))
	return c.answerForm(err, func(f form) error { return c.groupPage(func(v *groupView) { v.Form = f }) }, c.below("groups"), "saved")
}

func (c call) deleteGroup() error {
	id := web.ID[orgs.GroupID](c, "group")
	err := c.console.use.Groups.Delete(c.ctx, c.actor(), c.at(), id)
	return c.answerForm(err, func(f form) error { return c.groupPage(func(v *groupView) { v.Deletion = f }) }, c.below("groups"), "deleted-group")
}

func (c call) linkMember() error { return c.regroup(c.console.use.Groups.Link) }

func (c call) unlinkMember() error { return c.regroup(c.console.use.Groups.Unlink) }

// regroup adds the path's member to a group or removes them from it.
func (c call) regroup(move func(context.Context, operators.Editor, app.Path, orgs.GroupID, ...users.MemberID) (int, error)) error {
	id := c.member()
	if _, err := move(c.ctx, c.editor(), c.at(), orgs.GroupID(c.selectedID("group")), id); err != nil {
		return err
	}
	return c.memberSaved()
}
