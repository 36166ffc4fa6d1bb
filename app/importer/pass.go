package importer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/users"
)

// filePass is one pass over a file that writes its rows, a chunk at a time.
type filePass struct {
	open      func() (io.ReadCloser, error)
	duplicate rowSet
	from      int // rows before it are skipped
	writers   int // chunks that are written at a time
	// write writes a chunk and returns its outcome. It is not interrupted. report gets the outcomes
	// afterwards, in the order of the file.
	write  func(ctx context.Context, c chunk) (outcome, error)
	report func(done outcome)
}

// chunk is a series of rows of the file, read and checked.
type chunk struct {
	enrollments []users.Enrollment
	rows        []imports.Row // of the enrollments
	rejected    []*imports.RowError
	duplicates  int
	bytes       int // of memory that the rows take, estimated
}

// Estimates of the memory of a row: of its parts that all rows have, and of a value of its metadata
// with its place in a map. The text is counted twice, because cells may be copies of it.
const (
	rowBytes   = 512
	fieldBytes = 128
)

func (c *chunk) add(row imports.Row, e users.Enrollment) {
	c.enrollments = append(c.enrollments, e)
	c.rows = append(c.rows, row)
	c.bytes += rowBytes + 2*len(row.Text) + fieldBytes*len(e.CustomFields)
}

func (c *chunk) reject(wrong *imports.RowError) {
	c.rejected = append(c.rejected, wrong)
	c.bytes += rowBytes + 2*len(wrong.Text)
}

func (c *chunk) full() bool {
	return max(len(c.enrollments), len(c.rejected), c.duplicates) >= chunkRows || c.bytes >= chunkBytes
}

// size returns how many rows of the file a chunk has.
func (c chunk) size() int { return len(c.rows) + len(c.rejected) + c.duplicates }

// outcome is the result of writing a chunk.
type outcome struct {
	report   imports.Report
	rejected []*imports.RowError // by line
}

// outcome returns the result for a chunk. newGroup says that the group does not exist yet: a dry
// run creates none, so its plan does not include that members would join it.
func (c chunk) outcome(done []users.Enrolled, newGroup bool) outcome {
	o := outcome{rejected: slices.Clone(c.rejected)}
	for n, e := range done {
		switch {
		case e.Err != nil:
			o.rejected = append(o.rejected, c.rows[n].Reject(imports.Reason(e.Err)))
		case e.Created:
			o.report.Created++
		case e.Enrolled:
			o.report.Enrolled++
		case e.Changed || newGroup:
			o.report.Updated++
		default:
			o.report.Unchanged++
		}
	}
	slices.SortFunc(o.rejected, func(a, b *imports.RowError) int { return cmp.Compare(a.Line, b.Line) })
	o.report.Rejected, o.report.Duplicates = len(o.rejected), c.duplicates
	return o
}

// do reads and checks the file in one goroutine while others write. When ctx ends, or a chunk
// cannot be written, the chunks under way are finished and reported, so that the caller knows which
// rows were kept.
func (p filePass) do(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	chunks := make(chan chunk)
	read := make(chan error, 1)
	go func() {
		defer close(chunks)
		read <- p.read(ctx, chunks)
	}()
	var failed error
	for w := range p.writeAll(ctx, chunks) {
		err := <-w.end
		if err == nil {
			p.report(w.outcome)
			continue
		}
		failed = cmp.Or(failed, err)
		stop()
	}
	ended := <-read // When this returns, the caller may use the file again.
	return cmp.Or(failed, ended)
}

// pendingChunk is a chunk that is being written.
type pendingChunk struct {
	outcome outcome
	end     chan error
}

// writeAll writes chunks concurrently and returns them in the order of the file. No two of them are
// about one user, because duplicates were removed from the whole file.
func (p filePass) writeAll(ctx context.Context, chunks <-chan chunk) <-chan *pendingChunk {
	begun := make(chan *pendingChunk, p.writers-1) // the receiver holds one more
	go func() {
		defer close(begun)
		for c := range chunks {
			w := &pendingChunk{end: make(chan error, 1)}
			begun <- w
			if ctx.Err() != nil { // Chunks that were read ahead are dropped.
				w.end <- context.Cause(ctx)
				continue
			}
			go func() {
				var err error
				w.outcome, err = p.write(context.WithoutCancel(ctx), c)
				w.end <- err
			}()
		}
	}()
	return begun
}

func (p filePass) read(ctx context.Context, chunks chan<- chunk) error {
	c := chunk{}
	send := func() error {
		select {
		case chunks <- c:
			c = chunk{}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_, err := eachRow(p.open, func(n int, row imports.Row, e users.Enrollment, wrong *imports.RowError) error {
		switch {
		case n < p.from:
			return checkContext(ctx, n)
		case wrong != nil:
			c.reject(wrong)
		case p.duplicate.has(n):
			c.duplicates++
		default:
			c.add(row, e)
		}
		if c.full() {
			return send()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return send()
}

// eachRow calls visit for every row of a file, counted from 0, with its enrollment or its error.
// The row has no cells any more: they may take many times as much memory as its text.
func eachRow(open func() (io.ReadCloser, error), visit func(n int, row imports.Row, e users.Enrollment, wrong *imports.RowError) error) (imports.Header, error) {
	file, err := open()
	if err != nil {
		return imports.Header{}, err
	}
	defer func() { _ = file.Close() }() // Only read from.
	reader, err := imports.NewReader(file)
	if err != nil {
		return imports.Header{}, err
	}
	header := reader.Header()
	for n := 0; ; n++ {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return header, nil
		}
		var wrong *imports.RowError
		if err != nil && !errors.As(err, &wrong) {
			return header, err
		}
		var e users.Enrollment
		if wrong == nil {
			if e, err = header.Enrollment(row.Cells); err != nil {
				wrong = row.Reject(imports.Reason(err))
			}
			row.Cells = nil
		}
		if err := visit(n, row, e, wrong); err != nil {
			return header, err
		}
	}
}
