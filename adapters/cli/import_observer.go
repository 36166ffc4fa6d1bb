package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/sheets"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
)

// maxShown is how many rejected rows are printed without --errors.
const maxShown = 10

// importWatch observes an import: it shows the progress and collects rejected rows.
type importWatch struct {
	out      io.Writer
	rejects  *rejectedFile
	progress *progress
	table    sheets.Table // the file as it is read

	started      bool
	organization string
	rows         int
	rejected     int
	shown        []string
}

var _ importer.Observer = (*importWatch)(nil)

func newImportWatch(out io.Writer, r *rejectedFile) *importWatch {
	return &importWatch{out: out, rejects: r}
}

// Begin prints the number of rows, the organization, a guessed encoding and the ignored columns.
func (w *importWatch) Begin(h imports.Header, rows int, o orgs.Organization) {
	w.started, w.organization, w.rows = true, o.Slug, rows
	w.rejects.begin(h)
	if w.table.Guessed {
		_, _ = fmt.Fprintf(w.out, "tocsin: warning: the file is not UTF-8; it is read as %s. Use --encoding if that is wrong\n", w.table.Source)
	}
	if len(h.Ignored()) > 0 {
		_, _ = fmt.Fprintln(w.out, oneLine("tocsin: warning: these columns are ignored: "+strings.Join(h.Ignored(), ", ")))
	}
	_, _ = fmt.Fprintf(w.out, "importing %d rows into %s\n", rows, o.Slug)
	w.progress = newProgress(w.out, rows, isTerminal(w.out), time.Now)
}

// Rejected records a rejected row.
func (w *importWatch) Rejected(e *imports.RowError) {
	w.rejects.add(e)
	if w.rejected++; w.rejected <= maxShown {
		w.shown = append(w.shown, e.Error())
	}
}

// Progress shows the progress of the import.
func (w *importWatch) Progress(done imports.Report) { w.progress.at(done.Rows()) }

// end ends the progress and reports the rejected rows.
func (w *importWatch) end() {
	if !w.started {
		return
	}
	w.progress.end()
	switch {
	case w.rejected == 0:
	case w.rejects != nil:
		_, _ = fmt.Fprintf(w.out, "rejected rows: %s\n", w.rejects.path)
	default:
		for _, s := range w.shown {
			_, _ = fmt.Fprintln(w.out, oneLine(s))
		}
		if more := w.rejected - len(w.shown); more > 0 {
			_, _ = fmt.Fprintf(w.out, "and %d more rejected rows: --errors FILE takes them all\n", more)
		}
	}
}
