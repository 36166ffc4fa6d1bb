package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// importChunk is how many rows become one unit of work: large enough that the database works in sets, small enough that
// others get their turn in between. importWriters is how many are written at a time: a database that can, works at two at once, and one
// that cannot lets the second wait for its turn.
const (
	importChunk   = 2_000
	importWriters = 2
)

// Imports is the bulk import of users from a file (contract 1.1 and 1.2, decisions 7): one engine for every way to start it.
type Imports struct {
	store       ports.Store
	keysPerPass int
}

// NewImports returns the use case of bulk imports.
func NewImports(store ports.Store) *Imports { return &Imports{store: store, keysPerPass: keysPerPass} }

// Import says what to import and how.
type Import struct {
	// Open returns the file from its beginning. It is called more than once: the file is looked through as a whole before
	// the first row is written.
	Open         func() (io.ReadCloser, error)
	Name         string // of the file, as the audit log tells it
	Organization string // slug; empty: the organization with the lowest id
	Group        string // linked beside the Default group; empty: none
	CreateGroup  bool   // create the group when it is missing
	DryRun       bool   // say what would become of the rows and write nothing
}

// Observer hears of an import while it runs, always from one goroutine at a time.
type Observer interface {
	// Begin is told the header, the number of rows and the organization before the first row is written.
	Begin(h imports.Header, rows int, o orgs.Organization)
	// Rejected is told of each row that is left out.
	Rejected(e *imports.RowError)
	// Progress is told now and then how far the import is.
	Progress(done ImportReport)
}

// ImportReport counts what became of the rows.
type ImportReport struct {
	Created    int // new users
	Enrolled   int // users who were known, now members of the organization
	Updated    int // members who gained a group, an address or metadata
	Unchanged  int // members to whom the row added nothing
	Duplicates int // rows with the e-mail of an earlier row
	Rejected   int // rows that are wrong
}

// Rows is how many rows the report speaks of.
func (r ImportReport) Rows() int {
	return r.Created + r.Enrolled + r.Updated + r.Unchanged + r.Duplicates + r.Rejected
}

// Run imports a file. A file that cannot be read as a whole, an unknown organization or group is an error and nothing is written. A bad row is
// told to the observer and the rest go on. When ctx ends, or the store fails, the rows reported so far are kept; running
// the import again completes it.
//
// The audit log tells of an import with two entries, one before the first row is written and one with the counts: not of each row.
func (i *Imports) Run(ctx context.Context, by audit.Actor, what Import, o Observer) (ImportReport, error) {
	if what.Group != "" {
		if _, err := names.Label("group", what.Group); err != nil {
			return ImportReport{}, err
		}
	}
	org, group, err := i.target(ctx, what, false)
	if err != nil {
		return ImportReport{}, err
	}
	seen, err := survey(ctx, what.Open, i.keysPerPass)
	if err != nil {
		return ImportReport{}, err
	}
	newGroup := group == 0 && what.Group != ""
	if newGroup && !what.DryRun {
		if org, group, err = i.target(ctx, what, true); err != nil {
			return ImportReport{}, err
		}
	}
	o.Begin(seen.header, seen.rows, org)
	if err := i.record(ctx, by, what, org, audit.ImportBegun, audit.State{"file": what.Name, "rows": seen.rows, "group": what.Group}); err != nil {
		return ImportReport{}, err
	}
	run := importRun{store: i.store, org: org, group: group, newGroup: newGroup, dryRun: what.DryRun, duplicate: seen.duplicate, observer: o}
	report, err := run.do(ctx, what.Open)
	ended := report.state()
	if ended["file"] = what.Name; err != nil {
		ended["ended_by"] = err.Error()
	}
	return report, errors.Join(err, i.record(context.WithoutCancel(ctx), by, what, org, audit.ImportEnded, ended))
}

// record notes that an import begins or how it ended; a dry run does neither.
func (i *Imports) record(ctx context.Context, by audit.Actor, what Import, org orgs.Organization, a audit.Action, after audit.State) error {
	if what.DryRun {
		return nil
	}
	return i.store.Update(ctx, func(tx ports.Tx) error {
		return tx.Audit().Record(ctx, audit.Entry{Organization: org.ID, Actor: by, Action: a, Object: Path{Organization: org.Slug}.object("imports"), After: after})
	})
}

func (r ImportReport) state() audit.State {
	return audit.State{"created": r.Created, "enrolled": r.Enrolled, "updated": r.Updated, "unchanged": r.Unchanged,
		"duplicates": r.Duplicates, "rejected": r.Rejected}
}

// target finds the organization and the group. A group that is to be created is created only when write is set, so that a
// file which is refused leaves nothing behind.
func (i *Imports) target(ctx context.Context, what Import, write bool) (org orgs.Organization, group orgs.GroupID, err error) {
	find := func(tx ports.Tx) error {
		if what.Organization == "" {
			org, err = tx.Orgs().First(ctx)
		} else {
			org, err = tx.Orgs().BySlug(ctx, what.Organization)
		}
		if err != nil || what.Group == "" {
			return err
		}
		var g orgs.Group
		if write {
			g, _, err = tx.Orgs().EnsureGroup(ctx, org.ID, what.Group)
		} else if g, err = tx.Orgs().Group(ctx, org.ID, what.Group); errors.Is(err, orgs.ErrGroupNotFound) && what.CreateGroup {
			err = nil
		}
		group = g.ID
		return err
	}
	if write {
		return org, group, i.store.Update(ctx, find)
	}
	return org, group, i.store.View(ctx, find)
}

// importRun is one pass over a file that writes its rows.
type importRun struct {
	store     ports.Store
	org       orgs.Organization
	group     orgs.GroupID
	newGroup  bool // nobody was linked to the group before
	dryRun    bool
	duplicate rowSet
	observer  Observer
	report    ImportReport
}

// chunk is a stretch of the file, read and checked.
type chunk struct {
	enrollments []users.Enrollment
	rows        []imports.Row // of the enrollments
	rejected    []*imports.RowError
	duplicates  int
}

// do reads and checks the file in one goroutine while the store writes, importWriters chunks at a time. When ctx ends, or the
// store fails, the chunks that are being written are written to their end and reported: otherwise nobody could tell what was kept.
func (r *importRun) do(ctx context.Context, open func() (io.ReadCloser, error)) (ImportReport, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	chunks := make(chan chunk)
	read := make(chan error, 1)
	go func() {
		defer close(chunks)
		read <- r.read(ctx, open, chunks)
	}()
	var failed error
	for w := range r.enroll(ctx, chunks) {
		err := <-w.end
		if err == nil {
			r.tell(w)
			continue
		}
		failed = cmp.Or(failed, err)
		stop()
	}
	ended := <-read // The file is the caller's again once this returns.
	return r.report, cmp.Or(failed, ended)
}

// written is a chunk in the hands of the store.
type written struct {
	chunk
	done []users.Enrolled
	end  chan error
}

// enroll has chunks written and returns them in the order of the file. No two of them are about one person, because duplicates
// were left out of the whole file.
func (r *importRun) enroll(ctx context.Context, chunks <-chan chunk) <-chan *written {
	begun := make(chan *written, importWriters-1) // the receiver waits for one more
	go func() {
		defer close(begun)
		for c := range chunks {
			w := &written{chunk: c, end: make(chan error, 1)}
			begun <- w
			if ctx.Err() != nil { // What was read ahead is dropped.
				w.end <- context.Cause(ctx)
				continue
			}
			go func() {
				var err error
				if len(w.enrollments) > 0 {
					w.done, err = r.store.Enroll(context.WithoutCancel(ctx), r.org.Slug,
						users.Batch{Enrollments: w.enrollments, Group: r.group, MergeFields: true, DryRun: r.dryRun})
				}
				w.end <- err
			}()
		}
	}()
	return begun
}

func (r *importRun) read(ctx context.Context, open func() (io.ReadCloser, error), chunks chan<- chunk) error {
	c := chunk{}
	send := func() error {
		select {
		case chunks <- c:
			c = chunk{}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_, err := eachRow(open, func(n int, row imports.Row, e users.Enrollment, wrong *imports.RowError) error {
		switch {
		case wrong != nil:
			c.rejected = append(c.rejected, wrong)
		case r.duplicate.has(n):
			c.duplicates++
		default:
			c.enrollments = append(c.enrollments, e)
			c.rows = append(c.rows, row)
		}
		if len(c.enrollments) < importChunk && len(c.rejected) < importChunk && c.duplicates < importChunk {
			return nil
		}
		return send()
	})
	if err != nil {
		return err
	}
	return send()
}

// tell counts what became of a chunk and tells the observer.
func (r *importRun) tell(w *written) {
	for n, e := range w.done {
		if e.Err != nil {
			w.rejected = append(w.rejected, w.rows[n].Reject(reason(e.Err)))
			continue
		}
		r.count(e)
	}
	slices.SortFunc(w.rejected, func(a, b *imports.RowError) int { return a.Line - b.Line })
	for _, wrong := range w.rejected {
		r.observer.Rejected(wrong)
	}
	r.report.Rejected += len(w.rejected)
	r.report.Duplicates += w.duplicates
	r.observer.Progress(r.report)
}

func (r *importRun) count(e users.Enrolled) {
	switch {
	case e.Created:
		r.report.Created++
	case e.Enrolled:
		r.report.Enrolled++
	case e.Changed || r.newGroup: // A dry run creates no group, and so the store cannot know that members would gain one.
		r.report.Updated++
	default:
		r.report.Unchanged++
	}
}

// eachRow calls visit for every row of a file, counted from 0, with its enrollment or with what is wrong with it.
func eachRow(open func() (io.ReadCloser, error), visit func(n int, row imports.Row, e users.Enrollment, wrong *imports.RowError) error) (imports.Header, error) {
	file, err := open()
	if err != nil {
		return imports.Header{}, err
	}
	defer func() { _ = file.Close() }() // Only read from.
	reader, err := imports.NewReader(file)
	if err != nil {
		return imports.Header{}, err
	}
	header := reader.Header()
	for n := 0; ; n++ {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return header, nil
		}
		var wrong *imports.RowError
		if err != nil && !errors.As(err, &wrong) {
			return header, err
		}
		var e users.Enrollment
		if wrong == nil {
			if e, err = header.Enrollment(row.Cells); err != nil {
				wrong = row.Reject(reason(err))
			}
		}
		if err := visit(n, row, e, wrong); err != nil {
			return header, err
		}
	}
}

func reason(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return strings.ReplaceAll(f.Error(), "\n", " ")
	}
	return err.Error()
}
