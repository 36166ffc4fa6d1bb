package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// group is a group of an organization's members.
type group struct {
	ID   orgs.GroupID `json:"id"`
	Name string       `json:"name"`
}

// groupChange is the number of members that a call added to a group or removed from it.
type groupChange struct {
	Changed int `json:"changed"`
}

func showGroup(g orgs.Group) group { return group{g.ID, g.Name} }

func (a *API) listGroups(c call) error {
	f := c.filters()
	name := f.equalFold("name")
	return listing[orgs.Group]{
		filters: f,
		match:   func(g orgs.Group) bool { return name(g.Name) },
		page:    func(ctx context.Context, p app.Page) ([]orgs.Group, error) { return a.use.Groups.List(ctx, c.at(), p) },
		id:      func(g orgs.Group) int64 { return int64(g.ID) },
		row:     func(g orgs.Group) any { return showGroup(g) },
	}.send(c)
}

func (a *API) createGroup(c call) error {
	sent, err := c.name()
	if err != nil {
		return err
	}
	var name string
	set(&name, sent)
	made, err := a.use.Groups.Create(c.ctx, c.actor(), c.at(), name)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, showGroup(made))
}

func (a *API) showGroup(c call) error {
	id := web.ID[orgs.GroupID](c, "group")
	found, err := a.use.Groups.Show(c.ctx, c.at(), id)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showGroup(found))
}

func (a *API) patchGroup(c call) error {
	id := web.ID[orgs.GroupID](c, "group")
	name, err := c.name()
	if err == nil && name != nil {
		err = a.use.Groups.Rename(c.ctx, c.actor(), c.at(), id, *name)
	}
	if errors.Is(err, orgs.ErrGroupDefault) {
		err = orgs.ErrGroupDefault.On("name")
	}
	if err != nil {
		return err
	}
	return a.showGroup(c)
}

func (a *API) deleteGroup(c call) error {
	id := web.ID[orgs.GroupID](c, "group")
	return c.answerDeleted(a.use.Groups.Delete(c.ctx, c.actor(), c.at(), id))
}

func (a *API) linkMembers(c call) error   { return c.regroup(a.use.Groups.Link) }
func (a *API) unlinkMembers(c call) error { return c.regroup(a.use.Groups.Unlink) }

// regroup adds the members in the body to the path's group, or removes them from it.
func (c call) regroup(move func(context.Context, operators.Editor, app.Path, orgs.GroupID, ...users.MemberID) (int, error)) error {
	id := web.ID[orgs.GroupID](c, "group")
	body := c.object()
	body.Only("users")
	members := ids[users.MemberID](body, "users", app.MaxSelected)
	if err := body.Err(); err != nil {
		return err
	}
	n, err := move(c.ctx, c.editor(), c.at(), id, members...)
	if strangers, ok := errors.AsType[*app.NotMembersError](err); ok {
		for i, id := range members {
			if slices.Contains(strangers.IDs, id) {
				body.Check(fault.Field(fmt.Sprintf("users[%d]", i), "there is no user %d in the organization", id))
			}
		}
		return body.Err()
	}
	if err != nil {
		return protected(err, members...)
	}
	return c.answer(http.StatusOK, groupChange{n})
}
