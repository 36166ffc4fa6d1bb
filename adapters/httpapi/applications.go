package httpapi

import (
	"context"
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
)

// application is an application in responses (contract 2.5, decisions 5).
type application struct {
	ID     applications.ID `json:"id"`
	Name   string          `json:"name"`
	Slug   string          `json:"slug"`
	Active bool            `json:"active"`
	Events string          `json:"events"`
}

func (a *API) listApplications(c call) error {
	f := c.filters()
	slug, name, active := f.equalFold("slug"), f.equalFold("name"), f.active()
	return listing[applications.Application]{
		filters: f,
		match: func(found applications.Application) bool {
			return slug(found.Slug) && name(found.Name) && active(found.Active)
		},
		page: func(ctx context.Context, p app.Page) ([]applications.Application, error) {
			return a.use.Applications.List(ctx, c.at(), p)
		},
		id:  func(found applications.Application) int64 { return int64(found.ID) },
		row: func(found applications.Application) any { return c.showApplication(found) },
	}.send(c)
}

func (a *API) showApplication(c call) error {
	found, err := a.use.Applications.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, c.showApplication(found))
}

func (a *API) createApplication(c call) error {
	body := c.object()
	body.Only("slug", "name", "active")
	wanted, err := applications.New(body.String("slug"), body.String("name"))
	wanted.Active = body.Bool("active", true)
	body.Check(err)
	if err := body.Err(); err != nil {
		return err
	}
	made, err := a.use.Applications.Create(c.ctx, c.actor(), c.at(), wanted)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, c.showApplication(made))
}

func (a *API) patchApplication(c call) error {
	body := c.object()
	body.Only("name", "active")
	name, active := optionalText(body, "name"), optional(body, "active", boolReader(body))
	if err := body.Err(); err != nil {
		return err
	}
	changed, err := a.use.Applications.Patch(c.ctx, c.actor(), c.at(), name, active)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, c.showApplication(changed))
}

func (a *API) deleteApplication(c call) error {
	return c.answerDeleted(a.use.Applications.Delete(c.ctx, c.actor(), c.at()))
}

func (a *API) unregister(c call) error {
	n, err := a.use.Applications.Unregister(c.ctx, c.actor(), c.at(), web.Param(c, "username"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, deleted{n})
}

func (a *API) unsubscribeFromLists(c call) error {
	n, err := a.use.Applications.Unsubscribe(c.ctx, c.actor(), c.at(), web.Param(c, "username"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, deleted{n})
}

func (c call) showApplication(a applications.Application) application {
	at := c.at()
	return application{
		ID: a.ID, Name: a.Name, Slug: a.Slug, Active: a.Active,
		Events: c.url("api", "o", at.Organization, "p", at.Project, "a", a.Slug, "e"),
	}
}
