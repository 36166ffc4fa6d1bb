package httpapi

import (
	"context"
	"net/http"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/orgs"
)

type organization struct {
	Name     string `json:"name"`
	Slug     string `json:"slug"`
	Users    string `json:"users"`
	Projects string `json:"projects"`
	Channels string `json:"channels"`
}

type project struct {
	Name         string `json:"name"`
	Slug         string `json:"slug"`
	Applications string `json:"applications"`
	Channels     string `json:"channels"`
	Lists        string `json:"lists"`
}

func (a *API) showOrganization(c call) error {
	o, err := a.use.Orgs.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, organization{
		Name: o.Name, Slug: o.Slug,
		Users:    c.url("api", "o", o.Slug, "u"),
		Projects: c.url("api", "o", o.Slug, "p"),
		Channels: c.url("api", "o", o.Slug, "c"),
	})
}

func (a *API) listProjects(c call) error {
	return listing[orgs.Project]{
		page: func(ctx context.Context, p app.Page) ([]orgs.Project, error) {
			return a.use.Orgs.Projects(ctx, c.at(), p)
		},
		id:  func(p orgs.Project) int64 { return int64(p.ID) },
		row: func(p orgs.Project) any { return c.showProject(p) },
	}.send(c)
}

func (a *API) showProject(c call) error {
	p, err := a.use.Orgs.ShowProject(c.ctx, c.at())
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, c.showProject(p))
}

func (c call) showProject(p orgs.Project) project {
	org := c.at().Organization
	return project{
		Name: p.Name, Slug: p.Slug,
		Applications: c.url("api", "o", org, "p", p.Slug, "a"),
		Channels:     c.url("api", "o", org, "p", p.Slug, "c"),
		Lists:        c.url("api", "o", org, "p", p.Slug, "d"),
	}
}
