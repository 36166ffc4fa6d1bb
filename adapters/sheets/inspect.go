package sheets

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/tocsin/tocsin/domain/imports"
)

// The limits of an unpacked workbook, so that a small file does not fill the memory. Parsing needs
// many times the size of the text.
const (
	maxSheetSize = 64 << 20 // bytes of a sheet
	maxTextsSize = 16 << 20 // bytes of the shared strings
	maxTexts     = 100_000  // of them
	maxText      = imports.MaxRow
	maxPartSize  = 1 << 20 // bytes of any other part that is parsed
	maxParts     = 2_000   // of all kinds
	maxCells     = 1_000   // of a row
)

// errTooMuch is the error of a workbook that would need too much memory.
var errTooMuch = imports.ErrTooLarge.With("the workbook is too large to be read as one: save it as CSV")

// inspect reads all parts of a workbook without storing them, and returns an error if the workbook
// would need too much memory, or when ctx ends. The sizes that the parts declare bound the work: in
// a file that was made for it, many parts share the same packed bytes. A part that has more than
// its declared size is an error.
func inspect(ctx context.Context, packed []byte) error {
	files, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return err
	}
	if len(files.File) > maxParts {
		return errTooMuch
	}
	left := uint64(maxUnpackedSize)
	for _, part := range files.File {
		if part.UncompressedSize64 > left {
			return errTooMuch
		}
		left -= part.UncompressedSize64
	}
	for _, part := range files.File {
		name := strings.ToLower(strings.ReplaceAll(part.Name, `\`, "/"))
		switch {
		case strings.Contains(name, "/worksheets/") && strings.HasSuffix(name, ".xml"):
			err = inspectPart(ctx, part, maxSheetSize, (&rowCounter{}).element)
		case strings.HasSuffix(name, "/sharedstrings.xml"):
			err = inspectPart(ctx, part, maxTextsSize, (&textCounter{}).element)
		case strings.HasSuffix(name, ".xml"), strings.HasSuffix(name, ".rels"):
			err = inspectPart(ctx, part, maxPartSize, func(xml.Token) error { return nil })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inspectPart passes each token of a part to token; the part may have limit bytes.
func inspectPart(ctx context.Context, part *zip.File, limit int64, token func(xml.Token) error) error {
	file, err := part.Open()
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // It was only read.
	left := &io.LimitedReader{R: contextReader{ctx, file}, N: limit + 1}
	tokens := xml.NewDecoder(left)
	for {
		t, err := tokens.RawToken()
		switch {
		case left.N <= 0:
			return errTooMuch
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := token(t); err != nil {
			return err
		}
	}
}

// rowCounter counts the cells of each row.
type rowCounter struct{ cells int }

func (r *rowCounter) element(t xml.Token) error {
	e, begins := t.(xml.StartElement)
	switch {
	case begins && e.Name.Local == "row":
		r.cells = 0
	case begins && e.Name.Local == "c":
		if r.cells++; r.cells > maxCells {
			return errTooMuch
		}
	}
	return nil
}

// textCounter counts the shared strings, and the bytes of each.
type textCounter struct{ texts, size int }

func (c *textCounter) element(t xml.Token) error {
	switch e := t.(type) {
	case xml.StartElement:
		if e.Name.Local == "si" {
			c.texts, c.size = c.texts+1, 0
		} else {
			c.size += elementCost // A string may have very many elements.
		}
	case xml.CharData:
		c.size += len(e)
	}
	if c.texts > maxTexts || c.size > maxText {
		return errTooMuch
	}
	return nil
}

// elementCost is the size that an element of a string counts in addition to its characters.
const elementCost = 32
