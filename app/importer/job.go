package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tocsin/tocsin/app"
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
	job    imports.Job // as stored
	org    orgs.Organization
	header imports.Header
	loop   *watchdog.Loop
	began  time.Time // when this organization's turn began; a scan is not part of it
	trace  string    // the traceparent of the work on the job
}

// errYield ends the work on a job because another organization has waited long enough.
var errYield = errors.New("it is another organization's turn")

// watchedFile is a file that reports to the watchdog with each piece that is read.
type watchedFile struct {
	io.ReadCloser
	loop *watchdog.Loop
}

// Read reads the next piece.
func (t watchedFile) Read(b []byte) (int, error) {
	t.loop.Tick()
	return t.ReadCloser.Read(b)
}

// do undoes the import; or it scans the file, writes the remaining rows, and finishes the job. It
// fails at once when too many processes ended while they ran the job.
func (r *jobRun) do(ctx context.Context) error {
	if r.job.Failures >= imports.MaxFailures {
		return fmt.Errorf("its processes ended %d times without progress", r.job.Failures)
	}
	if r.job.State == imports.Undoing {
		return r.undo(ctx)
	}
	read := r.files.open(ctx, r.job.ID)
	open := func() (io.ReadCloser, error) {
		file, err := read()
		return watchedFile{file, r.loop}, err
	}
	seen, err := scan(ctx, open, r.keysPerPass)
	if err != nil {
		return err
	}
	r.header, r.began = seen.header, r.clock.Now()
	if err := r.save(ctx, r.job.Scan(seen.rows, r.began, r.set.Lease), nil); err != nil {
		return err
	}
	// One chunk at a time, because the progress of a job is one number, and so that others can
	// write in between.
	p := filePass{open: open, duplicate: seen.duplicate, from: r.job.Done, writers: 1, write: r.writeInTurn, report: func(outcome) {}}
	if err := p.do(ctx); err != nil {
		return err
	}
	return r.save(ctx, r.job.Finish(r.clock.Now()), func(tx ports.Tx, saved imports.Job) error {
		if saved.State != imports.Done {
			return nil
		}
		return record(ctx, tx, audit.ImportEnded, r.org.Slug, saved, reportState(saved.Counts))
	})
}

// save stores the next state of the job, and what belongs to it, in a unit of its own.
func (r *jobRun) save(ctx context.Context, job imports.Job, also func(tx ports.Tx, saved imports.Job) error) error {
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

// writeInTurn writes a chunk, and then yields to another organization if one waits and the job has
// had its turn.
func (r *jobRun) writeInTurn(ctx context.Context, c chunk) (outcome, error) {
	chunkCtx, end := r.beginChunk(ctx, c.size())
	o, err := r.write(chunkCtx, c)
	end(err)
	if err != nil || r.job.Done == r.job.Rows {
		return o, err
	}
	return o, r.checkTurn(ctx)
}

// beginChunk begins the span of a chunk, which is a trace of its own: the trace of a large file
// would be too long to read.
func (r *jobRun) beginChunk(ctx context.Context, size int) (chunk context.Context, end func(error)) {
	chunk, span := r.set.Tracer.Begin(ctx, ports.SpanStart{Name: "import chunk", Links: []string{r.trace}})
	span.Number("tocsin.import", int64(r.job.ID))
	span.Number("tocsin.rows", int64(size))
	return chunk, func(err error) { span.End(err != nil && !errors.Is(err, users.ErrTooLarge)) }
}

// checkTurn returns errYield if another organization waits and the job has had its turn.
func (r *jobRun) checkTurn(ctx context.Context) error {
	now := r.clock.Now()
	if now.Sub(r.began) < turnLength {
		return nil
	}
	err := r.store.View(ctx, func(tx ports.Tx) error {
		_, err := tx.Imports().Next(ctx, now)
		return err
	})
	switch {
	case err == nil:
		return errYield
	case errors.Is(err, imports.ErrNothingToDo):
		r.began = now
		return nil
	}
	return err
}

// write writes a chunk and counts it. A dry run counts what the chunk would change; it plans in a
// unit of its own, so that no writer waits for it. Rows that would change a member with a higher
// role than the user who started the import are rejected.
func (r *jobRun) write(ctx context.Context, c chunk) (o outcome, err error) {
	if c.size() == 0 {
		return outcome{}, nil
	}
	r.loop.Tick()
	var saved imports.Job
	count := func(tx ports.Tx, done []users.Enrolled) (err error) {
		o = c.outcome(done, false)
		saved, err = r.count(ctx, tx, o)
		return err
	}
	if r.job.State == imports.Checking {
		var plan *users.Plan
		plan, err = ports.View(ctx, r.store, func(tx ports.Tx) (*users.Plan, error) {
			return r.plan(ctx, tx, c)
		})
		if err == nil {
			err = r.store.Update(ctx, func(tx ports.Tx) error { return count(tx, plan.Enrolled()) })
		}
	} else {
		err = r.store.Update(ctx, func(tx ports.Tx) error {
			plan, err := r.plan(ctx, tx, c)
			if err != nil {
				return err
			}
			if err := tx.Users().Enroll(ctx, plan.Writes); err != nil {
				return err
			}
			made := imports.Creations{Number: r.job.Done, People: imports.Created(plan.Writes, r.job.Group.ID)}
			if err := recordAddresses(ctx, tx, r.org.ID, made.People); err != nil {
				return err
			}
			if err := tx.Imports().SaveCreations(ctx, r.job.ID, r.job.Started, made); err != nil {
				return err
			}
			return count(tx, plan.Enrolled())
		})
	}
	if err == nil {
		r.rows.Add(int64(c.size()))
		r.job = saved // Only now: a unit may run more than once.
	}
	return o, err
}

// recordAddresses records the addresses of members that existed before and got one.
func recordAddresses(ctx context.Context, tx ports.Tx, org orgs.ID, people []imports.Creation) error {
	var wanted []users.Address
	got := map[users.MemberID]*imports.Creation{}
	for n, c := range people {
		if c.Email != "" {
			a := users.NewEmailAddress(c.Email)
			a.Member = c.Member
			wanted, got[c.Member] = append(wanted, a), &people[n]
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	held, err := tx.Addresses().Known(ctx, org, wanted)
	for _, a := range held {
		got[a.Member].Address = a.ID
	}
	return err
}

// plan plans the enrollments of a chunk.
func (r *jobRun) plan(ctx context.Context, tx ports.Tx, c chunk) (*users.Plan, error) {
	by, err := r.editor(ctx, tx)
	if err != nil {
		return nil, err
	}
	b := c.batch(r.job.Group.ID)
	b.MayChange = by.MayChange
	return app.PlanEnrollment(ctx, tx, r.org.Slug, b)
}

// editor returns the user who started the job or its undo, with that user's current rights;
// imports.ErrNotAllowed.
func (r *jobRun) editor(ctx context.Context, tx ports.Tx) (operators.Editor, error) {
	of, err := tx.Operators().Accounts(ctx, r.job.Editor().Name)
	if err != nil {
		return operators.Editor{}, err
	}
	v := operators.AccountFor(of, r.org.ID).Principal()
	if !v.May(r.org.Slug, operators.Operator) {
		return operators.Editor{}, imports.ErrNotAllowed
	}
	return operators.Editor{Actor: r.job.Editor(), Level: v.Level(r.org.Slug)}, nil
}

// count stores the counts of a chunk.
func (r *jobRun) count(ctx context.Context, tx ports.Tx, o outcome) (imports.Job, error) {
	kept := make([]imports.RejectedRow, min(len(o.rejected), r.job.Room()))
	for n := range kept {
		kept[n] = r.header.Keep(o.rejected[n])
	}
	saved, err := tx.Imports().Save(ctx, r.job.Advance(o.report, len(kept), r.clock.Now(), r.set.Lease))
	if err != nil {
		return imports.Job{}, err
	}
	return saved, tx.Imports().SaveRejected(ctx, r.job.ID, kept)
}
