package wiring_test

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReload sends SIGHUP after the configuration file has changed.
func TestReload(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
	path := filepath.Join(t.TempDir(), "tocsin.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("rate_limit: 7\nlog_level: info\n")
	p := i.spawn(t, nil, "serve", "--config", path)
	address := fmt.Sprint(p.said(t, "listening")["address"])
	policy := func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/system/ping/", http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Key "+key)
		answer, err := (&http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.Header.Get("RateLimit-Policy")
	}
	assert.Contains(t, policy(), "q=7;")

	write("rate_limit: 9\nlog_level: debug\nbase_url: https://notify.example\n")
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	line := p.said(t, "the configuration was reloaded")
	assert.Equal(t, []any{"rate_limit: 7 -> 9", "log_level: info -> debug"}, line["changed"])
	assert.Equal(t, []any{"base_url: (empty) -> https://notify.example"}, line["needs_restart"])
	assert.Contains(t, policy(), "q=9;")

	write("rate_limit: many\nlog_level: error\n")
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	line = p.said(t, "the configuration has errors")
	assert.Contains(t, line["error"], "rate_limit (file "+path+":1)")
	assert.Contains(t, policy(), "q=9;", "nothing was taken over")

	write("rate_limit: 9\nlog_level: error\n")
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	assert.Equal(t, []any{"log_level: debug -> error"}, p.said(t, "the configuration was reloaded")["changed"])
}

// TestReloadSignals sends SIGHUP while the program starts and stops.
func TestReloadSignals(t *testing.T) {
	t.Parallel()
	i := onPostgres(t)
	i.environ = append(i.environ, "TOCSIN_SHUTDOWN_DELAY=0s", "TOCSIN_SECRET_KEY="+strings.Repeat("ab", 32))
	db, err := sql.Open("pgx", i.database())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "SELECT pg_advisory_lock($1)", 0x746f6373696e)
	require.NoError(t, err)
	p := i.spawn(t, nil, "serve")
	require.Eventually(t, func() bool {
		var waiting bool
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%pg_try_advisory_lock%')`).Scan(&waiting))
		return waiting
	}, patience, 20*time.Millisecond)
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	_, err = conn.ExecContext(t.Context(), "SELECT pg_advisory_unlock($1)", 0x746f6373696e)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	address := fmt.Sprint(p.said(t, "listening")["address"])
	p.said(t, "the configuration was reloaded")

	request, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address) // The program waits until this request ends.
	require.NoError(t, err)
	_, err = request.Write([]byte("GET /healthz HTTP/1.1\r\n"))
	require.NoError(t, err)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	p.said(t, "shutting down")
	require.Eventually(t, func() bool {
		another, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			assert.NoError(t, another.Close())
		}
		return err != nil
	}, patience, 20*time.Millisecond)
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	require.NoError(t, request.Close())
	for range p.lines { // until the process ends
	}
}
