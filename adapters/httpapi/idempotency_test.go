package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

// TestPagedRoutes checks that the routes whose requests are stored after their units of work exist
// and are repeatable.
func TestPagedRoutes(t *testing.T) {
	t.Parallel()
	repeatable := map[string]bool{}
	for _, r := range httpapi.Routes() {
		if r.Method == http.MethodPost {
			repeatable[r.Path] = r.Repeatable()
		}
	}
	for _, path := range httpapi.PagedRoutes() {
		assert.True(t, repeatable[path], path)
	}
	assert.Contains(t, httpapi.PagedRoutes(), "/api/o/{org}/p/{prj}/a/{app}/occurrences/{id}/retry/")
}
