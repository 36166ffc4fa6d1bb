package browser_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// fileField returns the file field of the page.
func (t *tab) fileField() runtime.RemoteObjectID {
	t.Helper()
	const label = "Choose a CSV file or an Excel workbook, or drop it here"
	field := eval[*runtime.RemoteObject](t, fmt.Sprintf("[...document.querySelectorAll('input[type=file]')].find(e => e.labels[0].innerText.trim() === %s)", quote(label)))
	require.NotEmpty(t, field.ObjectID, "no field for a file %q", label)
	return field.ObjectID
}

// upload selects a file in the file field.
func (t *tab) upload(path string) {
	t.Helper()
	t.steps(do(dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, ObjectID: t.fileField()}))
}

// drop drags a file onto the file field, and drops it.
func (t *tab) drop(path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	places, err := chromedp.Call(ctx, dom.GetContentQuads, dom.GetContentQuadsParams{ObjectID: t.fileField()})
	require.NoError(t, err)
	require.NotEmpty(t, places.Quads, "the field takes no room")
	q := places.Quads[0]
	for _, what := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		t.steps(do(input.DispatchDragEvent, input.DispatchDragEventParams{Type: what, X: (q[0] + q[4]) / 2, Y: (q[1] + q[5]) / 2,
			Data: &input.DragData{Items: []*input.DragDataItem{}, Files: []string{path}, DragOperationsMask: 1}}))
	}
}

func TestDropFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.signedIn()
	p.open("/console/o/acme/imports/")
	p.drop(w.file("dropped.csv", mixedFile))
	p.clickThrough(button, "Upload and check")
	p.awaits("Preview")
	p.sees("dropped.csv", "Added 3 users who are new in this organization", "Rejected 2")
}

// remoteImport is an import that another instance of the service runs, and its progress.
type remoteImport struct {
	*world
	job imports.Job
}

// importElsewhere starts an import of new users on another instance.
func (w *world) importElsewhere(file string, rows int) *remoteImport {
	w.Helper()
	header, err := imports.NewReader(io.NopCloser(strings.NewReader("email\n")))
	require.NoError(w, err)
	e := &remoteImport{world: w}
	now := time.Now()
	require.NoError(w, w.update(func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(w.Context(), "acme")
		if err != nil {
			return err
		}
		by := audit.Actor{Name: "grace", Via: audit.Console}
		job, err := tx.Imports().Create(w.Context(), imports.NewJob(org.ID, file, "", orgs.Group{}, by, now))
		if err != nil {
			return err
		}
		if job, err = job.Complete(header.Header(), nil, 1<<20, now).Finish(now).Start(by, now); err != nil {
			return err
		}
		e.job, err = tx.Imports().Save(w.Context(), job.Claim("another instance", now, time.Hour).Scan(rows, now.Add(-time.Minute), time.Hour))
		return err
	}))
	return e
}

// writeRows imports a number of rows.
func (e *remoteImport) writeRows(rows int) error {
	e.Helper()
	return e.update(func(tx ports.Tx) error {
		job, err := tx.Imports().Save(e.Context(), e.job.Advance(imports.Report{Created: rows}, 0, time.Now(), time.Hour))
		if err == nil {
			e.job = job
		}
		return err
	})
}

func TestCancelRunningImport(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		far := w.importElsewhere("everybody.csv", 100_000)
		require.NoError(p, far.writeRows(40_000))
		p.clickThrough(link, "Acme Inc.")
		p.menu("People", "Imports")
		p.upload(w.file("mixed.csv", mixedFile))
		p.clickThrough(button, "Upload and check")
		p.sees("It waits for a worker.", "katherine.johnson@example.com", "not known yet") // One import of an organization runs at a time.

		p.menu("People", "Imports")
		p.clickThrough(link, "everybody.csv")
		p.sees("Rows: 40,000 of 100,000", "So far 40,000 added", "Started by grace", "rows per second")
		require.NoError(p, far.writeRows(30_000))
		p.awaits("Rows: 70,000 of 100,000")
		p.clickThrough(button, "Stop (keeps rows already imported)")
		p.sees("The import was cancelled.", "Result", "Added 70,000")
		p.doesNotSee("Cancel:", "Remaining")
		require.ErrorIs(p, far.writeRows(1), imports.ErrTaken, "nothing is written once it is cancelled")

		p.menu("People", "Imports")
		p.clickThrough(link, "mixed.csv")
		p.awaits("Preview")
		p.clickThrough(button, "Cancel: import nothing")
		p.sees("The import was cancelled.")
		p.menu("People")
		p.sees("No users yet.")
		p.menu("Settings", "Audit log")
		assert.Equal(p, 2, strings.Count(eval[string](p, "document.querySelector('tbody').innerText"), "import.cancel"))
	})
}
