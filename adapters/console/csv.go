package console

import (
	"encoding/csv"
	"io"
	"strings"

	"github.com/tocsin/tocsin/domain/imports"
)

// csvWriter writes CSV that is safe for spreadsheet programs.
type csvWriter struct{ out *csv.Writer }

func newCSVWriter(out io.Writer) csvWriter { return csvWriter{csv.NewWriter(out)} }

// row writes one row. It escapes formulas.
func (s csvWriter) row(cells ...string) error {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = escapeFormula(c)
	}
	return s.out.Write(safe)
}

// flush writes buffered rows.
func (s csvWriter) flush() error {
	s.out.Flush()
	return s.out.Error()
}

// semicolonFormulas marks the formulas after a semicolon: in many languages, spreadsheets take it
// for the separator, in spite of the commas.
var semicolonFormulas = strings.NewReplacer(";=", ";'=", ";+", ";'+", ";-", ";'-", ";@", ";'@")

// escapeFormula puts an apostrophe before what a spreadsheet would run as a formula.
func escapeFormula(cell string) string {
	if imports.IsFormula(cell) {
		cell = "'" + cell
	}
	return semicolonFormulas.Replace(cell)
}
