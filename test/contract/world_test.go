package contract_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/adapters/mailbox"
	"github.com/tocsin/tocsin/app"
	background "github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/harness"
)

// world is a whole service on its own database with the objects of blueprint. It is also its test,
// and a client with the root key.
type world struct {
	*testing.T
	client
	*place
	store *gormstore.Store
	clock *clocks.Moving
	auth  *app.Authentication
	other harness.UseCases // of another process on the same database
	api   *httpapi.API
}

func newWorld(t *testing.T, at *place, adjust ...func(*httpapi.Options)) *world {
	t.Helper()
	w := &world{T: t, place: at, clock: newClock()}
	store, err := gormstore.Open(t.Context(), gormstore.Config{URL: at.url, Clock: w.clock, Keys: seal.NewRing([seal.KeySize]byte{1})})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	w.store = store
	w.other = w.assemble(nil)
	options := httpapi.Options{BodyLimit: 1 << 20, CallTimeout: time.Minute}
	for _, a := range adjust {
		a(&options)
	}
	use := w.assemble(options.Quotas.With(nil))
	w.auth = use.Authentication
	w.api = w.instance(t, use, options)
	server := serve(t, w.api)
	doc, err := readDocument(w.api)
	require.NoError(t, err)
	w.client = client{t: t, base: server.URL, http: server.Client(), doc: doc, header: http.Header{}}.as(rootKey)
	return w
}

// parts returns the parts of an installation on the world's store with these limits.
func (w *world) parts(limits quotas.Limits) harness.Parts {
	return harness.Parts{Store: w.store, Clock: w.clock, Limits: quotas.NewDefaults(limits), Drivers: background.Drivers{mailbox.New(w.store)}, Composer: composer(), Links: links(), SendTimeout: time.Minute}
}

// assemble returns the use cases of a process on the world's store.
func (w *world) assemble(limits quotas.Limits) harness.UseCases {
	return harness.Assemble(w.parts(limits))
}

// instance returns an API on the world's store. A world may have several, like an installation.
func (w *world) instance(t *testing.T, use harness.UseCases, options httpapi.Options) *httpapi.API {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	api, err := httpapi.New(use.API, use.Authentication, w.health(), w.clock, log, options)
	require.NoError(t, err)
	return api
}

// health returns the health of an instance without background loops.
func (w *world) health() *health.Health {
	return health.New(w.clock, 0, health.Probe{Ask: func(context.Context) error { return nil }}, health.Probe{Name: "the database answers", Ask: w.store.Ready},
		health.Probe{Name: "the database takes writes", Ask: w.store.Writable})
}

// serve starts a server. Its clients keep as many connections as a test has requests in progress.
func serve(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // Of clients that misbehave on purpose.
	server.Start()
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport)
	transport.MaxIdleConnsPerHost = 64
	transport.ExpectContinueTimeout = time.Minute // Who says `Expect: 100-continue` waits for the answer.
	server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return server
}

// apply applies a further blueprint.
func (w *world) apply(b app.Blueprint) {
	w.Helper()
	_, err := w.other.CLI.Provisioning.Apply(w.Context(), operators.Editor{}, b, false)
	require.NoError(w, err)
}

// update changes the store directly, for changes that the console makes.
func (w *world) update(change func(tx ports.Tx) error) {
	w.Helper()
	require.NoError(w, w.store.Update(w.Context(), change))
}

// issue creates a key and returns its text.
func (w *world) issue(scope access.Scope, grants ...access.Grant) string {
	w.Helper()
	_, text := w.issueNamed(rand.Text(), scope, 0, grants...)
	return text
}

func (w *world) issueNamed(name string, scope access.Scope, lifetime time.Duration, grants ...access.Grant) (access.Key, string) {
	w.Helper()
	words := make([]string, len(grants))
	for i, g := range grants {
		words[i] = string(g)
	}
	key, text, err := w.other.Console.Keys.Create(w.Context(), audit.Actor{}, name, scope, words, lifetime)
	require.NoError(w, err)
	return key, text
}

// scope parses a scope such as `acme/shop/web`; "" is the installation.
func scope(path string) access.Scope {
	levels := append(strings.Split(path, "/"), "", "")
	return access.Scope{Organization: levels[0], Project: levels[1], Application: levels[2]}
}

// newClock returns the clock of a world, which tests advance.
func newClock() *clocks.Moving {
	return clocks.At(time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC))
}
