package wiring_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

// TestMetrics checks that an instance serves its metrics at the configured address and nowhere
// else.
func TestMetrics(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{"sqlite serve": "serve", "sqlite worker": "worker", "postgres serve": "serve", "postgres worker": "worker"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := "sqlite:" + filepath.Join(t.TempDir(), "tocsin.db")
			if strings.HasPrefix(name, "postgres") {
				url = pgtest.New(t)
			}
			i := &installation{environ: []string{"TOCSIN_DATABASE_URL=" + url, "TOCSIN_LISTEN=127.0.0.1:0", "TOCSIN_METRICS_LISTEN=127.0.0.1:0",
				"TOCSIN_LOG_FORMAT=json", "TOCSIN_SECRET_KEY=" + strings.Repeat("42", 32)}}
			i.run(t, "", "migrate", "up")
			shown, served := make(chan string, 1), make(chan string, 1)
			stop := i.started(t, func(l map[string]any) {
				switch l["msg"] {
				case "serving metrics":
					shown <- fmt.Sprint(l["address"])
				case "listening":
					served <- fmt.Sprint(l["address"])
				case "working":
					served <- ""
				}
			}, command)
			address, service := <-shown, <-served
			if service != "" {
				status, _ := fetch(t, service, "/healthz")
				require.Equal(t, http.StatusOK, status)
				status, _ = fetch(t, service, "/metrics")
				assert.Equal(t, http.StatusNotFound, status)
			}
			status, text := fetch(t, address, "/metrics")
			require.Equal(t, http.StatusOK, status)
			problems, err := promlint.New(strings.NewReader(text)).Lint()
			require.NoError(t, err)
			assert.Empty(t, problems)
			want := []string{`tocsin_build_info{`, `tocsin_database_up 1`, `tocsin_database_size_bytes `, `tocsin_database_connections_max{`,
				`tocsin_loops_stuck{loop="heartbeat"} 0`}
			expanders := []string{"expand"}
			if strings.HasPrefix(name, "postgres") {
				expanders = []string{"expand small", "expand large"}
			}
			for _, loop := range expanders {
				want = append(want, fmt.Sprintf("tocsin_loop_last_turn_timestamp_seconds{loop=%q}", loop))
			}
			if service != "" {
				want = append(want, `tocsin_http_requests_total{code="200",method="GET",route="/healthz"} 1`)
			}
			for _, name := range want { // Loops start a moment later, and a request is counted at its end.
				require.Eventually(t, func() bool {
					_, text := fetch(t, address, "/metrics")
					return strings.Contains(text, "\n"+name)
				}, patience, 10*time.Millisecond, name)
			}
			status, _ = fetch(t, address, "/debug/pprof/")
			assert.Equal(t, http.StatusNotFound, status)
			status, took := stop()
			assert.Zero(t, status)
			assert.Less(t, took, patience)
		})
	}
}

// TestProfiles checks that profiles are served only if configured.
func TestProfiles(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.environ = append(i.environ, "TOCSIN_METRICS_LISTEN=127.0.0.1:0", "TOCSIN_METRICS_PROFILES=true")
	shown := make(chan string, 1)
	stop := i.started(t, func(l map[string]any) {
		if l["msg"] == "serving metrics" {
			shown <- fmt.Sprint(l["address"])
		}
	}, "serve")
	address := <-shown
	status, text := fetch(t, address, "/debug/pprof/goroutine?debug=1")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "goroutine profile")
	stop()
}

// fetch sends a request to a process.
func fetch(t *testing.T, address, path string) (status int, text string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	require.NoError(t, err)
	answer, err := client.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(body)
}
