package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

func TestSecurityText(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/security.txt"

	t.Run("ShowsTheSettings", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, func(o *httpapi.Options) {
			o.BaseURL = "https://notify.example.org"
			o.SecurityContact = []string{"mailto:security@example.org", "https://example.org/report"}
			o.SecurityPolicy = "https://example.org/policy"
		})
		got := f.do(request{path: path, key: "-"})
		assert.Equal(t, http.StatusOK, got.Code)
		assert.Equal(t, "text/plain; charset=UTF-8", got.Header().Get("Content-Type"))
		assert.Equal(t, "Contact: mailto:security@example.org\nContact: https://example.org/report\nExpires: 2026-07-01T00:00:00Z\n"+
			"Canonical: https://notify.example.org/.well-known/security.txt\nPolicy: https://example.org/policy\n", got.Body.String())
		assert.Equal(t, http.StatusOK, f.do(request{method: http.MethodHead, path: path, key: "-"}).Code)
		assert.Equal(t, http.StatusMethodNotAllowed, f.do(request{method: http.MethodPost, path: path, key: "-"}).Code)
	})

	t.Run("SaysNoMore", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, func(o *httpapi.Options) { o.SecurityContact = []string{"tel:+15005550006"} })
		assert.Equal(t, "Contact: tel:+15005550006\nExpires: 2026-07-01T00:00:00Z\n", f.do(request{path: path, key: "-"}).Body.String())
	})

	t.Run("IsNotThereWithoutAContact", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, func(o *httpapi.Options) { o.SecurityPolicy = "https://example.org/policy" })
		assert.Equal(t, http.StatusNotFound, f.do(request{path: path, key: "-"}).Code)
	})
}
