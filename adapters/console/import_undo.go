package console

import (
	"net/http"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
)

// undoView is the page that asks for confirmation before an import is undone.
type undoView struct {
	imports.Job
	Plan       imports.Undo
	Unrecorded int    // users added by the import that an undo cannot find
	Reason     string // why it cannot be undone; empty: it can
}

func (c call) showUndoImport() error {
	id := web.ID[imports.ID](c, "import")
	job, plan, err := c.console.use.ImportJobs.PlanUndo(c.ctx, c.editor(), c.at(), id)
	v := undoView{Job: job, Plan: plan, Unrecorded: plan.Unrecorded(job.Counts.Added() - job.Undo.New)}
	if fault.KindOf(err) == fault.Invalid {
		v.Reason, err = sentence(err.Error()), nil
	}
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, "import-undo", words.Of("Undo %s", job.File), v)
}

func (c call) undoImport() error {
	id := web.ID[imports.ID](c, "import")
	if err := c.console.use.ImportJobs.Undo(c.ctx, c.actor(), c.at(), id); err != nil {
		return err
	}
	return c.redirect(c.below("imports", id))
}
