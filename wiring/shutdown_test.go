package wiring_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/test/pgtest/pgproxy"
	"github.com/tocsin/tocsin/wiring"
)

func TestShutdownLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		hangs := make(chan struct{})
		start := time.Now()
		time.AfterFunc(time.Minute, stop)
		err := wiring.Within(ctx, 55*time.Second, slog.New(slog.NewTextHandler(&log, nil)), 17, func() error {
			<-hangs
			return nil
		})
		require.ErrorIs(t, err, wiring.ErrCutOff)
		assert.Equal(t, time.Minute+55*time.Second, time.Since(start))
		assert.Equal(t, 1, strings.Count(log.String(), "\n"))
		assert.Contains(t, log.String(), "unrecorded=17")
		close(hangs)
	})
}

// started runs the program until stop, which returns its exit status and how long it took to end,
// and calls heard for every log line.
func (i *installation) started(t *testing.T, heard func(line map[string]any), args ...string) (stop func() (status int, took time.Duration)) {
	t.Helper()
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		for decoder := json.NewDecoder(reader); ; {
			var l map[string]any
			if decoder.Decode(&l) != nil {
				_, _ = io.Copy(io.Discard, reader) // A program's last output is not JSON.
				return
			}
			heard(l)
		}
	})
	go func() {
		defer func() { _ = writer.Close() }() // The pipe's end cannot fail.
		ended <- wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(""), Out: io.Discard, Err: writer}, i.environ).Run(ctx, args)
	}()
	return func() (int, time.Duration) {
		start := time.Now()
		cancel()
		select {
		case status := <-ended:
			took := time.Since(start)
			reading.Wait()
			return status, took
		case <-time.After(patience):
			require.FailNow(t, "it does not end")
			return 0, 0
		}
	}
}

// listening returns the function for started, and the address where the program listens.
func listening() (heard func(map[string]any), address <-chan string) {
	found := make(chan string, 1)
	return func(l map[string]any) {
		if l["msg"] == "listening" {
			found <- fmt.Sprint(l["address"])
		}
	}, found
}

func TestShutdownWithSilentDatabase(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{"postgres serve": "serve", "postgres worker": "worker"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := pgproxy.Start(t.Context(), pgtest.New(t))
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, p.Close()) })
			i := &installation{environ: []string{"TOCSIN_DATABASE_URL=" + p.URL(), "TOCSIN_LISTEN=127.0.0.1:0", "TOCSIN_LOG_FORMAT=json",
				"TOCSIN_SECRET_KEY=" + strings.Repeat("42", 32), "TOCSIN_SHUTDOWN_TIMEOUT=2s", "TOCSIN_SEND_TIMEOUT=1s"}}
			i.run(t, "", "migrate", "up")
			up := make(chan struct{}, 1)
			stop := i.started(t, func(l map[string]any) {
				if l["msg"] == "listening" || l["msg"] == "working" {
					up <- struct{}{}
				}
			}, command)
			<-up
			p.Cut()
			_, took := stop()
			assert.Less(t, took, 9*time.Second, "3 s, and some for a busy machine: less than a statement may take")
		})
	}
}

// TestLameDuck checks that after SIGTERM no request is refused until shutdown_delay has passed,
// although the instance reports that it is not ready.
func TestLameDuck(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.environ = append(i.environ, "TOCSIN_SHUTDOWN_DELAY=5s")
	heard, found := listening()
	stop := i.started(t, heard, "serve")
	address := <-found
	client := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer client.CloseIdleConnections()
	get := func(path string) (status int, closes bool) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
		require.NoError(t, err)
		answer, err := client.Do(request)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }() // It is not read.
		return answer.StatusCode, answer.Close
	}
	ready, _ := get("/readyz")
	require.Equal(t, http.StatusOK, ready)
	var status int
	var took time.Duration
	var stopping sync.WaitGroup
	stopping.Go(func() { status, took = stop() })
	require.Eventually(t, func() bool {
		ready, _ := get("/readyz")
		return ready == http.StatusServiceUnavailable
	}, patience, 10*time.Millisecond)
	for range 20 {
		health, closes := get("/healthz")
		assert.Equal(t, http.StatusOK, health)
		assert.True(t, closes, "the next request goes elsewhere")
	}
	stopping.Wait()
	assert.Zero(t, status)
	assert.GreaterOrEqual(t, took, 5*time.Second)
}

// TestRequestCutOffAtTheEnd checks that a request which does not end within shutdown_timeout is
// reported, and is no failure of the program.
func TestRequestCutOffAtTheEnd(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.environ = append(i.environ, "TOCSIN_SHUTDOWN_TIMEOUT=100ms")
	listens, found := listening()
	var problems []any
	stop := i.started(t, func(l map[string]any) {
		listens(l)
		if l["level"] == "WARN" || l["level"] == "ERROR" {
			problems = append(problems, l["msg"])
		}
	}, "serve")
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", <-found)
	require.NoError(t, err)
	defer func() { _ = connection.Close() }() // Nothing of it is needed any more.
	require.NoError(t, connection.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(connection, "POST /console/sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"+
		"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(connection).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue", "the request has begun")
	status, _ := stop()
	assert.Zero(t, status)
	assert.Contains(t, problems, "requests were cut off after shutdown_timeout")
}
