package wiring_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/wiring"
)

// asProgram makes the test binary run as the program, for tests that need a separate process.
const asProgram = "TOCSIN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(wiring.NewProgram("test", wiring.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ()).Run(ctx, os.Args[1:]))
}

// process is the program as a separate process.
type process struct {
	*exec.Cmd

	lines chan map[string]any // of its log
}

// spawn starts the program as a separate process, with these files as descriptors 3 and up. The
// test ends it with SIGTERM, and it must exit cleanly.
func (i *installation) spawn(t *testing.T, files []*os.File, args ...string) *process {
	t.Helper()
	// The shell passes the program its process id, as systemd does.
	p := &process{Cmd: exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sh", append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, os.Args[0]}, args...)...), lines: make(chan map[string]any, 1000)}
	p.Env = append([]string{asProgram + "=1"}, i.environ...)
	p.ExtraFiles = files
	log, err := p.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	go func() {
		for decoder := json.NewDecoder(log); ; {
			var l map[string]any
			if decoder.Decode(&l) != nil {
				_, _ = io.Copy(io.Discard, log) // A program's last output is not JSON.
				close(p.lines)
				return
			}
			p.lines <- l
		}
	}()
	t.Cleanup(func() {
		assert.NoError(t, p.Process.Signal(syscall.SIGTERM))
		for range p.lines { // They must be read to the end first.
		}
		assert.NoError(t, p.Wait())
	})
	return p
}

// said waits for a log line.
func (p *process) said(t *testing.T, message string) map[string]any {
	t.Helper()
	patient := time.After(patience)
	for {
		select {
		case l, open := <-p.lines:
			if !open {
				require.FailNow(t, "the program ended before it said: "+message)
			}
			if text, _ := l["msg"].(string); strings.Contains(text, message) {
				return l
			}
		case <-patient:
			require.FailNow(t, "the program did not say: "+message)
		}
	}
}
