package wiring_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/wiring"
)

// database returns the URL of an installation's database.
func (i *installation) database() (url string) {
	for _, v := range i.environ {
		if after, is := strings.CutPrefix(v, "TOCSIN_DATABASE_URL="); is {
			url = after
		}
	}
	return url
}

// copyReadOnly copies an installation after it has been read-only for long enough.
func (i *installation) copyReadOnly(t *testing.T, args ...string) (out string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var printed, errs bytes.Buffer
		status := wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(""), Out: &printed, Err: &errs}, i.environ).Run(t.Context(), append([]string{"copy"}, args...))
		out = printed.String()
		if status != 0 {
			require.Contains(t, errs.String(), "repeat the command in a moment")
		}
		return status == 0
	}, patience, 200*time.Millisecond)
	return out
}

// mails is ticks by mail.
const mails = `{organizations: [{slug: acme, name: Acme, channels: [{name: mail, protocol: EMAIL, driver: smtp, preferred: true,
		settings: {host: 127.0.0.1, port: %d, from: notify@acme.example, tls: none}}],
	projects: [{slug: shop, name: Shop, lists: [{name: all}], applications: [{slug: web, name: Web, events: [{slug: tick, name: Tick,
		templates: [{channel: mail, subject: "{{ context.n }}", text: Tock}], notifications: [{name: Ticks, list: all}]}]}]}]}]}`

func TestCopyInstallation(t *testing.T) {
	t.Parallel()
	const base = "https://notify.acme.example"
	for name, to := range map[string][2]func(*testing.T) *installation{
		"FromSQLiteToPostgres": {newInstallation, onPostgres}, "FromPostgresToSQLite": {onPostgres, newInstallation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, into := to[0](t), to[1](t)
			for _, i := range []*installation{from, into} {
				i.environ = append(i.environ, "TOCSIN_SECRET_KEY="+strings.Repeat("ab", 32), "TOCSIN_BASE_URL="+base)
			}
			target := into.database()
			received, port := newMailServer(t)
			from.run(t, fmt.Sprintf(mails, port), "apply", "-f", "-")
			key := from.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
			line, stop := from.start(t, "listening", "serve")
			call(t, line["address"], key, "register/",
				`{"username": "ada", "distribution_list": "all", "addresses": [{"value": "ada@example.org", "assign_to_preferred_channel": true}]}`)
			call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "one"}}`)
			link := strings.Trim((<-received).Header.Get("List-Unsubscribe"), "<>")
			stop()
			line, stop = from.start(t, "listening", "serve", "--hold")
			o := call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "two"}}`, "once").Occurrence
			state := func() string { return call(t, line["address"], key, fmt.Sprintf("occurrences/%d/", o), "").State }
			require.Eventually(t, func() bool { return state() == "delivering" }, patience, 10*time.Millisecond)

			_, complaint := from.fails(t, "copy", "--to", target)
			assert.Contains(t, complaint, "the source is in use; `tocsin maintenance on` makes it read-only")
			from.run(t, "", "maintenance", "on")
			log := from.run(t, "", "audit", "list", "-o", "json")
			copied := from.copyReadOnly(t, "--to", target) // while it serves, read-only
			stop()
			assert.Contains(t, copied, "the copy is held until `tocsin release`")
			file := filepath.Join(t.TempDir(), "copy.zst")
			require.NotEmpty(t, rowsOf(copied))
			assert.Equal(t, rowsOf(from.run(t, "", "backup", file)), rowsOf(copied))
			assert.Equal(t, rowsOf(copied), rowsOf(into.run(t, "", "backup", file+".again")))
			_, complaint = from.fails(t, "copy", "--to", target)
			assert.Contains(t, complaint, "is not empty")
			out := into.run(t, "", "verify")
			assert.NotContains(t, out, "WRONG")
			assert.Contains(t, into.run(t, "", "audit", "list", "-o", "json"), strings.TrimPrefix(log, "[\n"), "the audit log goes on")

			line, stop = into.start(t, "listening", "serve")
			defer stop()
			assert.Equal(t, o, call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "two"}}`, "once").Occurrence, "keys and requests live on")
			assert.Equal(t, "delivering", state())
			into.run(t, "", "release")
			select {
			case m := <-received:
				assert.Equal(t, "two", m.Header.Get("Subject"))
			case <-time.After(patience):
				t.Fatal("what was pending was not sent")
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%v%s", line["address"], strings.TrimPrefix(link, base)),
				strings.NewReader("List-Unsubscribe=One-Click"))
			require.NoError(t, err)
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			response, err := (&http.Client{Timeout: patience}).Do(request)
			require.NoError(t, err)
			defer func() { _ = response.Body.Close() }() // It was read.
			page, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			assert.Contains(t, string(page), "<h1>You are unsubscribed</h1>")
		})
	}
}

func TestCopyRefusesOtherSchema(t *testing.T) {
	t.Parallel()
	from, into := newInstallation(t), onPostgres(t)
	into.environ = append(into.environ, "TOCSIN_SECRET_KEY="+strings.Repeat("ab", 32))
	from.run(t, "", "migrate", "up")
	into.run(t, ticks, "apply", "-f", "-")
	file := filepath.Join(t.TempDir(), "copy.zst")
	from.run(t, "", "backup", file)
	db, err := sql.Open("pgx", into.database())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), "DELETE FROM goose_db_version WHERE version_id = (SELECT MAX(version_id) FROM goose_db_version)")
	require.NoError(t, err)
	before := into.run(t, "", "migrate", "status")
	_, complaint := from.fails(t, "copy", "--to", into.database())
	assert.Contains(t, complaint, "has the schema of another version of this program, and was not changed")
	_, complaint = into.fails(t, "restore", file)
	assert.Contains(t, complaint, "has the schema of another version of this program, and was not changed")
	assert.Equal(t, before, into.run(t, "", "migrate", "status"))
}

func TestCopyResumesSchema(t *testing.T) {
	t.Parallel()
	from := newInstallation(t)
	from.run(t, ticks, "apply", "-f", "-")
	from.run(t, "", "maintenance", "on")
	file := filepath.Join(t.TempDir(), "copy.zst")
	from.run(t, "", "backup", file)
	for _, last := range []int64{1, 16, 33} {
		t.Run(strconv.FormatInt(last, 10), func(t *testing.T) {
			t.Parallel()
			into := onPostgres(t)
			into.environ = append(into.environ, "TOCSIN_SECRET_KEY="+strings.Repeat("ab", 32))
			db, err := sql.Open("pgx", into.database())
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, db.Close()) })
			half, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS("../adapters/gormstore/migrations/postgres"), goose.WithLogger(goose.NopLogger()))
			require.NoError(t, err)
			_, err = half.UpTo(t.Context(), last)
			require.NoError(t, err)
			assert.Contains(t, into.run(t, "", "restore", file), "the installation is held until `tocsin release`")
		})
	}
}

func TestCopyMissingSource(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "folder", "mistyped.db")
	i := newInstallation(t)
	i.environ = append(i.environ, "TOCSIN_SECRET_KEY="+strings.Repeat("ab", 32))
	file := filepath.Join(t.TempDir(), "copy.zst")
	for _, args := range [][]string{
		{"copy", "--from", "sqlite:" + missing, "--to", "sqlite:" + file},
		{"backup", "--with-key", file, "--database-url", "sqlite:" + missing},
		{"verify", "--database-url", "sqlite:" + missing},
		{"migrate", "status", "--database-url", "sqlite:" + missing},
		{"migrate", "plan", "--database-url", "sqlite:" + missing},
	} {
		_, complaint := i.fails(t, args...)
		assert.Contains(t, complaint, "there is no SQLite database at "+missing+"; check the path", args[0])
		assert.NoDirExists(t, filepath.Dir(missing), args[0])
	}
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Empty(t, left, "neither a copy nor its key")
}

// tablesIn returns the tables of a database, which need not exist.
func tablesIn(t *testing.T, url string) (all []string) {
	t.Helper()
	driver, source, question := "pgx", url, pgtest.Tables
	if file, is := strings.CutPrefix(url, "sqlite:"); is {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		driver, source, question = "sqlite3", file, "SELECT name FROM sqlite_master"
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), question)
	require.NoError(t, err)
	defer func() { assert.NoError(t, rows.Close()) }()
	for rows.Next() {
		var table string
		require.NoError(t, rows.Scan(&table))
		all = append(all, table)
	}
	require.NoError(t, rows.Err())
	return all
}

func TestCopyOrganization(t *testing.T) {
	t.Parallel()
	for name, to := range map[string][2]func(*testing.T) *installation{
		"FromSQLiteToPostgres": {newInstallation, onPostgres}, "FromPostgresToSQLite": {onPostgres, newInstallation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, into := to[0](t), to[1](t)
			for _, i := range []*installation{from, into} {
				i.environ = append(i.environ, "TOCSIN_SECRET_KEY="+strings.Repeat("ab", 32), "TOCSIN_BASE_URL=https://notify.acme.example")
			}
			received, port := newMailServer(t)
			acme := fmt.Sprintf(mails, port)
			from.run(t, acme, "apply", "-f", "-")
			from.run(t, strings.NewReplacer("slug: acme", "slug: globex", "name: Acme", "name: Globex").Replace(acme), "apply", "-f", "-")
			key := from.run(t, "", "key", "create", "--name", "test", "--grant", "full_access", "--org", "acme")
			line, stop := from.start(t, "listening", "serve", "--hold")
			call(t, line["address"], key, "register/",
				`{"username": "ada", "distribution_list": "all", "addresses": [{"value": "ada@example.org", "assign_to_preferred_channel": true}]}`)
			o := call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "one"}}`, "once").Occurrence
			state := func() string { return call(t, line["address"], key, fmt.Sprintf("occurrences/%d/", o), "").State }
			require.Eventually(t, func() bool { return state() == "delivering" }, patience, 10*time.Millisecond)
			from.run(t, "", "maintenance", "on")
			log := from.run(t, "", "audit", "list", "--org", "acme", "-o", "json")
			require.Contains(t, log, "project")
			tried := from.copyReadOnly(t, "--organization", "acme", "--to", into.database(), "--dry-run")
			assert.Contains(t, tried, "would be copied; nothing was")
			assert.Empty(t, tablesIn(t, into.database()), "a dry run makes no schema")
			copied := from.copyReadOnly(t, "--organization", "acme", "--to", into.database())
			assert.Equal(t, rowsOf(tried), rowsOf(copied))
			assert.Contains(t, copied, "the copy is held until `tocsin release`")
			from.run(t, "", "maintenance", "off")
			from.run(t, strings.Replace(acme, "preferred: true,", "preferred: true, active: false,", 1), "apply", "-f", "-")
			from.run(t, "", "release")
			require.Eventually(t, func() bool { return state() == "done" }, patience, 10*time.Millisecond)
			require.Empty(t, received, "what waited for a channel that is inactive now is skipped at the source")
			stop()

			assert.NotContains(t, into.run(t, "", "verify"), "WRONG")
			assert.Contains(t, into.run(t, "", "audit", "list", "--org", "acme", "-o", "json"), strings.TrimPrefix(log, "[\n"), "the audit log goes on")
			_, complaint := into.fails(t, "audit", "list", "--org", "globex")
			assert.Contains(t, complaint, "organization")
			line, stop = into.start(t, "listening", "serve")
			defer stop()
			assert.Equal(t, "delivering", state())
			assert.Equal(t, o, call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "one"}}`, "once").Occurrence, "keys and requests live on")
			into.run(t, "", "release")
			select {
			case m := <-received:
				assert.Equal(t, "one", m.Header.Get("Subject"))
			case <-time.After(patience):
				t.Fatal("what was pending was not sent")
			}
			again := call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "two"}}`).Occurrence
			assert.Greater(t, again, o+1_000_000, "its numbers are far from those of the source")
			require.Eventually(t, func() bool {
				return call(t, line["address"], key, fmt.Sprintf("occurrences/%d/", again), "").State == "done"
			}, patience, 10*time.Millisecond)
		})
	}
}
