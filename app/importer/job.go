package importer

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// jobRun is an importer at work on one job.
type jobRun struct {
	*Importer
	job    imports.Job // as it is stored
	org    orgs.Organization
	header imports.Header
	turns  *watchdog.Loop
	began  time.Time // when it was last this organization's turn
}

// errOthersTurn ends the work at a job because another organization has waited long enough.
var errOthersTurn = errors.New("it is another organization's turn")

// turning is a file of which every piece that is read shows that its import goes on.
type turning struct {
	io.ReadCloser
	turns *watchdog.Loop
}

// Read reads the next piece.
func (t turning) Read(b []byte) (int, error) {
	t.turns.Turn()
	return t.ReadCloser.Read(b)
}

// do scans the file, as every import does, writes the rows that are left, and finishes the job.
func (r *jobRun) do(ctx context.Context) error {
	read := r.files.open(ctx, r.job.ID)
	open := func() (io.ReadCloser, error) {
		file, err := read()
		return turning{file, r.turns}, err
	}
	seen, err := scan(ctx, open, r.keysPerPass)
	if err != nil {
		return err
	}
	r.header = seen.header
	if err := r.move(ctx, r.job.Scan(seen.rows, r.clock.Now()), nil); err != nil {
		return err
	}
	// One chunk at a time: how far the job is, is one number, and those who wait for the database get their turn.
	p := filePass{open: open, duplicate: seen.duplicate, from: r.job.Done, writers: 1, write: r.writeInTurn, report: func(outcome) {}}
	if err := p.do(ctx); err != nil {
		return err
	}
	return r.move(ctx, r.job.Finish(r.clock.Now()), func(tx ports.Tx, saved imports.Job) error {
		if saved.State != imports.Done {
			return nil
		}
		return record(ctx, tx, audit.ImportEnded, r.org.Slug, saved, reportState(saved.Counts))
	})
}

// move stores the job as it shall be, and what goes with that, in a unit of its own.
func (r *jobRun) move(ctx context.Context, job imports.Job, also func(tx ports.Tx, saved imports.Job) error) error {
	var saved imports.Job
	err := r.store.Update(ctx, func(tx ports.Tx) (err error) {
		if saved, err = tx.Imports().Save(ctx, job); err != nil || also == nil {
			return err
		}
		return also(tx, saved)
	})
	if err == nil {
		r.job = saved
	}
	return err
}

// errSpared undoes a unit that has changed somebody whom it may not change.
var errSpared = errors.New("some rows of the chunk are to be left out")

// writeInTurn writes a chunk, and then gives way to another organization if one waits and the job has had its turn.
func (r *jobRun) writeInTurn(ctx context.Context, c chunk) (outcome, error) {
	o, err := r.write(ctx, c)
	now := r.clock.Now()
	if err != nil || r.job.Done == r.job.Rows || now.Sub(r.began) < turn {
		return o, err
	}
	err = r.store.View(ctx, func(tx ports.Tx) error {
		_, err := tx.Imports().Waiting(ctx, now)
		return err
	})
	switch {
	case err == nil:
		return o, errOthersTurn
	case errors.Is(err, imports.ErrNothingToDo):
		r.began = now
		return o, nil
	}
	return o, err
}

// write writes a chunk, or finds out what would become of it, and counts it. Rows that change somebody who stands above whoever started the import
// are known only when they are written. There are few if any: then all is undone, and the others are written without them.
func (r *jobRun) write(ctx context.Context, c chunk) (o outcome, err error) {
	if c.size() == 0 {
		return outcome{}, nil
	}
	r.turns.Turn()
	batch := users.Batch{Enrollments: c.enrollments, Group: r.job.Group.ID, MergeFields: true, DryRun: r.job.State == imports.Checking}
	var saved imports.Job
	var spared chunk
	count := func(tx ports.Tx, done []users.Enrolled) error {
		by, err := r.officer(ctx, tx)
		if err != nil {
			return err
		}
		if spared, done = c.sparing(by, done); len(spared.rows) < len(c.rows) && !batch.DryRun {
			return errSpared
		}
		o = spared.outcome(done, false)
		saved, err = r.count(ctx, tx, o)
		return err
	}
	switch {
	case len(batch.Enrollments) == 0:
		err = r.store.Update(ctx, func(tx ports.Tx) error { return count(tx, nil) })
	case batch.DryRun:
		var done []users.Enrolled
		if done, err = r.store.Enroll(ctx, r.org.Slug, batch); err == nil {
			err = r.store.Update(ctx, func(tx ports.Tx) error { return count(tx, done) })
		}
	default:
		_, err = r.store.Enroll(ctx, r.org.Slug, batch, count)
	}
	switch {
	case errors.Is(err, errSpared):
		return r.write(ctx, spared)
	case err == nil:
		r.rows.Add(int64(c.size()))
		r.job = saved // Only now: a unit may run more than once.
	}
	return o, err
}

// officer is whoever started the job, with what they may do now; imports.ErrNotAllowed.
func (r *jobRun) officer(ctx context.Context, tx ports.Tx) (operators.Officer, error) {
	of, err := tx.Operators().Accounts(ctx, r.job.By.Name)
	if err != nil {
		return operators.Officer{}, err
	}
	v := operators.For(of, r.org.ID).Visitor()
	if !v.May(r.org.Slug, operators.Operator) {
		return operators.Officer{}, imports.ErrNotAllowed
	}
	return operators.Officer{Actor: r.job.By, Right: v.Right(r.org.Slug)}, nil
}

// count stores what became of a chunk.
func (r *jobRun) count(ctx context.Context, tx ports.Tx, o outcome) (imports.Job, error) {
	kept := make([]imports.Kept, min(len(o.rejected), r.job.Room()))
	for n := range kept {
		kept[n] = r.header.Keep(o.rejected[n])
	}
	saved, err := tx.Imports().Save(ctx, r.job.Advance(o.report, len(kept), r.clock.Now(), r.set.Lease))
	if err != nil {
		return imports.Job{}, err
	}
	return saved, tx.Imports().Keep(ctx, r.job.ID, kept)
}
