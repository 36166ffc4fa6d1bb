package wiring_test

import (
	"bytes"
	"os"
	"path/filepath"
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

// TestTheFirstCommandMakesTheKey checks that any command creates it and the others use the same.
func TestTheFirstCommandMakesTheKey(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "tocsin.db")
	keyFile := database + ".key"
	apply := []string{"apply", "-f", "-"}

	status, _, complaint := command(t, database, nil, "migrate", "up")
	require.Zero(t, status, complaint)
	require.NoFileExists(t, keyFile, "the schema needs no key")

	status, _, complaint = command(t, database, nil, apply...)
	require.Zero(t, status, complaint)
	assert.Contains(t, complaint, "a secret key was made")
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

// TestTheKeyIsRotated follows docs/channels.md.
func TestTheKeyIsRotated(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "tocsin.db")
	status, _, complaint := command(t, database, nil, "apply", "-f", "-")
	require.Zero(t, status, complaint)

	oldFile := database + ".key.old"
	require.NoError(t, os.Rename(database+".key", oldFile))
	previous := []string{"TOCSIN_SECRET_KEY_PREVIOUS_FILE=" + oldFile}
	status, out, complaint := command(t, database, previous, "re-encrypt")
	require.Zero(t, status, complaint)
	assert.Contains(t, complaint, "a secret key was made")
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
