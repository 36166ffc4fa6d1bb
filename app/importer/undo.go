package importer

import (
	"context"
	"errors"
	"math"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// undoPlanned is how many chunks the plan of an undo reads: up to 50,000 users, while an operator
// waits for the page.
const undoPlanned = 25

// PlanUndo returns what an undo of an import would remove and keep, and the import. It reads the
// first chunks only: Undo.Done of Undo.People users. imports.ErrNotFound, imports.ErrNotUndoable,
// imports.ErrTooOld, imports.ErrFollowed.
func (j *Jobs) PlanUndo(ctx context.Context, by operators.Editor, at app.Path, id imports.ID) (job imports.Job, plan imports.Undo, err error) {
	err = j.store.View(ctx, func(tx ports.Tx) error {
		var people int
		if job, people, err = j.undoable(ctx, tx, at, id); err != nil {
			return err
		}
		plan = imports.Undo{People: people}
		for next, n := 0, 0; n < undoPlanned; n++ {
			created, err := tx.Imports().Creations(ctx, id, next)
			if errors.Is(err, imports.ErrNothingCreated) {
				return nil
			}
			if err != nil {
				return err
			}
			removal, err := planUndo(ctx, tx, at.Organization, job, created.People, by)
			if err != nil {
				return err
			}
			plan, next = plan.Plus(removal.Undo), created.Number+1
		}
		return nil
	})
	return job, plan, err
}

// undoable returns an import that can be undone now, and how many users it created something for.
// The import is returned with every error but imports.ErrNotFound: imports.ErrNotUndoable,
// imports.ErrTooOld, imports.ErrFollowed. An import that created nothing can be undone, because it
// may have confirmed what earlier ones created, and those can be undone only after it.
func (j *Jobs) undoable(ctx context.Context, tx ports.Tx, at app.Path, id imports.ID) (job imports.Job, people int, err error) {
	if job, err = jobOf(ctx, tx, at, id); err != nil {
		return job, 0, err
	}
	if err := job.Undoable(j.clock.Now()); err != nil {
		return job, 0, err
	}
	if err := checkFollower(ctx, tx, job); err != nil {
		return job, 0, err
	}
	people, err = tx.Imports().CountCreations(ctx, id)
	return job, people, err
}

// checkFollower returns imports.ErrFollowed if a later import relies on this one: rows that the
// later one found already in place left no record.
func checkFollower(ctx context.Context, tx ports.Tx, job imports.Job) error {
	by, err := tx.Imports().Follower(ctx, job)
	switch {
	case errors.Is(err, imports.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return imports.ErrFollowed.With("the import cannot be undone: %s (import %d) has written rows since it ended; undo that one first", by.File, by.ID)
}

// Undo begins to remove what an import created and what has not changed since; an importer does it
// in the background. imports.ErrNotFound, imports.ErrNotUndoable, imports.ErrTooOld,
// imports.ErrFollowed.
func (j *Jobs) Undo(ctx context.Context, by audit.Actor, at app.Path, id imports.ID) error {
	return j.store.Update(ctx, func(tx ports.Tx) error {
		job, people, err := j.undoable(ctx, tx, at, id)
		if err != nil {
			return err
		}
		if job, err = job.BeginUndo(people, by, j.clock.Now()); err != nil {
			return err
		}
		if job, err = tx.Imports().Save(ctx, job); err != nil {
			return err
		}
		return record(ctx, tx, audit.ImportUndoBegun, at.Organization, job, audit.State{"file": job.File, "people": people})
	})
}

// undo removes what the import created, a chunk at a time. The unit of work that removes a chunk
// also counts it and deletes its record: however the process ends, the undo continues with the next
// chunk.
func (r *jobRun) undo(ctx context.Context) error {
	for {
		r.loop.Tick()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		chunk, end := r.beginChunk(context.WithoutCancel(ctx), 0)
		err := r.undoChunk(chunk)
		if errors.Is(err, imports.ErrNothingCreated) {
			end(nil)
			break
		}
		end(err)
		if err != nil {
			return err
		}
		if err := r.checkTurn(ctx); err != nil {
			return err
		}
	}
	return r.save(ctx, r.job.Finish(r.clock.Now()), func(tx ports.Tx, saved imports.Job) error {
		return record(ctx, tx, audit.ImportUndoEnded, r.org.Slug, saved, undoState(saved))
	})
}

func (r *jobRun) undoChunk(ctx context.Context) error {
	saved, err := ports.Update(ctx, r.store, func(tx ports.Tx) (imports.Job, error) {
		by, err := r.editor(ctx, tx)
		if err != nil {
			return imports.Job{}, err
		}
		if err := checkFollower(ctx, tx, r.job); err != nil { // An import may have come in between.
			return imports.Job{}, err
		}
		created, err := tx.Imports().Creations(ctx, r.job.ID, 0)
		if err != nil {
			return imports.Job{}, err
		}
		removal, err := planUndo(ctx, tx, r.org.Slug, r.job, created.People, by)
		if err != nil {
			return imports.Job{}, err
		}
		if err := remove(ctx, tx, r.job, removal); err != nil {
			return imports.Job{}, err
		}
		if _, err := tx.Imports().ForgetCreations(ctx, r.job.ID, 1); err != nil {
			return imports.Job{}, err
		}
		return tx.Imports().Save(ctx, r.job.AdvanceUndo(removal.Undo, r.clock.Now(), r.set.Lease))
	})
	if err == nil {
		r.job = saved // Only now: a unit may run more than once.
	}
	return err
}

// planUndo reads the current state of created users and plans which of it is removed. It reads
// members who are too large in halves.
func planUndo(ctx context.Context, tx ports.Tx, org string, job imports.Job, created []imports.Creation, by operators.Editor) (imports.Removal, error) {
	now := imports.CurrentState{MayChange: by.MayChange}
	_, groups, err := tx.Orgs().WithGroups(ctx, org, job.Group.ID)
	if err != nil {
		return imports.Removal{}, err
	}
	now.Groups = groups
	for _, g := range groups {
		if g.ID == job.Group.ID {
			now.Group = g
		}
	}
	ids := make([]users.MemberID, len(created))
	for n, c := range created {
		ids[n] = c.Member
	}
	now.Members, err = tx.Users().ByIDs(ctx, job.Organization, ids, chunkBytes)
	if errors.Is(err, users.ErrTooLarge) {
		half := len(created) / 2
		first, err := planUndo(ctx, tx, org, job, created[:half], by)
		if err != nil {
			return imports.Removal{}, err
		}
		second, err := planUndo(ctx, tx, org, job, created[half:], by)
		return first.Plus(second), err
	}
	if err != nil {
		return imports.Removal{}, err
	}
	if now.Addresses, err = tx.Addresses().OfMembers(ctx, job.Organization, ids, "", math.MaxInt64); err != nil {
		return imports.Removal{}, err
	}
	if now.Used, err = tx.Users().Used(ctx, job.Organization, ids); err != nil {
		return imports.Removal{}, err
	}
	given := make([]users.AddressID, len(now.Addresses))
	for n, a := range now.Addresses {
		given[n] = a.ID
	}
	if now.Assigned, err = tx.Addresses().Assigned(ctx, job.Organization, given); err != nil {
		return imports.Removal{}, err
	}
	return now.Removal(created), nil
}

// remove executes a removal.
func remove(ctx context.Context, tx ports.Tx, job imports.Job, r imports.Removal) error {
	if err := tx.Users().Remove(ctx, r.Members...); err != nil {
		return err
	}
	if len(r.Unlinked) > 0 {
		if _, err := tx.Users().Unlink(ctx, orgs.Group{ID: job.Group.ID, Organization: job.Organization}, r.Unlinked); err != nil {
			return err
		}
	}
	return tx.Addresses().RemoveUnassigned(ctx, job.Organization, r.Addresses)
}

// undoState returns the entry of the audit log for an undo that has ended.
func undoState(j imports.Job) audit.State {
	u := j.Undo
	state := audit.State{"people": u.Done, "removed": u.Removed, "addresses": u.Addresses, "groups": u.Links,
		"changed": u.Changed, "used": u.Used, "gone": u.Gone, "administrators": u.Above}
	if j.State != imports.Undone {
		state["ended_by"] = j.Reason
	}
	return state
}
