package httpapi_test

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

func TestServerTimeouts(t *testing.T) {
	t.Parallel()
	server := httpapi.NewServer(http.NotFoundHandler(), httpapi.Timeouts{ReadHeader: 1, Read: 2, Write: 3, Idle: 4}, slog.New(slog.DiscardHandler))
	assert.EqualValues(t, 1, server.ReadHeaderTimeout)
	assert.EqualValues(t, 2, server.ReadTimeout)
	assert.EqualValues(t, 3, server.WriteTimeout)
	assert.EqualValues(t, 4, server.IdleTimeout)
	assert.Positive(t, server.MaxHeaderBytes)
}

// A list may take longer than the server's write timeout, which has always passed here.
func TestListExtendsWriteTimeout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		perStretch time.Duration
		whole      bool
	}{"WithTimeOfItsOwn": {time.Minute, true}, "Without": {0, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(o *httpapi.Options) { o.WriteTimeout = c.perStretch })
			f.store.reader = recipients(20_000, 0, nil)
			server := httptest.NewUnstartedServer(f)
			server.Config = httpapi.NewServer(f, httpapi.Timeouts{Write: time.Nanosecond}, slog.New(slog.DiscardHandler))
			server.Start()
			t.Cleanup(server.Close)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+membersPath, http.NoBody)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Key "+fullKey)
			answer, err := server.Client().Do(r)
			if !c.whole {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			assert.True(t, json.Valid(body))
		})
	}
}

// Requests that net/http refuses itself are answered like all others.
func TestUnreadableRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := httptest.NewUnstartedServer(f)
	server.Config = httpapi.NewServer(f, httpapi.Timeouts{}, slog.New(slog.DiscardHandler))
	server.Listener = httpapi.Problems(server.Listener, "https://tocsin.example/")
	server.Start()
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		sent   string
		status int
	}{
		"NoHost":      {"GET /healthz HTTP/1.1\r\n\r\n", http.StatusBadRequest},
		"NoVersion":   {"GET /healthz\r\n\r\n", http.StatusBadRequest},
		"HeaderTwice": {"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", http.StatusBadRequest},
		"TooLarge":    {"GET /healthz HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1_000)+"\r\n", 100) + "\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"Encoding":    {"POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", http.StatusNotImplemented},
		"Version":     {"GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n", http.StatusHTTPVersionNotSupported},
		"Good":        {"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", http.StatusOK},
		"NotFound":    {"GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			require.NoError(t, err)
			t.Cleanup(func() { _ = connection.Close() })
			_, err = io.WriteString(connection, c.sent)
			require.NoError(t, err)
			answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, c.status, answer.StatusCode, string(body))
			assert.NotEmpty(t, answer.Header.Get("X-Request-ID"))
			if c.status == http.StatusOK {
				return
			}
			assert.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
			var p struct {
				Status    int
				Title     string
				RequestID string `json:"request_id"`
				Errors    map[string][]string
			}
			require.NoError(t, json.Unmarshal(body, &p), string(body))
			assert.Equal(t, c.status, p.Status)
			assert.Equal(t, http.StatusText(c.status), p.Title)
			assert.Equal(t, answer.Header.Get("X-Request-ID"), p.RequestID)
			assert.Equal(t, c.status == http.StatusBadRequest, len(p.Errors) > 0)
		})
	}
}
