package imports_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/imports"
)

// read returns the rows of a file, each as `LINE: cells` or `LINE: reason`, and what ended it.
func read(t *testing.T, file io.Reader) (rows []string, end error) {
	t.Helper()
	r, err := imports.NewReader(file)
	require.NoError(t, err)
	for {
		row, err := r.Next()
		var rejected *imports.RowError
		switch {
		case errors.As(err, &rejected):
			rows = append(rows, fmt.Sprintf("%d! %s", rejected.Line, rejected.Reason))
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return rows, err
		default:
			rows = append(rows, fmt.Sprintf("%d: %s", row.Line, strings.Join(row.Cells, "|")))
		}
	}
}

const (
	notClosed = `a quote (") is opened and not closed within 128 KiB`
	stray     = `a quote (") is not allowed here`
	tooLong   = "is longer than 128 KiB"
)

func TestReaderNext(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", imports.MaxRow)
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"NoRows":                 {"email,n\n", nil},
		"Rows":                   {"email,n\na,1\nb,2\n", []string{"2: a|1", "3: b|2"}},
		"LastLineWithoutItsEnd":  {"email,n\na,1", []string{"2: a|1"}},
		"ByteOrderMark":          {"\xef\xbb\xbfemail,n\na,1\n", []string{"2: a|1"}},
		"MarkInsideIsText":       {"email,n\n\xef\xbb\xbfa,1\n", []string{"2: \ufeffa|1"}},
		"WindowsLineEnds":        {"email,n\r\na,1\r\nb,2\r\n", []string{"2: a|1", "3: b|2"}},
		"MixedLineEnds":          {"email,n\r\na,1\nb,2\r", []string{"2: a|1", "3: b|2"}},
		"MacintoshLineEnds":      {"\xef\xbb\xbfemail,n\ra,1\r\rb,\"x\ry\"\r", []string{"2: a|1", "4: b|x\ny"}},
		"HeaderAloneWithReturn":  {"email,n\r", nil},
		"BlankLinesAreSkipped":   {"\n\nemail,n\n\n  \r\na,1\n\n\nb,2\n\n", []string{"6: a|1", "9: b|2"}},
		"EmptyCellsAreNotBlank":  {"email,n\n,\n", []string{"2: |"}},
		"CellsKeepTheirSpace":    {"email,n\n a , 1 \n", []string{"2:  a | 1 "}},
		"TooFewCells":            {"email,n\na\nb,2\n", []string{"2! has 1 cells where the header has 2", "3: b|2"}},
		"TooManyCells":           {"email,n\na,1,x\nb,2\n", []string{"2! has 3 cells where the header has 2", "3: b|2"}},
		"OtherDelimitersAreText": {"email;n\na,b;1\tx\n", []string{"2: a,b|1\tx"}},

		"Quoted":               {"email,n\n\"a\",\"1,\"\"2\"\"\"\n", []string{`2: a|1,"2"`}},
		"QuotedHeader":         {"\"email\",\"n\"\na,1\n", []string{"2: a|1"}},
		"CellOfSeveralLines":   {"email,n\na,\"1\n\n2\r\n3\"\nb,2\n", []string{"2: a|1\n\n2\n3", "6: b|2"}},
		"QuoteInsideIsStray":   {"email,n\na\"x,1\"\nb,2\n", []string{"2! " + stray, "3: b|2"}},
		"TextAfterAQuote":      {"email,n\n\"a\"x,1\nb,2\n", []string{"2! " + stray, "3: b|2"}},
		"QuoteNeverClosed":     {"email,n\n\"a,1\nb,2\nc,3\n", []string{"2! " + notClosed, "3: b|2", "4: c|3"}},
		"StrayAtTheVeryEnd":    {"email,n\na,1\nb,\"", []string{"2: a|1", "3! " + notClosed}},
		"TwoStrayQuotes":       {"email,n\na\",1\nb,2\nc\",3\nd,4\n", []string{"2! " + stray, "3: b|2", "4! " + notClosed, "5: d|4"}},
		"StrayThenAQuotedCell": {"email,n\n\"a,1\n\"b\",2\nc,3\n", []string{"2! " + notClosed, "3: b|2", "4: c|3"}},
		"NotClosedInAWhole":    {"email,n\n\"a,1\n" + strings.Repeat(strings.Repeat("b", 999)+",2\n", 3), []string{"2! " + notClosed, "3: " + strings.Repeat("b", 999) + "|2", "4: " + strings.Repeat("b", 999) + "|2", "5: " + strings.Repeat("b", 999) + "|2"}},

		"LongestRow":              {"email,n\n" + long[2:] + ",\nb,2\n", []string{"2: " + long[2:] + "|", "3: b|2"}},
		"TooLongARow":             {"email,n\na,1\n" + long + ",\nb,2\n", []string{"2: a|1", "3! " + tooLong, "4: b|2"}},
		"TooLongAtTheEnd":         {"email,n\n" + long + long, []string{"2! " + tooLong}},
		"TooLongTwice":            {"email,n\n" + long + "x\n" + long + "x\nb,2\n", []string{"2! " + tooLong, "3! " + tooLong, "4: b|2"}},
		"TooLongInsideAQuote":     {"email,n\n\"a\n" + long + ",\nb,2\n", []string{"2! " + notClosed, "3! " + tooLong, "4: b|2"}},
		"TooLongOverSeveralLines": {"email,n\na,\"" + long[:imports.MaxRow/2] + "\n" + long[:imports.MaxRow/2] + "\"\nb,2\n", []string{"2! " + notClosed, "3! " + notClosed, "4: b|2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, strings.NewReader(c.file))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			slow, err := read(t, iotest.HalfReader(strings.NewReader(c.file)))
			require.NoError(t, err)
			assert.Equal(t, c.want, slow, "whatever pieces the file comes in")
		})
	}
}

func TestReaderNotText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, says string }{
		"InvalidUTF8":      {"email\na\n\xff\nb\n", "the file is not UTF-8 text (line 3)"},
		"CutInACharacter":  {"email\na\n\xc3", "the file is not UTF-8 text (line 3)"},
		"Latin1":           {"email,first_name\na,Ren\xe9\n", "the file is not UTF-8 text (line 2)"},
		"NUL":              {"email\na\nb\x00\n", "the file is not UTF-8 text (line 3)"},
		"InAQuotedCell":    {"email\n\"a\n\xff\"\n", "the file is not UTF-8 text (line 3)"},
		"AfterAStrayQuote": {"email\n\"a\nb\n\xff\n", "the file is not UTF-8 text (line 4)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, strings.NewReader(c.file))
			require.ErrorIs(t, err, imports.ErrNotText)
			require.EqualError(t, err, c.says)
		})
	}
}

func TestReaderFileError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	file := func(text string) io.Reader { return io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)) }
	_, err := imports.NewReader(file("em"))
	require.ErrorIs(t, err, broken)
	for name, text := range map[string]string{"InARow": "email\na\nb", "BetweenRows": "email\na\n", "InAQuotedCell": "email\na\n\"b\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, err := read(t, file(text))
			require.ErrorIs(t, err, broken)
			assert.Equal(t, "2: a", rows[0])
		})
	}
}

func TestRowKeepsItsText(t *testing.T) {
	t.Parallel()
	text := func(t *testing.T, file string) string {
		t.Helper()
		r, err := imports.NewReader(strings.NewReader(file))
		require.NoError(t, err)
		row, err := r.Next()
		if rejected, ok := errors.AsType[*imports.RowError](err); ok {
			return rejected.Text
		}
		require.NoError(t, err)
		assert.Equal(t, &imports.RowError{Line: row.Line, Reason: "why", Text: row.Text}, row.Reject("why"))
		return row.Text
	}
	assert.Equal(t, ` a , "1" `, text(t, "email,n\n a , \"1\" \r\n"), "also when it is rejected")
	assert.Equal(t, "a,\"1\n2\"", text(t, "email,n\na,\"1\n2\"\n"))
	assert.Equal(t, `"a,1`, text(t, "email,n\n\"a,1\nb,2\n"), "only of the line that is to blame")
	assert.Empty(t, text(t, "email,n\n"+strings.Repeat("x", imports.MaxRow+1)))
	assert.EqualError(t, &imports.RowError{Line: 7, Reason: "is odd"}, "line 7: is odd")
}

// endless is a file that never ends and remembers how much of it was asked for.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[(e.read+i)%len(e.text)]
	}
	e.read += len(p)
	return len(p), nil
}

func TestReaderNeedsLittleOfTheFile(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]string{"Rows": "a,b\n", "StrayQuotes": "\"a,b\n", "EvenStrayQuotes": "a\"\",b\n", "OneStrayQuote": "\n\n\n\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := &endless{text: rows}
			begin := "email,n\n\"x,1\n"
			r, err := imports.NewReader(io.MultiReader(strings.NewReader(begin), file))
			require.NoError(t, err)
			_, err = r.Next()
			var rejected *imports.RowError
			require.ErrorAs(t, err, &rejected)
			assert.Less(t, file.read, 3*imports.MaxRow)
		})
	}
}
