package imports

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// tableBegin is how much of a file its header and first rows are looked for in.
	tableBegin = 256 << 10
	// sampledRows is how many rows are examined, samples how many of their cells are shown for each
	// column, and maxSample how many characters of each cell.
	sampledRows = 20
	samples     = 3
	maxSample   = 80
)

// usualMetadata are the names by which other programs call what Tocsin keeps as metadata.
var usualMetadata = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(`abteilung department dept team bereich kostenstelle costcenter costcentre position jobtitle funktion
		standort location office büro ort stadt city land country firma company unternehmen sprache language
		personalnummer employeeid employeenumber`) {
		all[name] = true
	}
	return all
}()

// Table is the beginning of a file: its header, of which nothing may be known, and its first rows.
type Table struct {
	Header Header
	rows   [][]string
}

// ReadTable reads the beginning of a file. ErrEmpty, ErrNotText, ErrNoEmail when it has no columns
// at all or too many to be mapped, or what is wrong with the header.
func ReadTable(file io.Reader) (Table, error) {
	r, err := newReader(file, anyHeader)
	if err != nil {
		return Table{}, err
	}
	t := Table{Header: r.header}
	for range sampledRows {
		row, err := r.Next()
		var wrong *RowError
		switch {
		case errors.As(err, &wrong):
		case errors.Is(err, io.EOF):
			return t, nil
		case err != nil:
			return Table{}, err
		default:
			t.rows = append(t.rows, row.Cells)
		}
	}
	return t, nil
}

// anyHeader reads a header row, which may name no e-mail.
func anyHeader(text string) (Header, error) {
	best, err := ParseHeader(text)
	if !errors.Is(err, ErrNoEmail) {
		return best, err
	}
	for _, d := range delimiters {
		parser := csv.NewReader(strings.NewReader(text))
		parser.Comma = d
		if cells, err := parser.Read(); err == nil && len(cells) > len(best.columns) {
			best = newHeader(text, d, cells)
		}
	}
	if best.applyUsualNames(); best.Mapping() == nil || len(best.columns) == 0 || slices.ContainsFunc(best.names, likeEmail) {
		return Header{}, ErrNoEmail // A row with an e-mail is data: the file has no header.
	}
	return best, nil
}

// Guess is what the columns become unless they are mapped. Beside the names that every
// import understands, the first column of e-mails is the e-mail when none has the name, and
// columns with the usual names of metadata become that. Nil when there are too many columns.
func (t Table) Guess() Mapping {
	m := t.Header.Mapping()
	if !slices.ContainsFunc(m, func(c Meaning) bool { return c.Field == Email }) {
		if i := t.emails(m); i >= 0 {
			m[i].Field = Email
		}
	}
	for i, c := range m {
		taken := slices.ContainsFunc(m, func(o Meaning) bool { return o.Field == Metadata && o.Key == c.Name })
		if c.Field == LeftOut && usualMetadata[plain(c.Name)] && !taken {
			m[i].Field, m[i].Key = Metadata, c.Name
		}
	}
	return m
}

// emails is the first column without a meaning of which more than half of the cells look like
// e-mails; -1: there is none.
func (t Table) emails(m Mapping) int {
	for i, c := range m {
		if c.Field != LeftOut || c.DescribesRejection() {
			continue
		}
		filled, emails := 0, 0
		for _, row := range t.rows {
			if cell := strings.TrimSpace(row[i]); cell != "" {
				filled++
				if likeEmail(cell) {
					emails++
				}
			}
		}
		if emails*2 > filled {
			return i
		}
	}
	return -1
}

// likeEmail reports whether a text may be an e-mail address.
func likeEmail(s string) bool {
	at := strings.IndexByte(s, '@')
	return at > 0 && at < len(s)-1
}

// Samples are some different cells of each column.
func (t Table) Samples() [][]string {
	all := make([][]string, len(t.Header.columns))
	for _, row := range t.rows {
		for i, cell := range row {
			if cell = sample(cell); cell != "" && len(all[i]) < samples && !slices.Contains(all[i], cell) {
				all[i] = append(all[i], cell)
			}
		}
	}
	return all
}

// sample is the beginning of a cell.
func sample(cell string) string {
	cell = strings.TrimSpace(cell)
	if utf8.RuneCountInString(cell) <= maxSample {
		return cell
	}
	return string([]rune(cell)[:maxSample-1]) + "…"
}
