package imports

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

// Preview is the beginning of a file as an import will understand it.
type Preview struct {
	Header  Header
	Columns []Column
	Samples [][]string // some different cells of each column
	Rows    []PreviewRow
	More    bool // the file has more rows
}

// Column is what a column of a file means to an import.
type Column struct {
	Name    string // as the file has it, except for its case
	Means   string // one of users.DetailNames; empty for other columns
	Key     string // of the metadata; empty for other columns
	Warning string // why it is ignored; empty: it is not
}

// PreviewRow is a row with what is to be enrolled, or with what is wrong with it.
type PreviewRow struct {
	Line int
	users.Enrollment
	Rejected string // why; empty: it is not
	Warning  string
}

// ReadPreview reads at most so many rows. ErrEmpty, ErrNotText, ErrNoEmail, or what is wrong with
// the header.
func ReadPreview(file io.Reader, rows int) (p Preview, err error) {
	reader, err := NewReader(file)
	if err != nil {
		return Preview{}, err
	}
	p = Preview{Header: reader.Header(), Columns: reader.Header().Columns()}
	table := Table{Header: p.Header}
	defer func() { p.Samples = table.Samples() }()
	lines := map[string]int{}
	for {
		row, err := reader.Next()
		var wrong *RowError
		switch {
		case errors.Is(err, io.EOF):
			return p, nil
		case err != nil && !errors.As(err, &wrong):
			return Preview{}, err
		case len(p.Rows) == rows:
			p.More = true
			return p, nil
		case wrong != nil:
			p.Rows = append(p.Rows, PreviewRow{Line: wrong.Line, Rejected: wrong.Reason})
			continue
		}
		table.rows = append(table.rows, row.Cells)
		shown := PreviewRow{Line: row.Line}
		if shown.Enrollment, err = p.Header.Enrollment(row.Cells); err != nil {
			shown.Rejected = Reason(err)
			shown.Email = p.Header.email(row.Cells) // valid or not
		} else if first, repeated := lines[shown.Key()]; repeated {
			shown.Warning = fmt.Sprintf("ignored: same e-mail as line %d", first)
		} else {
			lines[shown.Key()] = row.Line
		}
		p.Rows = append(p.Rows, shown)
	}
}

// Columns returns what the columns mean.
func (h Header) Columns() []Column {
	all := make([]Column, len(h.columns))
	seen := map[column]bool{}
	for i, c := range h.columns {
		shown := Column{Name: c.means + c.key}
		switch {
		case c.means == customPrefix:
			shown.Key = c.key
		case c.means != "":
			shown.Name, shown.Means = cmp.Or(c.key, c.means), c.means
		case c.describesRejection():
		case c.key == "":
			shown.Warning = "ignored: no name"
		case strings.EqualFold(c.key, customPrefix):
			shown.Warning = "ignored: no key behind " + customPrefix
		case seen[c]:
			shown.Warning = "ignored: given twice"
		default:
			shown.Warning = "ignored: unknown column"
		}
		seen[c] = true
		all[i] = shown
	}
	return all
}

// Reason is what an error says of a row, on one line.
func Reason(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		err = f
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}
