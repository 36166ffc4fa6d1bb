package sheets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/sheets"
	"github.com/tocsin/tocsin/domain/imports"
)

const (
	sheetPart = "xl/worksheets/sheet1.xml"
	textsPart = "xl/sharedStrings.xml"
	bookPart  = "xl/workbook.xml"
	bookRels  = "xl/_rels/workbook.xml.rels"
	namespace = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
)

// sheetOf returns a sheet with this content.
func sheetOf(content string) string {
	return "<worksheet " + namespace + "><sheetData>" + content + "</sheetData></worksheet>"
}

// relations returns the relationships of a workbook, or of a file, with one part.
func relations(kind, target string) string {
	return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" ` +
		`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/` + kind + `" Target="` + target + `"/></Relationships>`
}

// TestWorkbookMemoryLimits checks that they are refused before they are unpacked.
func TestWorkbookMemoryLimits(t *testing.T) {
	t.Parallel()
	row := func(cell string, n int) string { return sheetOf(`<row r="1">` + strings.Repeat(cell, n) + "</row>") }
	text := func(inside string) string { return row(`<c t="inlineStr"><is>`+inside+"</is></c>", 1) }
	cells := strings.Repeat("<c/>", 600)
	many := map[string]string{}
	for n := range 2_001 {
		many[fmt.Sprintf("xl/drawings/drawing%d.xml", n)] = "<d/>"
	}
	for name, parts := range map[string]map[string]string{
		"ManyParts":         many,
		"Texts":             {textsPart: "<sst>" + strings.Repeat("<si/>", 100_001) + "</sst>"},
		"ALongText":         {textsPart: "<sst><si><t>" + strings.Repeat("x", imports.MaxRow+1) + "</t></si></sst>"},
		"ManyPieces":        {textsPart: "<sst><si>" + strings.Repeat("<r><t>x</t></r>", 5_000) + "</si></sst>"},
		"TextsInAText":      {textsPart: "<sst><si>" + strings.Repeat("<si/><r><t>x</t></r>", 5_000) + "</si></sst>"},
		"ManyCells":         {sheetPart: row("<c><v>1</v></c>", 1_001)},
		"ALongRow":          {sheetPart: row(`<c t="inlineStr"><is><t>`+strings.Repeat("x", 1_000)+`</t></is></c>`, 200)},
		"PiecesInACell":     {sheetPart: text(strings.Repeat("<r/>", 100_000))},
		"PiecesBetweenRows": {sheetPart: text(strings.Repeat(strings.Repeat("<r/>", 1_000)+`<row r="2"/>`, 100))},
		"ALongTextInACell":  {sheetPart: text("<t>" + strings.Repeat("<b/>xxxxxxxx", 200_000) + "</t>")},
		"TheSameRow":        {sheetPart: sheetOf(strings.Repeat(`<row r="1">`+cells+"</row>", 2))},
		"AnEarlierRow":      {sheetPart: sheetOf(`<row r="9">` + cells + `</row><row r="2"/><row>` + cells + "</row>")},
		"RowsAfterTheSheet": {sheetPart: sheetOf(`<row r="1">` + cells + `</row></sheetData><sheetData><row r="2">` + cells + "</row>")},
		"ASmallPart":        {"xl/sheets/sheet1.xml": row("<c/>", 1_001)},
		"Styles":            {"xl/styles.xml": "<styleSheet>" + strings.Repeat("<xf/>", 233_000) + "</styleSheet>"},
		"AnotherShape":      {"xl/WORKSHEETS/../worksheets/sheet2.xml": row("<c/>", 1_001)},
		"Deep":              {sheetPart: strings.Repeat("<a>", 1_000)},
		"ManyAttributes":    {sheetPart: "<worksheet" + strings.Repeat(` a=""`, 1_001) + "/>"},
		"ALongTag":          {sheetPart: `<worksheet a="` + strings.Repeat(">", 2<<20) + `"/>`},
		"ALongComment":      {sheetPart: "<!--" + strings.Repeat(">", 2<<20) + "--><worksheet/>"},
		"AnotherName":       {"xl/sheet.bin": row("<c/>", 1_001), bookRels: relations("worksheet", "sheet.bin")},
		"NoNameAtAll":       {"sheet": row("<c/>", 1_001) + "<", bookRels: relations("worksheet", "/sheet")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := unpacked(t, parts)
			require.Less(t, len(file), 1<<20)
			_, err := sheets.NewOpener().Open(t.Context(), "acme", strings.NewReader(file), "")
			require.ErrorIs(t, err, imports.ErrTooLarge)
		})
	}
}

// TestWorkbookInPartsOfOtherNames checks that only sheets may have any name.
func TestWorkbookInPartsOfOtherNames(t *testing.T) {
	t.Parallel()
	const row = `<row r="1"><c t="inlineStr"><is><t>email</t></is></c></row>`
	whole := `<workbook ` + namespace + ` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>`
	sheet := map[string]string{bookPart: whole, "xl/sheet.bin": sheetOf(row), bookRels: relations("worksheet", "sheet.bin")}
	text, _ := read(t, strings.NewReader(unpacked(t, sheet)), "")
	assert.Equal(t, "email\n", text)
	for name, parts := range map[string]map[string]string{
		"AWorkbook":    {"xl/book.bin": whole, "_rels/.rels": relations("officeDocument", "xl/book.bin")},
		"OtherCharset": {bookPart: whole, "xl/sheet.bin": `<?xml version="1.0" encoding="latin1"?>` + sheetOf(row), bookRels: relations("worksheet", "sheet.bin")},
	} {
		_, err := sheets.NewOpener().Open(t.Context(), "acme", strings.NewReader(unpacked(t, parts)), "")
		require.ErrorIs(t, err, imports.ErrNotText, name)
	}
}

// TestWorkbookFormats checks that no format makes much text of little: some repeat the text of a
// cell.
func TestWorkbookFormats(t *testing.T) {
	t.Parallel()
	file := func(code, text string) string {
		return unpacked(t, map[string]string{
			"xl/styles.xml": "<styleSheet " + namespace + `><numFmts><numFmt numFmtId="200" formatCode="` + code + `"/></numFmts>` +
				`<cellXfs><xf numFmtId="0"/><xf numFmtId="200"/></cellXfs></styleSheet>`,
			textsPart: "<sst " + namespace + "><si><t>" + text + "</t></si></sst>",
			sheetPart: sheetOf("<row>" + strings.Repeat(`<c s="1" t="s"><v>0</v></c>`, 1_000) + "</row>"),
		})
	}
	text, _ := read(t, strings.NewReader(file("0;-0;0;@@", "x")), "")
	assert.Equal(t, strings.Repeat("xx,", 999)+"xx\n", text)
	for name, large := range map[string]string{
		"ALongFormat":             file(strings.Repeat("?", 1_001), "x"),
		"TooMuchTextBeforeFormat": file(`0;0;0;&quot;00&quot;`, strings.Repeat("x", 1_000)),
		"TooMuchTextInOneSection": file(`[&gt;@]&quot;@&quot;`, strings.Repeat("x", 1_000)),
	} {
		_, err := sheets.NewOpener().Open(t.Context(), "acme", strings.NewReader(large), "")
		require.ErrorIs(t, err, imports.ErrTooLarge, name)
	}
}

// TestRichWorkbook checks that nothing which programs write is refused: pictures, elements outside
// of the cells, and as much text as a row may have.
func TestRichWorkbook(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("&amp;", imports.MaxRow-100)
	drawing := strings.Repeat("<from><col>1</col><row>2</row></from>", 2_000)
	file := unpacked(t, map[string]string{
		textsPart: "<sst " + namespace + "><si><t>" + long + "</t></si></sst>",
		sheetPart: "<worksheet " + namespace + "><sheetData>" + `<row><c t="s"><v>0</v></c></row><row>` +
			strings.Repeat(`<c t="inlineStr"><is><r><rPr><b/><i/><u/></rPr><t>x</t></r></is></c>`, 1_000) + "</row></sheetData><mergeCells>" +
			strings.Repeat(`<mergeCell ref="A1:A2"/>`, 33_000) + "</mergeCells></worksheet>",
		"xl/calcChain.xml":               "<calcChain " + namespace + ">" + strings.Repeat(`<c r="A1" i="1"/>`, 5_000) + "</calcChain>",
		"xl/drawings/drawing1.xml":       "<wsDr>" + drawing + "</wsDr>",
		"xl/drawings/vmlDrawing1.vml":    "<xml>" + strings.Repeat("x", 1<<19) + "<i/>" + strings.Repeat("x", 1<<19) + "<div>a<br></div>" + "</xml>",
		"xl/media/image1.png":            "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 2<<20),
		"xl/media/image2.svg":            "<svg>" + strings.Repeat(`<path d="`+strings.Repeat("1", 1<<14)+`"/>`, 70) + "</svg>",
		"xl/printerSettings/printer.bin": "p\x00r\x00",
		"xl/media/":                      "",
	})
	text, _ := read(t, strings.NewReader(file), "")
	assert.Equal(t, 999, strings.Count(text, ","), "the cells of the second row")
	assert.Equal(t, imports.MaxRow-100, strings.Count(text, "&"))
}
