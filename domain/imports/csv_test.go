package imports_test

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
)

// TestReaderAgreesWithEncodingCSV checks that a well-formed file is read as encoding/csv reads it.
func TestReaderAgreesWithEncodingCSV(t *testing.T) {
	t.Parallel()
	cell := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("ab,;\t\"\r\n é ")), 0, 8, -1),
		rapid.SampledFrom([]string{"", "", " ", "a", `"`, `""`, "\r", "\n", "\r\n", "\r\r\n", "\\.", "ada@example.org"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]rune{',', ';', '\t'}).Draw(t, "delimiter")
		columns := rapid.IntRange(1, 4).Draw(t, "columns")
		if columns == 1 {
			delimiter = ',' // Nothing tells which it is.
		}
		var b strings.Builder
		w := csv.NewWriter(&b)
		w.Comma, w.UseCRLF = delimiter, rapid.Bool().Draw(t, "CRLF")
		require.NoError(t, w.Write([]string{"email", "a", "b", "c"}[:columns]))
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			row := rapid.SliceOfN(cell, columns, columns).Draw(t, "row")
			row[0] = "x" + row[0] // Lines of nothing but space are rows there and blank here.
			require.NoError(t, w.Write(row))
		}
		w.Flush()
		file := b.String()
		if rapid.Bool().Draw(t, "lastLineWithoutItsEnd") {
			file = strings.TrimSuffix(file, "\n")
		}

		theirs := csv.NewReader(strings.NewReader(file))
		theirs.Comma = delimiter
		_, err := theirs.Read()
		require.NoError(t, err)
		ours, err := imports.NewReader(strings.NewReader(file))
		require.NoError(t, err)
		for {
			want, end := theirs.Read()
			got, err := ours.Next()
			if end != nil {
				require.ErrorIs(t, end, io.EOF)
				require.ErrorIs(t, err, io.EOF, "%q", file)
				return
			}
			require.NoError(t, err, "%q", file)
			require.Equal(t, want, got.Cells, "%q", file)
		}
	})
}

// FuzzReader checks for every file that reading it ends without a panic, that each row is after the
// previous one, and that a stored row is complete: with the same header it has the same values
// again, also for encoding/csv.
func FuzzReader(f *testing.F) {
	for _, file := range []string{
		"", "\xef\xbb\xbf", "email", "email\n", "\n\nemail\n\na\n", "email,first_name,last_name,custom__x\na,b,c,d\n", "email;n\r\na;1\r\n",
		"email\tn\na\t1\n", "email,n\n\"a\",\"b\nc\"\n", "email,n\n\"a\"\"b\",1\n", "email,n\n\"a,1\nb,2\n", "email,n\na\",1\nb,\"2\n", "email,n\na\"b\"c,1\n",
		"email,n\na\nb,1,2\n", "email,email\n", "email\n\xff\n", "email\na\x00\n", "email\n\"\xff\n\"\n", "email,n\r\n\"a\r\r\nb\",\r\r\n", "email\na\r",
		"email,\"n\"\"m\"\n\"\",\"\"\n", "import_line,import_reason,email\n2,\"email: is required\",\n", "email,n\n\"\n\"\n\"\n",
	} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := imports.NewReader(strings.NewReader(string(file)))
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		h, line := r.Header(), 0
		for {
			row, err := r.Next()
			var rejected *imports.RowError
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.As(err, &rejected):
				require.NotEmpty(t, rejected.Reason)
				require.NotContains(t, rejected.Reason, "\n")
				row = imports.Row{Line: rejected.Line, Text: rejected.Text}
			case err != nil:
				require.ErrorIs(t, err, imports.ErrNotText)
				require.False(t, utf8.Valid(file) && !strings.ContainsRune(string(file), 0))
				return
			default:
				again, err := imports.NewReader(strings.NewReader(h.Text() + "\n" + row.Text + "\r\n"))
				require.NoError(t, err)
				same, err := again.Next()
				require.NoError(t, err)
				require.Equal(t, row.Cells, same.Cells)
				_, err = again.Next()
				require.ErrorIs(t, err, io.EOF)
				theirs := csv.NewReader(strings.NewReader(row.Text + "\r\n"))
				theirs.Comma = h.Delimiter()
				cells, err := theirs.Read()
				require.NoError(t, err)
				require.Equal(t, cells, row.Cells)
				if _, err := h.Enrollment(row.Cells); err != nil {
					require.Equal(t, fault.Invalid, fault.KindOf(err))
				}
			}
			require.Greater(t, row.Line, line)
			line = row.Line
		}
	})
}
