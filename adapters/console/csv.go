package console

import (
	"encoding/csv"
	"io"

	"github.com/tocsin/tocsin/domain/imports"
)

// sheet writes CSV for spreadsheet programs.
type sheet struct{ out *csv.Writer }

func newSheet(out io.Writer) sheet { return sheet{csv.NewWriter(out)} }

// row writes one row of harmless cells.
func (s sheet) row(cells ...string) error {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = harmless(c)
	}
	return s.out.Write(safe)
}

// flush passes on what was written so far.
func (s sheet) flush() error {
	s.out.Flush()
	return s.out.Error()
}

// harmless returns a cell that is only text: spreadsheets run a cell that begins like a formula,
// unless it begins with an apostrophe.
func harmless(cell string) string {
	if imports.IsFormula(cell) {
		return "'" + cell
	}
	return cell
}
