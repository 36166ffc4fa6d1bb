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

// formulaMark before such a cell makes it text. Programs keep it when the table is saved, so an
// import removes it again.
const formulaMark = "'"

// escapeFormula returns a cell that no program takes for a formula. Cells that look marked already
// are marked again, so that unescapeFormula undoes it for every cell.
func escapeFormula(cell string) string {
	if IsFormula(strings.TrimLeft(cell, formulaMark)) {
		return formulaMark + cell
	}
	return cell
}

// unescapeFormula returns the cell from which escapeFormula made this one.
func unescapeFormula(cell string) string {
	if rest := strings.TrimLeft(cell, formulaMark); len(rest) < len(cell) && IsFormula(rest) {
		return cell[len(formulaMark):]
	}
	return cell
}

// RejectsHeader is the first line of a list of rejected rows of this file.
func (h Header) RejectsHeader() string {
	return h.join([]string{LineColumn, ReasonColumn}) + string(h.delimiter) + h.Safe(h.text)
}

// RejectsRow returns a line of such a list: the line number, the reason, and the row as written by
// Safe.
func (h Header) RejectsRow(k RejectedRow) string {
	row := h.join([]string{strconv.Itoa(k.Line)}) + string(h.delimiter) + quote(k.Reason)
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
		return h.join([]string{escapeFormula(text)})
	}
	kept := make([]string, 0, len(cells))
	for i, cell := range cells {
		if i < len(h.columns) && h.columns[i].describesRejection() {
			continue
		}
		if h.listsRejects {
			cell = unescapeFormula(cell)
		}
		kept = append(kept, escapeFormula(cell))
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
