package httpapi

import (
	"errors"
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/requests"
)

// partial is a template fragment that the templates of an organization can include.
type partial struct {
	Name        string `json:"name"`
	Version     int    `json:"version"`
	Description string `json:"description"`
	Text        string `json:"text"`
	HTML        string `json:"html"`
}

// partialText is a version of a partial with its bodies.
type partialText struct {
	templateVersion
	Description string `json:"description"`
	Text        string `json:"text"`
	HTML        string `json:"html"`
}

func showPartial(p events.Partial) partial {
	return partial{Name: p.Name, Version: p.Version, Description: p.Description, Text: p.Text, HTML: p.HTML}
}

func showPartialVersion(v events.PartialVersion) templateVersion {
	return showVersion(events.Version{Template: events.Template{Version: v.Version}, By: v.By, Saved: v.Saved})
}

// listPartials lists all partials of an organization.
func (a *API) listPartials(c call) error {
	if err := c.noParameters(); err != nil {
		return err
	}
	_, found, err := a.use.Templates.Partials(c.ctx, c.at().Organization)
	if err != nil {
		return err
	}
	all := make([]partial, len(found))
	for i, p := range found {
		all[i] = showPartial(p)
	}
	return c.answer(http.StatusOK, all)
}

func (a *API) showPartial(c call) error {
	p, err := a.use.Templates.ShowPartial(c.ctx, c.at().Organization, web.Param(c, "name"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showPartial(p))
}

func (a *API) putPartial(c call) error {
	body := c.object()
	body.Only("description", "text", "html", "version")
	f := app.PartialForm{Name: web.Param(c, "name"), Description: body.String("description"), Text: body.Verbatim("text"), HTML: body.Verbatim("html")}
	base := app.AnyVersion
	if version, given := body.Integer("version"); given {
		if version < 0 {
			body.Check(fault.Field("version", "must be 0 or more"))
		}
		base = int(min(version, maxVersion))
	}
	if err := body.Err(); err != nil {
		return err
	}
	saved, err := a.use.Templates.SavePartial(c.ctx, c.actor(), c.at().Organization, f, base)
	if errors.Is(err, events.ErrOutdated) { // a precondition in the body
		err = requests.ErrChanged.On("version")
	}
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showPartial(saved))
}

func (a *API) deletePartial(c call) error {
	return c.answerDeleted(a.use.Templates.DeletePartial(c.ctx, c.actor(), c.at().Organization, web.Param(c, "name"), app.AnyVersion))
}

// listPartialVersions lists the versions that are kept, the newest first, without their bodies.
func (a *API) listPartialVersions(c call) error {
	if err := c.noParameters(); err != nil {
		return err
	}
	_, found, err := a.use.Templates.PartialVersions(c.ctx, c.at().Organization, web.Param(c, "name"))
	if err != nil {
		return err
	}
	all := make([]templateVersion, len(found))
	for i, v := range found {
		all[i] = showPartialVersion(v)
	}
	return c.answer(http.StatusOK, all)
}

func (a *API) showPartialVersion(c call) error {
	_, v, err := a.use.Templates.PartialVersion(c.ctx, c.at().Organization, web.Param(c, "name"), c.version())
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, partialText{templateVersion: showPartialVersion(v), Description: v.Description, Text: v.Text, HTML: v.HTML})
}

// restorePartialVersion makes an earlier version the current one again, as a new version.
func (a *API) restorePartialVersion(c call) error {
	if err := a.use.Templates.RestorePartial(c.ctx, c.actor(), c.at().Organization, web.Param(c, "name"), c.version(), app.AnyVersion); err != nil {
		return err
	}
	return a.showPartial(c)
}
