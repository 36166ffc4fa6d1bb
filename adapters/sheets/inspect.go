package sheets

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/tocsin/tocsin/domain/imports"
)

// The limits of an unpacked workbook, so that a small file does not fill the memory. Parsing needs
// many times the size of the text.
const (
	maxSheetSize  = 64 << 20 // bytes of a sheet
	maxTextsSize  = 16 << 20 // bytes of the shared strings
	maxTexts      = 100_000  // of them
	maxText       = imports.MaxRow
	maxPartSize   = 1 << 20 // bytes of any other part that is parsed
	maxParts      = 2_000   // of all kinds
	maxCells      = 1_000   // of a row
	maxRowSize    = 8 * maxText
	maxTokenSize  = 8 * maxText // bytes of a tag, or of a text with its escapes
	maxAttributes = 1_000       // of an element
	maxDepth      = 250         // of elements in elements
	maxFormat     = 1_000       // bytes of a cell format; Excel allows 255 characters
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
		if err := inspectPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// check examines the next token of a part, which is in so many elements, itself included.
type check func(t xml.Token, depth int) error

// inspectPart reads a part by what its name allows it to be. A sheet may have any name, so every
// part is inspected as one. What has another name than XML has, such as a picture, is read only as
// far as it is XML, like excelize does.
func inspectPart(ctx context.Context, part *zip.File) error {
	var malformed *xml.SyntaxError
	sheet := (&rowCounter{}).count
	name := strings.ToLower(strings.ReplaceAll(part.Name, `\`, "/"))
	isXML := strings.HasSuffix(name, ".xml")
	switch {
	case isXML && strings.Contains(name, "/worksheets/"):
		return readPart(ctx, part, maxSheetSize, sheet)
	case strings.HasSuffix(name, "/sharedstrings.xml"):
		return readPart(ctx, part, maxTextsSize, sheet, (&textCounter{}).count)
	case isXML, strings.HasSuffix(name, ".rels"):
		return readPart(ctx, part, maxPartSize, sheet)
	}
	if err := readPart(ctx, part, maxSheetSize, sheet, refuseWorkbook); !errors.As(err, &malformed) {
		return err
	}
	return nil
}

// readPart passes each token of a part to the checks; the part may have limit bytes.
func readPart(ctx context.Context, part *zip.File, limit int, checks ...check) error {
	file, err := part.Open()
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // It was only read.
	reader := &partReader{file: contextReader{ctx, file}, part: limit}
	tokens := xml.NewDecoder(reader)
	for depth := 0; ; {
		reader.token = maxTokenSize
		t, err := tokens.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if e, begins := t.(xml.StartElement); begins {
			if depth++; depth > maxDepth || len(e.Attr) > maxAttributes {
				return errTooMuch
			}
		}
		for _, check := range checks {
			if err := check(t, depth); err != nil {
				return err
			}
		}
		if _, ends := t.(xml.EndElement); ends {
			depth--
		}
	}
}

// partReader reads a part. It fails when the part or one of its tokens is too large.
type partReader struct {
	file        io.Reader
	part, token int // how many bytes these may still have
}

// Read reads the next bytes.
func (r *partReader) Read(b []byte) (int, error) {
	n, err := r.file.Read(b)
	r.part -= n
	r.token -= n
	if r.part < 0 || r.token < 0 {
		return 0, errTooMuch
	}
	return n, err
}

// errOtherName is the error of a workbook whose main part has not the name of XML.
var errOtherName = errors.New("the workbook's main part has not the name of XML")

// refuseWorkbook is the check of parts with other names: excelize would parse a main part of any
// size.
func refuseWorkbook(t xml.Token, depth int) error {
	if e, begins := t.(xml.StartElement); begins && depth == 1 && e.Name.Local == "workbook" {
		return errOtherName
	}
	return nil
}

// rowCounter counts the cells of each row, and the size of what is in them. A row that has not a
// higher number than all before it counts as a part of the row before it, because excelize may read
// it as one.
type rowCounter struct {
	cells, size int // of the row
	row         int // its number
	highest     int // the highest number of a row
	cell        int // the depth of the current cell; 0: none
	began, over bool
}

func (r *rowCounter) count(t xml.Token, depth int) error {
	switch e := t.(type) {
	case xml.StartElement:
		r.begin(e, depth)
	case xml.EndElement:
		if depth == r.cell {
			r.cell = 0
		}
		r.over = r.over || e.Name.Local == "sheetData"
	case xml.CharData:
		if r.cell > 0 {
			r.size += len(e)
		}
	}
	if r.cells > maxCells || r.size > maxRowSize {
		return errTooMuch
	}
	return nil
}

// begin counts an element.
func (r *rowCounter) begin(e xml.StartElement, depth int) {
	if r.cell > 0 {
		r.size += elementCost
	}
	switch {
	case e.Name.Local == "row" && r.cell == 0:
		r.began = true
		if r.row = number(e, r.row+1); r.row > r.highest && !r.over {
			r.highest, r.cells, r.size = r.row, 0, 0
		}
	case e.Name.Local == "c" && r.began: // Other parts have elements of this name outside of rows.
		r.cells++
		if r.cell == 0 {
			r.cell = depth
		}
	}
}

// number returns the number of a row like excelize understands it; next if it has none.
func number(row xml.StartElement, next int) int {
	n := 0
	for _, a := range row.Attr {
		if a.Name.Local != "r" {
			continue
		}
		var err error
		if n, err = strconv.Atoi(a.Value); err != nil {
			break
		}
	}
	if n == 0 {
		return next
	}
	return n
}

// textCounter counts the shared strings, and the size of each.
type textCounter struct{ texts, size int }

func (c *textCounter) count(t xml.Token, depth int) error {
	switch e := t.(type) {
	case xml.StartElement:
		if e.Name.Local == "si" && depth == textDepth {
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

const (
	// textDepth is the depth of the shared strings, in the list of them.
	textDepth = 2
	// elementCost is the size that an element counts in addition to its characters.
	elementCost = 32
)

// repeatsText reports whether a cell format of the workbook may repeat the text of a cell: each @
// and 0 in its section for text stands for the whole of it. An error if a format is too long.
func repeatsText(book *excelize.File) (repeats bool, err error) {
	if book.Styles == nil || book.Styles.NumFmts == nil {
		return false, nil
	}
	for _, f := range book.Styles.NumFmts.NumFmt {
		for _, code := range []string{f.FormatCode, f.FormatCode16} {
			if len(code) > maxFormat {
				return false, errTooMuch
			}
			hasText := strings.Contains(code, "@") || strings.Count(code, ";") >= textSection
			repeats = repeats || hasText && strings.Count(code, "@")+strings.Count(code, "0") > 1
		}
	}
	return repeats, nil
}

// textSection is the index of a format's section for text, if no other section has an @.
const textSection = 3
