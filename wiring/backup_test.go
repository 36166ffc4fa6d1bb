package wiring_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/wiring"
)

// fails runs a command that must fail, and returns its output and error message.
func (i *installation) fails(t *testing.T, args ...string) (out, complaint string) {
	t.Helper()
	var printed, errs bytes.Buffer
	status := wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(""), Out: &printed, Err: &errs}, i.environ).Run(t.Context(), args)
	require.Equal(t, 1, status, "%v: %s", args, errs.String())
	return printed.String(), errs.String()
}

// onPostgres returns an empty installation on Postgres.
func onPostgres(t *testing.T) *installation {
	t.Helper()
	i := newInstallation(t)
	i.environ = append(i.environ, "TOCSIN_DATABASE_URL="+pgtest.New(t))
	return i
}

// rowsOf returns the tables that a command printed, with row counts and checksums, except the audit
// log, which still grows.
func rowsOf(out string) (lines []string) {
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) == 3 && len(fields[2]) == 64 && fields[0] != "audit_entries" {
			lines = append(lines, strings.Join(fields, " "))
		}
	}
	return lines
}

func TestBackupRestore(t *testing.T) {
	t.Parallel()
	secret := "TOCSIN_SECRET_KEY=" + strings.Repeat("ab", 32)
	for name, to := range map[string][2]func(*testing.T) *installation{
		"FromSQLiteToPostgres": {newInstallation, onPostgres}, "FromPostgresToSQLite": {onPostgres, newInstallation}, "FromSQLiteToSQLite": {newInstallation, newInstallation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, into := to[0](t), to[1](t)
			from.environ, into.environ = append(from.environ, secret), append(into.environ, secret)
			url, received := hooks(t)
			from.run(t, ticks, "apply", "-f", "-")
			key := from.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
			line, stop := from.start(t, "listening", "serve", "--hold")
			call(t, line["address"], key, "register/", registration(url))
			o := call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "one"}}`, "once").Occurrence
			state := func() string { return call(t, line["address"], key, fmt.Sprintf("occurrences/%d/", o), "").State }
			require.Eventually(t, func() bool { return state() == "delivering" }, patience, 10*time.Millisecond)

			file := filepath.Join(t.TempDir(), "copy.zst")
			taken := from.run(t, "", "backup", "--with-key", file) // while it serves
			stop()
			assert.Contains(t, taken, "the secret key is in "+file+".key")
			for _, path := range []string{file, file + ".key"} {
				about, err := os.Stat(path)
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o600), about.Mode())
			}
			text, err := os.ReadFile(file + ".key")
			require.NoError(t, err)
			assert.Equal(t, strings.Repeat("ab", 32)+"\n", string(text))
			_, complaint := from.fails(t, "backup", file)
			assert.Contains(t, complaint, "exists already")
			left, err := os.ReadDir(filepath.Dir(file))
			require.NoError(t, err)
			assert.Len(t, left, 2, "nothing else is left")

			restored := into.run(t, "", "restore", file)
			assert.Contains(t, restored, "the installation is held until `tocsin release`")
			require.NotEmpty(t, rowsOf(taken))
			assert.Equal(t, rowsOf(taken), rowsOf(restored))
			assert.Equal(t, rowsOf(taken), rowsOf(into.run(t, "", "backup", file+".again")), "a copy of the copy is the same")
			_, complaint = into.fails(t, "restore", file)
			assert.Contains(t, complaint, "is not empty")
			assert.NotContains(t, into.run(t, "", "verify"), "WRONG")

			line, stop = into.start(t, "listening", "serve")
			defer stop()
			assert.Equal(t, o, call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "one"}}`, "once").Occurrence, "keys and requests live on")
			assert.Equal(t, "delivering", state())
			into.run(t, "", "release")
			assert.Equal(t, "one", got(t, received))
			second := call(t, line["address"], key, "e/tick/trigger/", `{"context": {"n": "two"}}`).Occurrence
			assert.Equal(t, o+1, second, "numbers go on")
			assert.Equal(t, "two", got(t, received))
		})
	}
}

// TestRestoreUnreadableFile checks what is said of files that cannot be restored, and that nothing
// is created for them.
func TestRestoreUnreadableFile(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.run(t, "", "migrate", "up")
	folder := t.TempDir()
	whole := filepath.Join(folder, "whole.zst")
	i.run(t, "", "backup", whole)
	text, err := os.ReadFile(whole)
	require.NoError(t, err)
	changed := bytes.Clone(text)
	changed[len(changed)/2] ^= 1
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"cut.zst":     {text[:20], "the copy is damaged or incomplete; nothing was restored: " + filepath.Join(folder, "cut.zst") + ": unexpected EOF"},
		"changed.zst": {changed, "the copy is damaged or incomplete; nothing was restored: " + filepath.Join(folder, "changed.zst") + ": "},
		"other.txt":   {[]byte("id,name\n1,Ada\n"), filepath.Join(folder, "other.txt") + " is no copy of an installation: it is not compressed with zstd"},
		"empty":       {nil, filepath.Join(folder, "empty") + " is no copy of an installation"},
		"":            {nil, folder + " is a folder, not a file"},
	} {
		if name != "" {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), c.content, 0o600))
		}
		database := filepath.Join(t.TempDir(), "tocsin.db")
		_, complaint := i.fails(t, "restore", filepath.Join(folder, name), "--database-url", "sqlite:"+database)
		assert.Contains(t, complaint, c.want, name)
		assert.NoFileExists(t, database, name)
	}
}

// TestErrorsNameFiles checks that errors name the file or folder that matters.
func TestErrorsNameFiles(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.run(t, ticks, "apply", "-f", "-")
	folder := t.TempDir()
	absent := filepath.Join(folder, "absent")
	for _, args := range [][]string{{"backup"}, {"backup", "--with-key"}} {
		_, complaint := i.fails(t, append(args, filepath.Join(absent, "copy.zst"))...)
		assert.Equal(t, "tocsin: the folder "+absent+" does not exist\n", complaint, args)
	}
	other := filepath.Join(folder, "other.db")
	require.NoError(t, os.WriteFile(other, []byte(strings.Repeat("no database\n", 100)), 0o600))
	_, complaint := i.fails(t, "backup", filepath.Join(folder, "copy.zst"), "--database-url", "sqlite:"+other)
	assert.Contains(t, complaint, "open the database: "+other+": file is not a database")
}

func TestVerifyReportsErrors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, i *installation) {
		i.run(t, ticks, "apply", "-f", "-")
		out := i.run(t, "", "verify")
		assert.Equal(t, 5, strings.Count(out, "OK     "))
		i.environ = append(i.environ, "TOCSIN_SECRET_KEY="+strings.Repeat("cd", 32))
		out, _ = i.fails(t, "verify")
		assert.Contains(t, out, "WRONG  the settings of channels can be opened")
		assert.Contains(t, out, `the settings of the channel "hooks" (id 1) cannot be opened`)
		assert.Equal(t, 4, strings.Count(out, "OK     "))
	})
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, i *installation) {
		url, received := hooks(t)
		i.run(t, ticks, "apply", "-f", "-")
		key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
		line, stop := i.start(t, "listening", "serve")
		defer stop()
		call(t, line["address"], key, "register/", registration(url))
		post := func() (status int, retry, text string) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%v/api/o/acme/p/shop/a/web/e/tick/trigger/", line["address"]),
				strings.NewReader(`{"context": {"n": "one"}}`))
			require.NoError(t, err)
			request.Header = http.Header{"Authorization": {"Key " + key}, "Content-Type": {"application/json"}}
			response, err := (&http.Client{Timeout: patience}).Do(request)
			require.NoError(t, err)
			defer func() { _ = response.Body.Close() }() // It was read.
			var body bytes.Buffer
			_, err = body.ReadFrom(response.Body)
			require.NoError(t, err)
			return response.StatusCode, response.Header.Get("Retry-After"), body.String()
		}
		assert.Regexp(t, `read-only +20`, i.run(t, "", "maintenance", "on", "--message", "Back at noon."))
		var status int
		var retry, text string
		require.Eventually(t, func() bool {
			status, retry, text = post()
			return status == http.StatusServiceUnavailable
		}, patience, 10*time.Millisecond)
		for len(received) > 0 {
			<-received // the message triggered before
		}
		assert.Contains(t, text, `"code":"maintenance"`)
		assert.Contains(t, text, "the installation is read-only for maintenance: Back at noon.")
		assert.Equal(t, "30", retry)
		call(t, line["address"], key, "", "") // Reading still works.
		status, ready := get(t, line["address"], "/readyz?verbose")
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, ready, "it is read-only since ")
		_, complaint := i.fails(t, "key", "create", "--name", "other", "--grant", "full_access")
		assert.Contains(t, complaint, "Back at noon.")
		assert.Contains(t, i.run(t, "", "maintenance", "status"), "message: Back at noon.")
		assert.Contains(t, i.run(t, "", "maintenance", "on"), "message: Back at noon.", "it stays without --message")
		assert.NotContains(t, i.run(t, "", "maintenance", "on", "--message", ""), "message:")
		assert.Regexp(t, `read-only +no`, i.run(t, "", "maintenance", "off"))
		require.Eventually(t, func() bool {
			status, _, _ = post()
			return status == http.StatusCreated
		}, patience, 10*time.Millisecond)
		assert.Equal(t, "one", got(t, received))
	})
}
