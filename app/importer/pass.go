package importer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// filePass is one pass over a file that writes its rows, a chunk at a time.
type filePass struct {
	open      func() (io.ReadCloser, error)
	duplicate rowSet
	from      int // rows before it are skipped
	writers   int // chunks that are written at a time
	// write writes a chunk and returns its outcome; users.ErrTooLarge if it must be written in
	// halves. It is not interrupted. report gets the outcomes afterwards, in the order of the file.
	write  func(ctx context.Context, c chunk) (outcome, error)
	report func(done outcome)
}

// chunk is a series of rows of the file, read and checked.
type chunk struct {
	enrollments []users.Enrollment
	rows        []imports.Row // of the enrollments
	rejected    []*imports.RowError
	duplicates  []int // their lines
	bytes       int   // of memory that the rows take, estimated
}

func (c *chunk) add(row imports.Row, e users.Enrollment) {
	c.enrollments = append(c.enrollments, e)
	c.rows = append(c.rows, row)
	c.bytes += users.Memory(len(row.Text), e.CustomFields)
}

func (c *chunk) reject(wrong *imports.RowError) {
	c.rejected = append(c.rejected, wrong)
	c.bytes += users.Memory(len(wrong.Text), nil)
}

func (c *chunk) full() bool {
	return max(len(c.enrollments), len(c.rejected), len(c.duplicates)) >= chunkRows || c.bytes >= chunkBytes
}

// size returns how many rows of the file a chunk has.
func (c chunk) size() int { return len(c.rows) + len(c.rejected) + len(c.duplicates) }

// batch returns the enrollments of a chunk. The members that they mean are bounded like its rows.
func (c chunk) batch(group orgs.GroupID) users.Batch {
	return users.Batch{Enrollments: c.enrollments, Group: group, MergeFields: true, MaxBytes: chunkBytes}
}

// halves splits a chunk at the line of the row in its middle: what comes before it in the file must
// be written before it.
func (c chunk) halves() (first, second chunk) {
	n := len(c.rows) / 2
	line := c.rows[n].Line
	r, _ := slices.BinarySearchFunc(c.rejected, line, func(wrong *imports.RowError, line int) int { return cmp.Compare(wrong.Line, line) })
	d, _ := slices.BinarySearch(c.duplicates, line)
	return chunk{enrollments: c.enrollments[:n], rows: c.rows[:n], rejected: c.rejected[:r], duplicates: c.duplicates[:d]},
		chunk{enrollments: c.enrollments[n:], rows: c.rows[n:], rejected: c.rejected[r:], duplicates: c.duplicates[d:]}
}

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
	o.report.Rejected, o.report.Duplicates = len(o.rejected), len(c.duplicates)
	return o
}

// do reads and checks the file in one goroutine while others write. When ctx ends, or a chunk
// cannot be written, the writes under way are finished and reported, so that the caller knows which
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
		for _, done := range w.outcomes {
			p.report(done)
		}
		if err != nil {
			failed = cmp.Or(failed, err)
			stop()
		}
	}
	ended := <-read // When this returns, the caller may use the file again.
	return cmp.Or(failed, ended)
}

// pendingChunk is a chunk that is being written.
type pendingChunk struct {
	outcomes []outcome // of its parts, in the order of the file
	end      chan error
}

// writeAll writes chunks concurrently and returns them in the order of the file. No two of them are
// about one user, because duplicates were removed from the whole file. When ctx ends, it drops the
// chunks that were read ahead. It decides in the order of the file: it drops no chunk before one
// that it writes.
func (p filePass) writeAll(ctx context.Context, chunks <-chan chunk) <-chan *pendingChunk {
	begun := make(chan *pendingChunk, p.writers-1) // the receiver holds one more
	go func() {
		defer close(begun)
		for c := range chunks {
			w := &pendingChunk{end: make(chan error, 1)}
			begun <- w
			if ctx.Err() != nil {
				w.end <- context.Cause(ctx)
				continue
			}
			go func() {
				var err error
				w.outcomes, err = p.writeParts(ctx, c)
				w.end <- err
			}()
		}
	}()
	return begun
}

// writeParts writes a chunk, in halves where it means members who are too large. It returns the
// outcomes of what it has written.
func (p filePass) writeParts(ctx context.Context, c chunk) (done []outcome, err error) {
	for parts := []chunk{c}; len(parts) > 0; {
		o, err := p.write(context.WithoutCancel(ctx), parts[0])
		switch {
		case errors.Is(err, users.ErrTooLarge):
			first, second := parts[0].halves()
			parts = slices.Replace(parts, 0, 1, first, second)
		case err != nil:
			return done, err
		default:
			done, parts = append(done, o), parts[1:]
		}
	}
	return done, nil
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
			c.duplicates = append(c.duplicates, row.Line)
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
