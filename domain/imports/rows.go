// Package imports reads the files of a bulk import (contract 1.1, decisions 7): it turns text into
// rows that can be enrolled, or says what is wrong with them; and it knows the life of an import
// that runs in the background. It does not know where the text comes from nor how the rows are
// enrolled.
package imports

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
)

// MaxRow is the longest row, in bytes of the file.
const MaxRow = 128 << 10

// The faults that refuse a file as a whole.
var (
	ErrEmpty   = fault.New(fault.Invalid, "the file is empty")
	ErrNotText = fault.New(fault.Invalid, "the file is not UTF-8 text")
	ErrNoEmail = fault.New(fault.Invalid, "the file has no email column")
)

// Row is one row of a file: its cells, and where and how it stands there.
type Row struct {
	Line  int // on which it begins, counted from 1
	Text  string
	Cells []string
}

// A RowError says why a row is rejected. The reader continues with the next row.
type RowError struct {
	Line   int
	Reason string
	Text   string // the rejected row as it stands in the file; empty when it is too long to keep
}

func (e *RowError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Reject returns why this row is rejected.
func (r Row) Reject(reason string) *RowError {
	return &RowError{Line: r.Line, Reason: reason, Text: r.Text}
}

// A Reader reads rows one at a time; its memory does not grow with the file.
type Reader struct {
	lines  *lines
	header Header
}

// NewReader reads the header of a file. As in a row, a quoted cell of it may continue over several
// lines. ErrEmpty, ErrNotText, ErrNoEmail, or what is wrong with the header.
func NewReader(file io.Reader) (*Reader, error) { return newReader(file, ParseHeader) }

func newReader(file io.Reader, parse func(text string) (Header, error)) (*Reader, error) {
	r := &Reader{lines: newLines(file)}
	first, err := r.nextFilled()
	var tooLong *RowError
	switch {
	case errors.Is(err, io.EOF):
		return nil, ErrEmpty
	case errors.As(err, &tooLong):
		return nil, ErrNoEmail.With("the file has no header: %s", tooLong.Error())
	case err != nil:
		return nil, err
	}
	text, n, closed := r.quoted(first.text)
	if !closed {
		text, n = first.text, 1
	}
	r.lines.take(n)
	r.header, err = parse(strings.TrimSuffix(text, "\r"))
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Header returns what the columns mean.
func (r *Reader) Header() Header { return r.header }

// Next returns the next row; blank lines are skipped. io.EOF at the end, a *RowError for a row that
// cannot be split, ErrNotText when the file is not text after all.
func (r *Reader) Next() (Row, error) {
	first, err := r.nextFilled()
	if err != nil {
		return Row{}, err
	}
	row, err := r.split(first)
	if err != nil {
		r.lines.take(1)
		return Row{}, err
	}
	if len(row.Cells) != len(r.header.columns) {
		return Row{}, row.Reject(fmt.Sprintf("has %d cells where the header has %d", len(row.Cells), len(r.header.columns)))
	}
	return row, nil
}

// nextFilled returns the next line that is not blank and leaves it in the queue, unless it is too
// long to be a row.
func (r *Reader) nextFilled() (line, error) {
	for {
		switch l := r.lines.peek(0); {
		case l.ends():
			return line{}, l.err
		case l.err != nil:
			r.lines.take(1)
			return line{}, l.err
		case strings.TrimSpace(l.text) != "":
			return l, nil
		}
		r.lines.take(1)
	}
}

// split takes the lines of the row that begins with this one and returns it. A quoted cell may
// continue over several lines. When the row is malformed, nothing is taken and only its first line
// is rejected: a stray quote must not swallow the rows after it.
func (r *Reader) split(first line) (Row, error) {
	row := Row{Line: first.number, Text: first.content()}
	if strings.IndexByte(row.Text, '"') < 0 {
		r.lines.take(1)
		row.Cells = strings.Split(row.Text, string(r.header.delimiter))
		return row, nil
	}
	text, n, closed := r.quoted(first.text)
	if !closed {
		return row, row.Reject(fmt.Sprintf(`a quote (") is opened and not closed within %d KiB`, MaxRow>>10))
	}
	text = strings.TrimSuffix(text, "\r")
	cells, ok := splitQuoted(text, string(r.header.delimiter))
	if !ok {
		return row, row.Reject(`a quote (") is not allowed here`)
	}
	r.lines.take(n)
	row.Text, row.Cells = text, cells
	return row, nil
}

// quoted returns the text from the first line up to the one in which its last quote is closed, and
// how many lines that are.
func (r *Reader) quoted(first string) (text string, n int, closed bool) {
	open := strings.Count(first, `"`)%2 == 1
	if !open {
		return first, 1, true
	}
	var b strings.Builder
	b.WriteString(first)
	for n = 1; open; n++ {
		next := r.lines.peek(n)
		if next.err != nil || b.Len()+1+len(next.text) > MaxRow {
			return "", 0, false
		}
		b.WriteString("\n")
		b.WriteString(next.text)
		open = strings.Count(next.text, `"`)%2 == 0
	}
	return b.String(), n, true
}

// splitQuoted splits a row like encoding/csv, which would take several times as long to be set up
// for each row.
func splitQuoted(text, delimiter string) (cells []string, ok bool) {
	for more := true; more; {
		var cell string
		if quoted, found := strings.CutPrefix(text, `"`); found {
			if cell, text, ok = unquote(quoted); !ok {
				return nil, false
			}
			if text, more = strings.CutPrefix(text, delimiter); !more && text != "" {
				return nil, false
			}
		} else if cell, text, more = strings.Cut(text, delimiter); strings.Contains(cell, `"`) {
			return nil, false
		}
		cells = append(cells, cell)
	}
	return cells, true
}

// unquote returns the text before the closing quote, in which two quotes stand for one, and the
// text after it.
func unquote(text string) (cell, rest string, ok bool) {
	end := 0
	for {
		i := strings.IndexByte(text[end:], '"')
		if i < 0 {
			return "", "", false
		}
		end += i
		if !strings.HasPrefix(text[end+1:], `"`) {
			break
		}
		end += 2
	}
	cell = strings.ReplaceAll(text[:end], `""`, `"`)
	return strings.ReplaceAll(cell, "\r\n", "\n"), text[end+1:], true
}
