package console

import (
	"errors"
	"strconv"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/imports"
)

// correctionView is the form in which rejected rows are corrected.
type correctionView struct {
	imports.Correctable
	Form  form
	After int // the line before the first row
}

// Cell returns the name of the form field of a cell.
func (correctionView) Cell(line, column int) string {
	return "c" + strconv.Itoa(line) + "-" + strconv.Itoa(column)
}

// Heading returns the label of a column: that of a user field, or the key of metadata.
func (correctionView) Heading(column imports.Meaning) any {
	if column.Key != "" {
		return column.Key
	}
	return labelOf(string(column.Field))
}

// Value returns the sent value of a field, or else the rejected one.
func (v correctionView) Value(field, rejected string) string {
	if v.Form.values == nil {
		return rejected
	}
	return v.Form.Value(field)
}

// MaxLength returns the maximum length of a cell.
func (correctionView) MaxLength() int { return imports.MaxCorrectedCell }

// correction adds the form with the rejected rows to the view, unless they cannot be corrected.
func (c call) correction(v *importView, after int, refused form) error {
	if !v.State.Over() || v.Started.IsZero() || v.Kept == 0 {
		return nil
	}
	m, err := c.console.use.ImportJobs.Correctable(c.ctx, c.at(), v.ID, after)
	if errors.Is(err, imports.ErrNotCorrectable) {
		return nil
	}
	if err != nil {
		return err
	}
	v.Correctable = &correctionView{Correctable: m, Form: refused, After: after}
	return nil
}

// correctImport imports the corrected rows as a separate file.
func (c call) correctImport() error {
	id := web.ID[imports.ID](c, "import")
	after := int(c.selectedID("after"))
	m, err := c.console.use.ImportJobs.Correctable(c.ctx, c.at(), id, after)
	if err != nil {
		return err
	}
	corrected := map[int][]string{}
	for _, row := range m.Rows {
		for i := range row.Cells {
			if sent, ok := c.fields()[correctionView{}.Cell(row.Line, i)]; ok {
				corrected[row.Line] = append(corrected[row.Line], sent[0])
			}
		}
	}
	job, err := c.console.use.ImportJobs.Correct(c.ctx, c.actor(), c.at(), id, after, corrected)
	redisplay := func(f form) error {
		return c.importPage(id, func(v *importView) error { return c.correction(v, after, f) })
	}
	return c.answerForm(err, redisplay, c.below("imports", job.ID), "corrected")
}
