package sheets

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/tocsin/tocsin/domain/imports"
)

const (
	// maxWorkbookSize and maxUnpackedSize are the maximum sizes of a workbook, packed and unpacked.
	maxWorkbookSize = 16 << 20
	maxUnpackedSize = 128 << 20
	// queueTimeout is how long a workbook waits until others are processed.
	queueTimeout = 30 * time.Second
	// receiveTimeout is the timeout for receiving a workbook.
	receiveTimeout = 5 * time.Minute
	// maxOwners is the maximum number of workbooks in memory: one is read, the others are received
	// or wait.
	maxOwners = 8
)

// openWorkbook returns the first sheet with rows. It waits for its turn only after the whole
// workbook was received, so that a slow sender does not block others. An owner has one workbook in
// memory, from the first byte until the table is closed.
func (o *Opener) openWorkbook(ctx context.Context, owner string, file io.Reader) (Table, error) {
	leave, err := o.enter(owner)
	if err != nil {
		return Table{}, err
	}
	opened, closed := false, leave
	defer func() {
		if !opened {
			closed()
		}
	}()
	packed, err := receive(ctx, file)
	if err != nil {
		return Table{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	select {
	case o.workbook <- struct{}{}:
	case <-waiting.Done():
		if ctx.Err() != nil {
			return Table{}, context.Cause(ctx)
		}
		return Table{}, imports.ErrBusy
	}
	closed = func() {
		<-o.workbook
		leave()
	}
	s, name, err := firstSheet(ctx, packed)
	if err != nil {
		return Table{}, err
	}
	opened, s.closed = true, closed
	return Table{ReadCloser: s, Source: "Excel, sheet " + name}, nil
}

// enter registers an owner until leave, or returns imports.ErrBusy.
func (o *Opener) enter(owner string) (leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owners[owner] || len(o.owners) >= maxOwners {
		return nil, imports.ErrBusy
	}
	o.owners[owner] = true
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.owners, owner)
	}, nil
}

// receive reads a workbook to its end.
func receive(ctx context.Context, file io.Reader) ([]byte, error) {
	limited, cancel := context.WithTimeoutCause(ctx, receiveTimeout, imports.ErrIncomplete)
	defer cancel()
	packed, err := io.ReadAll(io.LimitReader(contextReader{limited, file}, maxWorkbookSize+1))
	if err == nil && len(packed) > maxWorkbookSize {
		err = imports.ErrTooLarge.With("the workbook is larger than %d MiB: save it as CSV", maxWorkbookSize>>20)
	}
	return packed, err
}

// contextReader is a reader that ends with a context.
type contextReader struct {
	ctx  context.Context //nolint:containedctx // A reader has no other place for it.
	file io.Reader
}

// Read reads the next bytes.
func (d contextReader) Read(b []byte) (int, error) {
	if d.ctx.Err() != nil {
		return 0, context.Cause(d.ctx)
	}
	return d.file.Read(b)
}

// firstSheet opens the first sheet with rows.
func firstSheet(ctx context.Context, packed []byte) (s *sheet, name string, err error) {
	unreadable := imports.ErrNotText.With("the file cannot be read as a workbook of Excel (.xlsx): save it as CSV")
	switch err := inspect(ctx, packed); {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case errors.Is(err, imports.ErrTooLarge):
		return nil, "", err
	case err != nil:
		return nil, "", unreadable
	}
	// The limits are equal: excelize writes parts beyond UnzipXMLSizeLimit to temporary files.
	book, err := excelize.OpenReader(bytes.NewReader(packed), excelize.Options{UnzipSizeLimit: maxUnpackedSize, UnzipXMLSizeLimit: maxUnpackedSize})
	if err != nil {
		return nil, "", unreadable
	}
	repeated, err := repeatsText(book)
	if err != nil {
		return nil, "", errors.Join(err, book.Close())
	}
	for _, name := range book.GetSheetList() {
		rows, err := book.Rows(name)
		if err != nil {
			continue // A chart has no rows.
		}
		s := &sheet{book: book, rows: rows}
		if repeated {
			if s.raw, err = book.Rows(name); err != nil {
				return nil, "", errors.Join(err, book.Close())
			}
		}
		s.csv = csv.NewWriter(&s.out)
		switch err := s.fill(); {
		case err == nil:
			return s, name, nil
		case !errors.Is(err, io.EOF):
			return nil, "", errors.Join(err, book.Close())
		}
		if err := s.closeRows(); err != nil {
			return nil, "", errors.Join(err, book.Close())
		}
	}
	return nil, "", errors.Join(imports.ErrEmpty, book.Close())
}

// sheet is a reader of a sheet's rows as CSV, one line per row.
type sheet struct {
	book   *excelize.File
	rows   *excelize.Rows
	raw    *excelize.Rows // the same without formats; nil: no format repeats text
	out    bytes.Buffer
	csv    *csv.Writer
	width  int // of the first row that is not empty
	closed func()
}

// Read reads the next rows.
func (s *sheet) Read(b []byte) (int, error) {
	if s.out.Len() == 0 {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	return s.out.Read(b)
}

// fill writes the rows up to and including the next non-empty one; io.EOF when there is none.
func (s *sheet) fill() error {
	for s.rows.Next() {
		if s.raw != nil && s.raw.Next() {
			if cells, err := s.raw.Columns(excelize.Options{RawCellValue: true}); err != nil || length(cells) > imports.MaxRow {
				return errTooMuch
			}
		}
		cells, err := s.rows.Columns()
		if err != nil {
			return imports.ErrNotText.With("the workbook cannot be read to its end: save it as CSV")
		}
		if len(cells) == 0 {
			s.out.WriteByte('\n')
			continue
		}
		if s.width == 0 {
			s.width = len(cells)
		}
		if length(cells) > imports.MaxRow {
			return errTooMuch
		}
		for len(cells) < s.width { // Trailing empty cells are missing in a row.
			cells = append(cells, "")
		}
		err = s.csv.Write(cells)
		s.csv.Flush()
		return err
	}
	if s.rows.Error() != nil {
		return imports.ErrNotText.With("the workbook cannot be read to its end: save it as CSV")
	}
	return io.EOF
}

// length returns the length of a row.
func length(cells []string) int {
	long := len(cells)
	for _, cell := range cells {
		long += len(cell)
	}
	return long
}

// Close lets the next workbook be processed.
func (s *sheet) Close() error {
	defer s.closed()
	return errors.Join(s.closeRows(), s.book.Close())
}

func (s *sheet) closeRows() error {
	if s.raw == nil {
		return s.rows.Close()
	}
	return errors.Join(s.rows.Close(), s.raw.Close())
}
