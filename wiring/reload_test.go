package wiring_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReload sends the program SIGHUP after its configuration file has changed.
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
	line := p.said(t, "the configuration was read again")
	assert.Equal(t, []any{"rate_limit: 7 -> 9", "log_level: info -> debug"}, line["changed"])
	assert.Equal(t, []any{"base_url: (empty) -> https://notify.example"}, line["needs_restart"])
	assert.Contains(t, policy(), "q=9;")

	write("rate_limit: many\nlog_level: error\n")
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	line = p.said(t, "the configuration has mistakes")
	assert.Contains(t, line["error"], "rate_limit (file "+path+":1)")
	assert.Contains(t, policy(), "q=9;", "nothing was taken over")

	write("rate_limit: 9\nlog_level: error\n")
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	assert.Equal(t, []any{"log_level: debug -> error"}, p.said(t, "the configuration was read again")["changed"])
}
