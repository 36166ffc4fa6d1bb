package wiring_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/wiring"
)

// commandsOnExisting are commands that need an existing installation.
var commandsOnExisting = []string{
	"maintenance on", "maintenance off", "maintenance status", "release --dry-run", "release --cancel-older-than 24h", "release",
	"re-encrypt", "key list", "key revoke a", "key rotate a", "key create --name a --org acme --grant full_access", "audit list", "trace 1",
	"deliveries retry --occurrence 1", "mailbox", "mailbox show 1", "mailbox clear", "channel test mail --to ada@example.org",
	"delete channel acme/mail", "import users FILE", "import users FILE --dry-run", "apply -f FILE --dry-run",
	"admin role --username ada --org acme --role operator", "admin sso show --username ada", "admin reset-factors --username ada",
	"admin remove --username ada",
	"verify", "backup BACKUP", "backup --with-key BACKUP", "worker",
}

// argumentsOf returns the arguments of a command, whose files are in a folder.
func argumentsOf(t *testing.T, folder, command string) []string {
	t.Helper()
	file := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(file, []byte(ticks), 0o600))
	return strings.Fields(strings.NewReplacer("FILE", file, "BACKUP", filepath.Join(folder, "backup")).Replace(command))
}

// TestCommandsCreateNoInstallation checks that a command with a wrong address fails, and leaves
// nothing behind.
func TestCommandsCreateNoInstallation(t *testing.T) {
	t.Parallel()
	for _, command := range append([]string{"migrate status", "migrate plan"}, commandsOnExisting...) {
		t.Run("sqlite "+command, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := filepath.Join(home, "data", "tocsin.db")
			i := &installation{environ: []string{"TOCSIN_DATABASE_URL=sqlite:" + path}}
			out, complaint := i.fails(t, argumentsOf(t, t.TempDir(), command)...)
			assert.Empty(t, out)
			assert.Contains(t, complaint, "there is no SQLite database at "+path+"; check the path (database_url is from: env TOCSIN_DATABASE_URL)")
			left, err := os.ReadDir(home)
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
	for _, command := range commandsOnExisting {
		t.Run("sqlite empty file "+command, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "tocsin.db")
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			i := &installation{environ: []string{"TOCSIN_DATABASE_URL=sqlite:" + path}}
			_, complaint := i.fails(t, argumentsOf(t, t.TempDir(), command)...)
			if command != "backup BACKUP" { // It needs no key, and says that the schema is too old.
				assert.Contains(t, complaint, "there is no installation in this database")
			}
			assert.NoFileExists(t, path+".key")
		})
	}
}

// TestCommandsCreateNoSchema is TestCommandsCreateNoInstallation for Postgres, where the database
// itself always exists.
func TestCommandsCreateNoSchema(t *testing.T) {
	t.Parallel()
	i := &installation{environ: []string{"TOCSIN_DATABASE_URL=" + pgtest.New(t), "TOCSIN_SECRET_KEY=" + strings.Repeat("ab", 32)}}
	for _, command := range commandsOnExisting {
		if command == "verify" || strings.HasPrefix(command, "backup") { // They never change the schema, and say that it is too old.
			continue
		}
		out, complaint := i.fails(t, argumentsOf(t, t.TempDir(), command)...)
		assert.Empty(t, out, command)
		assert.Contains(t, complaint, "there is no installation in this database", command)
		assert.Contains(t, complaint, "(database_url is from: env TOCSIN_DATABASE_URL)", command)
	}
	assert.NotRegexp(t, `\d{4}-`, i.run(t, "", "migrate", "status"), "all are pending")
}

// TestCommandsNameDefaultDatabase checks the error of a shell without the settings of the service.
func TestCommandsNameDefaultDatabase(t *testing.T) {
	t.Chdir(t.TempDir())
	_, complaint := (&installation{}).fails(t, "maintenance", "on")
	assert.Contains(t, complaint, "check the path (TOCSIN_DATABASE_URL is not set, so this is the default of database_url)")
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestCommandsBeginInstallation checks the commands that may be the first ones of an installation.
func TestCommandsBeginInstallation(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"migrate up", "apply -f FILE", "key create --name a --grant full_access", "admin create --username ada --password-stdin"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, i *installation) {
				var errs bytes.Buffer
				streams := wiring.Streams{In: strings.NewReader("a long enough password"), Out: io.Discard, Err: &errs}
				require.Zero(t, wiring.NewProgram("test", streams, i.environ).Run(t.Context(), argumentsOf(t, t.TempDir(), command)), errs.String())
				assert.Contains(t, i.run(t, "", "maintenance", "status"), "read-only")
			})
		})
	}
}
