package wiring_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOverload blocks the maximum number of calls, so that new ones are refused. Meanwhile the
// console, the probes and the metrics must respond, and earlier triggers must become messages: due,
// expanded, claimed and sent.
func TestOverload(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		const places = 256
		i := onPostgres(t)
		i.environ = append(i.environ, "TOCSIN_SECRET_KEY="+strings.Repeat("42", 32), "TOCSIN_QUEUE_TIMEOUT=100ms", "TOCSIN_STATEMENT_TIMEOUT=1m", "TOCSIN_REQUEST_TIMEOUT=2m",
			"TOCSIN_RATE_LIMIT=0", "TOCSIN_ORGANIZATION_RATE_LIMIT=0", "TOCSIN_METRICS_LISTEN=127.0.0.1:0")
		told := make(chan struct{}, 100)
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told <- struct{}{} }))
		defer receiver.Close()
		i.run(t, "a long password\n", "admin", "create", "--username", "root", "--password-stdin")
		i.run(t, `{organizations: [{slug: acme, name: Acme, channels: [{name: hooks, protocol: WEBHOOK, driver: webhook, preferred: true, settings: {}}],
			projects: [{slug: shop, name: Shop, lists: [{name: all}], applications: [{slug: web, name: Web, events: [{slug: tick, name: Tick,
				templates: [{channel: hooks, text: "tick"}], notifications: [{name: Ticks, list: all}]}]}]}]}]}`, "apply", "-f", "-")
		key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
		listening, metrics := make(chan string, 1), make(chan string, 1)
		stop := i.started(t, func(l map[string]any) {
			switch l["msg"] {
			case "listening":
				listening <- fmt.Sprint(l["address"])
			case "serving metrics":
				metrics <- fmt.Sprint(l["address"])
			}
		}, "serve")
		shown, at := <-metrics, <-listening
		call(t, at, key, "register/", fmt.Sprintf(`{"username": "ada", "email": "ada@example.org", "distribution_list": "all",
			"addresses": [{"value": %q, "assign_to_preferred_channel": true}]}`, receiver.URL))
		visit := browse(t, at)
		visit("a long password")

		// Writing to this table is blocked; sending only reads it.
		db, err := sql.Open("pgx", i.database())
		require.NoError(t, err)
		defer db.Close()
		lock, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { _ = lock.Rollback() }() // Unless it was committed.
		_, err = lock.ExecContext(t.Context(), "LOCK TABLE members IN SHARE MODE")
		require.NoError(t, err)
		due := time.Now().Add(3 * time.Second)
		call(t, at, key, "e/tick/trigger/", fmt.Sprintf(`{"context": {}, "options": {"send_at": %q}}`, due.UTC().Format(time.RFC3339Nano)))

		client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: places}}
		t.Cleanup(client.CloseIdleConnections)
		var refused, kept atomic.Int64
		var busy sync.WaitGroup
		register := func(n int) (status int, code string) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/api/o/acme/p/shop/a/web/register/",
				strings.NewReader(fmt.Sprintf(`{"username": "new%d", "email": "new%d@example.org"}`, n, n)))
			assert.NoError(t, err)
			request.Header = http.Header{"Authorization": {"Key " + key}, "Content-Type": {"application/json"}}
			answer, err := client.Do(request)
			if !assert.NoError(t, err) {
				return 0, ""
			}
			defer answer.Body.Close()
			var problem struct{ Code string }
			text, err := io.ReadAll(answer.Body)
			assert.NoError(t, err)
			assert.NoError(t, json.Unmarshal(text, &problem))
			return answer.StatusCode, problem.Code
		}
		for n := range places + 20 {
			busy.Go(func() {
				switch status, code := register(n); status {
				case http.StatusCreated:
					kept.Add(1)
				default:
					assert.Equal(t, "overloaded", code, status)
					refused.Add(1)
				}
			})
		}
		require.Eventually(t, func() bool { return refused.Load() == 20 }, patience, 10*time.Millisecond, "all places are taken")
		status, code := register(1_000_000)
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Equal(t, "overloaded", code)

		select {
		case <-told:
		case <-time.After(patience):
			assert.Fail(t, "nothing was sent")
		}
		assert.False(t, time.Now().Before(due), "it was sent while calls stood still")
		visit("")
		for _, path := range []string{"/healthz", "/readyz"} {
			status, _ := fetch(t, at, path)
			assert.Equal(t, http.StatusOK, status, path)
		}
		status, text := fetch(t, shown, "/metrics")
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, text, "\ntocsin_database_up 1")
		assert.Zero(t, kept.Load(), "they still stand")
		assert.NoError(t, lock.Commit())
		busy.Wait()
		assert.EqualValues(t, places, kept.Load(), "who had a place is served")
		ended, _ := stop()
		assert.Zero(t, ended)
	})
}

// browse returns a function that signs in to the console with a password, or, without one, loads
// the home page again.
func browse(t *testing.T, address string) func(password string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := http.Client{Timeout: patience, Jar: jar}
	ask := func(method, path string, form url.Values) string {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(form.Encode()))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := browser.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, answer.StatusCode, path)
		return string(page)
	}
	return func(password string) {
		t.Helper()
		if password == "" {
			assert.Contains(t, ask(http.MethodGet, "/console/o/acme/", nil), "Acme")
			return
		}
		token := regexp.MustCompile(`name="form_token" value="([0-9a-f]+)"`).FindStringSubmatch(ask(http.MethodGet, "/console", nil))
		require.NotEmpty(t, token)
		assert.Contains(t, ask(http.MethodPost, "/console/sign-in/", url.Values{"form_token": {token[1]}, "username": {"root"}, "password": {password}}), "Acme")
	}
}
