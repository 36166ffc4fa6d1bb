package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// acme is the organization of most tests.
var acme = app.Path{Organization: "acme"}

// importing runs imports until one of acme has reached a state.
func (f *fixture) importing(id imports.ID, until imports.State) {
	f.Helper()
	ctx, stop := context.WithCancel(f.Context())
	defer stop()
	importer := importer.New(f.store, f.clock, slog.New(slog.DiscardHandler), importer.Settings{Lease: time.Minute, Poll: time.Millisecond, Sweep: time.Minute})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		importer.Run(ctx)
	}()
	require.Eventually(f, func() bool {
		job, _, err := f.use.ImportJobs.Show(ctx, acme, id, 0)
		return err == nil && job.State == until
	}, time.Minute, time.Millisecond)
	stop()
	<-ended
}

// importAndCorrect corrects the rejected row of an import, which it starts before where that is
// allowed.
func importAndCorrect(b *browser, to string) answer {
	b.f.Helper()
	return importAndPost(b, to, "c2-0", "new@example.org")
}

// importAndUndo undoes an import, which it starts before where that is allowed.
func importAndUndo(b *browser, to string) answer {
	b.f.Helper()
	return importAndPost(b, to)
}

func importAndPost(b *browser, to string, fields ...string) answer {
	b.f.Helper()
	first := b.post(to)
	if first.StatusCode != http.StatusBadRequest {
		return first
	}
	one := path.Dir(strings.TrimSuffix(to, "/"))
	id, err := strconv.ParseInt(path.Base(one), 10, 64)
	require.NoError(b.f, err)
	b.post(one+"/start/").is(b.f.T, http.StatusSeeOther)
	b.f.importing(imports.ID(id), imports.Done)
	return b.post(to, fields...)
}

// checked creates an import into acme that is ready to start.
func (f *fixture) checked(name, file string) imports.Job {
	f.Helper()
	job, err := f.use.ImportJobs.Upload(f.Context(), audit.Actor{Name: f.account("somebody", true).User.Username, Via: audit.Console}, acme, importer.Upload{Name: name, File: strings.NewReader(file)})
	require.NoError(f, err)
	f.importing(job.ID, imports.Checked)
	return job
}

// upload sends a form with a token, fields, and at its end a file.
func (b *browser) upload(path, token, name, file string, fields ...string) answer {
	b.f.Helper()
	return b.uploadFrom(path, name, strings.NewReader(file), append([]string{"form_token", token}, fields...)...)
}

// uploadFrom sends such a form as the file comes, without a word about its length.
func (b *browser) uploadFrom(path, name string, file io.Reader, fields ...string) answer {
	b.f.Helper()
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	for pair := range slices.Chunk(fields, 2) {
		require.NoError(b.f, form.WriteField(pair[0], pair[1]))
	}
	_, err := form.CreateFormFile("file", name)
	require.NoError(b.f, err)
	body := io.MultiReader(&head, file, strings.NewReader("\r\n--"+form.Boundary()+"--\r\n"))
	return b.send(http.MethodPost, path, form.FormDataContentType(), body)
}

// boundX is the type of a form whose parts are separated by x.
const boundX = "multipart/form-data; boundary=x"

// part returns a part of such a form.
func part(name, text string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + text + "\r\n"
}

// endless is a body of parts whose headers are long, and how much of it was read.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	const part = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\nX-Long: "
	const long = 1 << 20
	for i := range b {
		switch at := (e.read + i) % (len(part) + long); {
		case at < len(part):
			b[i] = part[at]
		case at >= len(part)+long-4:
			b[i] = "\r\n\r\n"[at-len(part)-long+4]
		default:
			b[i] = 'x'
		}
	}
	e.read += len(b)
	return len(b), nil
}

// timed counts how often the read deadline of a connection is set after its request was read.
type timed struct {
	*httptest.ResponseRecorder
	body *strings.Reader
	late int
}

func (w *timed) SetReadDeadline(time.Time) error {
	if w.body.Len() == 0 {
		w.late++
	}
	return nil
}

func (*timed) SetWriteDeadline(time.Time) error { return nil }

// TestWorkbookDeadlines checks that a workbook, which is converted after it was received, has time
// as long as its rows are read.
func TestWorkbookDeadlines(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleOperator))
	const rows = 50
	book := excelize.NewFile()
	require.NoError(t, book.SetCellValue("Sheet1", "A1", "email"))
	for n := range rows {
		require.NoError(t, book.SetCellValue("Sheet1", fmt.Sprint("A", n+2), fmt.Sprintf("a%d@example.org", n)))
	}
	file, err := book.WriteToBuffer()
	require.NoError(t, err)
	require.NoError(t, book.Close())
	form := part("form_token", b.token()) + part("file\"; filename=\"a.xlsx", file.String()) + "--x--\r\n"
	w := &timed{ResponseRecorder: httptest.NewRecorder(), body: strings.NewReader(form)}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/o/acme/imports/", w.body)
	r.RemoteAddr = b.remote
	r.Header.Set("Content-Type", boundX)
	maps.Copy(r.Header, b.header)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value}) //nolint:gosec // What is sent to the server has no attributes.
	}
	f.ServeHTTP(w, r)
	assert.Equal(t, http.StatusSeeOther, w.Code)
	assert.Greater(t, w.late, rows)
}

// TestLongPartHeaders is about forms of clients that have not signed in.
func TestLongPartHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"/console/sign-in/", "/console/o/acme/imports/"} {
		body := &endless{}
		f.as(f.account("root"+strconv.Itoa(len(path)), true)).send(http.MethodPost, path, boundX, body).is(t, http.StatusRequestEntityTooLarge)
		assert.Less(t, body.read, 1<<20, path)
	}
}

// raw sends a form to the imports of acme unchanged.
func (b *browser) raw(contentType, body string) answer {
	b.f.Helper()
	return b.send(http.MethodPost, "/console/o/acme/imports/", contentType, strings.NewReader(body))
}

func importPath(id imports.ID) string {
	return "/console/o/acme/imports/" + strconv.FormatInt(int64(id), 10) + "/"
}

// uploaded returns the import that an upload redirects to.
func (a answer) uploaded(t *testing.T) imports.ID {
	t.Helper()
	a.is(t, http.StatusSeeOther)
	var id imports.ID
	_, err := fmt.Sscanf(a.Header.Get("Location"), "/console/o/acme/imports/%d/", &id)
	require.NoError(t, err)
	return id
}

// charged is a store that records whose units of work it gets.
type charged struct {
	ports.Store
	to map[string]bool
}

func (c charged) Update(ctx context.Context, fn func(ports.Tx) error) error {
	c.to[ports.OrganizationOf(ctx)] = true
	return c.Store.Update(ctx, fn)
}

func TestUploadIsChargedToItsOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	to := map[string]bool{}
	f.use.ImportJobs = importer.NewJobs(charged{f.store, to}, f.clock, maxImport, nil)
	f.serve()
	b := f.as(f.operator("ada", users.RoleOperator))
	b.upload("/console/o/acme/imports/", b.token(), "people.csv", "email\na@example.org\n").uploaded(t)
	assert.Equal(t, map[string]bool{"acme": true}, to)
}

func TestImportMembers(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.update(func(tx ports.Tx) error {
			o, err := tx.Orgs().BySlug(f.Context(), "acme")
			require.NoError(f, err)
			_, _, err = tx.Orgs().EnsureGroup(f.Context(), o.ID, "Staff")
			return err
		})
		b := f.as(f.operator("ada", users.RoleOperator))
		assert.Contains(f, b.get("/console/o/acme/u/").body, `href="/console/o/acme/imports/"`)
		assert.Contains(f, b.get("/console/o/acme/imports/").is(f.T, http.StatusOK).text(), "up to 1 MiB")

		file := "\ufeffemail;first_name;custom__team;Phone\nnew@example.org;Ñ;red;1\nada@example.org;;;\nNEW@example.org;;;\nnobody;=cmd;;\n"
		id := b.upload("/console/o/acme/imports/", b.token(), "people.csv", file, "group", "staff").uploaded(f.T)
		one := importPath(id)
		page := b.get(one).is(f.T, http.StatusOK)
		assert.Contains(f, page.body, fmt.Sprintf(`hx-get="%sprogress/"`, one))
		for _, words := range []string{"The import is being checked.", "Phone 1 left out", "custom__team red metadata under team", "2 new@example.org Ñ team : red",
			"5 nobody =cmd rejected email: is not an e-mail address", "ignored: same e-mail as line 2", "Group Staff"} {
			assert.Contains(f, page.text(), words)
		}
		b.post(one+"start/").is(f.T, http.StatusBadRequest)
		got := b.get(one+"progress/").is(f.T, http.StatusOK)
		assert.Empty(f, got.Header.Get("Hx-Redirect"))
		assert.NotContains(f, got.body, "<html", "a piece of the page alone")

		f.importing(id, imports.Checked)
		assert.Equal(f, one, b.get(one+"progress/").Header.Get("Hx-Redirect"))
		page = b.get(one)
		assert.Contains(f, page.text(), "Preview Added 1 user who is new in this organization Updated 1")
		assert.Contains(f, page.text(), "Duplicates 1 row with the e-mail of an earlier row, ignored Rejected 1")
		assert.Contains(f, page.text(), "5 email: is not an e-mail address nobody;'=cmd;;")
		assert.NotContains(f, page.body, "hx-get")

		b.post(one+"start/").is(f.T, http.StatusSeeOther)
		b.post(one+"start/").is(f.T, http.StatusBadRequest)
		assert.Contains(f, b.get(one).text(), "The import is running. It waits for a worker.")
		f.importing(id, imports.Done)
		page = b.get(one)
		assert.Contains(f, page.text(), "Result Added 1")
		for _, done := range []string{"start/", "cancel/", "columns/"} {
			assert.NotContains(f, page.body, "action=\""+one+done, "there is nothing more to do")
		}
		list := b.get(one+"rejected.csv").is(f.T, http.StatusOK)
		assert.Equal(f, "text/csv; charset=utf-8", list.Header.Get("Content-Type"))
		assert.Equal(f, fmt.Sprintf("attachment; filename=rejected-%d.csv", id), list.Header.Get("Content-Disposition"))
		assert.Equal(f, "\ufeffimport_line;import_reason;email;first_name;custom__team;Phone\n5;\"email: is not an e-mail address\";nobody;'=cmd;;\n", list.body)
		assert.Contains(f, b.get("/console/o/acme/imports/").text(), "people.csv done 2026-03-04 05:06:07 UTC ada 4 1 1 1")

		assert.Contains(f, b.get("/console/o/acme/").text(), "people.csv 1 row rejected by the import")
		assert.NotContains(f, f.as(f.operator("eve", users.RoleViewer)).get("/console/o/acme/").body, "people.csv")

		mended := strings.Replace(list.body, "nobody", "nobody@example.org", 1)
		redisplay := b.upload("/console/o/acme/imports/", b.token(), "rejected.csv", mended).uploaded(f.T)
		f.importing(redisplay, imports.Checked)
		b.post(importPath(redisplay)+"start/").is(f.T, http.StatusSeeOther)
		f.importing(redisplay, imports.Done)
		f.update(func(tx ports.Tx) error {
			o, err := tx.Orgs().BySlug(f.Context(), "acme")
			require.NoError(f, err)
			m, err := tx.Users().ByUsername(f.Context(), o.ID, "nobody@example.org")
			assert.Equal(f, "=cmd", m.FirstName, "the mark is taken away again")
			first, err2 := tx.Users().ByUsername(f.Context(), o.ID, "new@example.org")
			assert.Equal(f, metadata.Map{"team": "red"}, first.CustomFields)
			assert.Equal(f, []string{orgs.DefaultGroup, "Staff"}, first.Groups)
			return errors.Join(err, err2)
		})
		var told []audit.Action
		for _, e := range f.entries("acme") {
			told = append(told, e.Action)
			assert.Equal(f, "ada", e.Actor.Name)
		}
		assert.Equal(f, []audit.Action{audit.ImportEnded, audit.ImportBegun, audit.ImportUploaded, audit.ImportEnded, audit.ImportBegun, audit.ImportUploaded}, told)
	})
}

// TestMapImportColumns checks that the mapping of columns can be corrected on the page of the
// checked file, and that the organization's next import uses it.
func TestMapImportColumns(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleOperator))
		const imported = "/console/o/acme/imports/"
		file := "E-Mail;Kontakt;Abteilung;<Vorname>\nalt@example.org;new@example.org;Bau;Ñ\n"
		id := b.upload(imported, b.token(), "people.csv", file).uploaded(f.T)
		f.importing(id, imports.Checked)
		one := importPath(id)
		page := b.get(one).is(f.T, http.StatusOK)
		for _, html := range []string{
			`<option value="email" selected>`, `<option value="metadata" selected>`, `name="key-2" value="Abteilung"`, `aria-label="What &lt;Vorname&gt; becomes"`,
		} {
			assert.Contains(f, page.body, html)
		}
		assert.Contains(f, page.text(), "Kontakt new@example.org")

		refused := b.post(one+"columns/", "field-0", "email", "field-1", "email", "field-2", "metadata", "key-2", strings.Repeat("x", 101)).is(f.T, http.StatusBadRequest)
		assert.Contains(f, refused.text(), "There are 2 problems: Column 2 the columns \"E-Mail\" and \"Kontakt\" cannot both become email Key of column 3 a key may have 100 characters")
		assert.Contains(f, refused.body, `id="field-1-faults"`)
		assert.Contains(f, b.post(one+"columns/").is(f.T, http.StatusBadRequest).text(), "one column must be the e-mail")

		b.post(one+"columns/", "field-0", "", "field-1", "email", "field-2", "metadata", "key-2", " unit ", "field-3", "metadata", "key-3", "").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(one).text(), "The import is being checked.")
		assert.Contains(f, b.post(one+"columns/", "field-1", "email").is(f.T, http.StatusBadRequest).text(), "The columns cannot be changed now")
		f.importing(id, imports.Checked)
		assert.Contains(f, b.get(one).text(), "2 new@example.org <Vorname> : Ñ unit : Bau")
		assert.Equal(f, audit.ImportMapped, f.entries("acme")[0].Action)
		assert.Equal(f, map[string]any{"columns": []any{"Kontakt → email", "Abteilung → metadata under unit", "<Vorname> → metadata under <Vorname>"}}, map[string]any(f.entries("acme")[0].After))

		next := b.upload(imported, b.token(), "next.csv", "kontakt,<vorname>,abteilung,e-mail\nnext@example.org,Å,See,x\n").uploaded(f.T)
		assert.Contains(f, b.get(importPath(next)).text(), "2 next@example.org <Vorname> : Å unit : See")
	})
}

// TestCorrectRejectedRows checks that the corrected rows become another import, with the group and
// the columns of the first one.
func TestCorrectRejectedRows(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.update(func(tx ports.Tx) error {
			o, err := tx.Orgs().BySlug(f.Context(), "acme")
			require.NoError(f, err)
			_, _, err = tx.Orgs().EnsureGroup(f.Context(), o.ID, "Staff")
			return err
		})
		b := f.as(f.operator("ada", users.RoleOperator))
		const imported = "/console/o/acme/imports/"
		id := b.upload(imported, b.token(), "people.csv", "E-Mail;Abteilung;shoe\nnobody;=Bau;38\nalso nobody;See;39\n", "group", "Staff").uploaded(f.T)
		one := importPath(id)
		f.importing(id, imports.Checked)
		assert.NotContains(f, b.get(one).body, one+"corrections/", "the import is not over")
		assert.Contains(f, b.post(one+"corrections/", "c2-0", "new@example.org").is(f.T, http.StatusBadRequest).text(), "The rejected rows cannot be corrected here")
		b.post(one+"start/").is(f.T, http.StatusSeeOther)
		f.importing(id, imports.Done)

		page := b.get(one).is(f.T, http.StatusOK)
		assert.Contains(f, page.body, `name="c2-1" value="=Bau" maxlength="1000" autocapitalize="none" spellcheck="false" aria-label="Abteilung of line 2"`)
		assert.Contains(f, page.body, `<th scope="col"><bdi>E-mail</bdi></th><th scope="col"><bdi>Abteilung</bdi></th>`)
		assert.Contains(f, page.body, `aria-label="E-mail of line 2"`)
		assert.Contains(f, page.text(), "into the group Staff")
		assert.NotContains(f, page.body, `value="38"`, "what was left out stays so")
		assert.NotContains(f, b.get(one+"?after=2").body, `name="c2-0"`)
		assert.Contains(f, b.post(one+"corrections/", "after", "0", "c2-0", "nobody", "c2-1", "=Bau").is(f.T, http.StatusBadRequest).text(), "No row was changed: correct one first.")
		long := b.post(one+"corrections/", "c2-0", strings.Repeat("é", 1001), "c2-1", "<Bau>").is(f.T, http.StatusBadRequest)
		assert.Contains(f, long.text(), "Line 2: a cell may have 1000 characters")
		assert.Contains(f, long.body, `value="&lt;Bau&gt;"`, "what was typed stays")

		redisplay := b.post(one+"corrections/", "c2-0", "new@example.org", "c2-1", "=Bau", "c3-0", "also nobody", "c3-1", "See").uploaded(f.T)
		assert.NotEqual(f, id, redisplay)
		f.importing(redisplay, imports.Checked)
		assert.Contains(f, b.get(importPath(redisplay)).text(), "Added 1")
		b.post(importPath(redisplay)+"start/").is(f.T, http.StatusSeeOther)
		f.importing(redisplay, imports.Done)
		f.update(func(tx ports.Tx) error {
			o, err := tx.Orgs().BySlug(f.Context(), "acme")
			require.NoError(f, err)
			m, err := tx.Users().ByUsername(f.Context(), o.ID, "new@example.org")
			assert.Equal(f, metadata.Map{"Abteilung": "=Bau"}, m.CustomFields)
			assert.Equal(f, []string{orgs.DefaultGroup, "Staff"}, m.Groups)
			return err
		})
	})
}

func TestCancelImport(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleOperator))
	for _, state := range []imports.State{imports.Checking, imports.Checked, imports.Running} {
		id := b.upload("/console/o/acme/imports/", b.token(), "people.csv", "email\na@example.org\n").uploaded(t)
		if state != imports.Checking {
			f.importing(id, imports.Checked)
		}
		if state == imports.Running {
			b.post(importPath(id)+"start/").is(t, http.StatusSeeOther)
		}
		b.post(importPath(id)+"cancel/").is(t, http.StatusSeeOther)
		assert.Contains(t, b.get(importPath(id)).text(), "The import was cancelled.", state)
		b.post(importPath(id)+"cancel/").is(t, http.StatusBadRequest)
		assert.Equal(t, audit.ImportCancelled, f.entries("acme")[0].Action)
	}
}

func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleOperator))
	token := b.token()
	to := "/console/o/acme/imports/"
	large := "email\n" + strings.Repeat("somebody@example.org\n", maxImport/20)
	for name, c := range map[string]struct {
		send   func() answer
		status int
		says   string
	}{
		"NoFile":       {func() answer { return b.upload(to, token, "", "") }, http.StatusBadRequest, "choose a file"},
		"NoFileField":  {func() answer { return b.post(to, "group", "x") }, http.StatusBadRequest, "choose a file"},
		"Empty":        {func() answer { return b.upload(to, token, "a.csv", "") }, http.StatusBadRequest, "the file is empty"},
		"NoText":       {func() answer { return b.upload(to, token, "a.png", "\x89PNG\x00") }, http.StatusBadRequest, "the file is not UTF-8 text (line 1)"},
		"NoEmail":      {func() answer { return b.upload(to, token, "a.csv", "name\nAda\n") }, http.StatusBadRequest, "the file has no email column"},
		"AColumnTwice": {func() answer { return b.upload(to, token, "a.csv", "email,email\n") }, http.StatusBadRequest, "the header names the column email twice"},
		"TooLarge":     {func() answer { return b.upload(to, token, "a.csv", large) }, http.StatusRequestEntityTooLarge, "the file is larger than 1 MiB"},
		"UnknownGroup": {func() answer { return b.upload(to, token, "a.csv", "email\n", "group", "<Crew>") }, http.StatusBadRequest, "the group does not exist in this organization"},
		"LargeField":   {func() answer { return b.upload(to, token, "a.csv", "email\n", "group", strings.Repeat("x", 1<<20)) }, http.StatusRequestEntityTooLarge, "The form is too large"},
		"NoForm":       {func() answer { return b.raw("multipart/form-data; boundary=x", "x") }, http.StatusForbidden, "This form did not come"},
		"NoBoundary":   {func() answer { return b.raw("multipart/form-data", "x") }, http.StatusBadRequest, "The form could not be read."},
		"NoToken":      {func() answer { return b.uploadFrom(to, "a.csv", strings.NewReader("email\n")) }, http.StatusForbidden, "This form did not come"},
		"AnotherToken": {func() answer { return b.upload(to, strings.Repeat("ab", 32), "a.csv", "email\n") }, http.StatusForbidden, "This form did not come"},
		"TheTokenLate": {func() answer {
			return b.raw(boundX, part("file\"; filename=\"a.csv", "email\n")+part("form_token", token)+"--x--\r\n")
		}, http.StatusForbidden, "This form did not come"},
		"BreaksOff": {func() answer {
			return b.uploadFrom(to, "a.csv", io.MultiReader(strings.NewReader(large[:500_000]), iotest.ErrReader(io.ErrUnexpectedEOF)), "form_token", token)
		}, http.StatusBadRequest, "The upload was interrupted."},
		"EndsTooEarly": {func() answer {
			return b.raw(boundX, part("form_token", token)+part("file\"; filename=\"a.csv", "email\na@example.org"))
		}, http.StatusBadRequest, "The upload was interrupted."},
		"NoSuchCompany": {func() answer { return b.upload("/console/o/globex/imports/", token, "a.csv", "email\n") }, http.StatusNotFound, "The organization does not exist."},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.send().is(t, c.status)
			assert.Contains(t, got.text(), c.says)
		})
	}
	found, err := f.use.ImportJobs.List(t.Context(), acme, 0, 100)
	require.NoError(t, err)
	assert.Empty(t, found)
	assert.Empty(t, f.entries("acme"))
	for id := range imports.ID(30) {
		require.ErrorIs(t, f.store.View(t.Context(), func(tx ports.Tx) error {
			_, err := tx.Imports().Piece(t.Context(), id, 0)
			return err
		}), imports.ErrNotFound, "nothing half-written stays")
	}
}

// counted counts the bytes read.
type counted struct {
	io.Reader
	read int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.read += n
	return n, err
}

func TestUploadIsAuthorizedFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := strings.Repeat("email\n", 1<<20)
	for name, c := range map[string]struct {
		as     *browser
		status int
	}{
		"Nobody":      {f.nobody(), http.StatusSeeOther},
		"AnotherSite": {f.as(f.operator("ada", users.RoleOperator)), http.StatusForbidden},
		"AnotherRole": {f.as(f.operator("bob", users.RoleViewer)), http.StatusForbidden},
	} {
		token := strings.Repeat("ab", 32)
		if name == "AnotherRole" {
			token = c.as.token()
		}
		body := &counted{Reader: strings.NewReader(file)}
		c.as.uploadFrom("/console/o/acme/imports/", "a.csv", body, "form_token", token).is(t, c.status)
		assert.Less(t, body.read, 64<<10, name)
	}
}

func TestImportsOfAnotherOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.checked("people.csv", "email\na@example.org\n").ID
	b := f.as(f.account("root", true))
	theirs := fmt.Sprintf("/console/o/globex/imports/%d/", id)
	for _, to := range []string{theirs, theirs + "progress/", theirs + "rejected.csv", importPath(id + 1), importPath(0), "/console/o/acme/imports/x/"} {
		b.get(to).is(t, http.StatusNotFound)
	}
	for _, to := range []string{theirs + "start/", theirs + "cancel/"} {
		b.post(to).is(t, http.StatusNotFound)
	}
	assert.NotContains(t, b.get("/console/o/globex/imports/").body, "people.csv")
	assert.Empty(t, f.entries("globex"))
	b.get(importPath(id)).is(t, http.StatusOK)
}

func TestImportPaging(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleOperator))
	token := b.token()
	var first, last imports.ID
	for n := range 52 {
		last = b.upload("/console/o/acme/imports/", token, "a.csv", "email\n").uploaded(t)
		b.submit(importPath(last)+"cancel/", "form_token", token).is(t, http.StatusSeeOther)
		if n == 0 {
			first = last
		}
	}
	page := b.get("/console/o/acme/imports/")
	assert.Equal(t, 50, strings.Count(page.body, `<th scope="row">`))
	older := fmt.Sprintf("/console/o/acme/imports/?before=%d", last-49)
	assert.Contains(t, page.body, older)
	page = b.get(older)
	assert.Equal(t, 2, strings.Count(page.body, `<th scope="row">`))
	assert.Contains(t, page.body, importPath(first))
}

func TestImportFormats(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.account("root", true))
	const imports = "/console/o/acme/imports/"
	page, token := b.get(imports).is(t, http.StatusOK), b.token()
	assert.Contains(t, page.body, `<option value="Windows-1252">Windows-1252</option>`)
	const latin = "Vorname;E-Mail\nRen\xe9;rene@example.org\n"
	for name, c := range map[string]struct{ encoding, source, first string }{
		"detected": {"", "Windows-1252", "René"}, "chosen": {"Macintosh", "Macintosh", "RenÈ"},
	} {
		shown := b.get(importPath(b.upload(imports, token, "people.csv", latin, "encoding", c.encoding).uploaded(t))).is(t, http.StatusOK)
		assert.Contains(t, shown.text(), "read as "+c.source, name)
		assert.Contains(t, shown.text(), " first name, for new users E-Mail rene@example.org e-mail: identifies the user, and is an address", name)
		assert.Contains(t, shown.text(), "2 rene@example.org "+c.first, name)
	}
	book := excelize.NewFile()
	for cell, value := range map[string]any{"A1": "email", "B1": "custom__phone", "A2": "ada@example.org", "B2": 491701234567} {
		require.NoError(t, book.SetCellValue("Sheet1", cell, value))
	}
	file, err := book.WriteToBuffer()
	require.NoError(t, err)
	require.NoError(t, book.Close())
	shown := b.get(importPath(b.upload(imports, token, "people.xlsx", file.String()).uploaded(t))).is(t, http.StatusOK)
	assert.Contains(t, shown.text(), "people.xlsx")
	assert.Contains(t, shown.text(), "read as Excel, sheet Sheet1")
	assert.Contains(t, shown.text(), "phone : 491701234567")
	old := b.upload(imports, token, "people.xls", "\xd0\xcf\x11\xe0\xa1\xb1").is(t, http.StatusBadRequest)
	assert.Contains(t, old.text(), "save it as .xlsx or as CSV")
	wrong := b.upload(imports, token, "people.csv", latin, "encoding", "UTF-8").is(t, http.StatusBadRequest)
	assert.Contains(t, wrong.text(), "the file is not UTF-8 text (line 2)")
}
