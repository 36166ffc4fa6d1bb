// Package contract_test checks the API against its contract. It calls the whole service by HTTP, on
// SQLite and on Postgres, and uses other packages only to set it up. Every answer, and every
// successful request, is compared with the OpenAPI document that the service serves.
// docs/contract.md lists the tests of each rule.
package contract_test

import (
	"testing"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

// databases are the databases that every test runs on, by the names of its sub tests.
var databases = []string{sqlite, postgres}

const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// both returns a test that runs on each database, each time in its own world. adjust changes the
// options of the API.
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

// each runs a table of cases in one world. So every case must use names of its own.
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
