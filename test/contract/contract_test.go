// Package contract_test holds the API to its contract: it speaks HTTP to the whole service, on
// SQLite and on Postgres, and knows of what lies behind only how to set it up. Every answer, and
// every request that succeeds, is held against the OpenAPI document that the service itself hands
// out, so that neither can drift from the other. docs/contract.md says which test holds which rule.
package contract_test

import (
	"testing"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

// databases are what every test runs on; they name its sub tests.
var databases = []string{sqlite, postgres}

const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// both makes a case of a test run on each database, each in its own world. The options of the API
// may be adjusted.
func both(test func(w *world), adjust ...func(*httpapi.Options)) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		t.Parallel()
		for _, database := range databases {
			t.Run(database, func(t *testing.T) {
				t.Parallel()
				test(newWorld(t, take(t, database), adjust...))
			})
		}
	}
}

// each runs a table of cases, in one world that they share: every case must keep to names of its
// own.
func each[C any](cases map[string]C, test func(w *world, c C)) func(w *world) {
	return func(w *world) {
		for name, c := range cases {
			w.Run(name, func(t *testing.T) {
				mine := *w
				mine.T, mine.t = t, t
				test(&mine, c)
			})
		}
	}
}
