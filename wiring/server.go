package wiring

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// useInterval is how often the moments at which keys were last used are stored.
const useInterval = time.Minute

// errDraining makes /readyz say no while the last requests finish.
var errDraining = fault.New(fault.Unavailable, "shutting down")

// server is the running service.
type server struct {
	config  configs.Config
	api     *httpapi.API
	console *console.Console
	auth    *app.Authentication
	work    func(context.Context) // in the background; nil: other processes do that
	log     *slog.Logger
	gate    *readiness
}

// readiness answers /readyz: the store must be ready and the server not on its way out.
type readiness struct {
	store    ports.Store
	draining atomic.Bool
}

func newReadiness(store ports.Store) *readiness { return &readiness{store: store} }

func (r *readiness) ready(ctx context.Context) error {
	if r.draining.Load() {
		return errDraining
	}
	return r.store.Ready(ctx)
}

func newServer(c configs.Config, api *httpapi.API, pages *console.Console, auth *app.Authentication, work background, gate *readiness, log *slog.Logger) *server {
	return &server{config: c, api: api, console: pages, auth: auth, work: work.run, gate: gate, log: log}
}

// ServeHTTP answers one request: the console's below its prefix, the API's elsewhere.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path+"/", console.Prefix) {
		s.console.ServeHTTP(w, r)
		return
	}
	s.api.ServeHTTP(w, r)
}

// serve answers requests and sends messages until ctx ends; then readiness goes off, requests that have begun finish within
// the shutdown timeout and messages within theirs, and it returns nil.
func (s *server) serve(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Listen)
	if err != nil {
		return err
	}
	web := httpapi.NewServer(s, httpapi.Timeouts{ReadHeader: s.config.ReadHeaderTimeout, Read: s.config.ReadTimeout,
		Write: s.config.WriteTimeout, Idle: s.config.IdleTimeout}, s.log)
	s.log.Info("listening", "address", listener.Addr().String(), "database", s.config.Database.String())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	// What works in the background ends with the server, for whatever reason that ends.
	working, stopWorking := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { s.recordUse(working) })
	if s.work != nil {
		beside.Go(func() { s.work(working) })
	}
	defer beside.Wait()
	defer stopWorking()

	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.log.Info("shutting down")
	s.gate.draining.Store(true)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.ShutdownTimeout)
	defer cancel()
	err = web.Shutdown(grace)
	if useErr := s.auth.RecordUse(grace); useErr != nil {
		s.log.Warn("the last use of keys was not recorded", "error", useErr)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		_ = web.Close() // Those who did not finish in time are cut off; the error says so.
	}
	return err
}

// recordUse stores now and then when keys were last used, until ctx ends.
func (s *server) recordUse(ctx context.Context) {
	tick := time.NewTicker(useInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.auth.RecordUse(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("the last use of keys was not recorded", "error", err)
			}
		}
	}
}
