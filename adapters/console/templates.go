package console

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/templates"
)

// templateView is the editor of a template.
type templateView struct {
	app.TemplateReport

	Here     string   // the path of the page
	Owner    string   // the path of the event or notification
	Tabs     []tab    // of the event
	Others   []link   // its templates for other channels
	Tags     []string // of the variables
	Known    string   // the names of the variables, with spaces between them
	Form     form
	Preview  previewView
	Tested   *testView
	Conflict *conflictView
}

// previewView is a draft rendered for a recipient.
type previewView struct {
	app.Preview

	Form   form   // with the faults of the draft
	Source string // the path that the frame loads; empty: a script posts the draft to Action
	Action string // the path for posting the draft to the frame
	Live   string // the path of the preview of the draft
}

func newPreview(editor string) previewView {
	return previewView{Action: editor + "html/", Live: editor + "preview/"}
}

// conflictView compares the draft with the version that another user saved meanwhile.
type conflictView struct {
	By    string
	Parts []partView
}

// partView is the line diff of one part of a template.
type partView struct {
	Name  words.Phrase
	Lines []templates.Line
	Same  bool
}

func differences(before, after events.Template) []partView {
	return append([]partView{partOf(words.Of("Subject"), before.Subject, after.Subject)}, bodyDifferences(before.Source(), after.Source())...)
}

// bodyDifferences compares the bodies of two versions.
func bodyDifferences(before, after templates.Source) []partView {
	return []partView{partOf(words.Of("Text"), before.Text, after.Text), partOf(words.Of("HTML"), before.HTML, after.HTML),
		partOf(words.Of("Markdown"), before.Markdown, after.Markdown)}
}

func partOf(name words.Phrase, before, after string) partView {
	return partView{Name: name, Lines: templates.Diff(before, after), Same: before == after}
}

// templateName returns the name of the template in the path.
func (c call) templateName() app.TemplateName {
	of := app.TemplateName{Event: web.Param(c, "evt"), Channel: web.ID[channels.ID](c, "channel")}
	if web.Param(c, "notification") != "" {
		of.Notification = web.ID[subscriptions.NotificationID](c, "notification")
	}
	return of
}

// ownerPath returns the path of a template's event or notification.
func (c call) ownerPath(of app.TemplateName) string { return c.ownerPathAt(c.at(), of) }

func (c call) ownerPathAt(at app.Path, of app.TemplateName) string {
	if of.Notification != 0 {
		return c.linkAt(at, "e", of.Event, "n", of.Notification)
	}
	return c.linkAt(at, "e", of.Event)
}

func (c call) templatePath(of app.TemplateName) string { return c.templatePathAt(c.at(), of) }

func (c call) templatePathAt(at app.Path, of app.TemplateName) string {
	return c.ownerPathAt(at, of) + web.Join("t", formatID(of.Channel))
}

// templateTabs returns the tabs of the event, and links to the templates of the same owner for
// other channels.
func (c call) templateTabs(r app.TemplateReport, of app.TemplateName) ([]tab, []link) {
	current := contentTab
	if of.Notification != 0 {
		current = audienceTab
	}
	var others []link
	for _, ch := range r.Parts.Usable {
		used := slices.ContainsFunc(r.Parts.Used(r.Event), func(u channels.Channel) bool { return u.ID == ch.ID })
		if used || r.Parts.Template(ch.ID).Version > 0 || ch.ID == of.Channel {
			others = append(others, link{Text: ch.Name, Path: c.ownerPath(of) + web.Join("t", formatID(ch.ID)), Current: ch.ID == of.Channel})
		}
	}
	return c.tabs(r.Application, r.Event, r.Parts, current), others
}

// draft parses the template in the form, and for whom and with which example to render it.
func (c call) draft() (app.Draft, app.PreviewOptions) {
	return app.Draft{Subject: c.FormValue("subject"), Text: c.FormValue("text"), HTML: c.FormValue("html"), Markdown: c.FormValue("markdown")},
		app.PreviewOptions{User: c.FormValue("user"), Example: c.FormValue("example")}
}

// base returns the version on which a form is based; -1, which never exists, if the field is
// invalid.
func (c call) base() int {
	n, err := strconv.Atoi(c.FormValue("base"))
	if err != nil {
		return -1
	}
	return max(n, -1)
}

func (c call) showTemplate() error {
	of := c.templateName()
	return c.templatePage(http.StatusOK, of, func(v *templateView) error {
		user := c.QueryParam("user")
		v.Form = newForm("subject", v.Template.Subject, "text", v.Template.Text, "html", v.Template.HTML, "markdown", v.Template.Markdown, "example", v.Event.Example, "user", user,
			"base", strconv.Itoa(v.Template.Version))
		if v.Template.Version == 0 {
			return nil
		}
		v.Preview.Source = v.Here + "html/?" + url.Values{"user": {user}}.Encode()
		var err error
		v.Preview.Preview, err = c.console.use.Templates.Preview(c.ctx, c.at(), of, app.Draft(v.Template.Source()), app.PreviewOptions{User: user, Example: v.Event.Example})
		if f, correctable := c.refused(err); correctable {
			v.Preview.Form, err = f, nil
		}
		return err
	})
}

// templatePage renders the editor of a template; adjust may change the view first.
func (c call) templatePage(status int, of app.TemplateName, adjust func(v *templateView) error) error {
	v := templateView{Here: c.templatePath(of), Owner: c.ownerPath(of)}
	v.Preview = newPreview(v.Here)
	var err error
	if v.TemplateReport, err = c.console.use.Templates.Show(c.ctx, c.at(), of); err != nil {
		return err
	}
	if v.Tags, err = v.Event.Tags(); err != nil {
		return err
	}
	v.Known = strings.Join(events.Variables(v.Event.Schema).Names(), " ")
	v.Tabs, v.Others = c.templateTabs(v.TemplateReport, of)
	if err := adjust(&v); err != nil {
		return err
	}
	return c.render(status, "template", words.Of("%s by %s", v.Event.Name, v.Channel.Name), v)
}

// draftPage renders the editor with the sent form and its preview.
func (c call) draftPage(status int, of app.TemplateName, adjust func(v *templateView)) error {
	return c.templatePage(status, of, func(v *templateView) error {
		var err error
		v.Form = c.asSent()
		v.Preview, err = c.preview(of)
		adjust(v)
		return err
	})
}

// preview renders the draft for a recipient. A view with faults says why it cannot be rendered.
func (c call) preview(of app.TemplateName) (previewView, error) {
	p := newPreview(c.templatePath(of))
	d, with := c.draft()
	var err error
	p.Preview, err = c.console.use.Templates.Preview(c.ctx, c.at(), of, d, with)
	if f, correctable := c.refused(err); correctable {
		p.Form, err = f, nil
	}
	return p, err
}

func (c call) saveTemplate() error {
	of := c.templateName()
	d, _ := c.draft()
	_, err := c.console.use.Templates.Save(c.ctx, c.actor(), c.at(), of, d, c.base())
	if errors.Is(err, events.ErrOutdated) {
		return c.templateConflict(of, d)
	}
	if f, correctable := c.refused(err); correctable {
		return c.draftPage(statusOf(f), of, func(v *templateView) { v.Form = f })
	}
	if err != nil {
		return err
	}
	return c.done(c.templatePath(of), "saved")
}

// templateConflict shows a draft beside the version that another user saved meanwhile. Sending the
// form again overwrites that version.
func (c call) templateConflict(of app.TemplateName, d app.Draft) error {
	_, versions, err := c.console.use.Templates.Versions(c.ctx, c.at(), of)
	if err != nil {
		return err
	}
	return c.draftPage(http.StatusConflict, of, func(v *templateView) {
		v.Conflict = &conflictView{Parts: differences(v.Template, events.Template{Subject: d.Subject, Text: d.Text, HTML: d.HTML, Markdown: d.Markdown})}
		if len(versions) > 0 {
			v.Conflict.By = versions[0].By
		}
		v.Form.values.Set("base", strconv.Itoa(v.Template.Version))
	})
}

// previewTemplate previews a draft: as a page or, for a script, as a fragment.
func (c call) previewTemplate() error {
	of := c.templateName()
	p, err := c.preview(of)
	if err != nil {
		return err
	}
	if c.Request().Header.Get("HX-Request") == "true" {
		return c.fragment("preview-live", p)
	}
	return c.draftPage(statusOf(p.Form), of, func(v *templateView) { v.Form.faults, v.Form.Failed = p.Form.faults, p.Form.Failed })
}

// showTemplateHTML serves the HTML for the frame: that of the draft or, for GET, of the stored
// template. See sandboxPolicy.
func (c call) showTemplateHTML() error {
	of := c.templateName()
	d, with := c.draft()
	if c.Request().Method != http.MethodPost {
		r, err := c.console.use.Templates.Show(c.ctx, c.at(), of)
		if err != nil {
			return err
		}
		d, with = app.Draft(r.Template.Source()), app.PreviewOptions{User: c.QueryParam("user"), Example: r.Event.Example}
	}
	p, err := c.console.use.Templates.Preview(c.ctx, c.at(), of, d, with)
	return c.answerPreviewHTML(p, err)
}

// answerPreviewHTML serves the HTML of a preview, or a document with the error.
func (c call) answerPreviewHTML(p app.Preview, err error) error {
	switch _, correctable := c.refused(err); {
	case correctable:
		return c.respondSandboxed("<!DOCTYPE html><title>" + html.EscapeString(c.said(words.Of("Preview"))) + "</title><p>" + html.EscapeString(c.said(messageOf(err.Error()))))
	case err != nil:
		return err
	}
	return c.respondSandboxed(p.Message.HTML)
}

func (c call) testTemplate() error {
	of := c.templateName()
	d, with := c.draft()
	// A provider may take longer than a page; the use case has its own bound.
	done, err := c.console.use.Templates.Test(c.Request().Context(), c.actor(), c.at(), of, d, with, c.FormValue("to"))
	if f, correctable := c.refused(err); correctable {
		return c.draftPage(statusOf(f), of, func(v *templateView) { v.Form = f })
	}
	if err != nil {
		return err
	}
	return c.draftPage(http.StatusOK, of, func(v *templateView) { v.Tested = c.testResult(done) })
}

func (c call) deleteTemplate() error {
	of := c.templateName()
	err := c.console.use.Templates.Delete(c.ctx, c.actor(), c.at(), of, c.base())
	if errors.Is(err, events.ErrOutdated) {
		return c.done(c.templatePath(of), "outdated")
	}
	if err != nil {
		return err
	}
	return c.done(c.ownerPath(of), "deleted-template")
}
