package importer

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/ports"
)

// How long things are kept without a change: an upload under way updates its job with every piece.
const (
	abandonedAfter = 15 * time.Minute
	expiredAfter   = 7 * 24 * time.Hour
	sweepPage      = 10
)

// sweepLoop removes what is no longer needed, until ctx ends.
func (i *Importer) sweepLoop(ctx context.Context, loop *watchdog.Loop) {
	for ctx.Err() == nil {
		loop.Tick()
		if err := i.sweep(ctx, loop); err != nil && !errors.Is(err, imports.ErrTaken) && ctx.Err() == nil {
			i.log.Error("the files of old imports could not be removed", "error", err)
		}
		loop.Pause(i.set.Sweep)
		pace.Pause(ctx, i.set.Sweep, nil)
	}
}

// sweep removes the files of finished imports, broken uploads that their server could not remove,
// files whose import was never started, records of creations that can no longer be undone, and
// imports that are too old.
func (i *Importer) sweep(ctx context.Context, loop *watchdog.Loop) error {
	now := i.clock.Now()
	for _, part := range []struct {
		find func(tx ports.Tx) ([]imports.Job, error)
		end  func(job imports.Job) error
	}{
		{
			func(tx ports.Tx) ([]imports.Job, error) { return tx.Imports().WithLeftoverFile(ctx, sweepPage) },
			func(job imports.Job) error { return i.files.clear(ctx, job.ID) },
		},
		{
			func(tx ports.Tx) ([]imports.Job, error) {
				return tx.Imports().Idle(ctx, imports.Uploading, now.Add(-abandonedAfter), sweepPage)
			},
			func(job imports.Job) error { return i.files.discard(ctx, job.ID) },
		},
		{
			func(tx ports.Tx) ([]imports.Job, error) {
				return tx.Imports().Idle(ctx, imports.Checked, now.Add(-expiredAfter), sweepPage)
			},
			func(job imports.Job) error {
				return i.store.Update(ctx, func(tx ports.Tx) error {
					_, err := tx.Imports().Save(ctx, job.Expire(now))
					return err
				})
			},
		},
		{
			func(tx ports.Tx) ([]imports.Job, error) {
				return tx.Imports().WithExpiredCreations(ctx, now.Add(-imports.UndoLife), sweepPage)
			},
			func(job imports.Job) error { return i.forgetCreations(ctx, job) },
		},
		{
			i.outdated(ctx, now),
			func(job imports.Job) error { return i.files.discard(ctx, job.ID) },
		},
	} {
		found, err := ports.View(ctx, i.store, part.find)
		if err != nil {
			return err
		}
		for _, job := range found {
			loop.Tick()
			if err := part.end(job); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetCreations removes the record of an import's creations, a few at a time, unless it is being
// undone.
func (i *Importer) forgetCreations(ctx context.Context, job imports.Job) error {
	for {
		gone, err := ports.Update(ctx, i.store, func(tx ports.Tx) (int, error) {
			now, err := tx.Imports().ByID(ctx, job.Organization, job.ID)
			if errors.Is(err, imports.ErrNotFound) || now.State == imports.Undoing {
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
			return tx.Imports().ForgetCreations(ctx, job.ID, clearPage)
		})
		if err != nil || gone < clearPage {
			return err
		}
	}
}

// outdated finds imports that ended longer ago than they are kept.
func (i *Importer) outdated(ctx context.Context, now time.Time) func(tx ports.Tx) ([]imports.Job, error) {
	return func(tx ports.Tx) (all []imports.Job, err error) {
		if i.set.Retention == 0 {
			return nil, nil
		}
		for _, s := range imports.States(imports.State.Over) {
			found, err := tx.Imports().Idle(ctx, s, now.Add(-i.set.Retention), sweepPage)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
}
