package imports_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/imports"
)

// TestRejectedRowsRoundTrip checks that spreadsheet programs find no formula in a list of rejected
// rows, whatever separates its cells, and that every row that could be split is imported from it
// like from the file itself.
func TestRejectedRowsRoundTrip(t *testing.T) {
	t.Parallel()
	cell := rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("='+-@\t\r\n\",;a ")), 0, 6, -1), rapid.SampledFrom([]string{"'=1", "''=1", "'", "=1", "'a", "+49301", `"=1`, "x;=1", `x,"=1`, `x;'"'=1`, "x\n=1", "x\t=1", ";\n=1"}))
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]rune{',', ';', '\t'}).Draw(t, "delimiter")
		var b strings.Builder
		w := csv.NewWriter(&b)
		w.Comma = delimiter
		row := append([]string{"ada@example.org"}, rapid.SliceOfN(cell, 2, 2).Draw(t, "row")...)
		require.NoError(t, w.Write([]string{"email", "custom__a", "custom__b"}))
		require.NoError(t, w.Write(row))
		w.Flush()
		r, err := imports.NewReader(strings.NewReader(b.String()))
		require.NoError(t, err)
		first, err := r.Next()
		require.NoError(t, err)
		want, err := r.Header().Enrollment(first.Cells)
		require.NoError(t, err)

		for range 3 { // However often it is rejected.
			h := r.Header()
			list := h.RejectsHeader() + "\n" + h.RejectsRow(h.Keep(first.Reject("=1"+string(delimiter)+`"`))) + "\n"
			parser := csv.NewReader(strings.NewReader(list))
			parser.Comma = delimiter
			cells, err := parser.ReadAll()
			require.NoError(t, err)
			require.Len(t, cells, 2)
			require.Len(t, cells[0], 5)
			require.Len(t, cells[1], 5)
			for _, c := range cells[1][2:] {
				require.False(t, imports.IsFormula(c), c)
			}
			requireNoFormula(t, list)
			r, err = imports.NewReader(strings.NewReader(list))
			require.NoError(t, err)
			first, err = r.Next()
			require.NoError(t, err)
			got, err := r.Header().Enrollment(first.Cells)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}

// requireNoFormula checks that no program finds a formula in a list, whichever delimiter it uses,
// and whether it takes quotes in the middle of a cell for the end of one or not.
func requireNoFormula(t require.TestingT, list string) {
	for _, delimiter := range []rune{',', ';', '\t'} {
		parser := csv.NewReader(strings.NewReader(list))
		parser.Comma, parser.LazyQuotes, parser.FieldsPerRecord = delimiter, true, -1
		rows, err := parser.ReadAll()
		require.NoError(t, err)
		for line := range strings.SplitSeq(list, "\n") {
			cells := strings.Split(line, string(delimiter))
			for i, c := range cells { // Three quotes stand for one that belongs to the cell.
				if !strings.HasPrefix(c, `"""`) {
					cells[i] = strings.TrimLeft(c, `"`)
				}
			}
			rows = append(rows, cells)
		}
		for _, c := range slices.Concat(rows...) {
			require.NotContains(t, "=+-@", (c + "x")[:1], "%q split at %q", list, delimiter)
		}
	}
}

func TestRejectedRowUnsplit(t *testing.T) {
	t.Parallel()
	h, err := imports.ParseHeader("email;=note;custom__a")
	require.NoError(t, err)
	assert.Equal(t, `import_line;import_reason;email;'=note;custom__a`, h.RejectsHeader())
	row := func(text string) string {
		return h.RejectsRow(h.Keep(&imports.RowError{Line: 7, Reason: `a "b"`, Text: text}))
	}
	assert.Equal(t, `7;"a ""b""";"""x;'=1;"`, row(`"x;=1;`))
	assert.Equal(t, `7;"a ""b""";"'=x""y;'=1"`, row(`=x"y;=1`))
	assert.Equal(t, `7;"a ""b""";a;'=1`, row(`a;=1`), "of the wrong length")
	assert.Equal(t, `7;"a ""b"""`, row(""), "too long to be kept")
}

func TestFormulaMarks(t *testing.T) {
	t.Parallel()
	field := func(header, row string) any {
		h, err := imports.ParseHeader(header)
		require.NoError(t, err)
		e, err := h.Enrollment(strings.Split(row, ","))
		require.NoError(t, err)
		return e.CustomFields["a"]
	}
	assert.Equal(t, "'=1", field("email,custom__a", "a@example.org,'=1"))
	assert.Equal(t, "'=1", field("email,custom__a,import_line", "a@example.org,'=1,7"))
	assert.Equal(t, "=1", field("email,custom__a,import_reason,import_line", "a@example.org,'=1,x,7"))
	assert.Equal(t, "'a", field("import_line,import_reason,email,custom__a", "7,x,a@example.org,'a"))
	assert.Equal(t, "x;=1", field("import_line,import_reason,email,custom__a", "7,x,a@example.org,x;'=1"))
	h, err := imports.ParseHeader("email,\"custom__a;=1\",b;=1")
	require.NoError(t, err)
	list, err := imports.ParseHeader(h.RejectsHeader())
	require.NoError(t, err)
	assert.Equal(t, h.Mapping(), list.Mapping()[2:], "names of columns are marked, too")
	assert.Equal(t, h.RejectsHeader(), imports.LineColumn+","+imports.ReasonColumn+","+list.Safe(list.Text()))
}

func TestPreview(t *testing.T) {
	t.Parallel()
	p, err := imports.ReadPreview(strings.NewReader("Email,First_Name,,custom__,custom__Team,phone,phone,import_line\n"+
		"ada@example.org, Ada ,,,x,1,2,3\nnobody,,,,,,,\nADA@example.org,,,,,,,\nshort\neve@example.org,,,,,,,\n"), 4)
	require.NoError(t, err)
	assert.Equal(t, []imports.Column{
		{Name: "email", Means: "email"}, {Name: "first_name", Means: "first_name"}, {Name: "", Warning: "ignored: no name"}, {Name: "custom__", Warning: "ignored: no key behind custom__"},
		{Name: "custom__Team", Key: "Team"}, {Name: "phone", Warning: "ignored: unknown column"}, {Name: "phone", Warning: "ignored: given twice"}, {Name: "import_line"},
	}, p.Columns)
	require.Len(t, p.Rows, 4)
	assert.True(t, p.More)
	assert.Equal(t, []any{2, "ada@example.org", "Ada", "x", ""}, []any{p.Rows[0].Line, p.Rows[0].Email, p.Rows[0].FirstName, p.Rows[0].CustomFields["Team"], p.Rows[0].Rejected})
	assert.Equal(t, "email: is not an e-mail address", p.Rows[1].Rejected)
	assert.Equal(t, "nobody", p.Rows[1].Email)
	assert.Equal(t, "ignored: same e-mail as line 2", p.Rows[2].Warning)
	assert.Equal(t, "has 1 cells where the header has 8", p.Rows[3].Rejected)
	p, err = imports.ReadPreview(strings.NewReader("email\na@example.org\n"), 1)
	require.NoError(t, err)
	assert.False(t, p.More)
	for file, want := range map[string]error{"": imports.ErrEmpty, "name\n": imports.ErrNoEmail, "email\n\xff\n": imports.ErrNotText} {
		_, err := imports.ReadPreview(strings.NewReader(file), 20)
		require.ErrorIs(t, err, want)
	}
}
