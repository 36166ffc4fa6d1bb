package browser_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mixedFile has new users, an existing one, one twice, two rows with mistakes, an unknown column,
// and a cell that a spreadsheet would treat as a formula.
const mixedFile = `email;first_name;last_name;custom__team;shoe size
katherine.johnson@example.com;Katherine;Johnson;Orbits;38
dorothy.vaughan@example.com;Dorothy;Vaughan;=1+2;39
ada.lovelace@example.com;Ada;Lovelace;Engines;37
not an address;Nobody;;;
dorothy.vaughan@example.com;Dorothy;Vaughan;West;39
mary.jackson.example.com;Mary;Jackson;Wind tunnel;40
`

func TestImportMixedFile(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(customers)
		p.clickThrough(link, "Acme Inc.")
		p.menu("People", "Imports")
		p.choose("Group", "Staff")
		p.upload(w.file("mixed.csv", mixedFile))
		p.clickThrough(button, "Upload and check")

		p.awaits("Preview")
		p.sees("Added 2 users who are new in this organization", "Duplicates 1", "Rejected 2", "shoe size", "katherine.johnson@example.com", "team: Orbits", "=1+2")
		p.open("/console/o/acme/u/?q=katherine")
		p.sees("No users match “katherine”.") // It was a dry run.

		p.menu("People", "Imports")
		p.clickThrough(link, "mixed.csv")
		p.clickThrough(button, "Start the import")
		p.awaits("Result")
		p.sees("Added 2 users who are new in this organization", "Rejected 2", "email: is not an e-mail address", "Download 2 rejected rows")

		rejected := p.download(link, "Download 2 rejected rows as CSV")
		text, err := os.ReadFile(rejected)
		require.NoError(t, err)
		assert.Contains(t, string(text), "Wind tunnel")
		assert.NotContains(t, string(text), "katherine")
		mended := strings.Replace(string(text), "mary.jackson.example.com", "mary.jackson@example.com", 1)

		p.menu("People", "Imports")
		p.upload(w.file("mended.csv", mended))
		p.clickThrough(button, "Upload and check")
		p.awaits("Preview")
		p.clickThrough(button, "Start the import")
		p.awaits("Result")
		p.sees("Added 1 user who is new in this organization", "Rejected 1")
		p.menu("People")
		p.fill("Name, address or ID", "mary")
		p.clickThrough(button, "Search")
		p.sees("mary.jackson@example.com", "Mary Jackson", "Default")
	})
}

func TestCorrectRejectedRows(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		p.open("/console/o/acme/imports/")
		p.choose("Group", "Staff")
		p.upload(w.file("people.csv", "email;custom__team\nmary.jackson.example.com;Wind tunnel\nnobody;\n"))
		p.clickThrough(button, "Upload and check")
		p.awaits("Preview")
		p.clickThrough(button, "Start the import")
		p.awaits("Result")
		p.checkAccessibility()
		first := p.path()
		p.fill("E-mail of line 2", "mary.jackson@example.com")
		p.clickThrough(button, "Check the corrected rows")
		p.awaits("Preview")
		p.sees("Added 1 user who is new in this organization", "Rejected 0", "Group Staff", "team: Wind tunnel")
		p.clickThrough(button, "Start the import")
		p.awaits("Result")

		second := p.path()
		p.open(first)
		p.checkAccessibility()
		p.fill("E-mail of line 3", "nobody@example.com") // The other row is still open.
		p.clickThrough(link, "corrected: import "+path.Base(second))
		assert.Equal(t, second, p.path())
		p.clickThrough(link, "Undo this import")
		p.clickThrough(button, "Undo the import")
		p.awaits("The import was undone.")
		p.open(first)
		p.doesNotSee("corrected: import")
		p.fill("E-mail of line 2", "mary.jackson@example.com")
	})
}

func TestUndoImport(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		p.open("/console/o/acme/imports/")
		p.upload(w.file("people.csv", "email;first_name\nmary.jackson@example.com;Mary\ndorothy.vaughan@example.com;Dorothy\n"))
		p.clickThrough(button, "Upload and check")
		p.awaits("Preview")
		p.clickThrough(button, "Start the import")
		p.awaits("Result")
		p.clickThrough(link, "Undo this import")
		p.sees("Removed 2 users whom the import added")
		p.clickThrough(button, "Undo the import")
		p.awaits("The import was undone.")
		p.checkAccessibility()
		p.sees("What was undone", "Removed 2 users whom the import added")
		p.open("/console/o/acme/u/?q=jackson")
		p.sees("No users match “jackson”.")
	})
}

func TestCorrectImportColumns(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		p.open("/console/o/acme/imports/")
		p.upload(w.file("contacts.csv", "Mail;Kontakt;Bau\nold@example.com;mary.jackson@example.com;South\n"))
		p.clickThrough(button, "Upload and check")
		p.awaits("Preview")
		p.choose("What Kontakt becomes", "e-mail: identifies the user, and is an address")
		p.expectComplaint("400")
		p.clickThrough(button, "Change and check again")
		p.sees("There is 1 problem:", "the columns \"Mail\" and \"Kontakt\" cannot both become email")
		p.choose("What Mail becomes", "leave out")
		p.choose("What Bau becomes", "metadata, under the key beside it")
		p.fill("Key of Bau", "site")
		p.clickThrough(button, "Change and check again")
		p.awaits("Preview")
		p.sees("site: South")
		p.clickThrough(button, "Start the import")
		p.awaits("Result")

		p.menu("People", "Imports")
		p.upload(w.file("next.csv", "Mail;Kontakt;Bau\nold@example.com;katherine.johnson@example.com;North\n"))
		p.clickThrough(button, "Upload and check")
		p.awaits("Preview")
		p.sees("katherine.johnson@example.com", "site: North")
	})
}

func TestRefuseUnreadableFile(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		p.open("/console/o/acme/imports/")
		p.upload(w.file("people.csv", "name,phone\nAda,1\n"))
		p.expectComplaint("400")
		p.clickThrough(button, "Upload and check")
		p.sees("email")
		assert.Equal(t, "true", eval[string](p, "document.querySelector('input[type=file]').getAttribute('aria-invalid')"), "the fault stands beside the field")
	})
}

// checkedImport uploads a file of new members of acme, waits until the import can be started, and
// returns the path of its page.
func (w *world) checkedImport(name, file string) string {
	w.Helper()
	r := w.administrator()
	const imports = "/console/o/acme/imports/"
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(w, form.WriteField("form_token", hidden.FindStringSubmatch(r.read(imports, nil).text)[1]))
	part, err := form.CreateFormFile("file", name)
	require.NoError(w, err)
	_, err = io.WriteString(part, file)
	require.NoError(w, err)
	require.NoError(w, form.Close())
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.base+imports, &body)
	require.NoError(w, err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	response, err := r.Do(request)
	require.NoError(w, err)
	require.NoError(w, response.Body.Close())
	require.Equal(w, http.StatusOK, response.StatusCode)
	page := response.Request.URL.Path
	require.Eventually(w, func() bool { return strings.Contains(r.read(page, nil).text, "Start the import") }, timeout, 20*time.Millisecond)
	return page
}

// finishedImport imports a file of new members of acme, and waits until the import can be undone.
func (w *world) finishedImport(name, file string) {
	w.Helper()
	page := w.checkedImport(name, file)
	r := w.administrator()
	r.send(page, page+"start/", url.Values{})
	require.Eventually(w, func() bool { return strings.Contains(r.read(page, nil).text, "Undo this import") }, timeout, 20*time.Millisecond)
}
