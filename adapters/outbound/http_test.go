package outbound_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

func TestWatchReportsCertificate(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP1": false, "HTTP2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.EnableHTTP2 = http2
			server.StartTLS()
			t.Cleanup(server.Close)
			for range 2 { // The second one by the connection of the first.
				var told []time.Time
				ctx, peer := outbound.Watch(deliveries.WatchCertificates(t.Context(), func(ends time.Time) { told = append(told, ends) }))
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
				require.NoError(t, err)
				answer, err := server.Client().Do(r)
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				assert.True(t, peer.Reached())
				assert.Equal(t, []time.Time{server.Certificate().NotAfter}, told)
			}
		})
	}
}
