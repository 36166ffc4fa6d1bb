package console

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// How many rows a page has.
const (
	pageOrgs     = 100
	pageProjects = 100
)

// homeView is the organizations that the operator may see.
type homeView struct {
	Organizations []homeOrganization
	HasAlerts     bool    // one of them needs attention
	Next          orgs.ID // 0: no more
	Text          string  // the search text; empty: all
	More          bool    // there are more matches
}

type homeOrganization struct {
	ID         orgs.ID
	Slug, Name string
	Role       any
	Alerts     []alert
	Closed     bool // the operator must set up a second factor first
}

func (c call) showHome() error {
	v, err := c.visible()
	if err != nil {
		return err
	}
	var ids []orgs.ID
	for _, o := range v.Organizations {
		if !o.Closed {
			ids = append(ids, o.ID)
		}
	}
	attention, err := c.console.use.Overviews.Attention(c.ctx, ids)
	if err != nil {
		return err
	}
	for i := range v.Organizations {
		o := &v.Organizations[i]
		if o.Closed {
			continue
		}
		o.Alerts = c.alerts(o.Slug, *attention[o.ID])
		v.HasAlerts = v.HasAlerts || len(o.Alerts) > 0
	}
	return c.render(http.StatusOK, "home", words.Of("Overview"), v)
}

// visible returns a page of the organizations that the operator may see.
func (c call) visible() (v homeView, err error) {
	if v.Text, err = users.ParseText("q", c.QueryParam("q")); err != nil {
		v.Text = ""
	}
	after := orgs.ID(c.number("after"))
	var of []orgs.Organization
	if !c.operator.Administrator {
		for _, p := range c.operator.Visible() {
			if v.Text != "" && !users.MatchesText(p.Organization.Name+" "+p.Organization.Slug, v.Text) {
				continue
			}
			of = append(of, p.Organization)
			v.Organizations = append(v.Organizations, homeOrganization{ID: p.Organization.ID, Slug: p.Organization.Slug, Name: p.Organization.Name, Role: p.Role})
		}
		slices.SortFunc(v.Organizations, func(a, b homeOrganization) int { return cmp.Compare(a.ID, b.ID) })
		v.Organizations = slices.DeleteFunc(v.Organizations, func(o homeOrganization) bool { return o.ID <= after })
	} else {
		found, err := c.organizations(after, v.Text)
		if err != nil {
			return homeView{}, err
		}
		of = found
		for _, o := range found {
			v.Organizations = append(v.Organizations, homeOrganization{ID: o.ID, Slug: o.Slug, Name: o.Name, Role: words.Of("administrator of the installation")})
		}
	}
	owed, err := c.console.use.Factors.RequiringSetup(c.ctx, c.operator, of...)
	if err != nil {
		return homeView{}, err
	}
	for i := range v.Organizations {
		o := &v.Organizations[i]
		o.Closed = slices.ContainsFunc(owed, func(other orgs.Organization) bool { return other.ID == o.ID })
	}
	v.Organizations, v.Next = paged(v.Organizations, pageOrgs, func(o homeOrganization) orgs.ID { return o.ID })
	if v.Text != "" {
		v.More, v.Next = v.Next != 0, 0
	}
	return v, nil
}

// organizations returns the organizations after an id, or the first that match a search text.
func (c call) organizations(after orgs.ID, text string) ([]orgs.Organization, error) {
	if text != "" {
		return c.console.use.Orgs.SearchOrganizations(c.ctx, text, pageOrgs)
	}
	return c.console.use.Orgs.List(c.ctx, app.Page{After: int64(after), Limit: pageOrgs + 1})
}

// organizationView is an organization, its state, and its parts.
type organizationView struct {
	overviewView

	Organization orgs.Organization
	Projects     []overviewProject
	Next         orgs.ProjectID // 0: no more
}

type overviewProject struct {
	orgs.Project
	Applications []applications.Application
	More         bool // not all of them
}

func (c call) showOrganization() error {
	org, err := c.console.use.Orgs.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	projects, err := c.console.use.Orgs.Projects(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageProjects + 1})
	if err != nil {
		return err
	}
	v := organizationView{Organization: org}
	if c.QueryParam("after") == "" {
		if v.overviewView, err = c.overview(org.Slug); err != nil {
			return err
		}
	}
	projects, v.Next = paged(projects, pageProjects, func(p orgs.Project) orgs.ProjectID { return p.ID })
	for _, p := range projects {
		at := app.Path{Organization: org.Slug, Project: p.Slug}
		apps, err := c.console.use.Applications.List(c.ctx, at, app.Page{Limit: pageProjects})
		if err != nil {
			return err
		}
		v.Projects = append(v.Projects, overviewProject{p, apps, len(apps) == pageProjects})
	}
	return c.render(http.StatusOK, "organization", org.Name, v)
}
