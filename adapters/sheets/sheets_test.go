package sheets_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/tocsin/tocsin/adapters/sheets"
	"github.com/tocsin/tocsin/domain/imports"
)

const people = "email,first_name\nrené@example.org,René Müller\n"

// read returns a file as text, and its source.
func read(t *testing.T, file io.Reader, encoding string) (text, source string) {
	t.Helper()
	table, err := sheets.NewOpener().Open(t.Context(), "acme", file, encoding)
	require.NoError(t, err)
	all, err := io.ReadAll(table)
	require.NoError(t, err)
	require.NoError(t, table.Close())
	return string(all), table.Source
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	latin, err := charmap.Windows1252.NewEncoder().String(people)
	require.NoError(t, err)
	little, err := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String(people)
	require.NoError(t, err)
	big, err := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String(people)
	require.NoError(t, err)
	cyrillic, err := charmap.Windows1251.NewEncoder().String("email,first_name\na@b.org,Иван\n")
	require.NoError(t, err)
	long := people + strings.Repeat("x@example.org,X\n", 10_000)
	for name, c := range map[string]struct{ file, encoding, want, source string }{
		"UTF8":                    {people, "", people, "UTF-8"},
		"Empty":                   {"", "", "", "UTF-8"},
		"Latin":                   {latin, "", people, "Windows-1252"},
		"UTF16WithMark":           {"\xff\xfe" + little, "", people, "UTF-16LE"},
		"UTF16BigWithMark":        {"\xfe\xff" + big, "", people, "UTF-16BE"},
		"UTF16WithoutMark":        {little, "", people, "UTF-16LE"},
		"UTF16BigWithoutMark":     {big, "", people, "UTF-16BE"},
		"CutInACharacter":         {strings.Repeat("x", 64<<10-1) + "é" + long, "", strings.Repeat("x", 64<<10-1) + "é" + long, "UTF-8"},
		"Long":                    {long, "", long, "UTF-8"},
		"Chosen":                  {cyrillic, "Windows-1251", "email,first_name\na@b.org,Иван\n", "Windows-1251"},
		"AWrongByteInUTF8":        {people + "zo\xeb@example.org,Zo\xeb\n", "", people + "zo\xeb@example.org,Zo\xeb\n", "UTF-8"},
		"AWrongByteAfterAMark":    {"\xef\xbb\xbfemail\nzo\xeb@example.org\n", "", "\xef\xbb\xbfemail\nzo\xeb@example.org\n", "UTF-8"},
		"CharactersInLatin":       {"email,name\nx@example.org,\xabCAF\xc9\xbb\n", "", "email,name\nx@example.org,«CAFÉ»\n", "Windows-1252"},
		"ZerosAreNotRemoved":      {"\x89PNG\x00\x00\x01", "", "\x89PNG\x00\x00\x01", "UTF-8"},
		"UnselectedLatinEncoding": {latin, "UTF-8", latin, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, source := read(t, strings.NewReader(c.file), c.encoding)
			assert.Equal(t, c.want, text)
			assert.Equal(t, c.source, source)
			text, source = read(t, iotest.HalfReader(strings.NewReader(c.file)), c.encoding)
			assert.Equal(t, c.want, text, "whatever pieces the file comes in")
			assert.Equal(t, c.source, source)
		})
	}
	_, err = sheets.NewOpener().Open(t.Context(), "acme", strings.NewReader(people), "EBCDIC")
	require.ErrorIs(t, err, imports.ErrNotText)
	broken := errors.New("it broke off")
	_, err = sheets.NewOpener().Open(t.Context(), "acme", iotest.ErrReader(broken), "")
	require.ErrorIs(t, err, broken)
	assert.Contains(t, sheets.Encodings(), "Windows-1250")
}

// workbook returns a workbook with these sheets, each a list of rows.
func workbook(t *testing.T, names []string, all map[string][][]any) *bytes.Buffer {
	t.Helper()
	book := excelize.NewFile()
	require.NoError(t, book.SetSheetName("Sheet1", names[0]))
	for _, name := range names {
		_, err := book.NewSheet(name)
		require.NoError(t, err)
		for i, row := range all[name] {
			if row == nil {
				continue
			}
			cell, err := excelize.CoordinatesToCellName(1, i+1)
			require.NoError(t, err)
			require.NoError(t, book.SetSheetRow(name, cell, &row))
		}
	}
	var file bytes.Buffer
	require.NoError(t, book.Write(&file))
	require.NoError(t, book.Close())
	return &file
}

func TestWorkbook(t *testing.T) {
	t.Parallel()
	file := workbook(t, []string{"Notes", "Members"}, map[string][][]any{"Members": {
		{"email", "custom__phone", "custom__note", "custom__since"},
		{"a@example.org", 491701234567, "says \"hi\", twice\nand more", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
		nil,
		{"b@example.org"},
		{"c@example.org", "+49 30 1", "", 7, "beyond"},
	}})
	text, source := read(t, file, "UTF-16LE") // The encoding is used for text only.
	assert.Equal(t, "Excel, sheet Members", source)
	assert.Equal(t, "email,custom__phone,custom__note,custom__since\n"+
		"a@example.org,491701234567,\"says \"\"hi\"\", twice\nand more\",Mar-26\n"+
		"\nb@example.org,,,\nc@example.org,+49 30 1,,7,beyond\n", text, "a row is a row, and a cell what the sheet shows")
}

func TestRefusedWorkbooks(t *testing.T) {
	t.Parallel()
	whole := workbook(t, []string{"One"}, map[string][][]any{"One": {{"email"}}}).String()
	for name, c := range map[string]struct {
		file string
		want error
	}{
		"Empty":    {workbook(t, []string{"One"}, nil).String(), imports.ErrEmpty},
		"Cut":      {whole[:len(whole)/2], imports.ErrNotText},
		"OtherZip": {"PK\x03\x04 something else", imports.ErrNotText},
		"OldExcel": {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", imports.ErrNotText},
		"TooLarge": {"PK\x03\x04" + strings.Repeat("x", 16<<20), imports.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opener := sheets.NewOpener()
			for range 2 { // The turn is free.
				_, err := opener.Open(t.Context(), "acme", strings.NewReader(c.file), "")
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

// unpacked returns a workbook with these parts besides the required ones.
func unpacked(t *testing.T, parts map[string]string) string {
	t.Helper()
	whole := workbook(t, []string{"One"}, map[string][][]any{"One": {{"email"}}})
	in, err := zip.NewReader(bytes.NewReader(whole.Bytes()), int64(whole.Len()))
	require.NoError(t, err)
	var file bytes.Buffer
	out := zip.NewWriter(&file)
	for _, part := range in.File {
		if _, instead := parts[part.Name]; !instead {
			require.NoError(t, out.Copy(part))
		}
	}
	for name, text := range parts {
		w, err := out.Create(name)
		require.NoError(t, err)
		_, err = io.WriteString(w, text)
		require.NoError(t, err)
	}
	require.NoError(t, out.Close())
	return file.String()
}

// TestWorkbookDeclaredSizes is about files whose parts declare sizes that they do not have.
func TestWorkbookDeclaredSizes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts int
		size  uint64
		want  error
	}{
		"TooMuchTogether": {3, 60 << 20, imports.ErrTooLarge},
		"LessThanTrue":    {1, 4, imports.ErrNotText},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var file bytes.Buffer
			out := zip.NewWriter(&file)
			const content = "<worksheet/>"
			for n := range c.parts {
				w, err := out.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf("xl/worksheets/sheet%d.xml", n), Method: zip.Store,
					CompressedSize64: uint64(len(content)), UncompressedSize64: c.size, CRC32: crc32.ChecksumIEEE([]byte(content))})
				require.NoError(t, err)
				_, err = io.WriteString(w, content)
				require.NoError(t, err)
			}
			require.NoError(t, out.Close())
			_, err := sheets.NewOpener().Open(t.Context(), "acme", &file, "")
			require.ErrorIs(t, err, c.want)
		})
	}
}

// ending is a context that ends after a number of calls of Err.
type ending struct {
	context.Context //nolint:containedctx // It is one.

	left *atomic.Int64
}

// Err returns context.Canceled when the context has ended.
func (e ending) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestWorkbookOfACancelledRequest checks that reading a workbook stops when the request ends.
func TestWorkbookOfACancelledRequest(t *testing.T) {
	t.Parallel()
	file, opener, ended := unpacked(t, map[string]string{"xl/worksheets/sheet2.xml": "<worksheet>" + strings.Repeat("<row/>", 10_000) + "</worksheet>"}), sheets.NewOpener(), 0
	for n := int64(0); ; n++ {
		left := &atomic.Int64{}
		left.Store(n)
		table, err := opener.Open(ending{t.Context(), left}, "acme", strings.NewReader(file), "")
		if err == nil {
			require.NoError(t, table.Close())
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		ended++
	}
	assert.Greater(t, ended, 10, "while it was received, and while its parts were read")
}

// TestSlowWorkbookUpload checks that a workbook takes its turn only when it has arrived
// completely.
func TestSlowWorkbookUpload(t *testing.T) {
	t.Parallel()
	file := workbook(t, []string{"One"}, map[string][][]any{"One": {{"email"}}}).String()
	synctest.Test(t, func(t *testing.T) {
		opener := sheets.NewOpener()
		slow, sender := io.Pipe()
		ended := make(chan error)
		go func() {
			_, err := opener.Open(t.Context(), "acme", slow, "")
			ended <- err
		}()
		_, err := sender.Write([]byte("PK\x03\x04" + strings.Repeat("x", 64<<10))) // More than the part used for detection.
		require.NoError(t, err)
		synctest.Wait()
		_, err = opener.Open(t.Context(), "acme", strings.NewReader(file), "")
		require.ErrorIs(t, err, imports.ErrBusy, "one of an organization at a time")
		other, err := opener.Open(t.Context(), "globex", strings.NewReader(file), "")
		require.NoError(t, err)
		require.NoError(t, other.Close())
		<-time.After(6 * time.Minute) // In a synctest bubble this takes no time.
		_, err = sender.Write([]byte("PK"))
		require.NoError(t, err)
		require.ErrorIs(t, <-ended, imports.ErrIncomplete, "for ever is too long")
		require.NoError(t, sender.Close())
	})
}

// TestOneWorkbookAtATime checks the memory bound of workbooks.
func TestOneWorkbookAtATime(t *testing.T) {
	t.Parallel()
	file := workbook(t, []string{"One"}, map[string][][]any{"One": {{"email"}}}).String()
	synctest.Test(t, func(t *testing.T) {
		opener := sheets.NewOpener()
		first, err := opener.Open(t.Context(), "acme", strings.NewReader(file), "")
		require.NoError(t, err)
		_, err = opener.Open(t.Context(), "acme", strings.NewReader(file), "")
		require.ErrorIs(t, err, imports.ErrBusy)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = opener.Open(gone, "globex", strings.NewReader(file), "")
		require.ErrorIs(t, err, context.Canceled)
		_, err = opener.Open(t.Context(), "acme", strings.NewReader(people), "")
		require.NoError(t, err, "text waits for nobody")
		require.NoError(t, first.Close())
		second, err := opener.Open(t.Context(), "acme", strings.NewReader(file), "")
		require.NoError(t, err)
		require.NoError(t, second.Close())
	})
}

// TestWaitingWorkbooks checks that a workbook that waits for its turn counts like one that is
// received: one of an owner, and eight altogether.
func TestWaitingWorkbooks(t *testing.T) {
	t.Parallel()
	const most = 8
	file := workbook(t, []string{"One"}, map[string][][]any{"One": {{"email"}}}).String()
	synctest.Test(t, func(t *testing.T) {
		opener := sheets.NewOpener()
		first, err := opener.Open(t.Context(), "org0", strings.NewReader(file), "")
		require.NoError(t, err)
		ended := make(chan error, most)
		for n := range most - 1 {
			go func() {
				table, err := opener.Open(t.Context(), fmt.Sprint("org", n+1), strings.NewReader(file), "")
				if err == nil {
					err = table.Close()
				}
				ended <- err
			}()
		}
		synctest.Wait()
		begin := time.Now()
		for _, owner := range []string{"org0", "org1", "another"} {
			_, err := opener.Open(t.Context(), owner, strings.NewReader(file), "")
			require.ErrorIs(t, err, imports.ErrBusy, owner)
		}
		require.Equal(t, begin, time.Now(), "at once")
		require.NoError(t, first.Close())
		for range most - 1 {
			require.NoError(t, <-ended)
		}
		again, err := opener.Open(t.Context(), "org1", strings.NewReader(file), "")
		require.NoError(t, err)
		require.NoError(t, again.Close())
	})
}
