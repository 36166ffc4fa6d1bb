package console

import (
	"strconv"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
)

const pageApplications = 50

// applicationsView is a page of a project's applications.
type applicationsView struct {
	Applications []applications.Application
	Next         applications.ID // 0: no more
	New          form
}

func (c call) showApplications() error { return c.applicationsPage(form{}) }

func (c call) applicationsPage(f form) error {
	found, err := c.console.use.Applications.List(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageApplications + 1})
	if err != nil {
		return err
	}
	v := applicationsView{New: f}
	v.Applications, v.Next = paged(found, pageApplications, func(a applications.Application) applications.ID { return a.ID })
	return c.render(statusOf(f), "applications", words.Of("Applications"), v)
}

func (c call) createApplication() error {
	wanted, err := applications.New(c.FormValue("slug"), c.FormValue("name"))
	if err == nil {
		wanted, err = c.console.use.Applications.Create(c.ctx, c.actor(), c.at(), wanted)
	}
	return c.answerForm(err, c.applicationsPage, c.below("a", wanted.Slug), "created-application")
}

// applicationView is the form of an application.
type applicationView struct {
	Application applications.Application
	Settings    form
	Failed      form // the result of deleting it
}

func (c call) showApplication() error { return c.applicationPage(func(*applicationView) {}) }

// applicationPage shows the settings of the path's application, changed by adjust.
func (c call) applicationPage(adjust func(v *applicationView)) error {
	found, err := c.console.use.Applications.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	v := applicationView{Application: found, Settings: storedApplication(found)}
	adjust(&v)
	return c.render(statusOf(v.Settings, v.Failed), "application", words.Of("%s: settings", found.Name), v)
}

func storedApplication(a applications.Application) form {
	return newStoredForm("name", a.Name, "active", strconv.FormatBool(a.Active))
}

func (c call) changeApplication() error {
	err := c.console.use.Applications.Change(c.ctx, c.actor(), c.at(), c.FormValue("name"), c.FormValue("active") == "true",
		func(a applications.Application) bool { return c.outdated(storedApplication(a)) })
	redisplay := func(f form) error {
		return c.applicationPage(func(v *applicationView) { v.Settings = f.over(v.Settings) })
	}
	return c.answerForm(err, redisplay, c.below("settings"), "saved")
}

func (c call) deleteApplication() error {
	err := c.console.use.Applications.Delete(c.ctx, c.actor(), c.at())
	redisplay := func(f form) error { return c.applicationPage(func(v *applicationView) { v.Failed = f }) }
	return c.answerForm(err, redisplay, c.link("o", c.at().Organization, "p", c.at().Project, "a"), "deleted-application")
}
