package console

import (
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
)

// organizationsView is the organizations of the installation.
type organizationsView struct {
	Organizations []orgs.Organization
	Next          orgs.ID // 0: no more
	Form          form
}

func (c call) showOrganizations() error { return c.organizationsPage(form{}) }

func (c call) organizationsPage(f form) error {
	found, err := c.console.use.Orgs.List(c.ctx, app.Page{After: c.number("after"), Limit: pageOrgs + 1})
	if err != nil {
		return err
	}
	v := organizationsView{Form: f}
	v.Organizations, v.Next = paged(found, pageOrgs, func(o orgs.Organization) orgs.ID { return o.ID })
	return c.render(statusOf(f), "organizations", words.Of("Organizations"), v)
}

func (c call) createOrganization() error {
	made, err := c.console.use.Orgs.Create(c.ctx, c.actor(), c.FormValue("slug"), c.FormValue("name"))
	return c.answerForm(err, c.organizationsPage, c.link("o", made.Slug, "projects"), "created-organization")
}

// projectsView is the projects of an organization, with the forms for its settings and for a new
// project.
type projectsView struct {
	Organization orgs.Organization
	Projects     []orgs.Project
	Next         orgs.ProjectID // 0: no more
	Name         form
	Region       form
	Searchable   form
	New          form
}

func (c call) showProjects() error { return c.projectsPage(projectsView{}) }

// projectsPage renders the projects. It fills all forms except those with faults.
func (c call) projectsPage(v projectsView) (err error) {
	if v.Organization, err = c.console.use.Orgs.Show(c.ctx, c.at()); err != nil {
		return err
	}
	found, err := c.console.use.Orgs.Projects(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageProjects + 1})
	if err != nil {
		return err
	}
	v.Projects, v.Next = paged(found, pageProjects, func(p orgs.Project) orgs.ProjectID { return p.ID })
	if !v.Name.HasFaults() {
		v.Name = newForm("organization", v.Organization.Name)
	}
	if !v.Region.HasFaults() {
		v.Region = newForm("default_region", v.Organization.Region)
	}
	if !v.Searchable.HasFaults() {
		v.Searchable = newForm("searchable_metadata", strings.Join(v.Organization.Searchable, "\n"))
	}
	return c.render(statusOf(v.Name, v.Region, v.Searchable, v.New), "projects", words.Of("Projects"), v)
}

func (c call) renameOrganization() error {
	_, err := c.console.use.Orgs.Patch(c.ctx, c.actor(), c.at(), app.OrganizationChange{Name: new(c.FormValue("organization"))})
	return c.answerForm(err, func(f form) error { return c.projectsPage(projectsView{Name: f.renameField("name", "organization")}) }, c.below("projects"), "saved")
}

// setRegion sets the default region of phone numbers without a country code.
func (c call) setRegion() error {
	_, err := c.console.use.Orgs.Patch(c.ctx, c.actor(), c.at(), app.OrganizationChange{Region: new(c.FormValue("default_region"))})
	return c.answerForm(err, func(f form) error { return c.projectsPage(projectsView{Region: f}) }, c.below("projects"), "saved")
}

// setSearchable sets the metadata by which members can be found.
func (c call) setSearchable() error {
	paths := strings.Split(c.FormValue("searchable_metadata"), "\n")
	_, err := c.console.use.Orgs.Patch(c.ctx, c.actor(), c.at(), app.OrganizationChange{Searchable: &paths})
	return c.answerForm(err, func(f form) error { return c.projectsPage(projectsView{Searchable: f}) }, c.below("projects"), "saved")
}

func (c call) createProject() error {
	made, err := c.console.use.Orgs.CreateProject(c.ctx, c.actor(), c.at(), c.FormValue("slug"), c.FormValue("name"))
	return c.answerForm(err, func(f form) error { return c.projectsPage(projectsView{New: f}) }, c.below("p", made.Slug), "created-project")
}

// projectView is one project with its first applications, lists and channels.
type projectView struct {
	Project      orgs.Project
	Applications []applications.Application
	Lists        []lists.List
	Channels     []channels.Channel
	Limit        int
	Form         form
}

func (c call) showProject() error { return c.projectPage(form{}) }

func (c call) projectPage(f form) (err error) {
	v := projectView{Limit: pageProjects, Form: f}
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
	if !f.HasFaults() {
		v.Form = newForm("name", v.Project.Name)
	}
	return c.render(statusOf(f), "project", v.Project.Name, v)
}

func (c call) renameProject() error {
	err := c.console.use.Orgs.RenameProject(c.ctx, c.actor(), c.at(), c.FormValue("name"))
	return c.answerForm(err, c.projectPage, c.below(), "saved")
}
