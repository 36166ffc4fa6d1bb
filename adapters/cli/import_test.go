package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// usernames returns the usernames of the organization acme.
func (d *fixture) usernames(t *testing.T) []string {
	t.Helper()
	var found []string
	require.NoError(t, d.store(t).View(t.Context(), func(tx ports.Tx) error {
		acme, err := tx.Orgs().BySlug(t.Context(), "acme")
		require.NoError(t, err)
		members, err := tx.Users().List(t.Context(), acme.ID, 0, 100_000)
		for _, m := range members {
			found = append(found, m.User.Username)
		}
		return err
	}))
	return found
}

// fields returns the metadata of a member of acme.
func (d *fixture) fields(t *testing.T, username string) (fields metadata.Map) {
	t.Helper()
	require.NoError(t, d.store(t).View(t.Context(), func(tx ports.Tx) error {
		acme, err := tx.Orgs().BySlug(t.Context(), "acme")
		require.NoError(t, err)
		m, err := tx.Users().ByUsername(t.Context(), acme.ID, username)
		fields = m.CustomFields
		return err
	}))
	return fields
}

const people = "email;first_name;Phone;custom__n;city\nada@example.org;Ada;1;7;x\nADA@example.org;Again;;;\nnobody;\"No;body\";;;\nbob@example.org;Bob;;;\nshort\n"

func TestImport(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	path := file(t, "people.csv", people)

	assert.Equal(t, 3, d.run(t, "import", "users", path, "--dry-run"))
	const counts = "created     2\nenrolled    0\nupdated     0\nunchanged   0\nduplicates  1\nrejected    2\n"
	assert.Equal(t, "dry run, nothing was written\n"+counts, d.out.String())
	assert.Empty(t, d.usernames(t))

	assert.Equal(t, 3, d.run(t, "import", "users", path, "--org", "acme", "--group", "staff"))
	assert.Equal(t, counts, d.out.String())
	assert.Equal(t, strings.TrimLeft(`
tocsin: warning: these columns are ignored: Phone, city
importing 5 rows into acme
line 4: email: is not an e-mail address
line 6: has 1 cells where the header has 5
`, "\n"), d.err.String())
	assert.Equal(t, []string{"ada@example.org", "bob@example.org"}, d.usernames(t))

	d.In = strings.NewReader("email\nada@example.org\nbob@example.org\ncy@example.org\n")
	assert.JSONEq(t, `{"organization": "acme", "dry_run": false, "read_as": "UTF-8", "rows": 3, "created": 1, "enrolled": 0, "updated": 2, "unchanged": 0, "duplicates": 0, "rejected": 0}`,
		d.done(t, "import", "users", "-", "--group", "Crew", "--create-group", "-o", "json"))
	assert.Equal(t, "importing 3 rows into acme\n", d.err.String())
}

func TestImportMapsColumns(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	path := file(t, "people.csv", "Vorname;Kontakt;a=b;E-Mail\nAda;ada@example.org;7;x\nBob;nobody;8;y\n")
	rejected := filepath.Join(t.TempDir(), "rejected.csv")
	assert.Equal(t, 3, d.run(t, "import", "users", path, "--map", "kontakt=email", "--map", "Vorname=ignore", "--map", "a=b=custom__n", "--errors", rejected))
	assert.Equal(t, "tocsin: warning: these columns are ignored: Vorname, E-Mail\nimporting 2 rows into acme\nrejected rows: "+rejected+"\n", d.err.String())
	assert.Equal(t, metadata.Map{"n": "7"}, d.fields(t, "ada@example.org"))

	mended := strings.Replace(read(t, rejected), "nobody", "bob@example.org", 1)
	d.done(t, "import", "users", file(t, "mended.csv", mended))
	assert.Equal(t, metadata.Map{"n": "8"}, d.fields(t, "bob@example.org"), "the list of rejected rows needs no mapping")
}

func TestImportEscapesNamesOfColumns(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	d.done(t, "import", "users", file(t, "people.csv", "email,a\x1b[2Jb\nada@example.org,\n"))
	assert.Equal(t, "tocsin: warning: these columns are ignored: a\\u001b[2Jb\nimporting 1 rows into acme\n", d.err.String())
}

func TestImportGuessesTheEncoding(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	const latin = "email,custom__city\nada@example.org,K\xf6ln\n"
	assert.Contains(t, d.done(t, "import", "users", file(t, "people.csv", latin), "-o", "json"), `"read_as": "Windows-1252"`)
	assert.Equal(t, "tocsin: warning: the file is not UTF-8; it is read as Windows-1252. Use --encoding if that is wrong\nimporting 1 rows into acme\n", d.err.String())
	assert.Equal(t, metadata.Map{"city": "Köln"}, d.fields(t, "ada@example.org"))
	d.done(t, "import", "users", file(t, "people.csv", latin), "--encoding", "Windows-1252")
	assert.Equal(t, "importing 1 rows into acme\n", d.err.String(), "a chosen encoding is no guess")
}

func TestImportFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		args []string
		says string
	}{
		"UnknownOrganization": {"email\n", []string{"--org", "beta"}, "the organization does not exist"},
		"UnknownGroup":        {"email\n", []string{"--group", "Crew"}, "the group does not exist in this organization"},
		"NoEmailColumn":       {"name\nAda\n", nil, `the file has no email column; its first line is "name"`},
		"NoSuchColumn":        {"name\nAda\n", []string{"--map", "Kontakt=email"}, `the file has no column "Kontakt"`},
		"NoSuchField":         {"email,a\n", []string{"--map", "a=role"}, `"role" is not something that a column can become: email, first_name, last_name, custom__KEY or ignore`},
		"MappedAway":          {"email\n", []string{"--map", "email=ignore"}, "one column must be the e-mail: it says who the user is"},
		"NoText":              {"email\nada@example.org\n\x00\n", nil, "the file is not UTF-8 text (line 3)"},
		"Empty":               {"", []string{"-o", "json"}, "the file is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newShop(t)
			rejected := file(t, "rejected.csv", "of an earlier import")
			assert.Equal(t, 1, d.run(t, append([]string{"import", "users", file(t, "people.csv", c.text), "--errors", rejected}, c.args...)...))
			assert.Equal(t, "tocsin: "+c.says+"\n", d.err.String())
			assert.Empty(t, d.out.String())
			assert.Empty(t, d.usernames(t))
			assert.Equal(t, "of an earlier import", read(t, rejected))
			assert.Equal(t, []string{"rejected.csv"}, list(t, filepath.Dir(rejected)))
		})
	}
	t.Run("UnknownEncoding", func(t *testing.T) {
		t.Parallel()
		d := newShop(t)
		assert.Equal(t, 2, d.run(t, "import", "users", file(t, "people.csv", "email\n"), "--encoding", "utf8"))
		assert.Contains(t, d.err.String(), `--encoding "utf8" is not one of UTF-8, Windows-1252, `)
	})
	t.Run("AFolder", func(t *testing.T) {
		t.Parallel()
		d := newFixture(t)
		folder := t.TempDir()
		assert.Equal(t, 1, d.run(t, "import", "users", folder))
		assert.Equal(t, "tocsin: import "+folder+": is a directory\n", d.err.String())
		assert.Equal(t, 1, d.run(t, "import", "users", filepath.Join(folder, "none.csv")))
		assert.Equal(t, "tocsin: open "+folder+"/none.csv: no such file or directory\n", d.err.String())
	})
	t.Run("StandardInputThatBreaks", func(t *testing.T) {
		t.Parallel()
		d := newShop(t)
		d.In = brokenReader{}
		assert.Equal(t, 1, d.run(t, "import", "users", "-"))
		assert.Equal(t, "tocsin: the pipe broke\n", d.err.String())
	})
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the pipe broke") }

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func list(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

func TestImportErrors(t *testing.T) {
	t.Parallel()
	t.Run("TheRowsCanBeMendedAndImportedAgain", func(t *testing.T) {
		t.Parallel()
		d := newShop(t)
		rejected := filepath.Join(t.TempDir(), "rejected.csv")
		assert.Equal(t, 3, d.run(t, "import", "users", file(t, "people.csv", people+"\"x@y\n\"dee@example.org\";D\"e\";;;\n"), "--errors", rejected))
		assert.Contains(t, d.err.String(), "\nrejected rows: "+rejected+"\n")
		assert.NotContains(t, d.err.String(), "line 4")
		assert.Equal(t, strings.TrimLeft(`
import_line;import_reason;email;first_name;Phone;custom__n;city
4;"email: is not an e-mail address";nobody;"No;body";;;
6;"has 1 cells where the header has 5";short
7;"a quote ("") is opened and not closed within 128 KiB";"""x@y"
8;"a quote ("") is not allowed here";"""dee@example.org"";D""e"";;;"
`, "\n"), read(t, rejected))
		info, err := os.Stat(rejected)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it holds what people sent about people")

		again := filepath.Join(t.TempDir(), "again.csv")
		assert.Equal(t, 3, d.run(t, "import", "users", rejected, "--errors", again), "not mended, they are rejected again")
		assert.NotContains(t, d.err.String(), "import_line", "their columns are ignored in silence")
		assert.Len(t, strings.Split(read(t, again), "\n"), 6)

		mended := strings.NewReplacer("nobody", "nobody@example.org", ";short", ";short@example.org;;;;", `"""x@y"`, "x@y.example;;;;", `"""dee@example.org"";D""e"";;;"`, "dee@example.org;Dee;;;").Replace(read(t, rejected))
		require.NoError(t, os.WriteFile(rejected, []byte(mended), 0o600))
		d.done(t, "import", "users", rejected)
		assert.ElementsMatch(t, []string{"ada@example.org", "bob@example.org", "nobody@example.org", "short@example.org", "x@y.example", "dee@example.org"}, d.usernames(t))
	})
	t.Run("NoCellIsAFormulaAndCorrectingBringsItBack", func(t *testing.T) {
		t.Parallel()
		d := newShop(t)
		rejected := filepath.Join(t.TempDir(), "rejected.csv")
		assert.Equal(t, 3, d.run(t, "import", "users", file(t, "people.csv", "email,custom__phone,custom__note\nada,+49301234567,'=1\n=1+1@example.org x,,\"=\"\"1\"\n\"+,=1\n"), "--errors", rejected))
		assert.Equal(t, strings.TrimLeft(`
import_line,import_reason,email,custom__phone,custom__note
2,"email: is not an e-mail address",ada,'+49301234567,''=1
3,"email: is not an e-mail address",'=1+1@example.org x,,"'=""1"
4,"a quote ("") is opened and not closed within 128 KiB","""+,'=1"
`, "\n"), read(t, rejected))
		mended := strings.Replace(read(t, rejected), "ada", "ada@example.org", 1)
		require.NoError(t, os.WriteFile(rejected, []byte(mended), 0o600))
		again := filepath.Join(t.TempDir(), "again.csv")
		assert.Equal(t, 3, d.run(t, "import", "users", rejected, "--errors", again))
		assert.Contains(t, read(t, again), "3,\"email: is not an e-mail address\",'=1+1@example.org x,,\"'=\"\"1\"\n", "marked once, however often it is rejected")
		assert.Equal(t, metadata.Map{"phone": "+49301234567", "note": "'=1"}, d.fields(t, "ada@example.org"))
	})
	t.Run("WithoutRejectedRowsHasNone", func(t *testing.T) {
		t.Parallel()
		d := newShop(t)
		rejected := file(t, "rejected.csv", "of an earlier import")
		d.done(t, "import", "users", file(t, "people.csv", "email\na@example.org\n"), "--errors", rejected)
		assert.Equal(t, "import_line,import_reason,email\n", read(t, rejected))
		assert.Equal(t, []string{"rejected.csv"}, list(t, filepath.Dir(rejected)))
	})
	t.Run("ALinkStaysALink", func(t *testing.T) {
		t.Parallel()
		d := newShop(t)
		target := file(t, "rejected.csv", "")
		link := filepath.Join(t.TempDir(), "link")
		require.NoError(t, os.Symlink(target, link))
		d.done(t, "import", "users", file(t, "people.csv", "email\n"), "--errors", link)
		assert.Equal(t, "import_line,import_reason,email\n", read(t, target))
	})
	t.Run("ADeviceIsWrittenTo", func(t *testing.T) {
		t.Parallel()
		d := newShop(t)
		assert.Equal(t, 3, d.run(t, "import", "users", file(t, "people.csv", people), "--errors", "/dev/null"))
		info, err := os.Stat("/dev/null")
		require.NoError(t, err)
		assert.NotZero(t, info.Mode()&os.ModeDevice)
	})
	t.Run("FullDevice", func(t *testing.T) {
		t.Parallel()
		d := newShop(t)
		assert.Equal(t, 1, d.run(t, "import", "users", file(t, "people.csv", people), "--errors", "/dev/full"))
		assert.Contains(t, d.err.String(), "tocsin: --errors: the rejected rows could not be written: ")
		assert.Contains(t, d.out.String(), "created     2\n", "the import is done all the same")
	})
	t.Run("PlacesThatCannotTakeIt", func(t *testing.T) {
		t.Parallel()
		d := newFixture(t)
		path := file(t, "people.csv", people)
		link := filepath.Join(t.TempDir(), "link.csv")
		require.NoError(t, os.Link(path, link))
		for name, c := range map[string]struct {
			errors, says string
			status       int
		}{
			"TheFileItself":  {path, "--errors names the file that is imported", 2},
			"ByAnotherName":  {link, "--errors names the file that is imported", 2},
			"AFolder":        {filepath.Dir(path), "--errors names a directory", 2},
			"StandardOutput": {"-", "--errors needs the name of a file", 2},
			"AnotherFolder":  {"/no/such/folder/x", "--errors: open /no/such/folder/.x.", 1},
		} {
			assert.Equal(t, c.status, d.run(t, "import", "users", path, "--errors", c.errors), name)
			assert.Contains(t, d.err.String(), "tocsin: "+c.says, name)
			assert.Zero(t, d.opened, "it is known before the database is opened")
			assert.Equal(t, people, read(t, path))
		}
	})
	t.Run("ManyWithoutAFileAreShownInPart", func(t *testing.T) {
		t.Parallel()
		d := newShop(t)
		assert.Equal(t, 3, d.run(t, "import", "users", file(t, "people.csv", "email\n"+strings.Repeat("x\n", 25))))
		assert.Contains(t, d.err.String(), "line 11: email: is not an e-mail address\nand 15 more rejected rows: --errors FILE takes them all\n")
		assert.NotContains(t, d.err.String(), "line 12")
	})
}

func TestImportFromPipe(t *testing.T) { //nolint:paralleltest // It sets TMPDIR.
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	d := newShop(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(pipe, []byte("email\nada@example.org\n"), 0o600) }()
	d.done(t, "import", "users", pipe)
	require.NoError(t, <-written)
	assert.Equal(t, []string{"ada@example.org"}, d.usernames(t))

	d.In = strings.NewReader("email\nbob@example.org\n")
	d.done(t, "import", "users", "-")
	assert.Equal(t, []string{"ada@example.org", "bob@example.org"}, d.usernames(t))
	assert.Empty(t, list(t, folder), "no copy is left behind")
}

// hookedStore is a store that calls a function before each unit of work that writes, with its
// number from 1 on. The unit fails with its error.
type hookedStore struct {
	ports.Store
	before func(unit int64) error
	units  atomic.Int64
}

func (h *hookedStore) Update(ctx context.Context, fn func(ports.Tx) error) error {
	if err := h.before(h.units.Add(1)); err != nil {
		return err
	}
	return h.Store.Update(ctx, fn)
}

// crowd returns a file of many users. Importing it takes several units of work.
func crowd(header string, n int) string {
	var text strings.Builder
	text.WriteString(header)
	for i := range n {
		fmt.Fprintf(&text, "user%d@example.org\n", i)
	}
	return text.String()
}

func TestImportInterrupted(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d.wrap = func(s ports.Store) ports.Store {
		return &hookedStore{Store: s, before: func(unit int64) error {
			if unit > 1 {
				stop()
			}
			return nil
		}}
	}
	path := file(t, "people.csv", crowd("email\nnobody\n", 9_000))
	rejected := filepath.Join(t.TempDir(), "rejected.csv")
	d.out.Reset()
	d.err.Reset()
	assert.Equal(t, 1, d.Run(ctx, []string{"import", "users", path, "--errors", rejected, "-o", "json"}))
	var report struct{ Rows, Created, Rejected int }
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &report))
	assert.Equal(t, 9_001, report.Rows)
	assert.Equal(t, 1, report.Rejected)
	assert.Positive(t, report.Created)
	assert.Less(t, report.Created, 9_000)
	assert.Len(t, d.usernames(t), report.Created, "the rows in hand were finished")
	assert.Contains(t, d.err.String(), fmt.Sprintf("tocsin: interrupted after %d of 9001 rows; import the file again for the rest\n", report.Created+1))
	assert.Contains(t, read(t, rejected), "2,\"email: is not an e-mail address\",nobody\n")

	d.wrap = func(s ports.Store) ports.Store { return s }
	assert.Equal(t, 3, d.run(t, "import", "users", path))
	assert.Len(t, d.usernames(t), 9_000)
}

// TestImportStoppedByMaintenance checks that the reason is printed once, with what is left to do.
func TestImportStoppedByMaintenance(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	d.wrap = func(s ports.Store) ports.Store {
		return &hookedStore{Store: s, before: func(unit int64) error {
			if unit > 2 { // the audit entry about the beginning, and a chunk
				return installation.ErrReadOnly.With("%s: back at noon", installation.ErrReadOnly.Error())
			}
			return nil
		}}
	}
	d.err.Reset()
	assert.Equal(t, 1, d.run(t, "import", "users", file(t, "people.csv", crowd("email\n", 9_000))))
	d.wrap = func(s ports.Store) ports.Store { return s }
	written := len(d.usernames(t))
	require.Positive(t, written)
	assert.Contains(t, d.err.String(), fmt.Sprintf("tocsin: the installation is read-only for maintenance: back at noon\n"+
		"tocsin: stopped after %d of 9000 rows; import the file again for the rest\n", written))
	assert.Equal(t, 1, strings.Count(d.err.String(), "read-only"))
}

func TestImportWithoutAnyOrganization(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	assert.Equal(t, 1, d.run(t, "import", "users", file(t, "people.csv", "email\n")))
	assert.Equal(t, "tocsin: "+orgs.ErrNotFound.Error()+"\n", d.err.String())
}

func TestProgress(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	clock := func() time.Time { return now }
	t.Run("ALineNowAndThen", func(t *testing.T) {
		t.Parallel()
		now := now
		var out bytes.Buffer
		p := cli.NewProgress(&out, 1_000_000, false, func() time.Time { return now })
		for second := range 21 {
			p.At(second * 50_000)
			now = now.Add(time.Second)
		}
		p.End()
		assert.Equal(t, strings.TrimLeft(`
250000 of 1000000 rows (25%), 50000 rows/s, 15s left
500000 of 1000000 rows (50%), 50000 rows/s, 10s left
750000 of 1000000 rows (75%), 50000 rows/s, 5s left
1000000 of 1000000 rows (100%), 50000 rows/s, 0s left
`, "\n"), out.String())
	})
	t.Run("ABarOnATerminal", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		p := cli.NewProgress(&out, 4, true, clock)
		assert.Contains(t, out.String(), "0%")
		assert.Contains(t, out.String(), "0/4")
		p.At(4)
		p.End()
		assert.Contains(t, out.String(), "100%")
		assert.Contains(t, out.String(), "4/4")
		assert.True(t, strings.HasSuffix(out.String(), "\n"))
	})
	t.Run("NothingToDo", func(t *testing.T) {
		t.Parallel()
		for _, terminal := range []bool{true, false} {
			var out bytes.Buffer
			p := cli.NewProgress(&out, 0, terminal, clock)
			p.At(0)
			p.End()
			assert.Empty(t, out.String())
		}
	})
}
