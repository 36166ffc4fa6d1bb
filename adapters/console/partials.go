package console

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
)

// newPartialSegment is the path segment for previews of a partial that is not saved yet.
const newPartialSegment = "new-partial"

// partialsView is the partials of an organization.
type partialsView struct {
	Here     string // the path of the page
	Partials []events.ListedPartial
	Form     form
	Preview  *previewView // of the draft; nil: there is none
	Draft    previewView  // the paths for previews
}

func (c call) showPartials() error { return c.partialsPage(form{}, nil) }

func (c call) partialsPage(f form, p *previewView) error {
	all, err := c.console.use.Templates.PartialList(c.ctx, c.at().Organization)
	if err != nil {
		return err
	}
	v := partialsView{Here: c.partialPath(), Partials: all, Form: f, Preview: p, Draft: newPreview(c.newPartialPath())}
	return c.render(statusOf(f), "partials", words.Of("Partials"), v)
}

func (c call) newPartialPath() string { return c.link("o", c.at().Organization, newPartialSegment) }

// partialPath returns the path of a page below the partials of the organization.
func (c call) partialPath(segments ...any) string {
	return c.link(append([]any{"o", c.at().Organization, "partials"}, segments...)...)
}

// partialForm parses the form of a partial with this name.
func (c call) partialForm(name string) app.PartialForm {
	return app.PartialForm{Name: name, Description: c.FormValue("description"), Text: c.FormValue("text"), HTML: c.FormValue("html")}
}

func (c call) createPartial() error {
	made, err := c.console.use.Templates.SavePartial(c.ctx, c.actor(), c.at().Organization, c.partialForm(c.FormValue("name")), 0)
	if errors.Is(err, events.ErrOutdated) { // A partial with this name exists.
		err = events.ErrPartialNameTaken.On("name")
	}
	redisplay := func(f form) error {
		p, err := c.draftPreview(c.newPartialPath())
		if err != nil {
			return err
		}
		return c.partialsPage(f, &p)
	}
	return c.answerForm(err, redisplay, c.partialPath(made.Name), "created-partial")
}

// previewNewPartial previews a new partial: as a page or, for a script, as a fragment.
func (c call) previewNewPartial() error {
	return c.answerPreview(c.newPartialPath(), func(f form, p previewView) error { return c.partialsPage(f, &p) })
}

// showNewPartialHTML serves the HTML of the draft for its frame. See sandboxPolicy.
func (c call) showNewPartialHTML() error {
	d, with := c.draft()
	return c.answerPreviewHTML(c.console.use.Templates.PreviewPartial(c.ctx, c.at().Organization, d, with))
}

// partialView is one partial, with the templates and partials that use it.
type partialView struct {
	app.PartialReport

	Here     string // the path of the page
	All      string // the path of the page of all partials
	Uses     []partialUse
	Form     form
	Preview  previewView
	Deletion form
	Conflict *conflictView
}

// partialUse is a template that uses a partial, with the path of its event.
type partialUse struct {
	events.PartialUser

	Path string
}

func (c call) showPartial() error {
	return c.partialPage(http.StatusOK, func(*partialView) error { return nil })
}

// partialPage renders the partial of the path; adjust may change the view first.
func (c call) partialPage(status int, adjust func(v *partialView) error) error {
	org := c.at().Organization
	r, err := c.console.use.Templates.Partial(c.ctx, org, web.Param(c, "partial"))
	if err != nil {
		return err
	}
	p := r.Partial
	v := partialView{PartialReport: r, Here: c.partialPath(p.Name), All: c.partialPath(),
		Form: newForm("description", p.Description, "text", p.Text, "html", p.HTML, "base", strconv.Itoa(p.Version))}
	for _, u := range r.Users {
		v.Uses = append(v.Uses, partialUse{u, c.link("o", org, "p", u.Project, "a", u.Application, "e", u.Event.Slug)})
	}
	if err := adjust(&v); err != nil {
		return err
	}
	if v.Preview.Live == "" {
		if v.Preview, err = c.partialPreview(v.Here, app.Draft{Text: p.Text, HTML: p.HTML}, app.PreviewOptions{}); err != nil {
			return err
		}
		v.Preview.Source = v.Here + "html/"
	}
	return c.render(status, "partial", words.Of("Partial %s", p.Name), v)
}

// partialPreview renders a draft of a partial for a recipient. A view with faults says why it
// cannot be rendered. The draft is posted below the path of its editor.
func (c call) partialPreview(editor string, d app.Draft, with app.PreviewOptions) (previewView, error) {
	p := newPreview(editor)
	var err error
	p.Preview, err = c.console.use.Templates.PreviewPartial(c.ctx, c.at().Organization, d, with)
	if f, correctable := c.refused(err); correctable {
		p.Form, err = f, nil
	}
	return p, err
}

// previewPartial previews a draft: as a page or, for a script, as a fragment.
func (c call) previewPartial() error {
	stored, err := c.console.use.Templates.ShowPartial(c.ctx, c.at().Organization, web.Param(c, "partial"))
	if err != nil {
		return err
	}
	return c.answerPreview(c.partialPath(stored.Name), func(f form, p previewView) error {
		return c.partialPage(statusOf(p.Form), func(v *partialView) error {
			v.Form, v.Preview = f, p
			return nil
		})
	})
}

// answerPreview responds with the preview of a draft: for a script as a fragment, else on the page
// of its editor with the faults in the form.
func (c call) answerPreview(editor string, page func(f form, p previewView) error) error {
	p, err := c.draftPreview(editor)
	if err != nil {
		return err
	}
	if c.Request().Header.Get("HX-Request") == "true" {
		return c.fragment("partial-preview-live", p)
	}
	f := c.asSent()
	f.faults, f.Failed = p.Form.faults, p.Form.Failed
	return page(f, p)
}

// draftPreview returns the preview of the draft in the form.
func (c call) draftPreview(editor string) (previewView, error) {
	d, with := c.draft()
	return c.partialPreview(editor, d, with)
}

// showPartialHTML serves the HTML for the frame: that of the draft or, for GET, of the stored
// partial. It is untrusted: see sandboxPolicy.
func (c call) showPartialHTML() error {
	stored, err := c.console.use.Templates.ShowPartial(c.ctx, c.at().Organization, web.Param(c, "partial"))
	if err != nil {
		return err
	}
	d, with := c.draft()
	if c.Request().Method != http.MethodPost {
		d, with = app.Draft{Text: stored.Text, HTML: stored.HTML}, app.PreviewOptions{}
	}
	return c.answerPreviewHTML(c.console.use.Templates.PreviewPartial(c.ctx, c.at().Organization, d, with))
}

// keepDraft puts the sent form and its preview into the view.
func (c call) keepDraft(v *partialView, f form) (err error) {
	v.Form = f
	v.Preview, err = c.draftPreview(v.Here)
	return err
}

// existingBase returns the version on which a form is based. It never returns 0, which would
// recreate a deleted partial.
func (c call) existingBase() int {
	if base := c.base(); base > 0 {
		return base
	}
	return -1
}

func (c call) savePartial() error {
	f := c.partialForm(web.Param(c, "partial"))
	_, err := c.console.use.Templates.SavePartial(c.ctx, c.actor(), c.at().Organization, f, c.existingBase())
	if errors.Is(err, events.ErrOutdated) {
		return c.partialConflict(f)
	}
	redisplay := func(f form) error {
		return c.partialPage(statusOf(f), func(v *partialView) error { return c.keepDraft(v, f) })
	}
	return c.answerForm(err, redisplay, c.partialPath(f.Name), "saved")
}

// partialConflict shows the sent partial beside the version that another user saved meanwhile.
// Sending the form again overwrites that version.
func (c call) partialConflict(f app.PartialForm) error {
	return c.partialPage(http.StatusConflict, func(v *partialView) error {
		_, versions, err := c.console.use.Templates.PartialVersions(c.ctx, c.at().Organization, v.Partial.Name)
		if err != nil {
			return err
		}
		v.Conflict = &conflictView{Parts: partialDifferences(v.Partial, events.Partial{Description: f.Description, Text: f.Text, HTML: f.HTML})}
		if len(versions) > 0 {
			v.Conflict.By = versions[0].By
		}
		if err := c.keepDraft(v, c.asSent()); err != nil {
			return err
		}
		v.Form.values.Set("base", strconv.Itoa(v.Partial.Version))
		return nil
	})
}

func (c call) deletePartial() error {
	name := web.Param(c, "partial")
	err := c.console.use.Templates.DeletePartial(c.ctx, c.actor(), c.at().Organization, name, c.existingBase())
	if errors.Is(err, events.ErrOutdated) {
		return c.done(c.partialPath(name), "outdated-partial")
	}
	redisplay := func(f form) error {
		return c.partialPage(statusOf(f), func(v *partialView) error {
			v.Deletion = f
			return nil
		})
	}
	return c.answerForm(err, redisplay, c.partialPath(), "deleted-partial")
}

func partialDifferences(before, after events.Partial) []partView {
	return []partView{partOf(words.Of("Description"), before.Description, after.Description), partOf(words.Of("Text"), before.Text, after.Text),
		partOf(words.Of("HTML"), before.HTML, after.HTML)}
}

func (c call) showPartialVersions() error {
	r, found, err := c.console.use.Templates.PartialVersions(c.ctx, c.at().Organization, web.Param(c, "partial"))
	if err != nil {
		return err
	}
	v := versionsView{Editor: c.partialPath(r.Partial.Name), Current: r.Partial.Version}
	for _, old := range found {
		v.Versions = append(v.Versions, savedVersion{old.Version, old.By, old.Saved})
	}
	return c.render(http.StatusOK, "versions", words.Of("%s: versions", r.Partial.Name), v)
}

func (c call) showPartialVersion() error {
	number := c.version()
	r, old, err := c.console.use.Templates.PartialVersion(c.ctx, c.at().Organization, web.Param(c, "partial"), number)
	if err != nil {
		return err
	}
	v := versionView{savedVersion: savedVersion{old.Version, old.By, old.Saved}, Editor: c.partialPath(r.Partial.Name), Base: r.Partial.Version,
		Parts: partialDifferences(old.Partial, r.Partial),
		Texts: []versionText{{words.Of("Description"), old.Description}, {words.Of("Text"), old.Text}, {words.Of("HTML"), old.HTML}}}
	return c.render(http.StatusOK, "version", words.Of("%s: version %s", r.Partial.Name, formatID(int64(number))), v)
}

func (c call) restorePartialVersion() error {
	name := web.Param(c, "partial")
	number := c.version()
	err := c.console.use.Templates.RestorePartial(c.ctx, c.actor(), c.at().Organization, name, number, c.existingBase())
	if errors.Is(err, events.ErrOutdated) {
		return c.done(c.partialPath(name), "outdated-partial")
	}
	redisplay := func(f form) error {
		return c.partialPage(statusOf(f), func(v *partialView) error {
			v.Form.Failed, v.Form.faults = f.Failed, f.faults
			return nil
		})
	}
	return c.answerForm(err, redisplay, c.partialPath(name), "saved")
}
