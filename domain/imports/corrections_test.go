package imports_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/imports"
)

// rejectedOf returns the rejected rows of a file as they are stored.
func rejectedOf(t *testing.T, file string) (imports.Header, []imports.RejectedRow) {
	t.Helper()
	r, err := imports.NewReader(strings.NewReader(file))
	require.NoError(t, err)
	var kept []imports.RejectedRow
	for n, text := range strings.Split(strings.TrimSuffix(file, "\n"), "\n")[1:] {
		kept = append(kept, r.Header().Keep(imports.Row{Line: n + 2, Text: text}.Reject("why "+strconv.Itoa(n+2))))
	}
	return r.Header(), kept
}

func TestRejectedRowsCanBeCorrected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		want [][]string
	}{
		"LeftOutColumns": {"shoe;email;size;custom__a\n38;x;39;\"y;z\"\n", [][]string{{"x", "y;z"}}},
		"Formulas":       {"email,custom__a\n=1,'@b\n-,''\n", [][]string{{"=1", "'@b"}, {"-", "''"}}},
		"ShortAndLong":   {"email,custom__a\nx\nx,y,z\n", [][]string{{"x", ""}, nil}},
		"StrayQuote":     {"email,custom__a\nx\"y,z\n", [][]string{{"x\"y,z", ""}}},
		"OfRejections":   {"import_line,import_reason,shoe,email\n7,no,38,'=x\n", [][]string{{"=x"}}},
		"TooLong":        {"email,custom__a\nx," + strings.Repeat("é", imports.MaxCorrectedCell+1) + "\ny,z\n", [][]string{nil, {"y", "z"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header, kept := rejectedOf(t, c.file)
			m, err := header.Correctable(kept)
			require.NoError(t, err)
			assert.Zero(t, m.Next)
			var got [][]string
			for i, row := range m.Rows {
				assert.Equal(t, []any{kept[i].Line, kept[i].Reason}, []any{row.Line, row.Reason})
				got = append(got, row.Cells)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestCorrectionsAreBounded(t *testing.T) {
	t.Parallel()
	header, kept := rejectedOf(t, "email\n"+strings.Repeat("x\n", imports.MaxCorrected+1))
	m, err := header.Correctable(kept)
	require.NoError(t, err)
	assert.Len(t, m.Rows, imports.MaxCorrected)
	assert.Equal(t, imports.MaxCorrected+1, m.Next)
	header, kept = rejectedOf(t, "email,custom__a\n"+strings.Repeat(strings.Repeat("x", 1_000)+","+strings.Repeat("y", 1_000)+"\n", 40))
	m, err = header.Correctable(kept)
	require.NoError(t, err)
	assert.Len(t, m.Rows, 32, "64 KiB of text")
	assert.Equal(t, 33, m.Next)
	names := "email"
	for n := range imports.MaxCorrectedColumns {
		names += ",custom__" + strconv.Itoa(n)
	}
	header, kept = rejectedOf(t, names+"\nx\n")
	_, err = header.Correctable(kept)
	require.ErrorIs(t, err, imports.ErrNotCorrectable)
}

func TestCorrectedRowsAreASeparateFile(t *testing.T) {
	t.Parallel()
	header, kept := rejectedOf(t, "shoe;email;custom__a;first_name\n38;x;=1;\n39;y;2;\n40;z;3;\n")
	m, err := header.Correctable(kept)
	require.NoError(t, err)
	file, lines, err := m.Correct(map[int][]string{2: {"x@example.org", "=1", `"A",;`}, 3: {"y", "2", ""}, 9: {"?", "?", "?"}, 4: {"z"}})
	require.NoError(t, err)
	p, err := imports.ReadPreview(strings.NewReader(file), 10)
	require.NoError(t, err)
	require.Len(t, p.Rows, 1, "the row that was changed")
	assert.Equal(t, []int{2}, lines)
	assert.Equal(t, []any{"x@example.org", `"A",;`, "=1"}, []any{p.Rows[0].Email, p.Rows[0].FirstName, p.Rows[0].CustomFields["a"]})
	assert.Empty(t, p.Header.Ignored())

	_, _, err = m.Correct(map[int][]string{3: {"y", "2", ""}})
	require.ErrorIs(t, err, imports.ErrNothingCorrected)
	_, _, err = m.Correct(map[int][]string{3: {strings.Repeat("é", imports.MaxCorrectedCell+1), "2", ""}})
	require.ErrorIs(t, err, imports.ErrCorrectedCell)
}

// TestCorrectionsKeepLineBreaks is about cells with line breaks, which a form field sends back
// without them.
func TestCorrectionsKeepLineBreaks(t *testing.T) {
	t.Parallel()
	header, _ := rejectedOf(t, "email,custom__a\n")
	kept := []imports.RejectedRow{header.Keep(imports.Row{Line: 2, Text: "x,\"Main St 1\nNew York\""}.Reject("why"))}
	m, err := header.Correctable(kept)
	require.NoError(t, err)
	_, _, err = m.Correct(map[int][]string{2: {"x", "Main St 1New York"}})
	require.ErrorIs(t, err, imports.ErrNothingCorrected)
	file, _, err := m.Correct(map[int][]string{2: {"x@example.org", "Main St 1New York"}})
	require.NoError(t, err)
	p, err := imports.ReadPreview(strings.NewReader(file), 10)
	require.NoError(t, err)
	require.Len(t, p.Rows, 1)
	assert.Equal(t, "Main St 1\nNew York", p.Rows[0].CustomFields["a"])
}
