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

// public is where everybody thinks the service is: links in messages, and links that are given
// away, begin with it.
const public = "http://notify.example"

// The administrator of every world.
const (
	root     = "root"
	password = "correct horse battery"
)

// world is the whole service on a database of its own, started as its operator starts it, with the
// tenants of the demo.
type world struct {
	*testing.T
	environ  []string
	database string // its URL
	base     string // of the server
	key      string // of the API, which may do everything in acme
	hook     *hook  // where its webhooks lead, once there are people
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldAt(t, public)
}

// newWorldAt is a world with this public address, and these settings beside the usual ones.
func newWorldAt(t *testing.T, public string, settings ...string) *world {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tocsin.db")
	w := &world{T: t, database: "sqlite:" + file}
	w.environ = []string{"TOCSIN_DATABASE_URL=" + w.database, "TOCSIN_LISTEN=127.0.0.1:0", "TOCSIN_LOG_FORMAT=json", "TOCSIN_WEBHOOK_ALLOW=127.0.0.1",
		"TOCSIN_BASE_URL=" + public}
	w.environ = append(w.environ, settings...)
	founded.once.Do(func() {
		w.run("", "apply", "-f", filepath.Join("..", "..", "configs", "demo.yaml"))
		w.run(password+"\n", "admin", "create", "--username", root, "--password-stdin")
		founded.key = w.run("", "key", "create", "--name", "browser", "--org", "acme", "--grant", "full_access")
		for _, end := range []string{"", ".key"} {
			content, err := os.ReadFile(file + end)
			require.NoError(t, err)
			founded.files[end] = content
		}
	})
	require.Len(t, founded.files, 2, "the first world could not be made")
	for end, content := range founded.files {
		require.NoError(t, os.WriteFile(file+end, content, 0o600))
	}
	w.key = founded.key
	w.serve()
	return w
}

// founded is what every world has: its database and the key beside it, by the ends of their names.
// The first world makes it, others are copies.
var founded = struct {
	once  sync.Once
	files map[string][]byte
	key   string // of the API
}{files: map[string][]byte{}}

// run runs a command to its end and returns what it printed.
func (w *world) run(in string, args ...string) string {
	w.Helper()
	var out, errs bytes.Buffer
	status := wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(in), Out: &out, Err: &errs}, w.environ).Run(w.Context(), args)
	require.Zero(w, status, "%v: %s%s", args, out.String(), errs.String())
	return strings.TrimSpace(out.String())
}

// serve starts the server and waits until it listens. It ends, and ends well, with the test.
func (w *world) serve() {
	w.Helper()
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	ended := make(chan int, 1)
	go func() {
		defer func() { _ = writer.Close() }() // The pipe's end cannot fail.
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
			assert.Zero(w, status, "the server ends well")
		case <-time.After(patience):
			w.Error("the server does not end")
		}
	})
	select {
	case a := <-address:
		w.base = "http://" + a
	case <-time.After(patience):
		require.Fail(w, "the server does not listen")
	}
}

// call makes a call of the API, which must be answered with a 2xx, and reads the answer into to.
func (w *world) call(method, path string, body, to any) {
	w.Helper()
	text, err := json.Marshal(body)
	require.NoError(w, err)
	request, err := http.NewRequestWithContext(w.Context(), method, w.base+"/api/"+path, bytes.NewReader(text))
	require.NoError(w, err)
	request.Header = http.Header{"Authorization": {"Key " + w.key}, "Content-Type": {"application/json"}}
	response, err := (&http.Client{Timeout: patience}).Do(request)
	require.NoError(w, err)
	defer func() { _ = response.Body.Close() }() // It has been read.
	answer, err := io.ReadAll(response.Body)
	require.NoError(w, err)
	require.Less(w, response.StatusCode, http.StatusMultipleChoices, "%s %s: %s", method, path, answer)
	if to != nil {
		require.NoError(w, json.Unmarshal(answer, to), "%s", answer)
	}
}

// trigger makes an event of the web shop happen and returns the occurrence.
func (w *world) trigger(event string, context object) int64 {
	w.Helper()
	var o struct{ Occurrence int64 }
	w.call(http.MethodPost, "o/acme/p/shop/a/web/e/"+event+"/trigger/", object{"context": context}, &o)
	return o.Occurrence
}

// settled waits until an occurrence is done.
func (w *world) settled(occurrence int64) {
	w.Helper()
	require.Eventually(w, func() bool {
		var o struct{ State string }
		w.call(http.MethodGet, fmt.Sprintf("o/acme/p/shop/a/web/occurrences/%d/", occurrence), nil, &o)
		return o.State == "done"
	}, 10*patience, 20*time.Millisecond)
}

// object is a body of a call.
type object map[string]any

// tab returns the tab of a user who has not signed in. Every page that they reach is judged.
func (w *world) tab() *tab {
	w.Helper()
	t := newTab(w.T, w.base)
	t.strict = true
	return t
}

// signedIn is a tab of the administrator, who has signed in before.
func (w *world) signedIn() *tab {
	w.Helper()
	t := w.tab()
	t.remember(w.session())
	return t
}

// session begins a session of the administrator and returns its cookie. To show how one signs in is
// not every journey's business.
func (w *world) session() *http.Cookie {
	w.Helper()
	return w.sessionSince(time.Now())
}

// sessionSince is session for an administrator who signed in at this moment.
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

// signIn fills in the form for signing in, which the tab shows.
func (t *tab) signIn(username, password string) {
	t.Helper()
	t.fill("Username", username)
	t.fill("Password", password)
	t.clickThrough(button, "Sign in")
}
