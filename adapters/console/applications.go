package console

import (
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/fault"
)

const pageApplications = 50

// applicationsView is a page of a project's applications.
type applicationsView struct {
	Applications []applications.Application
	Next         applications.ID // 0: no more
	New          form
}

func (c call) showApplications() error { return c.applications(http.StatusOK, form{}) }

func (c call) applications(status int, fresh form) error {
	found, err := c.console.use.Applications.List(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageApplications + 1})
	if err != nil {
		return err
	}
	v := applicationsView{Applications: found, New: fresh}
	if len(found) > pageApplications {
		v.Applications = found[:pageApplications]
		v.Next = v.Applications[pageApplications-1].ID
	}
	return c.render(status, "applications", "Applications", v)
}

func (c call) createApplication() error {
	wanted, err := applications.New(c.FormValue("slug"), c.FormValue("name"))
	if err == nil {
		wanted, err = c.console.use.Applications.Create(c.ctx, c.actor(), c.at(), wanted)
	}
	if f, mendable := c.refused(err); mendable {
		return c.applications(web.Status(fault.Invalid), f)
	}
	if err != nil {
		return err
	}
	return c.to(c.path(Prefix) + web.Join("o", c.at().Organization, "p", c.at().Project, "a", wanted.Slug) + "?done=saved")
}

// applicationView is what can be changed about an application.
type applicationView struct {
	Application applications.Application
	Settings    form
	Failed      form // what became of deleting it
}

func (c call) showApplication() error { return c.application(http.StatusOK, func(*applicationView) {}) }

// application shows the settings of the path's application, as adjust leaves them.
func (c call) application(status int, adjust func(v *applicationView)) error {
	found, err := c.console.use.Applications.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	v := applicationView{Application: found, Settings: filled("name", found.Name)}
	if found.Active {
		v.Settings = filled("name", found.Name, "active", "true")
	}
	adjust(&v)
	return c.render(status, "application", found.Name+": settings", v)
}

func (c call) changeApplication() error {
	err := c.console.use.Applications.Change(c.ctx, c.actor(), c.at(), c.FormValue("name"), c.FormValue("active") == "true")
	if f, mendable := c.refused(err); mendable {
		return c.application(web.Status(fault.Invalid), func(v *applicationView) { v.Settings = f })
	}
	if err != nil {
		return err
	}
	return c.to(c.applicationPath("settings") + "?done=saved")
}

func (c call) deleteApplication() error {
	err := c.console.use.Applications.Delete(c.ctx, c.actor(), c.at())
	if f, mendable := c.refused(err); mendable {
		return c.application(web.Status(fault.Invalid), func(v *applicationView) { v.Failed = f })
	}
	if err != nil {
		return err
	}
	return c.to(c.path(Prefix) + web.Join("o", c.at().Organization, "p", c.at().Project, "a") + "?done=deleted")
}

// applicationPath is the path of a page below the application's.
func (c call) applicationPath(segments ...string) string {
	at := c.at()
	return c.path(Prefix) + web.Join("o", at.Organization, "p", at.Project, "a", at.Application) + web.Join(segments...)
}
