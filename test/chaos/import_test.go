package chaos_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// consoleUser uses the console of one instance after the other, with one session.
type consoleUser struct {
	t      *testing.T
	at     *instance
	client http.Client
	token  string
}

const consolePassword = "correct horse battery"

var (
	formToken = regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`)
	rowsDone  = regexp.MustCompile(`>Rows: ([\d,]+) of [\d,]+<`)
	counted   = regexp.MustCompile(`<dt>(\w+)</dt><dd>([\d,]+) `)
)

// signIn signs in to the console.
func (i *instance) signIn(username, password string) *consoleUser {
	i.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(i.t, err)
	c := &consoleUser{t: i.t, at: i, client: http.Client{Timeout: stepTimeout, Jar: jar, Transport: i.http.Transport}}
	token := func(page string) {
		found := formToken.FindStringSubmatch(page)
		require.NotEmpty(i.t, found, page)
		c.token = found[1]
	}
	token(c.get("/console/sign-in/"))
	page, _ := c.post("/console/sign-in/", "username", username, "password", password)
	token(page)
	return c
}

// send sends a request, follows redirects, and returns the page and its path.
func (c *consoleUser) send(method, path, contentType string, body io.Reader) (page, where string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.at.base+path, body)
	require.NoError(c.t, err)
	request.Header.Set("Content-Type", contentType)
	answer, err := c.client.Do(request)
	require.NoError(c.t, err)
	defer func() { _ = answer.Body.Close() }() // It has been read.
	text, err := io.ReadAll(answer.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, answer.StatusCode, "%s %s: %s", method, path, text)
	return string(text), answer.Request.URL.Path
}

func (c *consoleUser) get(path string) string {
	c.t.Helper()
	page, _ := c.send(http.MethodGet, path, "", nil)
	return page
}

func (c *consoleUser) post(path string, fields ...string) (page, where string) {
	c.t.Helper()
	form := url.Values{"form_token": {c.token}}
	for pair := range slices.Chunk(fields, 2) {
		form.Set(pair[0], pair[1])
	}
	return c.send(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// upload sends a file to be imported into acme and returns the path of the import.
func (c *consoleUser) upload(file string) string {
	c.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(c.t, form.WriteField("form_token", c.token))
	part, err := form.CreateFormFile("file", "people.csv")
	require.NoError(c.t, err)
	_, err = io.WriteString(part, file)
	require.NoError(c.t, err)
	require.NoError(c.t, form.Close())
	_, where := c.send(http.MethodPost, "/console/o/acme/imports/", form.FormDataContentType(), &body)
	return where
}

// says waits until the page contains a text.
func (c *consoleUser) says(path, words string) {
	c.t.Helper()
	until(c.t, recoveryLimit, "the import says: "+words, func() bool { return strings.Contains(c.get(path), words) })
}

// reaches waits until so many rows are processed.
func (c *consoleUser) reaches(path string, rows int) {
	c.t.Helper()
	until(c.t, recoveryLimit, fmt.Sprintf("%d rows are done", rows), func() bool {
		page := c.get(path)
		require.NotContains(c.t, page, "The import is done", "it was to be killed in the middle")
		found := rowsDone.FindStringSubmatch(page)
		return len(found) > 0 && number(c.t, found[1]) >= rows
	})
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	require.NoError(t, err)
	return n
}

// peopleOf returns a file. Of every ten rows six are new users, one is a member of acme, one is a
// member of globex, one is a duplicate and one is invalid.
func peopleOf(rows int) (file, ofAcme, ofGlobex string, counts map[string]int) {
	var all, mine, theirs strings.Builder
	for _, b := range []*strings.Builder{&all, &mine, &theirs} {
		b.WriteString("email,first_name\n")
	}
	for i := range rows {
		row := fmt.Sprintf("person%d@example.org,Name\n", i)
		switch i % 10 {
		case 6:
			mine.WriteString(row)
		case 7:
			theirs.WriteString(row)
		case 8:
			row = fmt.Sprintf("PERSON%d@example.org,Again\n", i-3)
		case 9:
			row = "nobody,=1\n"
		}
		all.WriteString(row)
	}
	tenth := rows / 10
	return all.String(), mine.String(), theirs.String(), map[string]int{
		"Added": 7 * tenth, "Updated": 0, "Unchanged": tenth, "Duplicates": tenth, "Rejected": tenth}
}

// TestKillAnImport kills the program with kill -9 while it checks a file and while it writes its
// rows. It checks that every row is counted once and that all users exist.
func TestKillAnImport(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		w := &world{t: t, program: program(t), settings: []string{"TOCSIN_DATABASE_URL=" + database, "TOCSIN_LISTEN=127.0.0.1:0", "TOCSIN_LOG_FORMAT=json", "TOCSIN_RATE_LIMIT=0", "TOCSIN_ORGANIZATION_RATE_LIMIT=0",
			"TOCSIN_SECRET_KEY=" + strings.Repeat("42", 32), "TOCSIN_LEASE=" + chosenSize().lease.String()}}
		w.run(`{organizations: [{slug: acme, name: Acme}, {slug: globex, name: Globex}]}`, "apply", "-f", "-")
		w.run(consolePassword+"\n", "admin", "create", "--username", "root", "--password-stdin")
		size := chosenSize()
		file, ofAcme, ofGlobex, want := peopleOf(size.rows)
		for org, people := range map[string]string{acme: ofAcme, globex: ofGlobex} {
			path := filepath.Join(t.TempDir(), org+".csv")
			require.NoError(t, os.WriteFile(path, []byte(people), 0o600))
			w.run("", "import", "users", path, "--org", org)
		}
		i := w.serve()
		c := i.signIn("root", consolePassword)
		page := c.upload(file)
		killed := func() {
			i.kill()
			i = w.serve()
			c.at = i
		}
		c.reaches(page, size.rows/4)
		killed()
		c.says(page, "Start the import")
		c.counts(page, want)
		c.post(page + "start/")
		for n := range size.kills {
			c.reaches(page, size.rows*(n+1)/(size.kills+2))
			killed()
		}
		c.says(page, "The import is done")
		c.counts(page, want)
		list := strings.Split(strings.TrimSpace(c.get(page+"rejected.csv")), "\n")
		assert.Len(t, list, 1+want["Rejected"])
		assert.Equal(t, fmt.Sprintf(`%d,"email: is not an e-mail address",nobody,'=1`, size.rows+1), list[len(list)-1])
		again := c.upload(file)
		c.says(again, "Start the import")
		c.counts(again, map[string]int{"Added": 0, "Updated": 0, "Unchanged": size.rows * 8 / 10,
			"Duplicates": want["Duplicates"], "Rejected": want["Rejected"]})
		i.stop()
	})
}

// counts checks the counts of the import or its dry run.
func (c *consoleUser) counts(path string, want map[string]int) {
	c.t.Helper()
	got := map[string]int{}
	for _, found := range counted.FindAllStringSubmatch(c.get(path), -1) {
		if _, asked := want[found[1]]; asked {
			got[found[1]] = number(c.t, found[2])
		}
	}
	assert.Equal(c.t, want, got)
}
