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
	Region   string `json:"default_region"`
	Users    string `json:"users"`
	Projects string `json:"projects"`
	Channels string `json:"channels"`

	Searchable []string `json:"searchable_metadata"`
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
	return c.answer(http.StatusOK, c.showOrganization(o))
}

func (c call) showOrganization(o orgs.Organization) organization {
	return organization{
		Name: o.Name, Slug: o.Slug, Region: o.Region, Searchable: append([]string{}, o.Searchable...),
		Users:    c.url("api", "o", o.Slug, "u"),
		Projects: c.url("api", "o", o.Slug, "p"),
		Channels: c.url("api", "o", o.Slug, "c"),
	}
}

func (a *API) listOrganizations(c call) error {
	f := c.filters()
	slug, name := f.equalFold("slug"), f.equalFold("name")
	return listing[orgs.Organization]{
		filters: f,
		match:   func(o orgs.Organization) bool { return slug(o.Slug) && name(o.Name) },
		page:    a.use.Orgs.List,
		id:      func(o orgs.Organization) int64 { return int64(o.ID) },
		row:     func(o orgs.Organization) any { return c.showOrganization(o) },
	}.send(c)
}

func (a *API) createOrganization(c call) error {
	slug, name, err := c.slugAndName()
	if err != nil {
		return err
	}
	made, err := a.use.Orgs.Create(c.ctx, c.actor(), slug, name)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, c.showOrganization(made))
}

func (a *API) patchOrganization(c call) error {
	body := c.object()
	body.Only("name", "default_region", "searchable_metadata")
	change := app.OrganizationChange{Name: optionalText(body, "name"), Region: optional(body, "default_region", body.String),
		Searchable: optional(body, "searchable_metadata", body.Strings)}
	if err := body.Err(); err != nil {
		return err
	}
	changed, err := a.use.Orgs.Patch(c.ctx, c.actor(), c.at(), change)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, c.showOrganization(changed))
}

func (a *API) createProject(c call) error {
	slug, name, err := c.slugAndName()
	if err != nil {
		return err
	}
	made, err := a.use.Orgs.CreateProject(c.ctx, c.actor(), c.at(), slug, name)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, c.showProject(made))
}

func (a *API) patchProject(c call) error {
	name, err := c.name()
	if err == nil && name != nil {
		err = a.use.Orgs.RenameProject(c.ctx, c.actor(), c.at(), *name)
	}
	if err != nil {
		return err
	}
	return a.showProject(c)
}

// slugAndName reads a body with a slug and a name.
func (c call) slugAndName() (slug, name string, err error) {
	body := c.object()
	body.Only("slug", "name")
	return body.String("slug"), body.String("name"), body.Err()
}

// name reads a body with only a name; nil if it has none, or a blank one.
func (c call) name() (*string, error) {
	body := c.object()
	body.Only("name")
	return optionalText(body, "name"), body.Err()
}

func (a *API) listProjects(c call) error {
	f := c.filters()
	slug, name := f.equalFold("slug"), f.equalFold("name")
	return listing[orgs.Project]{
		filters: f,
		match:   func(p orgs.Project) bool { return slug(p.Slug) && name(p.Name) },
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
