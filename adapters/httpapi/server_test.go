package httpapi_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

func TestServerHasTheTimeoutsItWasGiven(t *testing.T) {
	t.Parallel()
	server := httpapi.NewServer(http.NotFoundHandler(), httpapi.Timeouts{ReadHeader: 1, Read: 2, Write: 3, Idle: 4}, slog.New(slog.DiscardHandler))
	assert.EqualValues(t, 1, server.ReadHeaderTimeout)
	assert.EqualValues(t, 2, server.ReadTimeout)
	assert.EqualValues(t, 3, server.WriteTimeout)
	assert.EqualValues(t, 4, server.IdleTimeout)
	assert.Positive(t, server.MaxHeaderBytes)
}

// A list may take longer than the server's write timeout, which here has always passed already.
func TestAListOutlivesTheWriteTimeout(t *testing.T) {
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
