package wiring_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCORSOrigins checks that cors_origins reaches the API.
func TestCORSOrigins(t *testing.T) {
	t.Parallel()
	for origins, allowed := range map[string]string{"": "", "https://app.example,http://localhost:3000": "http://localhost:3000", "https://app.example": ""} {
		line, stop := newInstallation(t).start(t, "listening", "serve", "--cors-origins", origins)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%v/api/openapi.json", line["address"]), http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Origin", "http://localhost:3000")
		answer, err := (&http.Client{Timeout: patience}).Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, http.StatusOK, answer.StatusCode)
		assert.Equal(t, allowed, answer.Header.Get("Access-Control-Allow-Origin"), origins)
		stop()
	}
}
