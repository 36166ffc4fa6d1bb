package gormstore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
)

// TestFileOfURL is about a file that the URL names and that is missing: the error names it, and
// does not show the password.
func TestFileOfURL(t *testing.T) {
	t.Parallel()
	for url, text := range map[string]string{
		"postgres://a:secret@127.0.0.1/a?sslmode=verify-full&sslrootcert=/none/ca.pem": "a file that the database URL names cannot be read: open /none/ca.pem: no such file or directory",
		"postgres://a:secret@127.0.0.1:port/a":                                         "the database URL is not a valid one for PostgreSQL",
	} {
		_, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, Clock: clock{}})
		require.ErrorContains(t, err, text)
		assert.NotContains(t, err.Error(), "secret")
	}
}
