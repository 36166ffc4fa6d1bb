package importer

import (
	"context"
	"strings"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/ports"
)

// Correctable returns rejected rows of a finished import for correction, those after a line of its
// file. imports.ErrNotFound, imports.ErrNotCorrectable.
func (j *Jobs) Correctable(ctx context.Context, at app.Path, id imports.ID, after int) (imports.Correctable, error) {
	return ports.View(ctx, j.store, func(tx ports.Tx) (m imports.Correctable, err error) {
		_, m, err = correction(ctx, tx, at, id, after)
		return m, err
	})
}

func correction(ctx context.Context, tx ports.Tx, at app.Path, id imports.ID, after int) (imports.Job, imports.Correctable, error) {
	job, err := jobOf(ctx, tx, at, id)
	if err != nil {
		return job, imports.Correctable{}, err
	}
	header, err := imports.ParseHeader(job.Header)
	if err != nil || !job.State.Over() || job.Started.IsZero() {
		return job, imports.Correctable{}, imports.ErrNotCorrectable
	}
	rows, err := tx.Imports().Rejected(ctx, id, after, imports.MaxCorrected+1)
	if err != nil {
		return job, imports.Correctable{}, err
	}
	m, err := header.Correctable(rows)
	return job, m, err
}

// Correct uploads the corrected rows, by their lines, as a file of their own: it is checked and
// waits to be started like any other, with the group and the columns of the import that rejected
// them. after is the same as in the call of Correctable. imports.ErrNotFound,
// imports.ErrNotCorrectable, imports.ErrNothingCorrected, imports.ErrCorrected, *quotas.Exceeded.
func (j *Jobs) Correct(ctx context.Context, by audit.Actor, at app.Path, id imports.ID, after int, corrected map[int][]string) (imports.Job, error) {
	var job imports.Job
	var m imports.Correctable
	err := j.store.View(ctx, func(tx ports.Tx) (err error) {
		job, m, err = correction(ctx, tx, at, id, after)
		return err
	})
	if err != nil {
		return imports.Job{}, err
	}
	file, lines, err := m.Correct(corrected)
	if err != nil {
		return imports.Job{}, err
	}
	return j.Upload(ctx, by, at, Upload{Name: job.File, Source: "corrected rows", File: strings.NewReader(file), like: &job, lines: lines})
}
