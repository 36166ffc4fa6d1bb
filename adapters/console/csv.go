package console

import (
	"encoding/csv"
	"io"

	"github.com/tocsin/tocsin/domain/imports"
)

// csvWriter writes CSV for spreadsheet programs.
type csvWriter struct{ out *csv.Writer }

func newCSVWriter(out io.Writer) csvWriter { return csvWriter{csv.NewWriter(out)} }

// row writes one row of harmless cells.
func (s csvWriter) row(cells ...string) error {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = escapeFormula(c)
	}
	return s.out.Write(safe)
}

// flush passes on what was written so far.
func (s csvWriter) flush() error {
	s.out.Flush()
	return s.out.Error()
}

// escapeFormula returns a cell that is only text: spreadsheets run a cell that begins like a formula,
// unless it begins with an apostrophe.
func escapeFormula(cell string) string {
	if imports.IsFormula(cell) {
		return "'" + cell
	}
	return cell
}
