// Package pgtest gives a test its own PostgreSQL database on a real server. It knows how
// databases are made, copied and dropped; what is in them is the caller's business.
//
// The server is the one TOCSIN_TEST_POSTGRES names: a URL of a role that may create databases, on
// PostgreSQL 13 or later. Where it is not set, one is started from the installed programs and ends
// with the test binary. To share one server between packages, run them below ./withpostgres, as
// `make test` does. A test that cannot have a server fails and says what is missing; it is never
// skipped, unless -short leaves out all that needs one.
package pgtest

import (
	"context"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

// The variables that say where a test binary creates its databases.
const (
	ServerVariable = "TOCSIN_TEST_POSTGRES"
	RunVariable    = "TOCSIN_TEST_POSTGRES_RUN"
)

// patience is for one step: starting the server, or making, copying or dropping a database while
// other packages do the same.
const patience = 2 * time.Minute

// New returns the URL of a fresh, empty database, which is dropped when the test ends: register
// whatever closes the connections to it after this call.
func New(tb testing.TB) string {
	tb.Helper()
	return database(tb, func(ctx context.Context, r *Run) (string, error) {
		return r.copyOf(ctx, "template0")
	})
}

// Clone returns the URL of a fresh copy of a template database, dropped like New's. The template is
// made once in a run, by the first test that asks for it: an empty database that migrate filled.
// Its name stands for what migrate does, in all packages: equal names must mean equal content.
func Clone(tb testing.TB, template string, migrate func(dsn string) error) string {
	tb.Helper()
	return database(tb, func(ctx context.Context, r *Run) (string, error) {
		return r.clone(ctx, template, migrate)
	})
}

// Copy returns the URL of a copy of a database that this package provided, dropped like New's.
// Nothing may be connected to the original meanwhile.
func Copy(tb testing.TB, original string) string {
	tb.Helper()
	return database(tb, func(ctx context.Context, r *Run) (string, error) {
		address, err := url.Parse(original)
		if err != nil {
			return "", err
		}
		return r.copyOf(ctx, strings.TrimPrefix(address.Path, "/"))
	})
}

func database(tb testing.TB, provide func(context.Context, *Run) (string, error)) string {
	tb.Helper()
	run, err := current()
	if err != nil {
		tb.Fatalf("no PostgreSQL for this test: %v", err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	name, err := provide(ctx, run)
	if err != nil {
		tb.Fatalf("no database for this test: %v", err)
	}
	tb.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
		defer cancel()
		if err := run.drop(ctx, name); err != nil {
			tb.Errorf("the test's database stays behind: %v", err)
		}
	})
	return run.dsn(name)
}

// current is the run this test binary belongs to. It is the one thing that the tests of a binary
// share: a server for each of them would cost a second each.
var current = sync.OnceValues(func() (*Run, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server := os.Getenv(ServerVariable)
	if run := os.Getenv(RunVariable); server != "" && run != "" {
		return join(ctx, server, run)
	}
	if server == "" {
		started, err := pgserver.Start(ctx, pgserver.Options{})
		if err != nil {
			return nil, err
		}
		server = started.URL() // never stopped: it ends with this process
	}
	return Open(ctx, server)
})
