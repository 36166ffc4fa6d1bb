package wiring_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

// hooks starts a receiver of webhooks that passes on the text of each message.
func hooks(t *testing.T) (url string, received chan string) {
	t.Helper()
	received = make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Text string }
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&message))
		received <- message.Text
	}))
	t.Cleanup(receiver.Close)
	return receiver.URL, received
}

// ticks is an application whose event sends a number to a list.
const ticks = `{organizations: [{slug: acme, name: Acme, channels: [{name: hooks, protocol: WEBHOOK, driver: webhook, preferred: true, settings: {}}],
	projects: [{slug: shop, name: Shop, lists: [{name: all}], applications: [{slug: web, name: Web, events: [{slug: tick, name: Tick,
		templates: [{channel: hooks, text: "{{ context.n }}"}], notifications: [{name: Ticks, list: all}]}]}]}]}]}`

func registration(url string) string {
	return fmt.Sprintf(`{"username": "ada", "email": "ada@example.org", "distribution_list": "all", "addresses": [{"value": %q, "assign_to_preferred_channel": true}]}`, url)
}

// got waits for a message.
func got(t *testing.T, received chan string) string {
	t.Helper()
	select {
	case text := <-received:
		return text
	case <-time.After(patience):
		t.Fatal("nothing was sent")
		return ""
	}
}

// get returns the text of a public page.
func get(t *testing.T, address any, path string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%v%s", address, path), http.NoBody)
	require.NoError(t, err)
	response, err := (&http.Client{Timeout: patience}).Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }() // It was read.
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// onBoth runs a test on each database.
func onBoth(t *testing.T, test func(t *testing.T, i *installation)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newInstallation(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		i := newInstallation(t)
		i.environ = append(i.environ, "TOCSIN_DATABASE_URL="+pgtest.New(t), "TOCSIN_SECRET_KEY="+strings.Repeat("ab", 32))
		test(t, i)
	})
}

func TestHeldInstallation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, i *installation) {
		url, received := hooks(t)
		i.run(t, ticks, "apply", "-f", "-")
		key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
		line, stop := i.start(t, "listening", "serve", "--hold")
		call := func(path, body string) answer { return call(t, line["address"], key, path, body) }
		call("register/", registration(url))
		o := call("e/tick/trigger/", `{"context": {"n": "one"}}`).Occurrence
		state := func() string { return call(fmt.Sprintf("occurrences/%d/", o), "").State }
		require.Eventually(t, func() bool { return state() == "delivering" }, patience, 10*time.Millisecond, "recipients are found, and wait")
		status, text := get(t, line["address"], "/readyz?verbose")
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, text, "nothing is sent since ")
		stop()

		line, stop = i.start(t, "listening", "serve") // A restart keeps the hold.
		defer stop()
		_, text = get(t, line["address"], "/readyz?verbose")
		assert.Contains(t, text, "nothing is sent since ")
		out := i.run(t, "", "release", "--dry-run")
		assert.Regexp(t, `less than 1 h +1 +1 +0\n`, out)
		assert.Contains(t, out, "nothing was changed; the installation is held since 20")
		assert.Equal(t, "delivering", state())
		assert.Empty(t, received)
		assert.Contains(t, i.run(t, "", "release"), "released: messages are sent from now on")
		assert.Equal(t, "one", got(t, received))
		assert.Contains(t, i.run(t, "", "release"), "the installation was not held")
	})
}

// TestStateIsLogged checks that instances say at their start why they send nothing.
func TestStateIsLogged(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	_, stop := i.start(t, "listening", "serve", "--hold")
	stop()
	for _, args := range [][]string{{"serve"}, {"serve", "--hold"}, {"worker"}} {
		line, stop := i.start(t, "nothing is sent: the installation is held; `tocsin release` ends that", args...)
		stop()
		assert.Equal(t, "WARN", line["level"], args)
		assert.NotEmpty(t, line["since"], args)
	}
	i.run(t, "", "release")
	i.run(t, "", "maintenance", "on")
	for _, command := range []string{"serve", "worker"} {
		line, stop := i.start(t, "nothing is sent or changed: the installation is read-only for maintenance; `tocsin maintenance off` ends that", command)
		stop()
		assert.Equal(t, "WARN", line["level"], command)
	}
}
