// Package pgtest gives a test its own PostgreSQL database on a real server. It knows how databases
// are created, copied and dropped, but not what they contain.
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

// stepTimeout is the timeout of one step: starting the server, or creating, copying or dropping a
// database while other packages do the same.
const stepTimeout = 2 * time.Minute

// New returns the URL of a new, empty database, which is dropped when the test ends. Call New
// before you register a cleanup that closes connections to it.
func New(tb testing.TB) string {
	tb.Helper()
	return database(tb, func(ctx context.Context, r *Run) (string, error) {
		return r.copyOf(ctx, "template0")
	})
}

// Clone returns the URL of a new copy of a template database, which is dropped like that of New.
// The first test of a run that needs the template creates it: an empty database that migrate fills.
// Templates of the same name must have the same content in all packages.
func Clone(tb testing.TB, template string, migrate func(dsn string) error) string {
	tb.Helper()
	return database(tb, func(ctx context.Context, r *Run) (string, error) {
		return r.clone(ctx, template, migrate)
	})
}

// Copy returns the URL of a copy of a database that this package provided, dropped like New's.
// There must be no connections to the original.
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
	ctx, cancel := context.WithTimeout(tb.Context(), stepTimeout)
	defer cancel()
	name, err := provide(ctx, run)
	if err != nil {
		tb.Fatalf("no database for this test: %v", err)
	}
	tb.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), stepTimeout)
		defer cancel()
		if err := run.drop(ctx, name); err != nil {
			tb.Errorf("the test's database stays behind: %v", err)
		}
	})
	return run.dsn(name)
}

// current is the run of this test binary. All its tests share it, because a server for each test
// would take a second.
var current = sync.OnceValues(func() (*Run, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
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
