package console

import (
	"encoding/csv"
	"io"

	"github.com/tocsin/tocsin/domain/imports"
)

// csvWriter writes CSV that is safe for spreadsheet programs.
type csvWriter struct{ out *csv.Writer }

func newCSVWriter(out io.Writer) csvWriter { return csvWriter{csv.NewWriter(out)} }

// row writes one row. It escapes formulas.
func (s csvWriter) row(cells ...string) error {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = imports.EscapeFormula(c)
	}
	return s.out.Write(safe)
}

// flush writes buffered rows.
func (s csvWriter) flush() error {
	s.out.Flush()
	return s.out.Error()
}
