// Package sheets turns the files that people are kept in into what imports read, CSV in UTF-8:
// text in other encodings, and workbooks of Excel.
package sheets

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/tocsin/tocsin/domain/imports"
)

// peeked is how much of a file is looked at to detect its encoding.
const peeked = 64 << 10

// utf8Name is the encoding that needs no decoding.
const utf8Name = "UTF-8"

// encodings are what text can be in, by the names that people know.
var encodings = []struct {
	name    string
	decoded encoding.Encoding // nil: it is UTF-8
}{
	{utf8Name, nil},
	{"Windows-1252", charmap.Windows1252},
	{"ISO-8859-15", charmap.ISO8859_15},
	{"Windows-1250", charmap.Windows1250},
	{"Windows-1251", charmap.Windows1251},
	{"Macintosh", charmap.Macintosh},
	{"UTF-16LE", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
	{"UTF-16BE", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
}

// Encodings returns the encodings that Open knows by name.
func Encodings() []string {
	names := make([]string, len(encodings))
	for i, e := range encodings {
		names[i] = e.name
	}
	return names
}

// Table is a file as CSV in UTF-8. It must be closed.
type Table struct {
	io.ReadCloser
	Source string // what the file was: an encoding, or a sheet of a workbook
}

// Opener opens files. It may be used concurrently.
type Opener struct {
	workbook chan struct{} // taken by whoever has a workbook in memory

	mu     sync.Mutex
	coming map[string]bool // whose workbooks are on their way
}

// NewOpener returns an opener that has one workbook in memory at a time.
func NewOpener() *Opener { return &Opener{workbook: make(chan struct{}, 1), coming: map[string]bool{}} }

// Open reads the beginning of a file, finds out what it is, and returns it as a table. encoding is
// the name of the encoding of text; empty: it is detected. What is neither UTF-8 nor UTF-16 is
// taken for Windows-1252. Text is decoded as it is read. A workbook is held in memory, and others
// wait for it; an owner, such as an organization, sends one at a time. imports.ErrNotText,
// imports.ErrTooLarge, imports.ErrBusy, or what the file's reader says.
func (o *Opener) Open(ctx context.Context, owner string, file io.Reader, encoding string) (Table, error) {
	text := bufio.NewReaderSize(file, peeked)
	begin, err := text.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) {
		return Table{}, err
	}
	switch {
	case bytes.HasPrefix(begin, []byte("PK\x03\x04")):
		return o.openWorkbook(ctx, owner, text)
	case bytes.HasPrefix(begin, []byte("\xd0\xcf\x11\xe0")):
		return Table{}, imports.ErrNotText.With("the file is a workbook of an old Excel: save it as .xlsx or as CSV")
	case encoding == "":
		encoding = detected(begin, errors.Is(err, io.EOF))
	}
	for _, e := range encodings {
		switch {
		case e.name != encoding:
		case e.decoded == nil:
			return Table{io.NopCloser(text), e.name}, nil
		default:
			return Table{io.NopCloser(transform.NewReader(text, e.decoded.NewDecoder())), e.name}, nil
		}
	}
	return Table{}, imports.ErrNotText.With("the encoding %q is not known", encoding)
}

// detected is the encoding of text that begins so. whole says that this is all of it.
func detected(begin []byte, whole bool) string {
	switch {
	case bytes.HasPrefix(begin, []byte("\xff\xfe")):
		return "UTF-16LE"
	case bytes.HasPrefix(begin, []byte("\xfe\xff")):
		return "UTF-16BE"
	}
	if !whole { // The last character may be cut.
		for n := 1; n < utf8.UTFMax && n < len(begin); n++ {
			if utf8.RuneStart(begin[len(begin)-n]) {
				if !utf8.FullRune(begin[len(begin)-n:]) {
					begin = begin[:len(begin)-n]
				}
				break
			}
		}
	}
	zeros := [2]int{}
	for i, b := range begin {
		if b == 0 {
			zeros[i%2]++
		}
	}
	// Text of Latin letters in UTF-16 has a zero in nearly every other place, and none between.
	switch most := len(begin) * 2 / 5; {
	case zeros[0] == 0 && zeros[1] > most:
		return "UTF-16LE"
	case zeros[1] == 0 && zeros[0] > most:
		return "UTF-16BE"
	case utf8.Valid(begin), zeros[0]+zeros[1] > 0: // What has other zeros is no text.
		return utf8Name
	}
	return "Windows-1252"
}
