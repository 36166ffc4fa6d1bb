package importer

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// Jobs is what operators do with imports in the background; an Importer runs them.
type Jobs struct {
	store    ports.Store
	clock    ports.Clock
	files    files
	maxBytes int64
	limits   *quotas.Defaults
}

// NewJobs returns the use cases of background imports of files up to maxBytes. limits are for
// organizations without limits of their own; files that wait to be started count as imports under
// way.
func NewJobs(store ports.Store, clock ports.Clock, maxBytes int64, limits *quotas.Defaults) *Jobs {
	return &Jobs{store: store, clock: clock, files: files{store}, maxBytes: maxBytes, limits: limits}
}

// MaxBytes is the size of the largest file.
func (j *Jobs) MaxBytes() int64 { return j.maxBytes }

// previewRows is how many rows a preview shows.
const previewRows = 20

// Upload is a file to be imported.
type Upload struct {
	Name   string // as its sender named it
	Group  string // that every member in it is added to; empty: none
	Source string // its format before it became CSV in UTF-8; empty: unknown
	File   io.Reader
	// like is the import whose rows this file corrects: it gives the group and the names of the
	// columns. Nil: none.
	like  *imports.Job
	lines []int // of these rows
}

// Upload stores a file to be imported as it arrives, and has it checked. It leaves nothing of a
// file that breaks off or is refused: imports.ErrTooLarge, imports.ErrEmpty, imports.ErrNotText,
// imports.ErrNoEmail, orgs.ErrGroupNotFound, *quotas.Exceeded. The file is stored piece by piece,
// and the import appears when the last one is stored.
func (j *Jobs) Upload(ctx context.Context, by audit.Actor, at app.Path, u Upload) (imports.Job, error) {
	job, err := j.begin(ctx, by, at, u)
	if err != nil {
		return imports.Job{}, err
	}
	done, err := j.receive(ctx, at, job, u)
	if err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
		defer cancel()
		// The sweep removes what cannot be removed now.
		return imports.Job{}, errors.Join(err, j.files.discard(cleanup, job.ID))
	}
	return done, nil
}

func (j *Jobs) begin(ctx context.Context, by audit.Actor, at app.Path, u Upload) (imports.Job, error) {
	return ports.Update(ctx, j.store, func(tx ports.Tx) (job imports.Job, err error) {
		org, err := tx.Orgs().BySlug(ctx, at.Organization)
		if err != nil {
			return job, err
		}
		var g orgs.Group
		if u.like != nil {
			g = u.like.Group
		} else if u.Group != "" {
			if g, err = tx.Orgs().Group(ctx, org.ID, u.Group); err != nil {
				return job, err
			}
		}
		if job, err = tx.Imports().Create(ctx, imports.NewJob(org.ID, u.Name, u.Source, g, by, j.clock.Now())); err != nil {
			return job, err
		}
		return job, app.WithinQuota(ctx, tx, j.limits, org.ID, quotas.Imports)
	})
}

func (j *Jobs) receive(ctx context.Context, at app.Path, job imports.Job, u Upload) (imports.Job, error) {
	size, err := j.files.take(ctx, job.ID, u.File, j.maxBytes)
	if err != nil {
		return job, err
	}
	table, err := j.table(ctx, job.ID)
	if err != nil {
		return job, err
	}
	var done imports.Job
	err = j.store.Update(ctx, func(tx ports.Tx) (err error) {
		header, columns := table.Header, table.Header.Mapping()
		if u.like == nil {
			if header, columns, err = j.mapped(ctx, tx, job, table); err != nil {
				return err
			}
		}
		if done, err = tx.Imports().Save(ctx, job.Complete(header, columns, size, j.clock.Now())); err != nil {
			return err
		}
		if u.like != nil {
			if err := tx.Imports().Correct(ctx, u.like.ID, u.lines, done.ID); err != nil {
				return err
			}
		}
		return record(ctx, tx, audit.ImportUploaded, at.Organization, done, audit.State{"file": job.File, "bytes": done.Size, "group": job.Group.Name})
	})
	return done, err
}

// record records an action on a job by the user who is responsible for it now.
func record(ctx context.Context, tx ports.Tx, a audit.Action, org string, j imports.Job, after audit.State) error {
	return tx.Audit().Record(ctx, audit.Entry{Organization: j.Organization, Actor: j.Editor(), Action: a,
		Object: app.Path{Organization: org}.Object("imports", strconv.FormatInt(int64(j.ID), 10)), After: after})
}

// List returns imports of the organization, the newest first: at most limit, older than the one
// with the id before (0: from the newest on). orgs.ErrNotFound.
func (j *Jobs) List(ctx context.Context, at app.Path, before imports.ID, limit int) ([]imports.Job, error) {
	return ports.View(ctx, j.store, func(tx ports.Tx) ([]imports.Job, error) {
		org, err := tx.Orgs().BySlug(ctx, at.Organization)
		if err != nil {
			return nil, err
		}
		return tx.Imports().List(ctx, org.ID, before, limit)
	})
}

// Show returns an import with its first rejected rows, at most limit; imports.ErrNotFound.
func (j *Jobs) Show(ctx context.Context, at app.Path, id imports.ID, limit int) (job imports.Job, rejected []imports.RejectedRow, err error) {
	err = j.store.View(ctx, func(tx ports.Tx) error {
		if job, err = jobOf(ctx, tx, at, id); err != nil {
			return err
		}
		rejected, err = tx.Imports().Rejected(ctx, id, 0, limit)
		return err
	})
	return job, rejected, err
}

// Preview returns the first rows of the file of an import that is not over; imports.ErrNotFound,
// imports.ErrOver.
func (j *Jobs) Preview(ctx context.Context, at app.Path, id imports.ID) (imports.Preview, error) {
	err := j.store.View(ctx, func(tx ports.Tx) error {
		job, err := jobOf(ctx, tx, at, id)
		if err == nil && job.State.Over() {
			return imports.ErrOver
		}
		return err
	})
	if err != nil {
		return imports.Preview{}, err
	}
	return j.preview(ctx, id)
}

func (j *Jobs) preview(ctx context.Context, id imports.ID) (imports.Preview, error) {
	file, err := j.files.open(ctx, id)()
	if err != nil {
		return imports.Preview{}, err
	}
	return imports.ReadPreview(file, previewRows)
}

// Start begins an import that has been checked; imports.ErrNotFound, imports.ErrNotChecked.
func (j *Jobs) Start(ctx context.Context, by audit.Actor, at app.Path, id imports.ID) error {
	return j.store.Update(ctx, func(tx ports.Tx) error {
		job, err := jobOf(ctx, tx, at, id)
		if err != nil {
			return err
		}
		if job, err = job.Start(by, j.clock.Now()); err != nil {
			return err
		}
		if err := tx.Imports().ForgetRejected(ctx, id); err != nil { // The dry run's rejections; the import finds them again.
			return err
		}
		if job, err = tx.Imports().Save(ctx, job); err != nil {
			return err
		}
		return record(ctx, tx, audit.ImportBegun, at.Organization, job, audit.State{"file": job.File, "rows": job.Rows})
	})
}

// Cancel stops an import, or its undo. The rows written so far stay and are counted; the importer
// that runs it stops. imports.ErrNotFound, imports.ErrOver.
func (j *Jobs) Cancel(ctx context.Context, by audit.Actor, at app.Path, id imports.ID) error {
	return j.store.Update(ctx, func(tx ports.Tx) error {
		job, err := jobOf(ctx, tx, at, id)
		if err != nil {
			return err
		}
		before := job.State
		if job, err = job.Cancel(j.clock.Now()); err != nil {
			return err
		}
		if job, err = tx.Imports().Save(ctx, job); err != nil {
			return err
		}
		job.By, job.Undo.By = by, by // for the entry alone: the job keeps the user who started it
		if before == imports.Undoing {
			return record(ctx, tx, audit.ImportUndoEnded, at.Organization, job, undoState(job))
		}
		after := audit.State{}
		if before == imports.Running {
			after = reportState(job.Counts)
		}
		return record(ctx, tx, audit.ImportCancelled, at.Organization, job, after)
	})
}

// rejectedPage is how many rejected rows are read at a time. Each may have imports.MaxRow.
const rejectedPage = 50

// Rejected calls line with each line of the list of the rows that an import rejected, beginning
// with its header; imports.ErrNotFound. There is no list for a file whose header was not
// understood.
func (j *Jobs) Rejected(ctx context.Context, at app.Path, id imports.ID, line func(string) error) error {
	job, rejected, err := j.Show(ctx, at, id, rejectedPage)
	if err != nil {
		return err
	}
	header, err := imports.ParseHeader(job.Header)
	if err != nil {
		return err
	}
	if err := line(header.RejectsHeader()); err != nil {
		return err
	}
	for len(rejected) > 0 {
		for _, row := range rejected {
			if err := line(header.RejectsRow(row)); err != nil {
				return err
			}
		}
		after := rejected[len(rejected)-1].Line
		rejected, err = ports.View(ctx, j.store, func(tx ports.Tx) ([]imports.RejectedRow, error) {
			return tx.Imports().Rejected(ctx, id, after, rejectedPage)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func jobOf(ctx context.Context, tx ports.Tx, at app.Path, id imports.ID) (imports.Job, error) {
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	if err != nil {
		return imports.Job{}, err
	}
	return tx.Imports().ByID(ctx, org.ID, id)
}
