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

// newPartialSegment is the word of the paths on which a partial that is not there yet is previewed.
const newPartialSegment = "new-partial"

// partialsView is the partials of an organization.
type partialsView struct {
	Here     string // the path of the page
	Partials []events.ListedPartial
	Form     form
	Preview  *previewView // of what is typed; nil: nothing is yet
	Draft    previewView  // the paths of the preview
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
	if errors.Is(err, events.ErrOutdated) { // It should be new, but exists already.
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

// previewNewPartial shows a new partial as a recipient would see it: a whole page or, for a script,
// the preview alone.
func (c call) previewNewPartial() error {
	return c.answerPreview(c.newPartialPath(), func(f form, p previewView) error { return c.partialsPage(f, &p) })
}

// showNewPartialHTML is the document in the frame: the HTML of what is typed. See foreignPolicy.
func (c call) showNewPartialHTML() error {
	d, with := c.draft()
	return c.answerPreviewHTML(c.console.use.Templates.PreviewPartial(c.ctx, c.at().Organization, d, with))
}

// partialView is one partial with its uses.
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

// partialPage shows the partial of the path, changed by adjust.
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

// partialPreview returns a draft of a partial as a recipient would see it, or why it cannot be
// rendered. The draft is posted below the path of its editor.
func (c call) partialPreview(editor string, d app.Draft, with app.PreviewOptions) (previewView, error) {
	p := newPreview(editor)
	var err error
	p.Preview, err = c.console.use.Templates.PreviewPartial(c.ctx, c.at().Organization, d, with)
	if f, correctable := c.refused(err); correctable {
		p.Form, err = f, nil
	}
	return p, err
}

// previewPartial shows the typed draft as a recipient would see it: a whole page or, for a script,
// the preview alone.
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

// answerPreview answers with the preview of what is typed in an editor: for a script alone, else on
// the editor's page, whose form has the faults of the preview.
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

// draftPreview is the preview of what is typed in an editor.
func (c call) draftPreview(editor string) (previewView, error) {
	d, with := c.draft()
	return c.partialPreview(editor, d, with)
}

// showPartialHTML writes the document in the frame: the HTML of the typed draft or, for a GET, of
// the stored partial. It is untrusted: see foreignPolicy.
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

// keepDraft keeps what was typed, with its preview.
func (c call) keepDraft(v *partialView, f form) (err error) {
	v.Form = f
	v.Preview, err = c.draftPreview(v.Here)
	return err
}

// existingBase returns the version on which a form about a partial is based; never 0, which would
// create a removed partial again.
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

// partialConflict shows a partial as sent beside the version that another user saved meanwhile.
// Sending it again saves it on top of that.
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
	number, err := web.ID[int64](c, "version")
	if err != nil {
		return err
	}
	r, old, err := c.console.use.Templates.PartialVersion(c.ctx, c.at().Organization, web.Param(c, "partial"), int(number))
	if err != nil {
		return err
	}
	v := versionView{savedVersion: savedVersion{old.Version, old.By, old.Saved}, Editor: c.partialPath(r.Partial.Name), Base: r.Partial.Version,
		Parts: partialDifferences(old.Partial, r.Partial),
		Texts: []versionText{{words.Of("Description"), old.Description}, {words.Of("Text"), old.Text}, {words.Of("HTML"), old.HTML}}}
	return c.render(http.StatusOK, "version", words.Of("%s: version %s", r.Partial.Name, formatID(number)), v)
}

func (c call) restorePartialVersion() error {
	name := web.Param(c, "partial")
	number, err := web.ID[int64](c, "version")
	if err != nil {
		return err
	}
	err = c.console.use.Templates.RestorePartial(c.ctx, c.actor(), c.at().Organization, name, int(number), c.existingBase())
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
