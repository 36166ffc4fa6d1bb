package console

import (
	"encoding/csv"
	"io"
	"regexp"

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

// semicolonFormulas matches the formulas after a semicolon: in many locales, spreadsheets split
// cells at semicolons, too.
var semicolonFormulas = regexp.MustCompile(`;("*[=+\-@\t\r\n])`)

// escapeFormula puts an apostrophe before what a spreadsheet would run as a formula.
func escapeFormula(cell string) string {
	if imports.IsFormula(cell) {
		cell = "'" + cell
	}
	return semicolonFormulas.ReplaceAllString(cell, ";'$1")
}
