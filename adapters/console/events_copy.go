package console

import (
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/fault"
)

// copyEventView is the form that copies an event.
type copyEventView struct {
	EventPath string // of the event
	Form      form
	Targets   []option // the applications of the organization; none: too many to choose from
}

func (c call) showCopyEvent() error { return c.copyEventPage(form{}) }

// copyEventPage shows the form as sent or, at first, with the event's names.
func (c call) copyEventPage(f form) error {
	slug := web.Param(c, "evt")
	e, targets, err := c.console.use.Events.CopyTargets(c.ctx, c.at(), slug)
	if err != nil {
		return err
	}
	v := copyEventView{EventPath: c.below("e", slug), Form: f}
	if f.values == nil {
		v.Form = newForm("application", formatID(e.Application), "slug", e.Slug, "name", e.Name)
		if len(targets) == 0 {
			v.Form.values.Set("application", c.at().Project+"/"+c.at().Application)
		}
	}
	for _, t := range targets {
		v.Targets = append(v.Targets, option{formatID(t.Application.ID), t.Project.Name + " › " + t.Application.Name})
	}
	return c.render(statusOf(v.Form), "event-copy", words.Of("Copy the event %s", e.Name), v)
}

// copyTarget returns the application of the form: an id, or the slugs of its project and its own; 0
// if there is none.
func (c call) copyTarget() (applications.ID, error) {
	project, slug, typed := strings.Cut(strings.TrimSpace(c.FormValue("application")), "/")
	if !typed {
		return applications.ID(c.selectedID("application")), nil
	}
	a, err := c.console.use.Applications.Show(c.ctx, app.Path{Organization: c.at().Organization, Project: project, Application: slug})
	if fault.KindOf(err) == fault.NotFound {
		return 0, nil
	}
	return a.ID, err
}

func (c call) copyEvent() error {
	target, err := c.copyTarget()
	if err != nil {
		return err
	}
	made, to, err := c.console.use.Events.Copy(c.ctx, c.actor(), c.at(), web.Param(c, "evt"),
		app.CopyForm{Application: target, Slug: c.FormValue("slug"), Name: c.FormValue("name")})
	return c.answerForm(err, c.copyEventPage, c.link("o", to.Organization, "p", to.Project, "a", to.Application, "e", made.Slug), "copied")
}
