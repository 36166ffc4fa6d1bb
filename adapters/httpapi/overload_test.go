package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/quotas"
)

const (
	// places is how many calls are in progress at once.
	places = 256
	// soon is how long a call waits for its turn in these tests.
	soon = 100 * time.Millisecond
)

func queueing(o *httpapi.Options) { o.QueueTimeout = soon }

// TestOverload makes the maximum number of calls wait for the store.
func TestOverload(t *testing.T) {
	t.Parallel()
	f := newFixture(t, queueing)
	stuck, goOn := make(chan struct{}, places), make(chan struct{})
	f.store.reader = func(int64, int) ([]lists.Recipient, error) {
		stuck <- struct{}{}
		<-goOn
		return nil, nil
	}
	var calls sync.WaitGroup
	for range places {
		calls.Go(func() { assert.Equal(t, http.StatusOK, f.do(request{path: membersPath}).Code) })
	}
	for range places {
		<-stuck
	}
	asked := f.auth.calls()
	w := f.do(request{path: membersPath})
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	assert.Equal(t, "overloaded", problemOf(t, w).Code)
	assert.Equal(t, asked, f.auth.calls(), "nothing was done for it")
	for _, path := range []string{"/healthz", "/readyz"} {
		assert.Equal(t, http.StatusOK, f.do(request{path: path, key: "-"}).Code, path)
	}
	close(goOn)
	calls.Wait()
	assert.Equal(t, http.StatusOK, f.do(request{path: membersPath}).Code)
}

// TestSlowBodies has more clients than calls in progress begin a body and stop in the middle.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	// A call waits less long for its turn than a body may take, and longer than a machine stalls.
	f := newFixture(t, func(o *httpapi.Options) { o.QueueTimeout = 3 * time.Second })
	server := httptest.NewUnstartedServer(f)
	server.Config = httpapi.NewServer(f, httpapi.Timeouts{Read: 5 * time.Second}, slog.New(slog.DiscardHandler))
	server.Start()
	t.Cleanup(server.Close)
	slow := make([]net.Conn, places+20)
	for i := range slow {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = fmt.Fprintf(c, "POST /api/v1/user/acme/ HTTP/1.1\r\nHost: tocsin.test\r\nAuthorization: Key %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", fullKey)
		require.NoError(t, err)
		slow[i] = c
	}
	require.Eventually(t, func() bool { return f.auth.calls() == len(slow) }, time.Minute, 10*time.Millisecond, "all have come in, one after the other")
	assert.Equal(t, http.StatusOK, f.do(request{path: "/api/system/ping/"}).Code, "they hold no place")
	for _, c := range slow[:3] {
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		var p problem
		require.NoError(t, json.Unmarshal(text, &p))
		assert.Equal(t, http.StatusRequestTimeout, answer.StatusCode)
		assert.Equal(t, "request_timeout", p.Code)
		assert.True(t, answer.Close)
	}
	assert.Zero(t, f.store.used(), "nothing was done")
}

// TestSlowBodyTimeout checks that a slow body ends at the call's deadline.
func TestSlowBodyTimeout(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) { o.CallTimeout = time.Nanosecond })
	w := f.do(request{method: http.MethodPost, path: "/api/v1/user/acme/", body: `{}`})
	assert.Equal(t, http.StatusRequestTimeout, w.Code)
	assert.Equal(t, "request_timeout", problemOf(t, w).Code)
}

// endless is a body that sends some bytes and then blocks until the test releases it.
type endless struct {
	left  int
	waits chan<- struct{}
	until <-chan struct{}
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		e.waits <- struct{}{}
		<-e.until
		return 0, io.ErrUnexpectedEOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	e.left -= n
	return n, nil
}

// TestBodyMemoryLimit checks the memory bound of bodies that arrive slowly. Small ones
// are always accepted.
func TestBodyMemoryLimit(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	f := newFixture(t)
	waits, until := make(chan struct{}), make(chan struct{})
	ended := make(chan int, 1000)
	send := func(bytes int) {
		r := request{method: http.MethodPost, path: "/api/v1/user/acme/"}.build()
		r.Body, r.ContentLength = io.NopCloser(&endless{bytes, waits, until}), most
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		ended <- w.Code
	}
	n := 0
	for refused := false; !refused; n++ {
		go send(most - 1)
		select {
		case <-waits:
		case status := <-ended:
			require.Equal(t, http.StatusServiceUnavailable, status)
			refused = true
		}
		require.Less(t, n, 100, "there is an end")
	}
	assert.Greater(t, n, 50)
	go send(10_000)
	<-waits
	close(until)
	for range n {
		require.Equal(t, http.StatusBadRequest, <-ended)
	}
	until = make(chan struct{})
	go send(most - 1)
	<-waits
	close(until)
	assert.Equal(t, http.StatusBadRequest, <-ended, "there is room again")
}

// TestBodyMemoryOfAnOrganization checks that the bodies of one organization leave memory for those
// of others.
func TestBodyMemoryOfAnOrganization(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	f := newFixture(t)
	waits, until := make(chan struct{}), make(chan struct{})
	ended := make(chan int, 1000)
	send := func(key string) (refused bool) {
		go func() {
			r := request{method: http.MethodPost, path: "/api/v1/user/acme/", key: key}.build()
			r.Body, r.ContentLength = io.NopCloser(&endless{most - 1, waits, until}), most
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			ended <- w.Code
		}()
		select {
		case <-waits:
			return false
		case status := <-ended:
			require.Equal(t, http.StatusServiceUnavailable, status)
			return true
		}
	}
	n := 0
	for !send(acmeKey) {
		n++
		require.Less(t, n, 100, "there is an end")
	}
	assert.InDelta(t, 32, n, 1)
	assert.False(t, send(fullKey), "there is room for others")
	close(until)
	for range n + 1 {
		require.Equal(t, http.StatusBadRequest, <-ended)
	}
	until = make(chan struct{})
	assert.False(t, send(acmeKey), "there is room again")
	close(until)
	<-ended
}

// TestDecodedMemory is about what bodies take beside their text. Those of many small values count.
func TestDecodedMemory(t *testing.T) {
	t.Parallel()
	list := func(item string, n int) []byte { return []byte("[" + strings.Repeat(item+",", n-1) + item + "]") }
	user := `{"username":"someone@example.org","first_name":"Some","last_name":"One","custom_fields":{"room":"12","floor":"3"}}`
	for name, of := range map[string]struct {
		text []byte
		want int64
	}{
		"Small":         {list(`{"a":0}`, 100), 0},
		"Users":         {list(user, 1_000), 164_000},
		"Names":         {list(`"someone@example.org"`, 10_000), 0},
		"Text":          {[]byte(`{"text":"` + strings.Repeat("one, two; ", 50_000) + `"}`), 0},
		"ManyObjects":   {list(`{"a":0}`, 40_000), 13_440_000},
		"MostlyObjects": {list(`{"a":0}`, 120_000), 16 << 20},
	} {
		assert.InDelta(t, of.want, httpapi.DecodedMemory(of.text), 20_000, name)
	}
}

// TestDecodedBodiesReserve checks that memory for decoding a body is part of the budget.
func TestDecodedBodiesReserve(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	small := "[" + strings.Repeat(`{"a":0},`, 40_000) + `{"a":0}]`
	post := func() int {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, request{method: http.MethodPost, path: "/api/v1/user/acme/", key: acmeKey, body: small}.build())
		return w.Code
	}
	assert.Equal(t, http.StatusBadRequest, post(), "one can be read")
	const most = 1 << 20
	waits, until, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	for range 30 { // The rest is too little.
		go func() {
			r := request{method: http.MethodPost, path: "/api/v1/user/acme/", key: acmeKey}.build()
			r.Body, r.ContentLength = io.NopCloser(&endless{most - 1, waits, until}), most
			f.ServeHTTP(httptest.NewRecorder(), r)
			ended <- struct{}{}
		}()
		<-waits
	}
	assert.Equal(t, http.StatusServiceUnavailable, post())
	close(until)
	for range 30 {
		<-ended
	}
	assert.Equal(t, http.StatusBadRequest, post())
}

// TestBrokenBodiesCount checks that the bytes of a body count if their number was not announced and
// the body breaks off.
func TestBrokenBodiesCount(t *testing.T) {
	t.Parallel()
	const size = 100_000
	f := newFixture(t, func(o *httpapi.Options) { o.Quotas = quotas.NewDefaults(quotas.Limits{quotas.Bodies: size}) })
	send := func(bytes int) int {
		waits, until := make(chan struct{}, 1), make(chan struct{})
		close(until)
		r := request{method: http.MethodPost, path: "/api/v1/user/acme/", key: acmeKey}.build()
		r.Body, r.ContentLength = io.NopCloser(&endless{bytes, waits, until}), -1
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusBadRequest, send(size))
	assert.Equal(t, http.StatusTooManyRequests, f.do(request{method: http.MethodPost, path: "/api/v1/user/acme/", key: acmeKey, body: `{"email":1}`}).Code)
	f.clock.Advance(time.Second)
	assert.Equal(t, http.StatusTooManyRequests, send(2*size), "the quota ends a body that is still arriving")
}
