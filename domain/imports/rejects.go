package imports

import (
	"strconv"
	"strings"
)

// The columns that a list of rejected rows puts before the row itself, so that it can be corrected
// and imported again. An import ignores them, without a warning.
const (
	LineColumn   = "import_line"
	ReasonColumn = "import_reason"
)

// formulaStarts are the first characters by which spreadsheet programs recognize a formula.
const formulaStarts = "=+-@\t\r\n"

// IsFormula reports whether spreadsheet programs take a cell for a formula, and run it.
func IsFormula(cell string) bool { return cell != "" && strings.IndexByte(formulaStarts, cell[0]) >= 0 }

// separators are the characters at which spreadsheet programs may split a cell, depending on the
// locale: a program that expects another delimiter does not know the quotes of the cell.
const separators = ",;\t\r\n"

// formulaMark before a formula makes it text. Programs keep it when the table is saved, so an
// import removes it again.
const formulaMark = "'"

// formulas returns where formulas begin in a cell, with the marks and quotes before them: at its
// start, and after each separator. A quote at its start is written as several, so it is text.
func formulas(cell string) (places []int) {
	for i := range len(cell) {
		before := formulaMark
		if i > 0 {
			before += `"`
		}
		if (i == 0 || strings.IndexByte(separators, cell[i-1]) >= 0) && IsFormula(strings.TrimLeft(cell[i:], before)) {
			places = append(places, i)
		}
	}
	return places
}

// EscapeFormula returns a cell in which no program finds a formula, for every CSV file that people
// open. What looks marked already is marked again, so that unescapeFormula undoes it for every
// cell.
func EscapeFormula(cell string) string {
	var b strings.Builder
	done := 0
	for _, i := range formulas(cell) {
		b.WriteString(cell[done:i] + formulaMark)
		done = i
	}
	return b.String() + cell[done:]
}

// unescapeFormula returns the cell from which EscapeFormula made this one.
func unescapeFormula(cell string) string {
	var b strings.Builder
	done := 0
	for _, i := range formulas(cell) {
		if strings.HasPrefix(cell[i:], formulaMark) {
			b.WriteString(cell[done:i])
			done = i + len(formulaMark)
		}
	}
	return b.String() + cell[done:]
}

// RejectsHeader is the first line of a list of rejected rows of this file.
func (h Header) RejectsHeader() string {
	return h.join([]string{LineColumn, ReasonColumn}) + string(h.delimiter) + h.Safe(h.text)
}

// RejectsRow returns a line of such a list: the line number, the reason, and the row as written by
// Safe.
func (h Header) RejectsRow(k RejectedRow) string {
	row := h.join([]string{strconv.Itoa(k.Line)}) + string(h.delimiter) + quote(EscapeFormula(k.Reason))
	if k.Cells != "" {
		row += string(h.delimiter) + k.Cells
	}
	return row
}

// Keep returns the stored form of a rejected row.
func (h Header) Keep(e *RowError) RejectedRow {
	return RejectedRow{Line: e.Line, Reason: e.Reason, Cells: h.Safe(e.Text)}
}

// Safe rewrites a row of this file so that no spreadsheet program takes a cell for a formula:
// marked, and quoted where necessary. A row that cannot be split becomes one cell. The columns of
// an earlier rejection are left out.
func (h Header) Safe(text string) string {
	if text == "" {
		return ""
	}
	cells, ok := splitQuoted(text, string(h.delimiter))
	if !ok {
		return h.join([]string{EscapeFormula(text)})
	}
	kept := make([]string, 0, len(cells))
	for i, cell := range cells {
		if i < len(h.columns) && h.columns[i].describesRejection() {
			continue
		}
		if h.listsRejects {
			cell = unescapeFormula(cell)
		}
		kept = append(kept, EscapeFormula(cell))
	}
	return h.join(kept)
}

// describesRejection reports whether the column is one that a list of rejected rows adds.
func (c column) describesRejection() bool {
	return c.means == "" && (c.key == LineColumn || c.key == ReasonColumn)
}

func (h Header) join(cells []string) string {
	for i, cell := range cells {
		if strings.ContainsAny(cell, "\"\r\n"+string(h.delimiter)) || cell != strings.TrimSpace(cell) {
			cells[i] = quote(cell)
		}
	}
	return strings.Join(cells, string(h.delimiter))
}

func quote(cell string) string { return `"` + strings.ReplaceAll(cell, `"`, `""`) + `"` }
