package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/sheets"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

const (
	pageImports  = 50
	pageRejected = 20
	maxGroups    = 1_000 // to choose from
)

// importsView is the form for a new import, and the list of earlier ones.
type importsView struct {
	Form      form
	Groups    []option // none: too many to choose from
	Encodings []option
	Limit     int64 // of a file, in MiB
	Imports   []imports.Job
	Older     imports.ID // 0: no more
}

func (c call) showImports() error { return c.importsPage(http.StatusOK, form{}) }

func (c call) importsPage(status int, f form) error {
	v := importsView{Form: f, Encodings: encodings(), Groups: []option{{Text: words.Of("No additional group")}}, Limit: c.console.use.ImportJobs.MaxBytes() >> 20}
	groups, err := c.console.use.Groups.List(c.ctx, c.at(), app.Page{Limit: maxGroups + 1})
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.Name != orgs.DefaultGroup {
			v.Groups = append(v.Groups, option{Value: g.Name, Text: g.Name})
		}
	}
	if len(groups) > maxGroups {
		v.Groups = nil
	}
	found, err := c.console.use.ImportJobs.List(c.ctx, c.at(), imports.ID(c.number("before")), pageImports+1)
	if err != nil {
		return err
	}
	v.Imports, v.Older = paged(found, pageImports, func(j imports.Job) imports.ID { return j.ID })
	return c.render(status, "imports", words.Of("Import members"), v)
}

// uploadImport receives a file as a stream. It reads a refused file to the end, because browsers
// show the response only then.
func (c call) uploadImport() error {
	if c.file == nil || c.file.name() == "" {
		return c.refuseImport(http.StatusBadRequest, fileField, "choose a file")
	}
	file := c.fileReader()
	job, err := c.receiveImport(file)
	if err == nil {
		return c.redirect(c.below("imports", job.ID))
	}
	known, isFault := errors.AsType[*fault.Error](err)
	switch {
	case errors.Is(err, imports.ErrIncomplete), !isFault:
		return err
	case errors.Is(err, orgs.ErrGroupNotFound):
		drain(file)
		return c.refuseImport(http.StatusBadRequest, "group", known.Error())
	case errors.Is(err, imports.ErrNotText) && c.FormValue("encoding") == "":
		drain(file)
		return c.refuseImport(http.StatusBadRequest, fileField, known.Error()+". If it is text, choose its encoding.")
	case known.Kind() == fault.Invalid, known.Kind() == fault.TooLarge, known.Kind() == fault.Limited:
		drain(file)
		return c.refuseImport(web.Status(known.Kind()), fileField, known.Error())
	}
	return err
}

// receiveImport converts a file to CSV in UTF-8 and starts its check.
func (c call) receiveImport(file io.Reader) (job imports.Job, err error) {
	ctx := ports.ForOrganization(c.Request().Context(), c.at().Organization) // Not c.ctx: a large file takes longer.
	table, err := c.console.sheets.Open(ctx, c.at().Organization, file, c.FormValue("encoding"))
	if err != nil {
		return job, err
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	return c.console.use.ImportJobs.Upload(ctx, c.actor(), c.at(),
		importer.Upload{Name: c.file.name(), Group: strings.TrimSpace(c.FormValue("group")), Source: table.Source,
			File: tableReader{table, http.NewResponseController(c.Response())}})
}

// encodings returns the choices of a file's encoding.
func encodings() []option {
	all := []option{{Text: words.Of("detect it")}}
	for _, name := range sheets.Encodings() {
		all = append(all, option{Value: name, Text: name})
	}
	return all
}

// refuseImport shows the form again with the fault of a field.
func (c call) refuseImport(status int, field, message string) error {
	f := c.asSent()
	f.faults.Addf(field, "%s", message)
	return c.importsPage(status, f)
}

// importView is one import with its current state.
type importView struct {
	imports.Job
	StateText   words.Phrase          // for the state
	Result      *imports.Report       // of the dry run, or of the import; nil: there is none yet
	Preview     *imports.Preview      // nil: the file is gone
	Rejected    []imports.RejectedRow // the first of them
	Form        form                  // of the columns
	Mapped      []mappedColumn        // none: the file is gone, or has too many columns to be mapped
	Correctable *correctionView       // of the rejected rows; nil: none can be corrected here
	Undoable    bool
}

// stateTexts describe the states of an import.
var stateTexts = map[imports.State]words.Phrase{
	imports.Checking: words.Of("is being checked"), imports.Checked: words.Of("is ready to start"), imports.Running: words.Of("is running"),
	imports.Done: words.Of("is done"), imports.Cancelled: words.Of("was cancelled"), imports.Failed: words.Of("failed"),
	imports.Undoing: words.Of("is being undone"), imports.Undone: words.Of("was undone"),
}

func newImportView(job imports.Job) importView {
	v := importView{Job: job, StateText: stateTexts[job.State]}
	switch {
	case job.State == imports.Checked:
		v.Result = &job.Checked
	case job.State == imports.Undoing, job.State.Over() && !job.Started.IsZero():
		v.Result = &job.Counts
	}
	return v
}

// NotStored returns how many rejected rows were counted but not stored.
func (v importView) NotStored() int {
	if v.Result == nil {
		return 0
	}
	return v.Result.Rejected - v.Kept
}

// RowsPerSecond returns the rate as a whole number.
func (v importView) RowsPerSecond() int { return int(v.Rate()) }

func (c call) showImport() error {
	id := web.ID[imports.ID](c, "import")
	return c.importPage(id, func(v *importView) error { return c.correction(v, int(c.number("after")), form{}) })
}

// importPage renders an import. It first calls also, which may change the view.
func (c call) importPage(id imports.ID, also func(v *importView) error) error {
	job, rejected, err := c.console.use.ImportJobs.Show(c.ctx, c.at(), id, pageRejected)
	if err != nil {
		return err
	}
	v := newImportView(job)
	v.Rejected = rejected
	v.Undoable = job.Undoable(c.console.clock.Now()) == nil && job.Counts.Added()+job.Counts.Updated > 0
	if err := also(&v); err != nil {
		return err
	}
	if job.State == imports.Checking || job.State == imports.Checked {
		p, err := c.console.use.ImportJobs.Preview(c.ctx, c.at(), id)
		switch {
		case err == nil:
			v.Preview = &p
			v.addColumns(p)
		case fault.KindOf(err) != fault.Invalid: // Otherwise the job has just ended, or its check will report the fault.
			return err
		}
	}
	status := statusOf(v.Form)
	if v.Correctable != nil {
		status = statusOf(v.Form, v.Correctable.Form)
	}
	return c.render(status, "import", job.File, v)
}

// showImportProgress responds with the fragment about the progress, which a script requests every
// second. When the job is no longer working, it makes the browser reload the page.
func (c call) showImportProgress() error {
	id := web.ID[imports.ID](c, "import")
	job, _, err := c.console.use.ImportJobs.Show(c.ctx, c.at(), id, 0)
	if err != nil {
		return err
	}
	if !job.State.Working() {
		c.reload(c.below("imports", id))
	}
	return c.fragment("import-progress", newImportView(job))
}

func (c call) startImport() error {
	id := web.ID[imports.ID](c, "import")
	if err := c.console.use.ImportJobs.Start(c.ctx, c.actor(), c.at(), id); err != nil {
		return err
	}
	return c.redirect(c.below("imports", id))
}

func (c call) cancelImport() error {
	id := web.ID[imports.ID](c, "import")
	if err := c.console.use.ImportJobs.Cancel(c.ctx, c.actor(), c.at(), id); err != nil {
		return err
	}
	return c.redirect(c.below("imports", id))
}

// byteOrderMark marks a file as UTF-8 for spreadsheet programs. An import ignores it.
const byteOrderMark = "\ufeff"

// downloadRejected streams the list of the rejected rows.
func (c call) downloadRejected() error {
	id := web.ID[imports.ID](c, "import")
	file := c.download(fmt.Sprintf("rejected-%d.csv", id), "text/csv; charset=utf-8")
	mark := byteOrderMark
	err := c.console.use.ImportJobs.Rejected(c.Request().Context(), c.at(), id, func(line string) error {
		_, err := io.WriteString(file, mark+line+"\n")
		mark = ""
		return err
	})
	if err != nil {
		return err
	}
	return file.finish()
}
