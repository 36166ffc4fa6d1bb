package wiring

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/adapters/listener"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

// useInterval is how often the last use of keys is stored.
const useInterval = time.Minute

// server is the running service.
type server struct {
	config   configs.Config
	api      *httpapi.API
	console  *console.Console
	auth     *app.Authentication
	work     func(context.Context) // background work; nil: other processes do it
	log      *slog.Logger
	health   *health.Health
	watchdog *watchdog.Watchdog
	monitor  *monitor

	endpoint     *endpoint
	reloader     *reloader
	installation *app.Installation
	store        *gormstore.Store
}

// newHealth returns the health checks of an instance.
func newHealth(store *gormstore.Store, clock ports.Clock, dog *watchdog.Watchdog, state *app.StateCache) *health.Health {
	return health.New(clock, health.Lifetime, health.Probe{Name: "works", Ask: func(context.Context) error { return dog.CheckAlive() }},
		health.Probe{Name: "the database answers, and its schema is the right one", Ask: store.Ready},
		health.Probe{Name: "the database takes writes", Ask: store.Writable},
		health.Probe{Name: "background tasks are running", Ask: func(context.Context) error { return dog.CheckStalled() }},
		health.Probe{Name: "the state of the installation is known", Ask: func(ctx context.Context) error {
			_, err := state.State(ctx)
			return err
		}, Note: func() string { return state.Known().String() }})
}

func newServer(c configs.Config, api *httpapi.API, pages *console.Console, auth *app.Authentication, work background, state *health.Health, dog *watchdog.Watchdog, whole *app.Installation, endpoint *endpoint, log *slog.Logger) *server {
	return &server{config: c, api: api, console: pages, auth: auth, work: work.run, health: state, watchdog: dog, monitor: work.Monitor, log: log, endpoint: endpoint, reloader: work.Reloader, installation: whole, store: work.Store}
}

// ServeHTTP answers one request: the console serves its prefix and the root path, the API
// everything else.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.health.Draining() {
		w.Header().Set("Connection", "close") // The next request may then go to another instance.
	}
	bare := r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	if bare || strings.HasPrefix(r.URL.Path+"/", console.Prefix) {
		s.console.ServeHTTP(w, r)
		return
	}
	s.api.ServeHTTP(w, r)
}

// serve answers requests and sends messages until ctx ends. Then the instance reports that it is
// not ready, continues for the shutdown delay, and finishes the requests and messages in progress
// within the shutdown timeout.
func (s *server) serve(ctx context.Context) error {
	listeners, err := s.endpoint.open(ctx)
	if err != nil {
		return err
	}
	stopMonitor, err := s.monitor.start(ctx)
	if err != nil {
		return errors.Join(err, listener.Close(listeners))
	}
	defer stopMonitor()
	web := httpapi.NewServer(s, httpapi.Timeouts{ReadHeader: s.config.ReadHeaderTimeout, Read: s.config.ReadTimeout,
		Write: s.config.WriteTimeout, Idle: s.config.IdleTimeout}, s.log)
	if s.config.Encryption.On() {
		web.Protocols = httpapi.EncryptedProtocols()
	}
	ended := make(chan error, len(listeners))
	for _, l := range listeners {
		s.log.Info("listening", "address", l.Addr().String(), "encrypted", l.Encrypted, "handed_over", l.Inherited, "database", s.config.Database.String())
		go func() { ended <- web.Serve(httpapi.Problems(l.Listener, s.config.BaseURL)) }()
	}
	// The background work ends with the server, also after an error.
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	tasks.Go(func() { s.watchdog.Run(working, "use of keys", s.recordUse) })
	s.reloader.start(working)
	if s.config.Encryption.On() {
		tasks.Go(func() { s.watchdog.Run(working, "certificates", s.endpoint.watch) })
	}
	if s.work != nil {
		tasks.Go(func() { s.work(working) })
	}
	defer tasks.Wait()
	defer stopWorking()

	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.log.Info("shutting down", "delay", s.config.ShutdownDelay)
	s.health.Drain()
	select {
	case err := <-ended:
		return err
	case <-time.After(s.config.ShutdownDelay):
	}
	stopWorking()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.ShutdownTimeout)
	defer cancel()
	err = web.Shutdown(grace)
	if useErr := s.auth.RecordUse(grace); useErr != nil {
		s.log.Warn("the last use of keys was not recorded", "error", useErr)
	}
	if errors.Is(err, context.DeadlineExceeded) { // The limit was set for this, and the program ends as it should.
		s.log.Warn("requests were cut off after shutdown_timeout", "after", s.config.ShutdownTimeout)
		_ = web.Close()
		return nil
	}
	return err
}

// recordUse stores the last use of keys every useInterval, until ctx ends.
func (s *server) recordUse(ctx context.Context, turns *watchdog.Loop) {
	tick := time.NewTicker(useInterval)
	defer tick.Stop()
	for {
		turns.Pause(useInterval)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.auth.RecordUse(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, installation.ErrReadOnly) {
				s.log.Warn("the last use of keys was not recorded", "error", err)
			}
		}
	}
}
