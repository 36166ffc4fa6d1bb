// Package sheets converts import files to CSV in UTF-8: text in other encodings, and Excel
// workbooks.
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

// sniffSize is the number of bytes of a file from which its encoding is detected.
const sniffSize = 64 << 10

const (
	utf8Name     = "UTF-8"        // needs no decoding
	fallbackName = "Windows-1252" // is what other text is read as
)

// encodings are the supported encodings, by their usual names.
var encodings = []struct {
	name    string
	decoded encoding.Encoding // nil: it is UTF-8
}{
	{utf8Name, nil},
	{fallbackName, charmap.Windows1252},
	{"ISO-8859-15", charmap.ISO8859_15},
	{"Windows-1250", charmap.Windows1250},
	{"Windows-1251", charmap.Windows1251},
	{"Macintosh", charmap.Macintosh},
	{"UTF-16LE", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
	{"UTF-16BE", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
}

// Encodings returns the names of the encodings that Open accepts.
func Encodings() []string {
	names := make([]string, len(encodings))
	for i, e := range encodings {
		names[i] = e.name
	}
	return names
}

// Table is a file converted to CSV in UTF-8. It must be closed.
type Table struct {
	io.ReadCloser
	Source  string // what the file was: an encoding, or a sheet of a workbook
	Guessed bool   // whether the encoding is not certain
}

// Opener opens files. It is safe for concurrent use.
type Opener struct {
	workbook chan struct{} // full while a workbook is in memory

	mu     sync.Mutex
	owners map[string]bool // of workbooks that are received, wait or are in memory
}

// NewOpener returns an opener that holds one workbook in memory at a time.
func NewOpener() *Opener {
	return &Opener{workbook: make(chan struct{}, 1), owners: map[string]bool{}}
}

// Open detects the format of a file and returns it as a table. encoding is the name of the text's
// encoding; empty: it is detected. Text that is neither UTF-8 nor UTF-16 is read as Windows-1252.
// UTF-8 with a few wrong bytes stays UTF-8, so that the reader of its lines refuses it. Text is
// decoded while it is read. A workbook is read into memory, and others wait for it. An owner, such
// as an organization, can send one at a time. Errors are imports.ErrNotText, imports.ErrTooLarge,
// imports.ErrBusy, or that of the file's reader.
func (o *Opener) Open(ctx context.Context, owner string, file io.Reader, encoding string) (Table, error) {
	text := bufio.NewReaderSize(file, sniffSize)
	begin, err := text.Peek(sniffSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return Table{}, err
	}
	switch {
	case bytes.HasPrefix(begin, []byte("PK\x03\x04")):
		return o.openWorkbook(ctx, owner, text)
	case bytes.HasPrefix(begin, []byte("\xd0\xcf\x11\xe0")):
		return Table{}, imports.ErrNotText.With("the file is a workbook of an old Excel: save it as .xlsx or as CSV")
	}
	name := encoding
	if name == "" {
		name = detectEncoding(begin, errors.Is(err, io.EOF))
	}
	for _, e := range encodings {
		if e.name != name {
			continue
		}
		table := Table{ReadCloser: io.NopCloser(text), Source: name, Guessed: encoding == "" && name == fallbackName}
		if e.decoded != nil {
			table.ReadCloser = io.NopCloser(transform.NewReader(text, e.decoded.NewDecoder()))
		}
		return table, nil
	}
	return Table{}, imports.ErrNotText.With("the encoding %q is not known", encoding)
}

// detectEncoding returns the encoding of a text from its beginning. whole is whether that is the
// whole text.
func detectEncoding(begin []byte, whole bool) string {
	switch {
	case bytes.HasPrefix(begin, []byte("\xff\xfe")):
		return "UTF-16LE"
	case bytes.HasPrefix(begin, []byte("\xfe\xff")):
		return "UTF-16BE"
	case bytes.HasPrefix(begin, []byte("\xef\xbb\xbf")):
		return utf8Name
	}
	if !whole { // The last character may be incomplete.
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
	// Latin text in UTF-16 has a zero at nearly every second byte, and none between.
	switch threshold := len(begin) * 2 / 5; {
	case zeros[0] == 0 && zeros[1] > threshold:
		return "UTF-16LE"
	case zeros[1] == 0 && zeros[0] > threshold:
		return "UTF-16BE"
	case zeros[0]+zeros[1] > 0, isMostlyUTF8(begin): // With other zeros it is not text.
		return utf8Name
	}
	return fallbackName
}

// isMostlyUTF8 reports whether a text is UTF-8, or has more characters of several bytes than bytes
// that are not UTF-8. Such characters hardly occur in text of another encoding.
func isMostlyUTF8(text []byte) bool {
	characters, wrong := 0, 0
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case size > 1:
			characters++
		case r == utf8.RuneError:
			wrong++
		}
		text = text[size:]
	}
	return wrong == 0 || characters > wrong
}
