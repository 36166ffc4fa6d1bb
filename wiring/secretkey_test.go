package wiring_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/wiring"
)

// secretShop is a blueprint that contains a password.
const secretShop = `organizations:
  - slug: acme
    name: Acme
    channels:
      - {name: mail, protocol: EMAIL, driver: smtp, settings: {host: localhost, port: 25, username: a, password: hunter2, from: a@acme.example}}
`

// command executes a command on a SQLite database, with these additional variables, and returns its
// output.
func command(t *testing.T, database string, environ []string, args ...string) (status int, out, complaint string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	environ = append([]string{"TOCSIN_DATABASE_URL=sqlite:" + database}, environ...)
	program := wiring.NewProgram("1.2.3", wiring.Streams{In: strings.NewReader(secretShop), Out: &stdout, Err: &stderr}, environ)
	status = program.Run(t.Context(), args)
	return status, stdout.String(), stderr.String()
}

// TestFirstCommandCreatesKey checks that any command creates it and the others use the same.
func TestFirstCommandCreatesKey(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "tocsin.db")
	keyFile := database + ".key"
	apply := []string{"apply", "-f", "-"}

	status, _, complaint := command(t, database, nil, "migrate", "up")
	require.Zero(t, status, complaint)
	require.NoFileExists(t, keyFile, "the schema needs no key")

	status, _, complaint = command(t, database, nil, apply...)
	require.Zero(t, status, complaint)
	assert.Contains(t, complaint, "a secret key was created")
	info, err := os.Stat(keyFile)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	status, _, complaint = command(t, database, nil, apply...)
	require.Zero(t, status, complaint)
	assert.NotContains(t, complaint, "was made")
	assert.Contains(t, complaint, "0 created, 0 updated, 2 unchanged")

	files, err := filepath.Glob(database + "*")
	require.NoError(t, err)
	for _, path := range files {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NotContains(t, string(content), "hunter2", path)
	}
}

// TestKeyRotation follows docs/channels.md.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "tocsin.db")
	status, _, complaint := command(t, database, nil, "apply", "-f", "-")
	require.Zero(t, status, complaint)

	oldFile := database + ".key.old"
	require.NoError(t, os.Rename(database+".key", oldFile))
	previous := []string{"TOCSIN_SECRET_KEY_PREVIOUS_FILE=" + oldFile}
	status, out, complaint := command(t, database, previous, "re-encrypt")
	require.Zero(t, status, complaint)
	assert.Contains(t, complaint, "a secret key was created")
	assert.Contains(t, out, "encrypted   1\n")
	status, _, complaint = command(t, database, nil, "apply", "-f", "-")
	require.Zero(t, status, complaint)
	assert.Contains(t, complaint, "2 unchanged")

	status, _, complaint = command(t, database, []string{"TOCSIN_SECRET_KEY_FILE=" + oldFile}, "apply", "-f", "-")
	assert.Equal(t, 1, status, "the old key is of no use any more")
	assert.Contains(t, complaint, "which is neither secret_key nor in secret_key_previous")
	status, out, complaint = command(t, database, previous, "config", "show")
	require.Zero(t, status, complaint)
	assert.Regexp(t, `secret_key_previous +\*\*\* +env TOCSIN_SECRET_KEY_PREVIOUS_FILE`, out)
}

// startRefused runs a command that must fail at its start, and returns its error message.
func startRefused(t *testing.T, environ []string, args ...string) (complaint string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stderr bytes.Buffer
	status := wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(secretShop), Out: io.Discard, Err: &stderr}, environ).Run(ctx, args)
	require.NoError(t, ctx.Err(), "%v ends by itself", args)
	assert.Equal(t, 1, status, "%v: %s", args, stderr.String())
	return stderr.String()
}

// TestLostKey checks that no command makes a new key file while the database holds
// secrets that it would not open.
func TestLostKey(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	database := strings.TrimPrefix(i.environ[0], "TOCSIN_DATABASE_URL=sqlite:")
	keyFile := database + ".key"
	i.run(t, secretShop, "apply", "-f", "-")
	require.NoError(t, os.Rename(keyFile, keyFile+".kept"))

	for _, args := range [][]string{{"serve"}, {"serve", "--hold"}, {"worker"}, {"apply", "-f", "-"}, {"verify"}, {"re-encrypt"}, {"backup", "--with-key", database + ".backup"}} {
		complaint := startRefused(t, i.environ, args...)
		assert.Contains(t, complaint, "the secret key of this database is missing", args)
		assert.Contains(t, complaint, keyFile, args)
		assert.NoFileExists(t, keyFile, args)
	}
	i.run(t, "", "backup", database+".backup") // needs no key

	require.NoError(t, os.Rename(keyFile+".kept", keyFile))
	line, stop := i.start(t, "listening", "serve")
	defer stop()
	_, ready := get(t, line["address"], "/readyz?verbose")
	assert.NotContains(t, ready, "held", "a refused start changes nothing")
}

// TestKeyOfOtherInstallation checks that no command starts with such a key, and follows the steps
// of docs/runbooks for a lost key.
func TestKeyOfOtherInstallation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, i *installation) {
		i.run(t, secretShop, "apply", "-f", "-")
		other := append(slices.Clone(i.environ), "TOCSIN_SECRET_KEY="+strings.Repeat("cd", 32))
		for _, args := range [][]string{{"serve"}, {"serve", "--hold"}, {"serve", "--no-worker"}, {"worker"}} {
			assert.Contains(t, startRefused(t, other, args...), "the secret key does not belong to this database", args)
		}
		line, stop := i.start(t, "listening", "serve")
		_, ready := get(t, line["address"], "/readyz?verbose")
		assert.NotContains(t, ready, "held", "a refused start changes nothing")
		stop()

		j := &installation{environ: other}
		j.run(t, "", "re-encrypt", "--discard-unreadable")
		line, stop = j.start(t, "listening", "serve")
		defer stop()
		status, _ := get(t, line["address"], "/readyz")
		assert.Equal(t, http.StatusOK, status)
	})
}

// TestBackupWithWrongKey checks that no key is written with which the copy cannot be used.
func TestBackupWithWrongKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, i *installation) {
		own, other := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
		i.environ = append(i.environ, "TOCSIN_SECRET_KEY="+own)
		i.run(t, secretShop, "apply", "-f", "-")
		with := func(settings ...string) *installation {
			return &installation{environ: append(slices.Clone(i.environ), settings...)}
		}
		wrong, rotating := with("TOCSIN_SECRET_KEY="+other), with("TOCSIN_SECRET_KEY="+other, "TOCSIN_SECRET_KEY_PREVIOUS="+own)
		file := filepath.Join(t.TempDir(), "copy.zst")

		_, complaint := wrong.fails(t, "backup", "--with-key", file)
		assert.Contains(t, complaint, `the settings of the channel "mail" (id 1) cannot be opened`)
		_, complaint = rotating.fails(t, "backup", "--with-key", file)
		assert.Contains(t, complaint, "run `tocsin re-encrypt`")
		left, err := os.ReadDir(filepath.Dir(file))
		require.NoError(t, err)
		assert.Empty(t, left)
		wrong.run(t, "", "backup", file+".plain")

		rotating.run(t, "", "re-encrypt")
		rotating.run(t, "", "backup", "--with-key", file)
		text, err := os.ReadFile(file + ".key")
		require.NoError(t, err)
		assert.Equal(t, other+"\n", string(text))
	})
}
