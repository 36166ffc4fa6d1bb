package wiring_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/wiring"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// installation is a SQLite database and its programs.
type installation struct{ environ []string }

func newInstallation(t *testing.T) *installation {
	t.Helper()
	return &installation{environ: []string{
		"TOCSIN_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "tocsin.db"),
		"TOCSIN_LISTEN=127.0.0.1:0",
		"TOCSIN_WEBHOOK_ALLOW=127.0.0.1",
		"TOCSIN_LOG_FORMAT=json",
	}}
}

// run runs a command to its end and returns its output.
func (i *installation) run(t *testing.T, in string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	status := wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(in), Out: &out, Err: &errs}, i.environ).Run(t.Context(), args)
	require.Zero(t, status, "%v: %s", args, errs.String())
	return strings.TrimSpace(out.String())
}

// start runs a long-running command, waits for a log line, and returns it. When stopped, the
// command must exit cleanly.
func (i *installation) start(t *testing.T, message string, args ...string) (line map[string]any, stop func()) {
	t.Helper()
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		defer func() { _ = writer.Close() }() // Closing a pipe cannot fail.
		ended <- wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(""), Out: io.Discard, Err: writer}, i.environ).Run(ctx, args)
	}()
	seen := make(chan map[string]any, 1)
	go func() {
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			var l map[string]any
			if json.Unmarshal(lines.Bytes(), &l) == nil && l["msg"] == message {
				seen <- l
			}
		}
	}()
	stop = func() {
		cancel()
		select {
		case status := <-ended:
			assert.Zero(t, status, "%v ends well", args)
		case <-time.After(patience):
			t.Errorf("%v does not end", args)
		}
	}
	select {
	case line = <-seen:
	case <-time.After(patience):
		stop()
		t.Fatalf("%v did not log %q", args, message)
	}
	return line, stop
}

// answer is the part of a response that the tests use.
type answer struct {
	Occurrence int64
	State      string
}

// call calls acme/shop/web, with POST if there is a body, and requires a 2xx; a word becomes the
// Idempotency-Key.
func call(t *testing.T, address any, key, path, body string, word ...string) (a answer) {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://%v/api/o/acme/p/shop/a/web/%s", address, path), strings.NewReader(body))
	require.NoError(t, err)
	request.Header = http.Header{"Authorization": {"Key " + key}, "Content-Type": {"application/json"}, "Idempotency-Key": word}
	response, err := (&http.Client{Timeout: patience}).Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }() // It was read.
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, response.StatusCode, 300, "%s", text)
	require.NoError(t, json.Unmarshal(text, &a))
	return a
}

func TestServeWithoutWorker(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	received := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Text string }
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&message))
		received <- message.Text
	}))
	defer receiver.Close()
	i.run(t, `{organizations: [{slug: acme, name: Acme, channels: [{name: hooks, protocol: WEBHOOK, driver: webhook, preferred: true, settings: {}}],
		projects: [{slug: shop, name: Shop, lists: [{name: all}], applications: [{slug: web, name: Web, events: [{slug: tick, name: Tick,
			templates: [{channel: hooks, text: "{{ context.n }}"}], notifications: [{name: Ticks, list: all}]}]}]}]}]}`, "apply", "-f", "-")
	key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")

	line, stopServer := i.start(t, "listening", "serve", "--no-worker")
	defer stopServer()
	call := func(path, body string) answer { return call(t, line["address"], key, path, body) }
	call("register/", fmt.Sprintf(`{"username": "ada", "email": "ada@example.org", "distribution_list": "all",
		"addresses": [{"value": %q, "assign_to_preferred_channel": true}]}`, receiver.URL))
	o := call("e/tick/trigger/", `{"context": {"n": "one"}}`).Occurrence
	state := func() string { return call(fmt.Sprintf("occurrences/%d/", o), "").State }
	assert.Equal(t, "expanding", state(), "nobody works yet")

	_, stopWorker := i.start(t, "working", "worker")
	select {
	case text := <-received:
		assert.Equal(t, "one", text)
	case <-time.After(patience):
		t.Fatal("the worker sent nothing")
	}
	require.Eventually(t, func() bool { return state() == "done" }, patience, 10*time.Millisecond)
	stopWorker()
	call("e/tick/trigger/", `{"context": {"n": "two"}}`)
	assert.Empty(t, received, "the worker is gone, and the server does not send")

	_, stopServing := i.start(t, "listening", "serve")
	defer stopServing()
	select {
	case text := <-received:
		assert.Equal(t, "two", text, "a server sends unless it is told not to")
	case <-time.After(patience):
		t.Fatal("the server sent nothing")
	}
}

func TestIdempotencyAcrossRestart(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.run(t, `{organizations: [{slug: acme, name: Acme, projects: [{slug: shop, name: Shop, applications: [{slug: web, name: Web,
		events: [{slug: tick, name: Tick}]}]}]}]}`, "apply", "-f", "-")
	key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
	var occurrences []int64
	for range 2 {
		line, stop := i.start(t, "listening", "serve")
		occurrences = append(occurrences, call(t, line["address"], key, "e/tick/trigger/", `{"context": {}}`, "once").Occurrence)
		stop()
	}
	assert.Equal(t, occurrences[0], occurrences[1])
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	check := func(name, text string) (status int, out, errs string) {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		status, out, errs = command(t, filepath.Join(folder, "tocsin.db"), nil, "config", "check", path)
		return status, strings.ReplaceAll(out, path, "FILE"), strings.ReplaceAll(errs, path, "FILE")
	}
	status, out, _ := check("good.yaml", "listen: 127.0.0.1:8080\nrate_limit: 20\n")
	assert.Zero(t, status)
	assert.Equal(t, "FILE: no mistakes\n", out)
	status, _, errs := check("bad.yaml", "rate_limit: many\ncolour: red\n")
	assert.Equal(t, 1, status)
	assert.Contains(t, errs, "FILE:1")
	assert.Contains(t, errs, "FILE:2")
	assert.NotContains(t, errs, "many", "a value in the wrong place may be a secret")
	status, _, errs = command(t, filepath.Join(folder, "tocsin.db"), nil, "config", "check", filepath.Join(folder, "none.yaml"))
	assert.Equal(t, 1, status, errs)
}
