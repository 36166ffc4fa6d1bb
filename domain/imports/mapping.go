package imports

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

// Limits of the columns that can be mapped by hand.
const (
	// MaxMapped is how many columns a file may have.
	MaxMapped = 100
	// MaxRemembered is how many mappings of an organization are stored: the most recently used.
	MaxRemembered = 50
	// maxMappedHeader is how long a header may be, in bytes.
	maxMappedHeader = 16 << 10
	// maxKey is how long a key of the metadata may be, in characters.
	maxKey = 100
)

// ErrMapping refuses a mapping: it does not fit the file, or does not say who the users are.
var ErrMapping = fault.New(fault.Invalid, "the columns cannot be mapped this way")

// Field is the meaning of a column.
type Field string

// The fields.
const (
	LeftOut   Field = ""
	Email     Field = emailColumn
	FirstName Field = firstColumn
	LastName  Field = lastColumn
	Metadata  Field = "metadata"
)

// Meaning is a column of a file and its meaning.
type Meaning struct {
	Name  string `json:"name"` // in the file
	Field Field  `json:"field,omitempty"`
	Key   string `json:"key,omitempty"` // of the metadata
}

// DescribesRejection reports whether it is a column that a list of rejected rows adds. It is always
// ignored.
func (m Meaning) DescribesRejection() bool { return column{key: m.Name}.describesRejection() }

// Mapping is the meanings of a file's columns, in their order. To apply it, the header row is
// rewritten, so that readers of the file need not know it.
type Mapping []Meaning

// Check returns what is wrong with a mapping, by `field-N` and `key-N` of the Nth column from 0 on;
// ErrMapping.
func (m Mapping) Check() error {
	var wrong fault.Fields
	had := map[Meaning]string{}
	for i, c := range m {
		field := fmt.Sprintf("field-%d", i)
		same := Meaning{Field: c.Field}
		switch c.Field {
		case LeftOut:
			continue
		case Metadata:
			same.Key, field = c.Key, fmt.Sprintf("key-%d", i)
			if problem := keyProblem(c.Key); problem != "" {
				wrong.AddAs(ErrMapping, field, "%s", problem)
				continue
			}
		default:
			if !slices.Contains(users.DetailNames(), string(c.Field)) {
				wrong.AddAs(ErrMapping, field, "%q is not something that a column can become", c.Field)
				continue
			}
		}
		if c.DescribesRejection() {
			wrong.AddAs(ErrMapping, field, "the column %s describes a rejected row and is left out", c.Name)
		}
		if first, twice := had[same]; twice {
			wrong.AddAs(ErrMapping, field, "the columns %q and %q cannot both become %s", first, c.Name, same.words())
			continue
		}
		had[same] = c.Name
	}
	if _, known := had[Meaning{Field: Email}]; !known && len(wrong) == 0 {
		wrong.AddAs(ErrMapping, "columns", "one column must be the e-mail: it says who the user is")
	}
	return wrong.Err()
}

func keyProblem(key string) string {
	switch {
	case key == "":
		return "metadata needs a key"
	case utf8.RuneCountInString(key) > maxKey:
		return fmt.Sprintf("a key may have %d characters", maxKey)
	case key != strings.TrimSpace(key) || !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
		return "a key is text on one line, without space around it"
	}
	return ""
}

// words returns the meaning of a column in words.
func (m Meaning) words() string {
	if m.Field == Metadata {
		return "metadata under " + m.Key
	}
	return string(m.Field)
}

// Words lists the meanings of the columns, for the audit log.
func (m Mapping) Words() []string {
	all := make([]string, 0, len(m))
	for _, c := range m {
		if c.Field != LeftOut {
			all = append(all, c.Name+" → "+c.words())
		}
	}
	return all
}

// Digest identifies files with the same columns, in any order and case.
func (m Mapping) Digest() string {
	names := make([]string, len(m))
	for i, c := range m {
		names[i] = strings.ToLower(c.Name)
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00"))) // A name is text, and has none.
	return hex.EncodeToString(sum[:])
}

// As returns the mapping of these columns with the meanings of another mapping: columns of the same
// name get the same meaning, and others are ignored.
func (m Mapping) As(other Mapping) Mapping {
	left := slices.Clone(other)
	as := make(Mapping, len(m))
	for i, c := range m {
		as[i].Name = c.Name
		at := slices.IndexFunc(left, func(o Meaning) bool { return strings.EqualFold(o.Name, c.Name) })
		if at >= 0 {
			as[i].Field, as[i].Key = left[at].Field, left[at].Key
			left = slices.Delete(left, at, at+1)
		}
	}
	return as
}

// With returns the mapping with another meaning of one column. Other columns with this meaning are
// ignored from then on. what is one of users.DetailNames, custom__KEY or ignore. ErrMapping.
func (m Mapping) With(name, what string) (Mapping, error) {
	at := slices.IndexFunc(m, func(c Meaning) bool { return strings.EqualFold(c.Name, strings.TrimSpace(name)) })
	if at < 0 {
		return nil, ErrMapping.With("the file has no column %q", name)
	}
	becomes := meaning(strings.TrimSpace(what))
	changed := Meaning{Name: m[at].Name, Field: Field(becomes.means)}
	switch {
	case becomes.means == customPrefix:
		changed.Field, changed.Key = Metadata, becomes.key
	case changed.Field == LeftOut && !strings.EqualFold(becomes.key, ignore):
		return nil, ErrMapping.With("%q is not something that a column can become: %s, custom__KEY or ignore", what, strings.Join(users.DetailNames(), ", "))
	}
	with := slices.Clone(m)
	for i, c := range with {
		if c.Field == changed.Field && c.Key == changed.Key {
			with[i] = Meaning{Name: c.Name}
		}
	}
	with[at] = changed
	return with, nil
}

// ignore is how a column is left out on the command line.
const ignore = "ignore"

// leftOut before a name makes an import ignore the column.
const leftOut = "(left out) "

// header returns the header row that expresses the mapping.
func (m Mapping) header(delimiter rune) string {
	cells := make([]string, len(m))
	for i, c := range m {
		switch {
		case c.Field == Metadata:
			cells[i] = customPrefix + c.Key
		case c.Field != LeftOut:
			cells[i] = string(c.Field)
		case meaning(c.Name).means != "" || usual(c.Name) != "":
			cells[i] = leftOut + c.Name
		default:
			cells[i] = c.Name
		}
		if strings.ContainsAny(cells[i], "\",;\t") { // Whichever it is that separates cells.
			cells[i] = quote(cells[i])
		}
	}
	return strings.Join(cells, string(delimiter))
}

// Mapping is what the columns become; nil when they cannot be mapped by hand, because there are too
// many.
func (h Header) Mapping() Mapping {
	if len(h.columns) > MaxMapped || len(h.text) > maxMappedHeader {
		return nil
	}
	m := make(Mapping, len(h.columns))
	for i, c := range h.columns {
		m[i] = Meaning{Name: h.names[i], Field: Field(c.means)}
		if c.means == customPrefix {
			m[i].Field, m[i].Key = Metadata, c.key
		}
	}
	return m
}

// Map gives a file, of which this is the beginning, the columns of a mapping. It returns the
// beginning with its new header. ErrMapping, or what is wrong with the mapping.
func (h Header) Map(begin []byte, m Mapping) ([]byte, Header, error) {
	if err := m.Check(); err != nil {
		return nil, Header{}, err
	}
	lineEnd := []byte("\n")
	at := bytes.Index(begin, []byte(h.text)) // Before it there are blank lines at most.
	if at < 0 {                              // The lines of the file may end with a carriage return alone.
		lineEnd = []byte("\r")
		at = bytes.Index(begin, []byte(strings.ReplaceAll(h.text, "\n", "\r")))
	}
	if len(m) != len(h.columns) || at < 0 {
		return nil, Header{}, ErrMapping.With("the columns are not those of the file")
	}
	mapped, err := ParseHeader(m.header(h.delimiter))
	if err != nil || mapped.delimiter != h.delimiter || !mapped.matches(m) {
		return nil, Header{}, ErrMapping.With("the names of the columns cannot be told apart")
	}
	blank := bytes.Repeat(lineEnd, strings.Count(h.text, "\n")) // The rows keep their line numbers.
	return slices.Concat(begin[:at], blank, []byte(mapped.text), begin[at+len(h.text):]), mapped, nil
}

// matches reports whether the header has the same meanings as a mapping.
func (h Header) matches(m Mapping) bool {
	return slices.EqualFunc(h.Mapping(), m, func(a, b Meaning) bool { return a.Field == b.Field && (a.Field != Metadata || a.Key == b.Key) })
}

// MapFile returns a file with changed columns: change gets the mapping that was guessed and returns
// the mapping to use. Closing it closes the file. ErrMapping, the errors of the header, or those of
// change.
func MapFile(file io.ReadCloser, change func(Mapping) (Mapping, error)) (io.ReadCloser, error) {
	begin := make([]byte, tableBegin)
	n, err := io.ReadFull(file, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // It may be shorter.
		return nil, err
	}
	begin = begin[:n]
	r, err := newReader(bytes.NewReader(begin), anyHeader)
	if err != nil {
		return nil, err
	}
	if r.header.Mapping() == nil {
		return nil, ErrMapping.With("the file has too many columns to be mapped: at most %d, named in %d KiB", MaxMapped, maxMappedHeader>>10)
	}
	m, err := change(r.header.Mapping())
	if err != nil {
		return nil, err
	}
	if begin, _, err = r.header.Map(begin, m); err != nil {
		return nil, ErrMapping.With("%s", messages(err))
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), file), file}, nil
}

// messages returns what is wrong with a mapping without the names of fields.
func messages(err error) string {
	known, is := errors.AsType[*fault.Error](err)
	if !is || len(known.Fields()) == 0 {
		return err.Error()
	}
	var said []string
	for _, f := range known.Fields() {
		said = append(said, f.Messages...)
	}
	return strings.Join(said, "; ")
}
