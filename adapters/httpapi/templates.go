package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// messageTemplate is the template of a message for one channel.
type messageTemplate struct {
	Channel channels.ID `json:"channel"`
	Version int         `json:"version"`
	Subject string      `json:"subject"`
	Text    string      `json:"text"`
	HTML    string      `json:"html"`
	// Markdown is the source of the HTML; empty if there is none.
	Markdown string `json:"markdown"`
}

// templateVersion is a saved version of a template.
type templateVersion struct {
	Version int `json:"version"`
	// By is the user who saved it, and Saved is when; both are empty for templates saved before
	// versions were kept.
	By    string `json:"by"`
	Saved string `json:"saved"`
}

// templateText is a version with its text.
type templateText struct {
	templateVersion
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
	// Markdown is as in messageTemplate.
	Markdown string `json:"markdown"`
}

func showTemplate(t events.Template) messageTemplate {
	return messageTemplate{Channel: t.Channel, Version: t.Version, Subject: t.Subject, Text: t.Text, HTML: t.HTML, Markdown: t.Markdown}
}

func showVersion(v events.Version) templateVersion {
	shown := templateVersion{Version: v.Version, By: v.By}
	if !v.Saved.IsZero() {
		shown.Saved = v.Saved.UTC().Format(time.RFC3339)
	}
	return shown
}

// templateOwner returns the event or notification in the path.
func (c call) templateOwner() app.TemplateName {
	of := app.TemplateName{Event: web.Param(c, "evt")}
	if web.Param(c, "notification_pk") != "" {
		of.Notification = web.ID[subscriptions.NotificationID](c, "notification_pk")
	}
	return of
}

// templateName returns the name of the template in the path.
func (c call) templateName() app.TemplateName {
	of := c.templateOwner()
	of.Channel = web.ID[channels.ID](c, "channel")
	return of
}

// version returns the version number in the path.
func (c call) version() int { return int(min(web.ID[int64](c, "version"), maxVersion)) }

// listTemplates lists all templates of an event or a notification: at most one per channel.
func (a *API) listTemplates(c call) error {
	if err := c.noParameters(); err != nil {
		return err
	}
	of := c.templateOwner()
	var err error
	var found []events.Template
	if of.Notification != 0 {
		r, shown := a.use.Events.ShowNotification(c.ctx, c.at(), of.Event, of.Notification)
		found, err = r.Templates, shown
	} else {
		r, shown := a.use.Events.Show(c.ctx, c.at(), of.Event)
		found, err = r.Templates, shown
	}
	if err != nil {
		return err
	}
	all := make([]messageTemplate, len(found))
	for i, t := range found {
		all[i] = showTemplate(t)
	}
	return c.answer(http.StatusOK, all)
}

func (a *API) showTemplate(c call) error {
	r, err := a.use.Templates.Show(c.ctx, c.at(), c.templateName())
	if err == nil && r.Template.Version == 0 {
		err = events.ErrTemplateNotFound
	}
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showTemplate(r.Template))
}

func (a *API) putTemplate(c call) error {
	body := c.object()
	body.Only("subject", "text", "html", "markdown", "version")
	d := app.Draft{Subject: body.String("subject"), Text: body.Verbatim("text"), HTML: body.Verbatim("html"), Markdown: body.Verbatim("markdown")}
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
	saved, err := a.use.Templates.Save(c.ctx, c.actor(), c.at(), c.templateName(), d, base)
	if errors.Is(err, events.ErrOutdated) { // a precondition in the body
		err = requests.ErrChanged.On("version")
	}
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showTemplate(saved))
}

// maxVersion is larger than every version.
const maxVersion = 1 << 31

func (a *API) deleteTemplate(c call) error {
	return c.answerDeleted(a.use.Templates.Delete(c.ctx, c.actor(), c.at(), c.templateName(), app.AnyVersion))
}

// listVersions lists the stored versions, the newest first, without their texts.
func (a *API) listVersions(c call) error {
	if err := c.noParameters(); err != nil {
		return err
	}
	r, found, err := a.use.Templates.Versions(c.ctx, c.at(), c.templateName())
	if err == nil && r.Template.Version == 0 {
		err = events.ErrTemplateNotFound
	}
	if err != nil {
		return err
	}
	all := make([]templateVersion, len(found))
	for i, v := range found {
		all[i] = showVersion(v)
	}
	return c.answer(http.StatusOK, all)
}

func (a *API) showVersion(c call) error {
	_, v, err := a.use.Templates.Version(c.ctx, c.at(), c.templateName(), c.version())
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, templateText{templateVersion: showVersion(v), Subject: v.Subject, Text: v.Text, HTML: v.HTML, Markdown: v.Markdown})
}

// restoreVersion makes an earlier version the current one again, as a new version.
func (a *API) restoreVersion(c call) error {
	if err := a.use.Templates.Restore(c.ctx, c.actor(), c.at(), c.templateName(), c.version(), app.AnyVersion); err != nil {
		return err
	}
	return a.showTemplate(c)
}
