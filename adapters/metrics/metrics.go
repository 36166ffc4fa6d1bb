// Package metrics counts the work of an instance and exposes it to Prometheus. It knows names,
// labels and buckets, but not how the work is done. Every label has few values: routes, statuses,
// protocols, states, names of loops, and the ids of at most MaxChannels channels.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// prefix is the prefix of all metric names.
const prefix = "tocsin_"

// Metrics holds the metrics of an instance. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec

	attempts         *prometheus.CounterVec
	attemptDuration  *prometheus.HistogramVec
	handOff          prometheus.Histogram
	outcomes         *prometheus.CounterVec
	lost             prometheus.Counter
	created          prometheus.Counter
	expanded         prometheus.Counter
	expansionsFailed prometheus.Counter
}

var _ delivery.Meter = (*Metrics)(nil)

// Buckets, in seconds. A response usually takes milliseconds, a provider a second, and a message
// leaves within a tenth of a second.
var (
	requestBuckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30}
	attemptBuckets = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	handOffBuckets = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 300, 900, 3600, 21600}
)

// New returns the metrics of a program with this version.
func New(version, runtime string) *Metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: prefix + name, Help: help}
	}
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "build_info", Help: "1, with the version of the program and of what it was built with.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime}})
	build.Set(1)
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(counter("http_requests_total", "Requests that were answered."), []string{"method", "route", "code"}),
		latency: prometheus.NewHistogramVec(histogram("http_request_duration_seconds", "How long answers took.", requestBuckets),
			[]string{"method", "route"}),
		attempts: prometheus.NewCounterVec(counter("delivery_attempts_total", "Attempts to hand messages to providers, and deliveries that failed without one, by what became of the delivery."),
			[]string{"protocol", "state"}),
		attemptDuration: prometheus.NewHistogramVec(histogram("delivery_attempt_duration_seconds", "How long providers took.", attemptBuckets), []string{"protocol"}),
		handOff: prometheus.NewHistogram(histogram("delivery_handoff_delay_seconds", "How long deliveries existed before they were first handed to a provider.",
			handOffBuckets)),
		outcomes:         prometheus.NewCounterVec(counter("delivery_outcomes_total", "Outcomes that were stored, by the state of the delivery after it."), []string{"state"}),
		lost:             prometheus.NewCounter(counter("leases_lost_total", "Deliveries that another worker had taken over before their outcome was stored.")),
		created:          prometheus.NewCounter(counter("deliveries_created_total", "Deliveries that were written, skipped ones included.")),
		expanded:         prometheus.NewCounter(counter("occurrences_expanded_total", "Occurrences all of whose deliveries were written.")),
		expansionsFailed: prometheus.NewCounter(counter("expansions_failed_total", "Expansions of occurrences that failed and are tried again.")),
	}
	m.registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.latency, m.attempts, m.attemptDuration, m.handOff, m.outcomes, m.lost, m.created, m.expanded, m.expansionsFailed)
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, EnableOpenMetrics: true})
}

// Answered counts a response. route is a route of the route table or `unknown`, and method is a
// standard HTTP method or `other`.
func (m *Metrics) Answered(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.latency.WithLabelValues(method, route).Observe(took.Seconds())
}

// Attempted counts an attempt.
func (m *Metrics) Attempted(a delivery.Attempt) {
	m.attempts.WithLabelValues(string(a.Protocol), string(a.Became)).Inc()
	if !a.Untried {
		m.attemptDuration.WithLabelValues(string(a.Protocol)).Observe(a.Took.Seconds())
	}
	if a.Waited > 0 {
		m.handOff.Observe(a.Waited.Seconds())
	}
}

// Recorded counts the stored outcomes, and the deliveries that another worker had taken over.
func (m *Metrics) Recorded(all []deliveries.Outcome, lost int) {
	counts := map[deliveries.State]float64{}
	for _, o := range all {
		counts[o.State]++
	}
	for state, n := range counts {
		m.outcomes.WithLabelValues(string(state)).Add(n)
	}
	m.lost.Add(float64(lost))
}

// Expanded counts the deliveries of an expansion, and the occurrences that it completed.
func (m *Metrics) Expanded(e deliveries.Expansion) {
	m.created.Add(float64(e.Deliveries))
	m.expanded.Add(float64(e.Completed))
}

// ExpansionFailed counts an expansion that failed.
func (m *Metrics) ExpansionFailed() { m.expansionsFailed.Inc() }
