package httpapi

import (
	"context"
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
)

// application is an application as answers show it (contract 2.5, decisions 5).
type application struct {
	ID     applications.ID `json:"id"`
	Name   string          `json:"name"`
	Slug   string          `json:"slug"`
	Events string          `json:"events"`
}

func (a *API) listApplications(c call) error {
	return listing[applications.Application]{
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
		ID: a.ID, Name: a.Name, Slug: a.Slug,
		Events: c.url("api", "o", at.Organization, "p", at.Project, "a", a.Slug, "e"),
	}
}
