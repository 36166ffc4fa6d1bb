package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof" // It also registers with the default mux, which is never served.
	"runtime"
	"time"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/metrics"
	"github.com/tocsin/tocsin/adapters/tracing"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

func newMetrics(self instance) *metrics.Metrics { return metrics.New(self.version, runtime.Version()) }

// monitor serves the metrics of an instance over HTTP.
type monitor struct {
	address  string // empty: not served
	profiles bool
	metrics  *metrics.Metrics
	log      *slog.Logger
}

func newMonitor(c configs.Config, m *metrics.Metrics, store *gormstore.Store, users *app.Users, applications *app.Applications, worker *delivery.Worker,
	importer *importer.Importer, tracer *tracing.Tracer, dog *watchdog.Watchdog, state *app.StateCache, endpoint *endpoint, clock ports.Clock, log *slog.Logger) (*monitor, error) {
	err := m.Watch(metrics.Sources{
		Clock: clock,
		Loops: dog.Loops,
		Pools: func() []metrics.Pool {
			var all []metrics.Pool
			for _, p := range store.Pools() {
				all = append(all, metrics.Pool(p))
			}
			return all
		},
		Batches: func() []metrics.Batches {
			batches := func(of string, units, calls int64) metrics.Batches {
				return metrics.Batches{Of: of, Units: units, Calls: calls}
			}
			created, creates := users.Batched()
			registered, registers := applications.Batched()
			return []metrics.Batches{batches("create user", created, creates), batches("register", registered, registers)}
		},
		Imports:  importer.Stats,
		Unstored: worker.Unrecorded,
		Paused:   worker.PausedChannels,
		Skew:     worker.Skew,
		Spans:    tracer.Counts,
		Queue: func(ctx context.Context, most int) (statistics.Queue, error) {
			return ports.View(ctx, store, func(tx ports.Tx) (statistics.Queue, error) {
				return tx.Statistics().Queue(ctx, clock.Now().Add(-worker.Skew()), most)
			})
		},
		Size: func(ctx context.Context) (int64, error) {
			d, err := store.Describe(ctx)
			return d.Size, err
		},
		Writable:      store.Writable,
		Installation:  state.State,
		Certificate:   endpoint.certificateExpiry,
		Providers:     worker.Certificates,
		Organizations: c.MetricsOrganizations,
	})
	return &monitor{address: c.MetricsListen, profiles: c.MetricsProfiles, metrics: m, log: log}, err
}

// The timeouts of requests for metrics. A profile takes as long as the client requests.
const (
	metricsHeader = 5 * time.Second
	metricsWrite  = 2 * time.Minute
)

// start serves the metrics until the returned function is called.
func (m *monitor) start(ctx context.Context) (stop func(), err error) {
	if m.address == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	web := &http.Server{Handler: m.handler(), ReadHeaderTimeout: metricsHeader, ReadTimeout: metricsHeader, WriteTimeout: metricsWrite,
		ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelWarn)}
	m.log.Info("serving metrics", "address", listener.Addr().String(), "profiles", m.profiles)
	go func() {
		if err := web.Serve(listener); err != nil && ctx.Err() == nil {
			m.log.Debug("metrics are not served any more", "error", err)
		}
	}()
	return func() { _ = web.Close() }, nil // A client of a stopping process can retry.
}

func (m *monitor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.metrics.Handler())
	if m.profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	return mux
}
