package imports

import (
	"strings"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/fault"
)

// Limits of the rows that can be corrected without a file.
const (
	// MaxCorrected is how many rejected rows are corrected at a time.
	MaxCorrected = 100
	// MaxCorrectedColumns is the largest number of columns with a meaning.
	MaxCorrectedColumns = 20
	// MaxCorrectedCell is how long a cell may be, in characters.
	MaxCorrectedCell = 1_000
	// maxCorrectedBytes is how much text the rows of one correction may have.
	maxCorrectedBytes = 64 << 10
)

// Errors of corrected rows.
var (
	ErrNotCorrectable   = fault.New(fault.Invalid, "the rejected rows cannot be corrected here: the import is not over, or its file has too many columns")
	ErrNothingCorrected = fault.New(fault.Invalid, "no row was changed: correct one first")
	ErrCorrected        = fault.New(fault.Conflict, "somebody has corrected some of these rows in the meantime")
	ErrCorrectedCell    = fault.New(fault.Invalid, "a cell may have 1,000 characters")
)

// Correctable is a list of rejected rows that can be corrected.
type Correctable struct {
	Columns Mapping // those with a meaning
	Rows    []CorrectableRow
	Next    int // further rows are after this line; 0: there are none
}

// CorrectableRow is a rejected row. It has a cell for each column of the file.
type CorrectableRow struct {
	Line   int
	Reason string
	Cells  []string // none: it is too large to be corrected here, or is corrected
	// Corrected is set if another import contains the row.
	Corrected Correction
}

// Correctable returns rejected rows as they can be corrected, as many of these as are shown at a
// time. ErrNotCorrectable.
func (h Header) Correctable(rows []RejectedRow) (Correctable, error) {
	var m Correctable
	var places []int // of the columns, in a kept row
	place := 0       // At the end: how many columns a kept row has.
	for i, c := range h.Mapping() {
		if c.Field != LeftOut {
			m.Columns = append(m.Columns, c)
			places = append(places, place)
		}
		if !h.columns[i].describesRejection() {
			place++
		}
	}
	if len(m.Columns) == 0 || len(m.Columns) > MaxCorrectedColumns {
		return Correctable{}, ErrNotCorrectable
	}
	size := 0
	for i, k := range rows {
		row := CorrectableRow{Line: k.Line, Reason: k.Reason}
		if k.Corrected.InEffect() {
			row.Corrected = k.Corrected
		} else {
			row.Cells = h.cells(k, places, place)
		}
		for _, cell := range row.Cells {
			size += len(cell)
		}
		if len(m.Rows) == MaxCorrected || i > 0 && size > maxCorrectedBytes {
			m.Next = m.Rows[len(m.Rows)-1].Line
			break
		}
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}

// cells returns the cells of a rejected row in these columns; none when one is too long, or when
// the row has more than the file has columns: the others could not be shown. A row that could not
// be split is in the first.
func (h Header) cells(k RejectedRow, places []int, columns int) []string {
	kept, ok := splitQuoted(k.Cells, string(h.delimiter))
	if k.Cells == "" || !ok || len(kept) > columns {
		return nil
	}
	cells := make([]string, len(places))
	if len(kept) == 1 {
		places = []int{0}
	}
	for i, place := range places {
		if place >= len(kept) {
			continue
		}
		cells[i] = unescapeFormula(kept[place])
		if utf8.RuneCountInString(cells[i]) > MaxCorrectedCell {
			return nil
		}
	}
	return cells
}

// Correct returns a file of the corrected rows, and their lines: those whose cells, by their lines,
// differ from the rejected ones. ErrNothingCorrected, ErrCorrectedCell.
func (m Correctable) Correct(corrected map[int][]string) (text string, lines []int, err error) {
	var file strings.Builder
	file.WriteString(m.Columns.header(','))
	for _, row := range m.Rows {
		cells, sent := corrected[row.Line]
		if !sent || row.Cells == nil || len(cells) != len(row.Cells) {
			continue
		}
		differs := false
		safe := make([]string, len(cells))
		for i, cell := range cells {
			if utf8.RuneCountInString(cell) > MaxCorrectedCell {
				return "", nil, ErrCorrectedCell.With("line %d: a cell may have %d characters", row.Line, MaxCorrectedCell)
			}
			if plainLines(cell) == plainLines(row.Cells[i]) {
				cell = row.Cells[i]
			} else {
				differs = true
			}
			safe[i] = quote(cell)
		}
		if differs {
			lines = append(lines, row.Line)
			file.WriteString("\n" + strings.Join(safe, ","))
		}
	}
	if len(lines) == 0 {
		return "", nil, ErrNothingCorrected
	}
	return file.String() + "\n", lines, nil
}

// plainLines returns a cell as a form field sends it back: without line ends.
func plainLines(cell string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(cell) }
