package imports_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

func header(t *testing.T, text string) imports.Header {
	t.Helper()
	r, err := imports.NewReader(strings.NewReader(text))
	require.NoError(t, err)
	return r.Header()
}

func TestHeaderDelimiter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want rune
	}{
		"Comma":                         {"email,first_name", ','},
		"Semicolon":                     {"email;first_name", ';'},
		"Tab":                           {"email\tfirst_name", '\t'},
		"OneColumnIsComma":              {"email", ','},
		"MostColumnsWin":                {"email;first_name;last_name,x", ';'},
		"QuotedCandidatesDoNotCount":    {`email;"custom__a,b,c,d"`, ';'},
		"TheEmailColumnMustComeOutOfIt": {"email;notes, remarks, and so on", ';'},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, string(c.want), string(header(t, c.text).Delimiter()))
		})
	}
}

func TestHeaderNames(t *testing.T) {
	t.Parallel()
	enroll := func(t *testing.T, text string, cells ...string) users.Enrollment {
		t.Helper()
		e, err := header(t, text).Enrollment(cells)
		require.NoError(t, err)
		return e
	}
	t.Run("CaseAndSpaceDoNotCount", func(t *testing.T) {
		t.Parallel()
		e := enroll(t, ` E-Mail , EMAIL ,First_Name," LAST_NAME"`, "x", "ada@example.org", "Ada", "Lovelace")
		assert.Equal(t, users.Enrollment{Details: users.Details{Email: "ada@example.org", FirstName: "Ada", LastName: "Lovelace"}}, e)
	})
	t.Run("UsualNamesCountWhereThereIsNoOther", func(t *testing.T) {
		t.Parallel()
		e := enroll(t, "Nachname;Vorname;E-Mail-Adresse;Mail;Abteilung", "Lovelace", "Ada", "ada@example.org", "x", "y")
		assert.Equal(t, users.Enrollment{Details: users.Details{Email: "ada@example.org", FirstName: "Ada", LastName: "Lovelace"}}, e)
		e = enroll(t, "Given Name,first_name,e_mail,SURNAME", "x", "Ada", "ada@example.org", "Lovelace")
		assert.Equal(t, users.Enrollment{Details: users.Details{Email: "ada@example.org", FirstName: "Ada", LastName: "Lovelace"}}, e)
		h := header(t, "E-Mail,Mail,Vorname")
		assert.Equal(t, []string{"Mail"}, h.Ignored(), "the first one counts")
		assert.Equal(t, []imports.Column{{Name: "E-Mail", Means: "email"}, {Name: "Mail", Warning: "ignored: unknown column"},
			{Name: "Vorname", Means: "first_name"}}, h.Columns())
	})
	t.Run("TheKeyOfCustomIsKeptAsWritten", func(t *testing.T) {
		t.Parallel()
		e := enroll(t, "email, Custom__External_ID ,custom__é.x,custom__custom__", "ada@example.org", "7", "é", "c")
		assert.Equal(t, metadata.Map{"External_ID": "7", "é.x": "é", "custom__": "c"}, e.CustomFields)
	})
	t.Run("CustomCellsAreStringsAndEmptyOnesAreLeftOut", func(t *testing.T) {
		t.Parallel()
		e := enroll(t, "email,custom__a,custom__b,custom__c", "ada@example.org", "  ", "007", " x ")
		assert.Equal(t, metadata.Map{"b": "007", "c": "x"}, e.CustomFields)
	})
	t.Run("NoCustomColumns", func(t *testing.T) {
		t.Parallel()
		assert.Empty(t, enroll(t, "email,custom__a", "ada@example.org", "").CustomFields)
	})
	t.Run("OthersAreIgnoredAndNamedOnce", func(t *testing.T) {
		t.Parallel()
		h := header(t, "email,Phone, city ,Phone,,custom__,custom_x,username")
		assert.Equal(t, []string{"Phone", "city", "column 5, which has no name", "custom__", "custom_x", "username"}, h.Ignored())
	})
	t.Run("TheColumnsOfRejectedRowsAreIgnoredInSilence", func(t *testing.T) {
		t.Parallel()
		h := header(t, "import_line,import_reason,import_line,import_reason,email")
		assert.Empty(t, h.Ignored())
		assert.Equal(t, "import_line,import_reason,import_line,import_reason,email", h.Text())
	})
}

// TestHeaderLines checks headers of which a cell has line breaks, as spreadsheet programs write
// them.
func TestHeaderLines(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"LineFeeds":       "\n\"E-\nMail\",\"First\nName\",\"custom__shoe\nsize\",\"a\n\"\nada@example.org,Ada,38,x\n",
		"CarriageReturns": "\n\"E-\r\nMail\";\"First\r\nName\";\"custom__shoe\r\nsize\";\"a\r\n\"\r\nada@example.org;Ada;38;x\r\n",
		"OfAMacintosh":    "\r\"E-\rMail\";\"First\rName\";\"custom__shoe\rsize\";\"a\r\"\rada@example.org;Ada;38;x\r",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := users.Enrollment{Details: users.Details{Email: "ada@example.org", FirstName: "Ada"}, CustomFields: metadata.Map{"shoe size": "38"}}
			check := func(file string) {
				r, err := imports.NewReader(strings.NewReader(file))
				require.NoError(t, err)
				row, err := r.Next()
				require.NoError(t, err)
				assert.Equal(t, 7, row.Line)
				e, err := r.Header().Enrollment(row.Cells)
				require.NoError(t, err)
				assert.Equal(t, want, e)
			}
			check(file)
			h := readTable(t, file).Header
			assert.Equal(t, []string{"E- Mail → email", "First Name → first_name", "custom__shoe size → metadata under shoe size"}, h.Mapping().Words())
			assert.Equal(t, []string{"a"}, h.Ignored())
			mapped, _, err := h.Map([]byte(file), h.Mapping())
			require.NoError(t, err)
			check(string(mapped))
			again := h.RejectsHeader() + "\n"
			assert.Equal(t, h.Mapping().Words(), header(t, again).Mapping().Words(), "of a list of rejected rows")
		})
	}
}

func TestHeaderRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want error
		says string
	}{
		"NoFile":             {"", imports.ErrEmpty, "the file is empty"},
		"OnlyAMark":          {"\xef\xbb\xbf", imports.ErrEmpty, "the file is empty"},
		"OnlyBlanks":         {"\n \n\r\n\t\n", imports.ErrEmpty, "the file is empty"},
		"NoEmail":            {"first_name,last_name\n", imports.ErrNoEmail, `the file has no email column; its first line is "first_name,last_name"`},
		"EmailIsOnlyPartOf":  {"emails,mailing\n", imports.ErrNoEmail, `the file has no email column; its first line is "emails,mailing"`},
		"OpenQuote":          {"\"email\nada@example.org\n", imports.ErrNoEmail, `the file has no email column; its first line is "\"email"`},
		"NoEmailInLines":     {"name,\"a\r\nb\"\nAda,x\n", imports.ErrNoEmail, `the file has no email column; its first line is "name,\"a"`},
		"LinesTooLong":       {"email,\"" + strings.Repeat("x\n", imports.MaxRow/2) + "\"\n", imports.ErrNoEmail, `the file has no email column; its first line is "email,\"x"`},
		"LongLine":           {strings.Repeat("ä", 81) + "\n", imports.ErrNoEmail, `the file has no email column; its first line is "` + strings.Repeat("ä", 80) + `…"`},
		"UTF16":              {"\xff\xfee\x00m\x00a\x00i\x00l\x00", imports.ErrNotText, "the file is not UTF-8 text (line 1)"},
		"NUL":                {"email\x00", imports.ErrNotText, "the file is not UTF-8 text (line 1)"},
		"EmailTwice":         {"email,x,E-MAIL, Email ", nil, "the header names the column email twice"},
		"CustomTwice":        {"email,custom__a,CUSTOM__a", nil, "the header names the column custom__a twice"},
		"TooManyColumns":     {"email" + strings.Repeat(",", imports.MaxColumns), nil, "the file has 2501 columns: at most 2500 are allowed"},
		"TooLongForAHeader":  {"email," + strings.Repeat("x", imports.MaxRow), imports.ErrNoEmail, "the file has no header: line 1: is longer than 128 KiB"},
		"NoEndOfLineForever": {strings.Repeat("x", 1<<20), imports.ErrNoEmail, "the file has no header: line 1: is longer than 128 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := imports.NewReader(strings.NewReader(c.text))
			require.EqualError(t, err, c.says)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
			if c.want != nil {
				assert.ErrorIs(t, err, c.want)
			}
		})
	}
	t.Run("TheLargestNumberOfColumns", func(t *testing.T) {
		t.Parallel()
		header(t, "email"+strings.Repeat(",", imports.MaxColumns-1))
	})
	t.Run("KeysOfOtherCaseAreOtherColumns", func(t *testing.T) {
		t.Parallel()
		header(t, "email,custom__a,custom__A")
	})
}
