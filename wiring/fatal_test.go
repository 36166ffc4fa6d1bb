package wiring_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFatalErrorsAreLogged checks that what ends a server or a worker is one line of its log.
func TestFatalErrorsAreLogged(t *testing.T) {
	t.Parallel()
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, busy.Close()) })
	broken := filepath.Join(t.TempDir(), "tocsin.db")
	require.NoError(t, os.WriteFile(broken, []byte(strings.Repeat("no database ", 1000)), 0o600))

	for name, c := range map[string]struct{ command, setting, want string }{
		"BusyPort":     {"serve", "TOCSIN_LISTEN=" + busy.Addr().String(), "address already in use"},
		"BrokenServer": {"serve", "TOCSIN_DATABASE_URL=sqlite:" + broken, "file is not a database"},
		"BrokenWorker": {"worker", "TOCSIN_DATABASE_URL=sqlite:" + broken, "file is not a database"},
		"NoDatabase":   {"worker", "TOCSIN_LOG_LEVEL=error", "there is no SQLite database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t)
			lines := strings.Split(strings.TrimSpace(startRefused(t, append(i.environ, c.setting), c.command)), "\n")
			fatal := 0
			for _, line := range lines {
				var l struct{ Level, Msg, Error string }
				require.NoError(t, json.Unmarshal([]byte(line), &l), line)
				if l.Level == "ERROR" {
					fatal++
					assert.Equal(t, "ended by an error", l.Msg)
					assert.Contains(t, l.Error, c.want)
				}
			}
			assert.Equal(t, 1, fatal, lines)
		})
	}
}
