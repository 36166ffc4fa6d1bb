package app

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// ImporterSettings say how an importer works.
type ImporterSettings struct {
	Lease     time.Duration // how long a job is left alone when whoever works at it is not heard of
	Poll      time.Duration // how often the store is asked for jobs
	Sweep     time.Duration // how often what is no longer needed is removed
	Retention time.Duration // how long imports that are over are kept; 0: for ever
}

const (
	// importSlots is how many jobs an importer works at, so that a large one does not keep the next organization waiting.
	importSlots = 2
	// stumblePause is how long a job waits after a failure that is not its own.
	stumblePause = 10 * time.Second
)

// Importer runs imports in the background: it checks files and writes their rows, a chunk at a time. Any number of them may share a store.
//
// What becomes of a chunk is counted in the unit of work that writes it, together with how far the job is: whatever ends the process, the job goes
// on with the row behind the last one that was written, and every row is counted once. The same unit fails when the job was cancelled or taken
// over meanwhile, so that nothing is written behind anybody's back.
type Importer struct {
	store       ports.Store
	files       importFiles
	clock       ports.Clock
	log         *slog.Logger
	set         ImporterSettings
	keysPerPass int
}

// NewImporter returns an importer on a store.
func NewImporter(store ports.Store, clock ports.Clock, log *slog.Logger, set ImporterSettings) *Importer {
	return &Importer{store: store, files: importFiles{store}, clock: clock, log: log, set: set, keysPerPass: keysPerPass}
}

// Run works until ctx ends. Then it writes the chunks that it has begun, gives its jobs back, and returns.
func (i *Importer) Run(ctx context.Context) {
	var busy sync.WaitGroup
	for range importSlots {
		busy.Go(func() { i.workLoop(ctx) })
	}
	i.sweepLoop(ctx)
	busy.Wait()
}

func (i *Importer) workLoop(ctx context.Context) {
	for ctx.Err() == nil {
		job, org, err := i.claim(ctx)
		switch {
		case err == nil:
			i.work(ctx, job, org)
			continue
		case !errors.Is(err, imports.ErrNothingToDo) && !errors.Is(err, imports.ErrTaken) && ctx.Err() == nil:
			i.log.Error("no import could be taken on", "error", err)
		}
		pause(ctx, i.set.Poll, nil)
	}
}

// claim takes on the job that has waited longest. It looks before it writes, because nearly always nothing waits.
func (i *Importer) claim(ctx context.Context) (job imports.Job, org orgs.Organization, err error) {
	err = i.store.View(ctx, func(tx ports.Tx) error {
		_, err := tx.Imports().Waiting(ctx, i.clock.Now())
		return err
	})
	if err != nil {
		return job, org, err
	}
	owner := rand.Text() // of this time alone: what an earlier one left behind is not ours either
	err = i.store.Update(ctx, func(tx ports.Tx) error {
		var err error
		now := i.clock.Now()
		if job, err = tx.Imports().Waiting(ctx, now); err != nil {
			return err
		}
		if org, err = organizationByID(ctx, tx, job.Organization); err != nil {
			return err
		}
		job, err = tx.Imports().Save(ctx, job.Claim(owner, now, i.set.Lease))
		return err
	})
	return job, org, err
}

func organizationByID(ctx context.Context, tx ports.Tx, id orgs.ID) (orgs.Organization, error) {
	found, err := tx.Orgs().List(ctx, id-1, 1)
	if err == nil && (len(found) == 0 || found[0].ID != id) {
		err = orgs.ErrNotFound
	}
	if err != nil {
		return orgs.Organization{}, err
	}
	return found[0], nil
}

// work does what is left of a job, or as much as there is time for.
func (i *Importer) work(ctx context.Context, job imports.Job, org orgs.Organization) {
	working, stop := context.WithCancelCause(ctx)
	var holding sync.WaitGroup
	holding.Go(func() { i.hold(working, job, stop) })
	run := jobRun{Importer: i, job: job, org: org}
	err := run.do(working)
	if cause := context.Cause(working); err != nil && errors.Is(cause, imports.ErrTaken) {
		err = cause
	}
	stop(nil)
	holding.Wait()
	if err != nil {
		i.giveBack(context.WithoutCancel(ctx), run, err, ctx.Err() != nil)
	}
}

// hold prolongs the lease of a job until ctx ends, and stops whoever works at it when somebody else has it.
func (i *Importer) hold(ctx context.Context, job imports.Job, stop context.CancelCauseFunc) {
	for {
		pause(ctx, i.set.Lease/4, nil)
		if ctx.Err() != nil {
			return
		}
		err := i.store.Update(ctx, func(tx ports.Tx) error {
			return tx.Imports().Hold(ctx, job.ID, job.Owner, i.clock.Now().Add(i.set.Lease))
		})
		if errors.Is(err, imports.ErrTaken) {
			stop(err)
			return
		}
	}
}

// giveBack leaves a job that could not be finished to whoever comes next, unless it is over or in other hands.
func (i *Importer) giveBack(ctx context.Context, run jobRun, err error, stopped bool) {
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	job, now := run.job, i.clock.Now()
	kind := fault.KindOf(err)
	switch {
	case errors.Is(err, imports.ErrTaken):
		i.log.Info("an import was cancelled or taken over", "import", job.ID)
		return
	case stopped:
		job = job.Release(now)
	case kind == fault.Internal || kind == fault.Unavailable:
		i.log.Error("an import could not go on", "import", job.ID, "error", err)
		job = job.Stumble(now, stumblePause)
	default: // The file's fault, or the organization's.
		job = job.Fail(imports.Reason(err), now)
	}
	err = i.store.Update(ctx, func(tx ports.Tx) error {
		saved, err := tx.Imports().Save(ctx, job)
		if err != nil || job.State != imports.Failed {
			return err
		}
		after := reportState(saved.Counts)
		after["ended_by"] = saved.Reason
		return recordImport(ctx, tx, audit.ImportEnded, run.org.Slug, saved, after)
	})
	if err != nil && !errors.Is(err, imports.ErrTaken) { // Then its lease ends, and it goes on.
		i.log.Error("an import could not be given back", "import", job.ID, "error", err)
	}
}

// jobRun is an importer at work on one job.
type jobRun struct {
	*Importer
	job    imports.Job // as it is stored
	org    orgs.Organization
	header imports.Header
}

// do surveys the file, as every import does, writes the rows that are left, and finishes the job.
func (r *jobRun) do(ctx context.Context) error {
	open := r.files.open(ctx, r.job.ID)
	seen, err := survey(ctx, open, r.keysPerPass)
	if err != nil {
		return err
	}
	r.header = seen.header
	if err := r.move(ctx, r.job.Survey(seen.rows, r.clock.Now()), nil); err != nil {
		return err
	}
	// One chunk at a time: how far the job is, is one number, and those who wait for the database get their turn.
	pass := importPass{open: open, duplicate: seen.duplicate, from: r.job.Done, writers: 1, write: r.write, tell: func(outcome) {}}
	if err := pass.do(ctx); err != nil {
		return err
	}
	return r.move(ctx, r.job.Finish(r.clock.Now()), func(tx ports.Tx, saved imports.Job) error {
		if saved.State != imports.Done {
			return nil
		}
		return recordImport(ctx, tx, audit.ImportEnded, r.org.Slug, saved, reportState(saved.Counts))
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

// write writes a chunk, or tells what would become of it, and counts it.
func (r *jobRun) write(ctx context.Context, c chunk) (o outcome, err error) {
	if c.size() == 0 {
		return outcome{}, nil
	}
	batch := users.Batch{Enrollments: c.enrollments, Group: r.job.Group.ID, MergeFields: true, DryRun: r.job.State == imports.Checking}
	var saved imports.Job
	count := func(tx ports.Tx, done []users.Enrolled) (err error) {
		o = c.outcome(done, false)
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
	if err == nil {
		r.job = saved // Only now: a unit may run more than once.
	}
	return o, err
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
