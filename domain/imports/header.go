package imports

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

// MaxColumns is how many columns a file may have: more than a member may have values of metadata.
const MaxColumns = 2_500

// maxQuotedHeader is how many characters of a header an error quotes.
const maxQuotedHeader = 80

// customPrefix marks the columns that become metadata (contract 1.1).
const customPrefix = "custom__"

// Header is the parsed first row of a file.
type Header struct {
	delimiter rune
	text      string
	names     []string // of the columns, as they stand there, each on one line
	columns   []column
	ignored   []string
	// listsRejects says that the file is a list of rejected rows, by its columns: its cells are
	// marked.
	listsRejects bool
}

type column struct {
	means string // one of users.DetailNames, customPrefix, or empty: ignored
	key   string // of custom__<key>, the name that was understood, or the name of an ignored column
}

// The columns with a fixed meaning (contract 1.1).
const (
	emailColumn = "email"
	firstColumn = "first_name"
	lastColumn  = "last_name"
)

// usualNames are the names, without spaces, hyphens, underscores and dots, by which other programs
// call columns.
var usualNames = map[string]string{
	"email": emailColumn, "mail": emailColumn, "emailaddress": emailColumn, "mailaddress": emailColumn, "emailadresse": emailColumn, "mailadresse": emailColumn,
	"courriel": emailColumn, "adresseemail": emailColumn, "correo": emailColumn, "correoelectrónico": emailColumn, "indirizzoemail": emailColumn,
	"firstname": firstColumn, "givenname": firstColumn, "forename": firstColumn, "vorname": firstColumn, "prénom": firstColumn, "nombre": firstColumn,
	"lastname": lastColumn, "surname": lastColumn, "familyname": lastColumn, "nachname": lastColumn, "familienname": lastColumn, "nomdefamille": lastColumn,
	"apellido": lastColumn, "apellidos": lastColumn, "cognome": lastColumn,
}

// usual returns what a column of this name usually means; empty: unknown.
func usual(name string) string {
	return usualNames[plain(name)]
}

// plain is a name without spaces, hyphens, underscores and dots, in lower case.
func plain(name string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}

// delimiters are what may separate cells.
var delimiters = []rune{',', ';', '\t'}

// newHeader is a header row that was split into cells.
func newHeader(text string, delimiter rune, cells []string) Header {
	h := Header{delimiter: delimiter, text: text, columns: make([]column, len(cells)), names: make([]string, len(cells))}
	for i, cell := range cells {
		h.names[i] = strings.TrimSpace(cell)
	}
	h.listsRejects = slices.Contains(h.names, LineColumn) && slices.Contains(h.names, ReasonColumn)
	for i, name := range h.names {
		if h.listsRejects {
			h.names[i] = strings.TrimSpace(unescapeFormula(name))
		}
		h.names[i] = onOneLine(h.names[i])
		h.columns[i] = meaning(h.names[i])
	}
	return h
}

// Text is the header row as it stands in the file.
func (h Header) Text() string { return h.text }

// Ignored names the columns that mean nothing to an import, each once.
func (h Header) Ignored() []string { return h.ignored }

// ParseHeader reads a header row as it stands in a file. It detects the delimiter, which is the
// candidate that splits the header into the most columns with an email among them, and reads the
// names. They count without regard to case or surrounding space, except the <key> of custom__<key>,
// kept as written. A line break in a name counts as a space. Where no column has a name of the
// contract, the first one with a usual name counts, such as E-Mail or Vorname. ErrNoEmail, or what
// is wrong with it.
func ParseHeader(text string) (Header, error) {
	var best Header
	for _, d := range delimiters {
		parser := csv.NewReader(strings.NewReader(text))
		parser.Comma = d
		cells, err := parser.Read()
		if err != nil || len(cells) <= len(best.columns) || !slices.ContainsFunc(cells, isEmailColumn) {
			continue
		}
		best = newHeader(text, d, cells)
	}
	if best.columns == nil {
		return Header{}, ErrNoEmail.With("the file has no email column; its first line is %q", shortened(text))
	}
	if len(best.columns) > MaxColumns {
		return Header{}, fault.New(fault.Invalid, fmt.Sprintf("the file has %d columns: at most %d are allowed", len(best.columns), MaxColumns))
	}
	best.applyUsualNames()
	seen := map[column]bool{}
	for i, c := range best.columns {
		switch {
		case c.means == "" && c.key == "":
			best.ignored = append(best.ignored, fmt.Sprintf("column %d, which has no name", i+1))
		case c.means == "" && !seen[c] && !c.describesRejection():
			best.ignored = append(best.ignored, strings.TrimPrefix(c.key, leftOut))
		case c.means != "" && seen[c]:
			return Header{}, fault.New(fault.Invalid, "the header names the column "+c.means+c.key+" twice")
		}
		seen[c] = true
	}
	return best, nil
}

// onOneLine returns the name of a column with spaces for line breaks.
func onOneLine(name string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(name)
}

// shortened returns the beginning of the first line of a header, for an error.
func shortened(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	text = strings.TrimSuffix(text, "\r")
	if runes := []rune(text); len(runes) > maxQuotedHeader {
		return string(runes[:maxQuotedHeader]) + "…"
	}
	return text
}

func isEmailColumn(cell string) bool {
	name := onOneLine(strings.TrimSpace(cell))
	return meaning(name).means == emailColumn || usual(name) == emailColumn
}

// applyUsualNames gives columns with usual names the meanings that no column has yet.
func (h *Header) applyUsualNames() {
	for _, means := range users.DetailNames() {
		if slices.ContainsFunc(h.columns, func(c column) bool { return c.means == means }) {
			continue
		}
		if i := slices.IndexFunc(h.columns, func(c column) bool { return c.means == "" && usual(c.key) == means }); i >= 0 {
			h.columns[i].means = means
		}
	}
}

func meaning(name string) column {
	switch lower := strings.ToLower(name); {
	case slices.Contains(users.DetailNames(), lower):
		return column{means: lower}
	case strings.HasPrefix(lower, customPrefix) && len(name) > len(customPrefix):
		return column{means: customPrefix, key: name[len(customPrefix):]}
	}
	return column{key: name}
}

// Enrollment reads the cells of a row. custom__ cells that are empty are left out, the others are
// strings. In a list of rejected rows the marks against formulas are taken away.
func (h Header) Enrollment(cells []string) (users.Enrollment, error) {
	var fields metadata.Map
	for i, c := range h.columns {
		if c.means != customPrefix {
			continue
		}
		if cell := strings.TrimSpace(h.cell(cells, i)); cell != "" {
			if fields == nil {
				fields = metadata.Map{}
			}
			fields[c.key] = cell
		}
	}
	return users.NewEnrollment(func(name string) string {
		i := slices.IndexFunc(h.columns, func(c column) bool { return c.means == name })
		if i < 0 {
			return ""
		}
		return h.cell(cells, i)
	}, fields)
}

// cell is what stands in a column of a row.
func (h Header) cell(cells []string, column int) string {
	if h.listsRejects {
		return unescapeFormula(cells[column])
	}
	return cells[column]
}

// email is the e-mail of a row as it stands there.
func (h Header) email(cells []string) string {
	i := slices.IndexFunc(h.columns, func(c column) bool { return c.means == emailColumn })
	return strings.TrimSpace(cells[i])
}
