package console

import (
	"net/http"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
)

// How many things a page lists.
const (
	pageOrgs     = 100
	pageProjects = 100
	pageAudit    = 50
)

// homeView is the organizations that one may see.
type homeView struct {
	Organizations []orgOfHome
	Next          orgs.ID // 0: no more
}

type orgOfHome struct{ Slug, Name, Role string }

func (c call) showHome() error {
	var v homeView
	if !c.visitor.Administrator {
		for _, p := range c.visitor.Visible() {
			v.Organizations = append(v.Organizations, orgOfHome{p.Organization.Slug, p.Organization.Name, string(p.Role)})
		}
		return c.render(http.StatusOK, "home", "Organizations", v)
	}
	found, err := c.console.use.Orgs.List(c.ctx, app.Page{After: c.number("after"), Limit: pageOrgs})
	if err != nil {
		return err
	}
	for _, o := range found {
		v.Organizations = append(v.Organizations, orgOfHome{o.Slug, o.Name, "administrator of the installation"})
	}
	if len(found) == pageOrgs {
		v.Next = found[len(found)-1].ID
	}
	return c.render(http.StatusOK, "home", "Organizations", v)
}

// organizationView is an organization and what it is made of.
type organizationView struct {
	Organization orgs.Organization
	Projects     []projectView
	Next         orgs.ProjectID // 0: no more
}

type projectView struct {
	orgs.Project
	Applications []applications.Application
	Rest         bool // not all of them
}

func (c call) showOrganization() error {
	org, err := c.console.use.Orgs.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	projects, err := c.console.use.Orgs.Projects(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageProjects})
	if err != nil {
		return err
	}
	v := organizationView{Organization: org}
	for _, p := range projects {
		at := app.Path{Organization: org.Slug, Project: p.Slug}
		apps, err := c.console.use.Applications.List(c.ctx, at, app.Page{Limit: pageProjects})
		if err != nil {
			return err
		}
		v.Projects = append(v.Projects, projectView{p, apps, len(apps) == pageProjects})
	}
	if len(projects) == pageProjects {
		v.Next = projects[len(projects)-1].ID
	}
	return c.render(http.StatusOK, "organization", org.Name, v)
}

// auditView is a page of the audit log.
type auditView struct {
	Entries []audit.Entry
	Older   audit.ID // 0: no more
}

// showAudit shows the log of the path's organization, or of the installation where the path names none.
func (c call) showAudit() error {
	found, err := c.console.use.Audit.List(c.ctx, c.at(), audit.ID(c.number("before")), pageAudit+1)
	if err != nil {
		return err
	}
	v := auditView{Entries: found}
	if len(found) > pageAudit {
		v.Entries = found[:pageAudit]
		v.Older = v.Entries[pageAudit-1].ID
	}
	return c.render(http.StatusOK, "audit", "Audit log", v)
}
