package imports

import (
	"strings"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/fault"
)

// Limits of the rows that can be corrected without a file.
const (
	// MaxMended is how many rejected rows are corrected at a time.
	MaxMended = 100
	// MaxMendedColumns is the largest number of columns with a meaning.
	MaxMendedColumns = 20
	// MaxMendedCell is how long a cell may be, in characters.
	MaxMendedCell = 1_000
	// maxMendedBytes is how much text the rows of one correction may have.
	maxMendedBytes = 64 << 10
)

// Errors of corrected rows.
var (
	ErrNotMendable   = fault.New(fault.Invalid, "the rejected rows cannot be corrected here: the import is not over, or its file has too many columns")
	ErrNothingMended = fault.New(fault.Invalid, "no row was changed: correct one first")
	ErrCorrected     = fault.New(fault.Conflict, "somebody has corrected some of these rows in the meantime")
	ErrMendedCell    = fault.New(fault.Invalid, "a cell may have 1,000 characters")
)

// Mending is a list of rejected rows that can be corrected.
type Mending struct {
	Columns Mapping // those with a meaning
	Rows    []MendingRow
	Next    int // further rows are after this line; 0: there are none
}

// MendingRow is a rejected row. It has a cell for each column of the file.
type MendingRow struct {
	Line   int
	Reason string
	Cells  []string // none: it is too large to be corrected here, or is corrected
	// Corrected is set if another import contains the row.
	Corrected Correction
}

// Mending returns rejected rows as they can be corrected, as many of these as are shown at a time.
// ErrNotMendable.
func (h Header) Mending(rows []Kept) (Mending, error) {
	var m Mending
	var places []int // of the columns, in a kept row
	place := 0       // At the end: how many columns a kept row has.
	for i, c := range h.Mapping() {
		if c.Field != LeftOut {
			m.Columns = append(m.Columns, c)
			places = append(places, place)
		}
		if !h.columns[i].tells() {
			place++
		}
	}
	if len(m.Columns) == 0 || len(m.Columns) > MaxMendedColumns {
		return Mending{}, ErrNotMendable
	}
	size := 0
	for i, k := range rows {
		row := MendingRow{Line: k.Line, Reason: k.Reason}
		if k.Corrected.Holds() {
			row.Corrected = k.Corrected
		} else {
			row.Cells = h.cells(k, places, place)
		}
		for _, cell := range row.Cells {
			size += len(cell)
		}
		if len(m.Rows) == MaxMended || i > 0 && size > maxMendedBytes {
			m.Next = m.Rows[len(m.Rows)-1].Line
			break
		}
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}

// cells are the cells of a kept row at these places; none when one is too long, or when the row has
// more than the file has columns: nobody could see the others. A row that could not be split stands
// in the first.
func (h Header) cells(k Kept, places []int, columns int) []string {
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
		cells[i] = unmarked(kept[place])
		if utf8.RuneCountInString(cells[i]) > MaxMendedCell {
			return nil
		}
	}
	return cells
}

// Mend returns a file of the corrected rows, and their lines: those whose cells, by their lines,
// differ from the rejected ones. ErrNothingMended, ErrMendedCell.
func (m Mending) Mend(corrected map[int][]string) (text string, lines []int, err error) {
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
			if utf8.RuneCountInString(cell) > MaxMendedCell {
				return "", nil, ErrMendedCell.With("line %d: a cell may have %d characters", row.Line, MaxMendedCell)
			}
			differs = differs || plainLines(cell) != plainLines(row.Cells[i])
			safe[i] = quote(cell)
		}
		if differs {
			lines = append(lines, row.Line)
			file.WriteString("\n" + strings.Join(safe, ","))
		}
	}
	if len(lines) == 0 {
		return "", nil, ErrNothingMended
	}
	return file.String() + "\n", lines, nil
}

// plainLines returns a cell as a form field sends it back: without line ends.
func plainLines(cell string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(cell) }
