package console

import (
	"encoding/csv"
	"io"

	"github.com/tocsin/tocsin/domain/imports"
)

// sheet writes CSV that people open with a spreadsheet.
type sheet struct{ out *csv.Writer }

func newSheet(out io.Writer) sheet { return sheet{csv.NewWriter(out)} }

// row writes one row, whose cells do nothing wherever they are opened.
func (s sheet) row(cells ...string) error {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = harmless(c)
	}
	return s.out.Write(safe)
}

// flush hands on what was written so far.
func (s sheet) flush() error {
	s.out.Flush()
	return s.out.Error()
}

// harmless is a cell as text and nothing else: what begins like a formula, spreadsheets run, unless
// an apostrophe stands before it.
func harmless(cell string) string {
	if imports.IsFormula(cell) {
		return "'" + cell
	}
	return cell
}
