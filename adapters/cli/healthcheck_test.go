package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/cli"
)

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	server := func(answer http.HandlerFunc) string {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /readyz", answer)
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	ready := server(func(http.ResponseWriter, *http.Request) {})
	draining := server(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	full := server(func(w http.ResponseWriter, r *http.Request) {
		assert.True(t, r.URL.Query().Has("verbose"))
		w.WriteHeader(http.StatusServiceUnavailable)
		_, err := w.Write([]byte(`{"code": "not_ready", "checks": [{"name": "takes requests", "status": "ok"},
			{"name": "the database takes writes", "status": "failing", "reason": "the disk of the database is full"},
			{"name": "the state of the installation is known", "status": "failing", "reason": "it failed;\u001b[2J"}]}`))
		assert.NoError(t, err)
	})
	elsewhere := server(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+ready+"/readyz", http.StatusFound)
	})
	slow := server(func(http.ResponseWriter, *http.Request) { <-release })

	d := newFixture(t)
	check := func(listen string, args ...string) int {
		d.Listen = func(*pflag.FlagSet) (cli.Endpoint, error) { return cli.Endpoint{Network: "tcp", Address: listen}, nil }
		return d.run(t, append([]string{"healthcheck"}, args...)...)
	}
	assert.Zero(t, check(ready))
	_, port, _ := strings.Cut(ready, ":")
	assert.Zero(t, check(":"+port), "a server on every address is asked on this machine")
	assert.Equal(t, 1, check(draining))
	assert.Equal(t, "tocsin: not ready: http://"+draining+"/readyz answers 503 Service Unavailable\n", d.err.String())
	assert.Equal(t, 1, check(full))
	assert.Equal(t, "tocsin: not ready: http://"+full+"/readyz answers 503 Service Unavailable; failing: the database takes writes (the disk of the database is full), "+
		"the state of the installation is known (it failed;\\u001b[2J)\n", d.err.String())
	assert.Equal(t, 1, check(elsewhere), "a redirection is no answer")
	assert.Equal(t, 1, check(slow, "--timeout", "20ms"))
	assert.Contains(t, d.err.String(), "tocsin: not ready: ")
	assert.Equal(t, 1, check("127.0.0.1:1"))
	assert.Equal(t, 1, check(":0"))
	assert.Equal(t, "tocsin: the server listens on any free port, so it cannot be found: configure listen\n", d.err.String())
}

func TestReadyURL(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		":8080":            "http://127.0.0.1:8080/readyz",
		"0.0.0.0:8080":     "http://127.0.0.1:8080/readyz",
		"[::]:8080":        "http://[::1]:8080/readyz",
		"[::1]:80":         "http://[::1]:80/readyz",
		"10.1.2.3:8080":    "http://10.1.2.3:8080/readyz",
		"notify.local:80":  "http://notify.local:80/readyz",
		"127.0.0.1:http":   "http://127.0.0.1:http/readyz",
		"[fe80::1%eth0]:1": "http://[fe80::1%25eth0]:1/readyz",
	} {
		got, err := cli.ReadyURL(cli.Endpoint{Network: "tcp", Address: listen})
		require.NoError(t, err)
		assert.Equal(t, want, got, listen)
		got, err = cli.ReadyURL(cli.Endpoint{Network: "tcp", Address: listen, Encrypted: true})
		require.NoError(t, err)
		assert.Equal(t, strings.Replace(want, "http:", "https:", 1), got, listen)
	}
	_, err := cli.ReadyURL(cli.Endpoint{Network: "tcp", Address: "8080"})
	require.Error(t, err)
	got, err := cli.ReadyURL(cli.Endpoint{Network: "unix", Address: "/run/tocsin.sock"})
	require.NoError(t, err)
	assert.Equal(t, "http://localhost/readyz", got)
}
