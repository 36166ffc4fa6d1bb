package console

import (
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
)

const organizationsPath = Prefix + "organizations/"

// tenancyRoutes are about organizations and projects themselves.
func tenancyRoutes(org string) []Route {
	project := org + "p/{prj}/"
	return []Route{
		{http.MethodGet, organizationsPath, operators.Installation, call.showOrganizations},
		{http.MethodPost, organizationsPath, operators.Installation, call.createOrganization},
		{http.MethodPost, org + "name/", operators.Administrator, call.renameOrganization},
		{http.MethodGet, org + "projects/", operators.Viewer, call.showProjects},
		{http.MethodPost, org + "projects/", operators.Administrator, call.createProject},
		{http.MethodGet, project, operators.Viewer, call.showProject},
		{http.MethodPost, project + "name/", operators.Administrator, call.renameProject},
	}
}

// organizationsView is the organizations of the installation.
type organizationsView struct {
	Organizations []orgs.Organization
	Next          orgs.ID // 0: no more
	Form          form
}

func (c call) showOrganizations() error { return c.showOrganizationsWith(http.StatusOK, form{}) }

func (c call) showOrganizationsWith(status int, f form) error {
	found, err := c.console.use.Orgs.List(c.ctx, app.Page{After: c.number("after"), Limit: pageOrgs + 1})
	if err != nil {
		return err
	}
	v := organizationsView{Organizations: found, Form: f}
	if len(found) > pageOrgs {
		v.Organizations = found[:pageOrgs]
		v.Next = v.Organizations[pageOrgs-1].ID
	}
	return c.render(status, "organizations", "Manage organizations", v)
}

func (c call) createOrganization() error {
	made, err := c.console.use.Orgs.Create(c.ctx, c.actor(), c.FormValue("slug"), c.FormValue("name"))
	if f, mistaken := c.refused(err); mistaken {
		return c.showOrganizationsWith(web.Status(fault.Invalid), f)
	}
	if err != nil {
		return err
	}
	return c.to(c.path(Prefix) + web.Join("o", made.Slug, "projects") + "?done=saved")
}

// projectsView is the projects of an organization, with forms for its name and for another project.
type projectsView struct {
	Organization orgs.Organization
	Projects     []orgs.Project
	Next         orgs.ProjectID // 0: no more
	Name         form
	New          form
}

func (c call) showProjects() error { return c.showProjectsWith(http.StatusOK, projectsView{}) }

// showProjectsWith shows the projects with a form as it was sent, if one of them has faults.
func (c call) showProjectsWith(status int, v projectsView) (err error) {
	if v.Organization, err = c.console.use.Orgs.Show(c.ctx, c.at()); err != nil {
		return err
	}
	if v.Projects, err = c.console.use.Orgs.Projects(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageProjects + 1}); err != nil {
		return err
	}
	if len(v.Projects) > pageProjects {
		v.Projects = v.Projects[:pageProjects]
		v.Next = v.Projects[pageProjects-1].ID
	}
	if !v.Name.Wrong() {
		v.Name = filled("organization", v.Organization.Name)
	}
	return c.render(status, "projects", "Projects", v)
}

func (c call) renameOrganization() error {
	err := c.console.use.Orgs.Rename(c.ctx, c.actor(), c.at(), c.FormValue("organization"))
	if f, mistaken := c.refused(err); mistaken {
		return c.showProjectsWith(web.Status(fault.Invalid), projectsView{Name: f.renamed("name", "organization")})
	}
	if err != nil {
		return err
	}
	return c.to(c.projectsPath() + "?done=saved")
}

func (c call) createProject() error {
	made, err := c.console.use.Orgs.CreateProject(c.ctx, c.actor(), c.at(), c.FormValue("slug"), c.FormValue("name"))
	if f, mistaken := c.refused(err); mistaken {
		return c.showProjectsWith(web.Status(fault.Invalid), projectsView{New: f})
	}
	if err != nil {
		return err
	}
	return c.to(c.path(Prefix) + web.Join("o", web.Param(c, "org"), "p", made.Slug) + "?done=saved")
}

func (c call) projectsPath() string {
	return c.path(Prefix) + web.Join("o", web.Param(c, "org"), "projects")
}

// aProjectView is one project with the first of what it is made of.
type aProjectView struct {
	Project      orgs.Project
	Applications []applications.Application
	Lists        []lists.List
	Channels     []channels.Channel
	Limit        int
	Form         form
}

func (c call) showProject() error { return c.showProjectWith(http.StatusOK, form{}) }

func (c call) showProjectWith(status int, f form) (err error) {
	v := aProjectView{Limit: pageProjects, Form: f}
	if v.Project, err = c.console.use.Orgs.ShowProject(c.ctx, c.at()); err != nil {
		return err
	}
	first := app.Page{Limit: pageProjects}
	if v.Applications, err = c.console.use.Applications.List(c.ctx, c.at(), first); err != nil {
		return err
	}
	if v.Lists, err = c.console.use.Lists.List(c.ctx, c.at(), first); err != nil {
		return err
	}
	if v.Channels, err = c.console.use.Orgs.Channels(c.ctx, c.at(), first); err != nil {
		return err
	}
	if !f.Wrong() {
		v.Form = filled("name", v.Project.Name)
	}
	return c.render(status, "project", v.Project.Name, v)
}

func (c call) renameProject() error {
	err := c.console.use.Orgs.RenameProject(c.ctx, c.actor(), c.at(), c.FormValue("name"))
	if f, mistaken := c.refused(err); mistaken {
		return c.showProjectWith(web.Status(fault.Invalid), f)
	}
	if err != nil {
		return err
	}
	return c.to(c.path(Prefix) + web.Join("o", web.Param(c, "org"), "p", web.Param(c, "prj")) + "?done=saved")
}
