package chaos_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program returns the path of the program: this test binary.
func program(t *testing.T) string {
	t.Helper()
	itself, err := os.Executable()
	require.NoError(t, err)
	return itself
}

// command prepares the program with these settings.
func command(t *testing.T, settings []string, args ...string) *exec.Cmd {
	t.Helper()
	return commandOf(t, program(t), settings, args...)
}

// commandOf prepares a program, which may be that of another release.
func commandOf(t *testing.T, program string, settings []string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TOCSIN_") })
	c.Env = append(append(c.Env, beTocsin+"=yes"), settings...)
	return c
}

// instance is a running server process.
type instance struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string // http://127.0.0.1:PORT
	key  string
	http *http.Client

	mu  sync.Mutex
	log []string // the last lines
	end chan struct{}
}

// serve starts an instance.
func (w *world) serve(args ...string) *instance {
	w.t.Helper()
	return start(w.t, commandOf(w.t, w.program, w.settings, append([]string{"serve"}, args...)...), w.key)
}

// start starts a server process, and waits until it listens.
func start(t *testing.T, c *exec.Cmd, key string) *instance {
	t.Helper()
	i := &instance{t: t, cmd: c, key: key, end: make(chan struct{}), http: &http.Client{Timeout: stepTimeout, Transport: &http.Transport{}}}
	complaints, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	address := make(chan string, 1)
	go i.listen(complaints, address)
	t.Cleanup(func() {
		i.http.CloseIdleConnections()
		if i.running() {
			i.kill()
		}
		if t.Failed() {
			t.Logf("the last that instance %d said:\n%s", c.Process.Pid, strings.Join(i.said(), "\n"))
		}
	})
	select {
	case a := <-address:
		i.base = "http://" + a
	case <-i.end:
		t.Fatalf("the server ended: %s", strings.Join(i.said(), "\n"))
	case <-time.After(stepTimeout):
		t.Fatal("the server does not listen")
	}
	return i
}

// listen reads the log of the process until its end.
func (i *instance) listen(complaints io.Reader, address chan<- string) {
	const kept = 40
	for lines := bufio.NewScanner(complaints); lines.Scan(); {
		var line struct {
			Msg, Address string
			Status       int
		}
		isJSON := json.Unmarshal(lines.Bytes(), &line) == nil
		if isJSON && line.Msg == "listening" {
			address <- line.Address
		}
		if isJSON && line.Status > 0 && line.Status < 300 {
			continue // The test's own questions would crowd out all else.
		}
		i.mu.Lock()
		i.log = append(i.log[max(0, len(i.log)-kept+1):], lines.Text())
		i.mu.Unlock()
	}
	_ = i.cmd.Wait() // How it ended is in its state.
	close(i.end)
}

func (i *instance) said() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.log)
}

// logged returns when the instance first logged a message. It must be among the last lines.
func (i *instance) logged(t *testing.T, message string) time.Time {
	t.Helper()
	for _, text := range i.said() {
		var line struct {
			Time time.Time
			Msg  string
		}
		if json.Unmarshal([]byte(text), &line) == nil && line.Msg == message {
			return line.Time
		}
	}
	require.Failf(t, "the instance has not logged it", "%s", message)
	return time.Time{}
}

func (i *instance) running() bool {
	select {
	case <-i.end:
		return false
	default:
		return true
	}
}

// kill ends the process as kill -9 does.
func (i *instance) kill() {
	i.t.Helper()
	assert.NoError(i.t, i.cmd.Process.Signal(syscall.SIGKILL))
	i.ended()
}

// stop ends the process with SIGTERM. It must exit with status 0.
func (i *instance) stop() {
	i.t.Helper()
	require.NoError(i.t, i.cmd.Process.Signal(syscall.SIGTERM))
	i.ended()
	require.Zero(i.t, i.cmd.ProcessState.ExitCode(), "SIGTERM ends it well: %s", strings.Join(i.said(), "\n"))
}

func (i *instance) ended() {
	i.t.Helper()
	select {
	case <-i.end:
	case <-time.After(stepTimeout):
		i.t.Error("the process does not end")
	}
}

// call makes a request that must succeed, and reads the answer into out.
func (i *instance) call(method, path, body string, out any) {
	i.t.Helper()
	status, text, err := i.try(i.t.Context(), method, path, body)
	require.NoError(i.t, err)
	require.Less(i.t, status, 300, "%s %s: %s", method, path, text)
	require.NoError(i.t, json.Unmarshal(text, out), "%s", text)
}

// try makes a request.
func (i *instance) try(ctx context.Context, method, path, body string) (status int, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, i.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header = http.Header{"Authorization": {"Key " + i.key}, "Content-Type": {"application/json"}}
	answer, err := i.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	text, err = io.ReadAll(answer.Body)
	return answer.StatusCode, text, errors.Join(err, answer.Body.Close())
}

// run runs a command of the program to its end and returns what it printed.
func (w *world) run(in string, args ...string) string {
	w.t.Helper()
	c := commandOf(w.t, w.program, w.settings, args...)
	var out, complaint bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(in), &out, &complaint
	require.NoError(w.t, c.Run(), "%s: %s", args, &complaint)
	return strings.TrimSpace(out.String())
}
