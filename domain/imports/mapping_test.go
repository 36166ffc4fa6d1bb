package imports_test

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/imports"
)

// mail is the column that every mapping needs.
var mail = imports.Meaning{Name: "mail", Field: imports.Email}

func readTable(t *testing.T, file string) imports.Table {
	t.Helper()
	table, err := imports.ReadTable(strings.NewReader(file))
	require.NoError(t, err)
	return table
}

func TestTheGuessOfColumns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, want string }{
		"Names":           {"E-Mail;Vorname;Nachname;Abteilung;shoe size\n", "E-Mail → email, Vorname → first_name, Nachname → last_name, Abteilung → metadata under Abteilung"},
		"OfTheContract":   {"Email,custom__Team,Cost Center\n", "Email → email, custom__Team → metadata under Team, Cost Center → metadata under Cost Center"},
		"ContentIsEmails": {"Nummer\tKontakt\n1\ta@example.org\n2\t\n3\tb@example.org\n4\tnone\n", "Kontakt → email"},
		"TheFirstOfTwo":   {"a,b\nx@example.org,y@example.org\n", "a → email"},
		"NoneIsEmails":    {"a,b\nx@,@y\n1,2\n", ""},
		"NotTwoOfAKey":    {"email,Team,custom__Team,team\n", "email → email, custom__Team → metadata under Team, team → metadata under team"},
		"NotOfRejections": {"import_line,import_reason,email\na@b,a@b,a@b\n", "email → email"},
		"TooMany":         {"email" + strings.Repeat(",team", 100) + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, strings.Join(readTable(t, c.file).Guess().Words(), ", "))
		})
	}
}

func TestMappingSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	key := func(key string) imports.Mapping {
		return imports.Mapping{mail, {Name: "a", Field: imports.Metadata, Key: key}}
	}
	for name, c := range map[string]struct {
		mapping imports.Mapping
		want    string
	}{
		"NoEmail":      {imports.Mapping{{Name: "a"}}, "columns: one column must be the e-mail: it says who the user is"},
		"TwoEmails":    {imports.Mapping{mail, {Name: "a", Field: imports.Email}}, `field-1: the columns "mail" and "a" cannot both become email`},
		"TwoOfAKey":    {append(key("k"), imports.Meaning{Name: "b", Field: imports.Metadata, Key: "k"}), `key-2: the columns "a" and "b" cannot both become metadata under k`},
		"UnknownField": {imports.Mapping{mail, {Name: "a", Field: "role"}}, `field-1: "role" is not something that a column can become`},
		"NoKey":        {key(""), "key-1: metadata needs a key"},
		"LongKey":      {key(strings.Repeat("é", 101)), "key-1: a key may have 100 characters"},
		"LinesInKey":   {key("a\nb"), "key-1: a key is text on one line, without space around it"},
		"SpaceInKey":   {key(" a"), "key-1: a key is text on one line, without space around it"},
		"RejectedRow":  {imports.Mapping{mail, {Name: imports.LineColumn, Field: imports.FirstName}}, "field-1: the column import_line describes a rejected row and is left out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.EqualError(t, c.mapping.Check(), c.want)
		})
	}
	require.NoError(t, append(key(strings.Repeat("é", 100)), imports.Meaning{Name: "b"}, imports.Meaning{Name: "c"}).Check())
}

func TestMappedFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header  string
		mapping imports.Mapping
		want    string
	}{
		"Plain": {"Vorname;Kontakt;Team", imports.Mapping{{Field: imports.FirstName}, {Field: imports.Email}, {Field: imports.Metadata, Key: "Abteilung; neu"}},
			`first_name;email;"custom__Abteilung; neu"`},
		"LeftOutNamesAreNotUnderstood": {"email,E-Mail,Vorname,custom__a,shoe size", imports.Mapping{{}, {Field: imports.Email}, {}, {}, {}},
			`(left out) email,email,(left out) Vorname,(left out) custom__a,shoe size`},
		"OtherDelimitersAreQuoted": {"a;\"x,email,y,z\";c", imports.Mapping{{Field: imports.Email}, {}, {Field: imports.Metadata, Key: `"`}},
			`email;"x,email,y,z";"custom__"""`},
		"RejectionsStay": {"import_line,import_reason,a", imports.Mapping{{}, {}, {Field: imports.Email}}, "import_line,import_reason,email"},
		"OneColumn":      {"a", imports.Mapping{{Field: imports.Email}}, "email"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, rows := "\ufeff\n \n", "\r\nrows,of;the,file"
			table := readTable(t, before+c.header+rows)
			named := table.Header.Mapping()
			for i := range named {
				named[i].Field, named[i].Key = c.mapping[i].Field, c.mapping[i].Key
			}
			begin, header, err := table.Header.Map([]byte(before+c.header+rows), named)
			require.NoError(t, err)
			assert.Equal(t, before+c.want+rows, string(begin))
			again, err := imports.NewReader(strings.NewReader(string(begin)))
			require.NoError(t, err)
			assert.Equal(t, again.Header(), header)
			assert.Equal(t, table.Header.Delimiter(), header.Delimiter())
			got := header.Mapping()
			for i := range got {
				got[i].Name = named[i].Name
			}
			assert.Equal(t, named, got)
		})
	}
}

func TestMapRefuses(t *testing.T) {
	t.Parallel()
	header := readTable(t, "a,b\n").Header
	_, _, err := header.Map([]byte("a,b\n"), imports.Mapping{mail})
	require.ErrorIs(t, err, imports.ErrMapping, "another number of columns")
	_, _, err = header.Map([]byte("c,d\n"), imports.Mapping{mail, {}})
	require.ErrorIs(t, err, imports.ErrMapping, "another file")
	_, _, err = header.Map([]byte("a,b\n"), imports.Mapping{{}, {}})
	require.ErrorContains(t, err, "one column must be the e-mail")
}

func TestMappingDigest(t *testing.T) {
	t.Parallel()
	m := imports.Mapping{mail, {Name: "a", Field: imports.FirstName}, {Name: "a", Field: imports.Metadata, Key: "k"}, {Name: "b"}}
	other := imports.Mapping{{Name: "B"}, {Name: "A"}, {Name: "Mail"}, {Name: "a"}}
	assert.Equal(t, m.Digest(), other.Digest(), "order and case do not count")
	assert.Equal(t, imports.Mapping{{Name: "B"}, {Name: "A", Field: imports.FirstName}, {Name: "Mail", Field: imports.Email}, {Name: "a", Field: imports.Metadata, Key: "k"}}, other.As(m))
	assert.NotEqual(t, m.Digest(), other[1:].Digest())
	assert.NotEqual(t, imports.Mapping{{Name: "ab"}, {Name: "c"}}.Digest(), imports.Mapping{{Name: "a"}, {Name: "bc"}}.Digest())
}

func TestSamplesAreShortAndDifferent(t *testing.T) {
	t.Parallel()
	file := "email,b\n" + strings.Repeat("a@example.org, x \n", 3) + "c@example.org," + strings.Repeat("é", 100) + "\nbroken\nd@example.org,\ne@example.org,\n"
	assert.Equal(t, [][]string{{"a@example.org", "c@example.org", "d@example.org"}, {"x", strings.Repeat("é", 79) + "…"}}, readTable(t, file).Samples())
}

// brittle is a file that cannot be read to its end.
type brittle struct {
	io.Reader
	closed *bool
}

func (b brittle) Close() error {
	*b.closed = true
	return nil
}

func TestMapFile(t *testing.T) {
	t.Parallel()
	closed := false
	rows := strings.Repeat("Ada,ada@example.org,ä\n", 50_000)
	as := func(fields ...imports.Field) func(imports.Mapping) (imports.Mapping, error) {
		return func(m imports.Mapping) (imports.Mapping, error) {
			for i, f := range fields {
				m[i].Field, m[i].Key = f, strconv.Itoa(i)
			}
			return m, nil
		}
	}
	file, err := imports.MapFile(brittle{strings.NewReader("x,y,z\n" + rows), &closed}, as(imports.FirstName, imports.Email, imports.Metadata))
	require.NoError(t, err)
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	assert.Equal(t, "first_name,email,custom__2\n"+rows, string(text))
	require.NoError(t, file.Close())
	assert.True(t, closed)

	broken := errors.New("broken")
	for name, c := range map[string]struct {
		file   io.Reader
		change func(imports.Mapping) (imports.Mapping, error)
		want   error
		says   string
	}{
		"NoEmail":    {strings.NewReader("x\n"), as(imports.FirstName), imports.ErrMapping, "one column must be the e-mail: it says who the user is"},
		"Twice":      {strings.NewReader("x,y\n"), as(imports.Email, imports.Email), imports.ErrMapping, `the columns "x" and "y" cannot both become email`},
		"Empty":      {strings.NewReader(""), as(imports.Email), imports.ErrEmpty, "the file is empty"},
		"TooMany":    {strings.NewReader("email" + strings.Repeat(",x", 100)), as(imports.Email), imports.ErrMapping, "the file has too many columns to be mapped: at most 100, named in 16 KiB"},
		"NoChange":   {strings.NewReader("x\n"), func(imports.Mapping) (imports.Mapping, error) { return nil, broken }, broken, "broken"},
		"Unreadable": {io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), as(imports.Email), broken, "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := imports.MapFile(io.NopCloser(c.file), c.change)
			require.ErrorIs(t, err, c.want)
			require.EqualError(t, err, c.says)
		})
	}
}

// TestAFileWithoutHeader checks that a person in the first row is not read as names of columns.
func TestAFileWithoutHeader(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"ada@example.org,Ada\nbob@example.org,Bob\n", "Ada;ada@example.org\nBob;bob@example.org\n", "ada@example.org\nbob@example.org\n"} {
		_, err := imports.ReadTable(strings.NewReader(file))
		require.ErrorIs(t, err, imports.ErrNoEmail, file)
	}
}
