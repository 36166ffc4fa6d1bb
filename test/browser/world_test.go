package browser_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/wiring"
)

// public is the base URL of the service, with which links in messages begin.
const public = "http://notify.example"

// The administrator of every world.
const (
	root     = "root"
	password = "correct horse battery"
)

// world is the whole service with its own database and the organizations of the demo. It is started
// as an operator starts it.
type world struct {
	*testing.T
	environ  []string
	database string   // its URL
	base     string   // of the server
	key      string   // of the API, with full access to acme
	webhook  *webhook // the server of its webhooks, after populate
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldAt(t, public)
}

// newWorldAt returns a world with this base URL, and with these settings in addition to the usual
// ones.
func newWorldAt(t *testing.T, public string, settings ...string) *world {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tocsin.db")
	w := &world{T: t, database: "sqlite:" + file}
	w.environ = []string{"TOCSIN_DATABASE_URL=" + w.database, "TOCSIN_LISTEN=127.0.0.1:0", "TOCSIN_LOG_FORMAT=json", "TOCSIN_WEBHOOK_ALLOW=127.0.0.1",
		"TOCSIN_BASE_URL=" + public}
	w.environ = append(w.environ, settings...)
	firstWorld.once.Do(func() {
		w.run("", "apply", "-f", filepath.Join("..", "..", "configs", "demo.yaml"))
		w.run(password+"\n", "admin", "create", "--username", root, "--password-stdin")
		firstWorld.key = w.run("", "key", "create", "--name", "browser", "--org", "acme", "--grant", "full_access")
		for _, end := range []string{"", ".key"} {
			content, err := os.ReadFile(file + end)
			require.NoError(t, err)
			firstWorld.files[end] = content
		}
	})
	require.Len(t, firstWorld.files, 2, "the first world could not be made")
	for end, content := range firstWorld.files {
		require.NoError(t, os.WriteFile(file+end, content, 0o600))
	}
	w.key = firstWorld.key
	w.serve()
	return w
}

// firstWorld has the database and key file of the first world, by the suffixes of their names.
// Other worlds get copies.
var firstWorld = struct {
	once  sync.Once
	files map[string][]byte
	key   string // of the API
}{files: map[string][]byte{}}

// run runs a command and returns its output.
func (w *world) run(in string, args ...string) string {
	w.Helper()
	var out, errs bytes.Buffer
	status := wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(in), Out: &out, Err: &errs}, w.environ).Run(w.Context(), args)
	require.Zero(w, status, "%v: %s%s", args, out.String(), errs.String())
	return strings.TrimSpace(out.String())
}

// serve starts the server and waits until it listens. The server must end without an error when the
// test ends.
func (w *world) serve() {
	w.Helper()
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	ended := make(chan int, 1)
	go func() {
		defer func() { _ = writer.Close() }() // Closing a pipe cannot fail.
		ended <- wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(""), Out: io.Discard, Err: writer}, w.environ).Run(ctx, []string{"serve"})
	}()
	address := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			var line struct{ Msg, Level, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
				address <- line.Address
			}
			if line.Level == "ERROR" {
				w.Errorf("the server logs an error: %s", lines.Text())
			}
		}
	}()
	w.Cleanup(func() {
		cancel()
		select {
		case status := <-ended:
			assert.Zero(w, status, "the server ends without an error")
		case <-time.After(timeout):
			w.Error("the server does not end")
		}
	})
	select {
	case a := <-address:
		w.base = "http://" + a
	case <-time.After(timeout):
		require.Fail(w, "the server does not listen")
	}
}

// call calls the API, which must answer with a 2xx, and decodes the response into to.
func (w *world) call(method, path string, body, to any) {
	w.Helper()
	text, err := json.Marshal(body)
	require.NoError(w, err)
	request, err := http.NewRequestWithContext(w.Context(), method, w.base+"/api/"+path, bytes.NewReader(text))
	require.NoError(w, err)
	request.Header = http.Header{"Authorization": {"Key " + w.key}, "Content-Type": {"application/json"}}
	response, err := (&http.Client{Timeout: timeout}).Do(request)
	require.NoError(w, err)
	defer func() { _ = response.Body.Close() }() // The body was read.
	answer, err := io.ReadAll(response.Body)
	require.NoError(w, err)
	require.Less(w, response.StatusCode, http.StatusMultipleChoices, "%s %s: %s", method, path, answer)
	if to != nil {
		require.NoError(w, json.Unmarshal(answer, to), "%s", answer)
	}
}

// trigger triggers an event of the web shop and returns the occurrence.
func (w *world) trigger(event string, context object) int64 {
	w.Helper()
	var o struct{ Occurrence int64 }
	w.call(http.MethodPost, "o/acme/p/shop/a/web/e/"+event+"/trigger/", object{"context": context}, &o)
	return o.Occurrence
}

// awaitOccurrence waits until an occurrence is done.
func (w *world) awaitOccurrence(occurrence int64) {
	w.Helper()
	require.Eventually(w, func() bool {
		var o struct{ State string }
		w.call(http.MethodGet, fmt.Sprintf("o/acme/p/shop/a/web/occurrences/%d/", occurrence), nil, &o)
		return o.State == "done"
	}, 10*timeout, 20*time.Millisecond)
}

// object is the body of a call.
type object map[string]any

// tab returns a tab that is not signed in. Every page that it loads is checked.
func (w *world) tab() *tab {
	w.Helper()
	t := newTab(w.T, w.base)
	t.strict = true
	return t
}

// signedIn returns a tab that is signed in as the administrator.
func (w *world) signedIn() *tab {
	w.Helper()
	t := w.tab()
	t.setCookie(w.session())
	return t
}

// session creates a session of the administrator and returns its cookie. Most journeys do not test
// signing in.
func (w *world) session() *http.Cookie {
	w.Helper()
	return w.sessionSince(time.Now())
}

// sessionSince is session for an administrator who signed in at this time.
func (w *world) sessionSince(at time.Time) *http.Cookie {
	w.Helper()
	var token string
	require.NoError(w, w.update(func(tx ports.Tx) error {
		accounts, err := tx.Operators().Accounts(w.Context(), root)
		if err != nil {
			return err
		}
		var s operators.Session
		s, token = operators.NewSession(accounts[0].ID, operators.ByPassword, operators.Digest{}, "127.0.0.1", at)
		return tx.Operators().Begin(w.Context(), s)
	}))
	c, err := http.ParseSetCookie("tocsin_session=" + token + "; Path=" + console.Prefix)
	require.NoError(w, err)
	return c
}

// signIn fills in and sends the sign-in form of the page.
func (t *tab) signIn(username, password string) {
	t.Helper()
	t.fill("Username", username)
	t.fill("Password", password)
	t.clickThrough(button, "Sign in")
}
