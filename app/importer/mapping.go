package importer

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/ports"
)

// mapped maps the columns of a new file: like the last file with the same columns, or else by the
// guess. A file that cannot be mapped, such as one with a long key of the metadata, stays as it is.
// imports.ErrNoEmail.
func (j *Jobs) mapped(ctx context.Context, tx ports.Tx, job imports.Job, table imports.Table) (imports.Header, imports.Mapping, error) {
	header, named := table.Header, table.Header.Mapping()
	if named == nil {
		return header, nil, nil
	}
	last, err := tx.Imports().Mapping(ctx, job.Organization, named.Digest())
	switch {
	case err == nil:
		m := named.As(last)
		changed, err := j.rewrite(ctx, tx, job.ID, header, m)
		if err == nil {
			return changed, m, tx.Imports().SaveMapping(ctx, job.Organization, m, j.clock.Now())
		}
		if fault.KindOf(err) != fault.Invalid {
			return header, nil, err
		}
	case !errors.Is(err, imports.ErrNotFound):
		return header, nil, err
	}
	guess := table.Guess()
	if slices.Equal(guess, named) && named.Check() == nil {
		return header, named, nil
	}
	changed, err := j.rewrite(ctx, tx, job.ID, header, guess)
	switch {
	case err == nil:
		return changed, guess, nil
	case fault.KindOf(err) != fault.Invalid:
		return header, nil, err
	case !slices.ContainsFunc(named, func(c imports.Meaning) bool { return c.Field == imports.Email }):
		return header, nil, imports.ErrNoEmail
	}
	return header, named, nil
}

// rewrite changes the columns of the file of a job to those of a mapping.
func (j *Jobs) rewrite(ctx context.Context, tx ports.Tx, id imports.ID, header imports.Header, m imports.Mapping) (imports.Header, error) {
	begin, err := tx.Imports().Piece(ctx, id, 0)
	if err != nil {
		return header, err
	}
	begin, header, err = header.Map(begin, m)
	if err != nil {
		return header, err
	}
	return header, tx.Imports().ReplacePiece(ctx, id, 0, begin)
}

// Map sets the mapping of a file that is checked and not started, and has it checked again. The
// organization's next file with the same columns gets this mapping at once. imports.ErrNotFound,
// imports.ErrNotChecked, imports.ErrMapping.
func (j *Jobs) Map(ctx context.Context, by audit.Actor, at app.Path, id imports.ID, m imports.Mapping) error {
	return j.store.Update(ctx, func(tx ports.Tx) error {
		job, err := jobOf(ctx, tx, at, id)
		if err != nil {
			return err
		}
		header, err := imports.ParseHeader(job.Header)
		if err != nil {
			return err
		}
		now := j.clock.Now()
		was := job.Mapping()
		if job, err = job.Map(header, m, by, now); err != nil {
			return err
		}
		if !slices.EqualFunc(was, m, func(a, b imports.Meaning) bool { return a.Name == b.Name }) {
			return imports.ErrMapping.With("the columns are not those of the file")
		}
		if header, err = j.rewrite(ctx, tx, id, header, m); err != nil {
			return err
		}
		job.Header = header.Text()
		if err := tx.Imports().ForgetRejected(ctx, id); err != nil {
			return err
		}
		if job, err = tx.Imports().Save(ctx, job); err != nil {
			return err
		}
		if err := tx.Imports().SaveMapping(ctx, job.Organization, m, now); err != nil {
			return err
		}
		return record(ctx, tx, audit.ImportMapped, at.Organization, job, audit.State{"columns": m.Words()})
	})
}

// table returns the first rows of the file of an import.
func (j *Jobs) table(ctx context.Context, id imports.ID) (imports.Table, error) {
	file, err := j.files.open(ctx, id)()
	if err != nil {
		return imports.Table{}, err
	}
	return imports.ReadTable(file)
}

// mapFile returns an open function whose file has the changed columns.
func mapFile(open func() (io.ReadCloser, error), change func(imports.Mapping) (imports.Mapping, error)) func() (io.ReadCloser, error) {
	if change == nil {
		return open
	}
	return func() (io.ReadCloser, error) {
		file, err := open()
		if err != nil {
			return nil, err
		}
		mapped, err := imports.MapFile(file, change)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return mapped, nil
	}
}
