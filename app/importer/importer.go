// Package importer imports users from files: directly for the command line, and as background jobs,
// which it checks, runs and removes. It turns a file into chunks of rows; which users exist and
// what a row changes is decided in package users.
package importer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Settings say how an importer works.
type Settings struct {
	Lease     time.Duration // how long a job belongs to an owner that does not renew it
	Poll      time.Duration // how often the store is asked for jobs
	Sweep     time.Duration // how often the sweep runs
	Retention time.Duration // how long finished imports are kept; 0: forever
	// Watchdog watches the importer's loops. Nil: the importer has its own.
	Watchdog *watchdog.Watchdog
	// Tracer records spans of the importer. Nil: no tracer.
	Tracer ports.Tracer
}

const (
	// slots is how many jobs an importer runs at once, so that a large one does not keep the next
	// organization waiting.
	slots = 2
	// turnLength is how long a job writes while another organization waits. Then that organization
	// is next: the job continues later with the next row, after another scan of its file. The time
	// of a scan does not count, so that a job advances in every turn, however large its file is.
	turnLength = 30 * time.Second
	// failurePause is how long a job waits after a failure that is not its own.
	failurePause = 10 * time.Second
)

// Importer runs imports in the background: it checks files and writes their rows, a chunk at a
// time. Any number of importers may share a store.
//
// The unit of work that writes a chunk also counts it and stores the progress of the job. However
// the process ends, the job continues with the row after the last one written, and every row is
// counted once. The unit fails when the job was cancelled or taken over meanwhile, so that two
// importers never write for the same job.
type Importer struct {
	store       ports.Store
	files       files
	clock       ports.Clock
	log         *slog.Logger
	set         Settings
	keysPerPass int

	running, rows atomic.Int64
}

// Stats returns how many jobs the importer is running, and how many rows it has processed.
func (i *Importer) Stats() (running, rows int64) { return i.running.Load(), i.rows.Load() }

// New returns an importer on a store.
func New(store ports.Store, clock ports.Clock, log *slog.Logger, set Settings) *Importer {
	if set.Watchdog == nil {
		set.Watchdog = watchdog.New(clock, log)
	}
	if set.Tracer == nil {
		set.Tracer = ports.Untraced{}
	}
	return &Importer{store: store, files: files{store}, clock: clock, log: log, set: set, keysPerPass: keysPerPass}
}

// Run works until ctx ends. Then it writes the chunks that it has begun, gives its jobs back, and
// returns.
func (i *Importer) Run(ctx context.Context) {
	var busy sync.WaitGroup
	for n := range slots {
		busy.Go(func() { i.set.Watchdog.Run(ctx, fmt.Sprintf("import %d", n+1), i.workLoop) })
	}
	i.set.Watchdog.Run(ctx, "sweep", i.sweepLoop)
	busy.Wait()
}

func (i *Importer) workLoop(ctx context.Context, loop *watchdog.Loop) {
	for ctx.Err() == nil {
		loop.Tick()
		job, org, err := i.claim(ctx)
		loop.Result(ctx, "no import could be claimed", err, imports.ErrNothingToDo, imports.ErrTaken, installation.ErrReadOnly)
		if err == nil {
			i.work(ctx, job, org, loop)
			continue
		}
		loop.Pause(i.set.Poll)
		pace.Pause(ctx, i.set.Poll, nil)
	}
}

// claim takes the next job. It reads before it writes, because usually no job waits.
func (i *Importer) claim(ctx context.Context) (job imports.Job, org orgs.Organization, err error) {
	err = i.store.View(ctx, func(tx ports.Tx) error {
		_, err := tx.Imports().Next(ctx, i.clock.Now())
		return err
	})
	if err != nil {
		return job, org, err
	}
	owner := rand.Text() // unique to this claim, so that an earlier claim of this importer does not count as ours
	err = i.store.Update(ctx, func(tx ports.Tx) error {
		var err error
		now := i.clock.Now()
		if job, err = tx.Imports().Next(ctx, now); err != nil {
			return err
		}
		if org, err = tx.Orgs().ByID(ctx, job.Organization); err != nil {
			return err
		}
		job, err = tx.Imports().Save(ctx, job.Claim(owner, now, i.set.Lease))
		return err
	})
	return job, org, err
}

// work runs the rest of a job, or as much as fits into its turn.
func (i *Importer) work(ctx context.Context, job imports.Job, org orgs.Organization, loop *watchdog.Loop) {
	i.running.Add(1)
	defer i.running.Add(-1)
	working, stop := context.WithCancelCause(ctx)
	var holding sync.WaitGroup
	holding.Go(func() { i.renewLease(working, job, stop) })
	_, span := i.set.Tracer.Begin(ctx, ports.SpanStart{Name: "import"})
	span.Number("tocsin.import", int64(job.ID))
	span.Text("tocsin.import.state", string(job.State))
	run := jobRun{Importer: i, job: job, org: org, loop: loop, began: i.clock.Now(), trace: span.Traceparent()}
	// The renewals of the lease do not wait behind other calls of the organization.
	err := run.do(ports.ForOrganization(working, org.Slug))
	span.End(err != nil && !errors.Is(err, errYield))
	if cause := context.Cause(working); err != nil && errors.Is(cause, imports.ErrTaken) {
		err = cause
	}
	stop(nil)
	holding.Wait()
	if err != nil {
		i.giveBack(context.WithoutCancel(ctx), run, err, ctx.Err() != nil)
	}
}

// renewLease renews the lease of a job until ctx ends. It calls stop when another importer has
// taken the job.
func (i *Importer) renewLease(ctx context.Context, job imports.Job, stop context.CancelCauseFunc) {
	for {
		pace.Pause(ctx, i.set.Lease/4, nil)
		if ctx.Err() != nil {
			return
		}
		err := i.store.Update(ctx, func(tx ports.Tx) error {
			return tx.Imports().ExtendLease(ctx, job.ID, job.Owner, i.clock.Now().Add(i.set.Lease))
		})
		if errors.Is(err, imports.ErrTaken) {
			stop(err)
			return
		}
		if err != nil && ctx.Err() == nil {
			i.log.Warn("the lease of an import could not be renewed", "import", job.ID, "error", err)
		}
	}
}

// giveBack releases a job that could not be finished, unless it is over or another importer has it.
func (i *Importer) giveBack(ctx context.Context, run jobRun, err error, stopped bool) {
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	job, now := run.job, i.clock.Now()
	kind := fault.KindOf(err)
	switch {
	case errors.Is(err, imports.ErrTaken):
		i.log.Info("an import was cancelled or taken over", "import", job.ID)
		return
	case stopped, errors.Is(err, errYield):
		job = job.Release(now)
	case kind == fault.Internal || kind == fault.Unavailable:
		i.log.Error("an import could not continue", "import", job.ID, "error", err)
		job = job.Postpone(now, failurePause)
	default: // The fault of the file or of the organization.
		job = job.Fail(imports.Reason(err), now)
	}
	err = i.store.Update(ctx, func(tx ports.Tx) error {
		saved, err := tx.Imports().Save(ctx, job)
		if err != nil || job.State.Working() {
			return err
		}
		if run.job.State == imports.Undoing {
			return record(ctx, tx, audit.ImportUndoEnded, run.org.Slug, saved, undoState(saved))
		}
		after := reportState(saved.Counts)
		after["ended_by"] = saved.Reason
		return record(ctx, tx, audit.ImportEnded, run.org.Slug, saved, after)
	})
	if err != nil && !errors.Is(err, imports.ErrTaken) { // Otherwise its lease ends, and it continues.
		i.log.Error("an import could not be given back", "import", job.ID, "error", err)
	}
}
