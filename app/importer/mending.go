package importer

import (
	"context"
	"strings"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/ports"
)

// Mending returns rejected rows of a finished import for correction, those after a line of its
// file. imports.ErrNotFound, imports.ErrNotMendable.
func (i *Jobs) Mending(ctx context.Context, at app.Path, id imports.ID, after int) (imports.Mending, error) {
	return ports.View(ctx, i.store, func(tx ports.Tx) (m imports.Mending, err error) {
		_, m, err = mending(ctx, tx, at, id, after)
		return m, err
	})
}

func mending(ctx context.Context, tx ports.Tx, at app.Path, id imports.ID, after int) (imports.Job, imports.Mending, error) {
	job, err := jobOf(ctx, tx, at, id)
	if err != nil {
		return job, imports.Mending{}, err
	}
	header, err := imports.ParseHeader(job.Header)
	if err != nil || !job.State.Over() || job.Started.IsZero() {
		return job, imports.Mending{}, imports.ErrNotMendable
	}
	rows, err := tx.Imports().Rejected(ctx, id, after, imports.MaxMended+1)
	if err != nil {
		return job, imports.Mending{}, err
	}
	m, err := header.Mending(rows)
	return job, m, err
}

// Mend uploads the corrected rows, by their lines, as a file of their own: it is checked and waits
// to be started like any other, with the group and the columns of the import that rejected them.
// after is the same as in the call of Mending. imports.ErrNotFound, imports.ErrNotMendable,
// imports.ErrNothingMended, imports.ErrCorrected, *quotas.Exceeded.
func (i *Jobs) Mend(ctx context.Context, by audit.Actor, at app.Path, id imports.ID, after int, corrected map[int][]string) (imports.Job, error) {
	var job imports.Job
	var m imports.Mending
	err := i.store.View(ctx, func(tx ports.Tx) (err error) {
		job, m, err = mending(ctx, tx, at, id, after)
		return err
	})
	if err != nil {
		return imports.Job{}, err
	}
	file, lines, err := m.Mend(corrected)
	if err != nil {
		return imports.Job{}, err
	}
	return i.Upload(ctx, by, at, Upload{Name: job.File, Source: "corrected rows", File: strings.NewReader(file), like: &job, lines: lines})
}
