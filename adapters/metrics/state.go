package metrics

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
)

const (
	// MaxChannels is the maximum number of channels with their own values: those with the largest
	// backlogs. The others share the value `other`.
	MaxChannels = 100
	// maxCounted is the number up to which the waiting deliveries of a channel are counted.
	maxCounted = 100_000
	// cacheLifetime is how long values from the database are cached.
	cacheLifetime = 10 * time.Second
	// queryTimeout is how long the database may take to return all of them.
	queryTimeout = 5 * time.Second
)

// Pool is the state of a pool of connections to the database.
type Pool struct {
	Name   string
	Open   int
	InUse  int
	Max    int
	Waits  int64
	Waited time.Duration
}

// Batches count the units of work that served batches of calls.
type Batches struct {
	Of    string // what they do
	Units int64
	Calls int64
}

// Sources are called each time the metrics are read.
type Sources struct {
	Clock        ports.Clock
	Loops        func() []watchdog.State
	Pools        func() []Pool
	Batches      func() []Batches
	Imports      func() (running, rows int64) // rows since the start
	Unstored     func() int                   // messages without a recorded outcome
	Paused       func() map[channels.ID]delivery.Pause
	Skew         func() time.Duration
	Spans        func() (exported, dropped int64)
	Queue        func(ctx context.Context, most int) (statistics.Queue, error)
	Size         func(ctx context.Context) (int64, error) // of the database, in bytes
	Writable     func(ctx context.Context) error          // nil if the database takes writes
	Installation func(ctx context.Context) (installation.State, error)
	// Certificate returns when the certificate of the server's own connections expires; zero: there
	// is none.
	Certificate func() time.Time
	// Providers returns when the certificates of channels' providers expire.
	Providers func() map[channels.ID]time.Time
	// Organizations is whether the values of a channel have the slug of its organization as a
	// label.
	Organizations bool
}

// Watch adds the metrics of sources.
func (m *Metrics) Watch(s Sources) error { return m.registry.Register(newState(s)) }

// state collects the metrics that are read on demand.
type state struct {
	Sources

	lastTurn, stalled, restarts           *prometheus.Desc
	open, inUse, maxOpen, waits, waited   *prometheus.Desc
	units, calls, running, rows           *prometheus.Desc
	unstored, paused, skew                *prometheus.Desc
	exported, dropped                     *prometheus.Desc
	up, writable, size, counted           *prometheus.Desc
	unexpanded, waiting, oldest           *prometheus.Desc
	held, readOnly, certificate, provider *prometheus.Desc

	mu       sync.Mutex
	cachedAt time.Time
	cached   storedValues
}

// storedValues are the values from the database.
type storedValues struct {
	size     int64
	state    installation.State
	err      error // the database did not answer
	writeErr error // it takes no writes
	queue    statistics.Queue
	queueErr error // the backlog was not counted
}

func newState(s Sources) *state {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help, labels, nil)
	}
	return &state{Sources: s,
		lastTurn: desc("loop_last_turn_timestamp_seconds", "When a background loop turned last.", "loop"),
		stalled:  desc("loops_stuck", "How many background loops of a name have not turned for a minute.", "loop"),
		restarts: desc("loop_restarts_total", "How often a background loop was restarted.", "loop"),

		open:    desc("database_connections_open", "Connections to the database.", "pool"),
		inUse:   desc("database_connections_in_use", "Connections to the database that are at work.", "pool"),
		maxOpen: desc("database_connections_max", "How many connections to the database there may be.", "pool"),
		waits:   desc("database_connection_waits_total", "How often somebody waited for a connection.", "pool"),
		waited:  desc("database_connection_wait_seconds_total", "Total time spent waiting for a connection.", "pool"),

		running: desc("imports_running", "Imports that this instance works at."),
		rows:    desc("import_rows_total", "Rows that imports have worked off."),

		units: desc("batches_total", "Units of work that served calls together.", "of"),
		calls: desc("batched_calls_total", "Calls that were served by them.", "of"),

		unstored: desc("deliveries_unrecorded", "Messages whose attempt has begun and whose outcome is not stored yet."),
		paused:   desc("channel_paused_until_timestamp_seconds", "Until when a channel is paused, because its provider is unreachable or has requested it. A channel that works has no value.", "channel", "reason"),
		skew:     desc("clock_skew_seconds", "How far the clock of this machine is ahead of the database's."),

		exported: desc("trace_spans_exported_total", "Spans of traces that the collector took."),
		dropped:  desc("trace_spans_dropped_total", "Spans of traces that were dropped, because too many waited or the collector did not take them."),

		up:          desc("database_up", "1 when the database has answered, 0 when it has not."),
		writable:    desc("database_writable", "1 when the database takes writes, 0 when it does not."),
		counted:     desc("backlog_counted", "1 when the backlog was counted, 0 when that failed or took longer than 5 s: its metrics are missing then."),
		size:        desc("database_size_bytes", "How large the database is."),
		unexpanded:  desc("occurrences_unexpanded", "Occurrences whose recipients are still being found, as far as they were counted."),
		waiting:     desc("channel_deliveries_due", "Deliveries of a channel that are due, as far as they were counted.", "channel", "organization", "priority"),
		held:        desc("installation_held", "1 while nothing is sent until the installation is released."),
		readOnly:    desc("installation_read_only", "1 while nothing may be changed, for maintenance."),
		certificate: desc("certificate_expires_timestamp_seconds", "When the server's certificate expires; the earliest of several. A server that does not encrypt has no value."),
		provider:    desc("channel_certificate_expires_timestamp_seconds", "When the certificate of a channel's provider expires; of several servers the first to expire.", "channel"),
		oldest:      desc("channel_oldest_due_timestamp_seconds", "When the longest-waiting due delivery of a channel became due.", "channel", "organization", "priority"),
	}
}

// Describe sends the descriptions of all metrics.
func (s *state) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.lastTurn, s.stalled, s.restarts, s.open, s.inUse, s.maxOpen, s.waits, s.waited, s.units, s.calls, s.running, s.rows, s.unstored,
		s.paused, s.skew, s.exported, s.dropped, s.up, s.writable, s.size, s.counted, s.unexpanded, s.waiting, s.oldest, s.held, s.readOnly, s.certificate, s.provider} {
		to <- d
	}
}

// Collect sends the current values.
func (s *state) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	for _, l := range byName(s.Loops()) {
		gauge(s.lastTurn, seconds(l.Ticked), l.Name)
		gauge(s.stalled, float64(l.stalled), l.Name)
		counter(s.restarts, float64(l.Restarts), l.Name)
	}
	for _, p := range s.Pools() {
		gauge(s.open, float64(p.Open), p.Name)
		gauge(s.inUse, float64(p.InUse), p.Name)
		gauge(s.maxOpen, float64(p.Max), p.Name)
		counter(s.waits, float64(p.Waits), p.Name)
		counter(s.waited, p.Waited.Seconds(), p.Name)
	}
	for _, b := range s.Batches() {
		counter(s.units, float64(b.Units), b.Of)
		counter(s.calls, float64(b.Calls), b.Of)
	}
	running, rows := s.Imports()
	gauge(s.running, float64(running))
	counter(s.rows, float64(rows))
	gauge(s.unstored, float64(s.Unstored()))
	gauge(s.skew, s.Skew().Seconds())
	exported, dropped := s.Spans()
	counter(s.exported, float64(exported))
	counter(s.dropped, float64(dropped))
	if ends := s.Certificate(); !ends.IsZero() {
		gauge(s.certificate, seconds(ends))
	}
	for id, p := range earliest(s.Paused(), func(p delivery.Pause) time.Time { return p.Until }) {
		gauge(s.paused, seconds(p.Until), id, string(p.Reason))
	}
	for id, ends := range earliest(s.Providers(), func(ends time.Time) time.Time { return ends }) {
		gauge(s.provider, seconds(ends), id)
	}
	s.collectStored(gauge)
}

// earliest yields the MaxChannels channels with the earliest times.
func earliest[V any](of map[channels.ID]V, at func(V) time.Time) iter.Seq2[string, V] {
	ids := slices.SortedFunc(maps.Keys(of), func(a, b channels.ID) int {
		return cmp.Or(at(of[a]).Compare(at(of[b])), cmp.Compare(a, b))
	})
	return func(yield func(string, V) bool) {
		for _, id := range ids[:min(len(ids), MaxChannels)] {
			if !yield(strconv.FormatInt(int64(id), 10), of[id]) {
				return
			}
		}
	}
}

// collectStored sends the values from the database.
func (s *state) collectStored(gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	k := s.stored()
	if k.err != nil {
		gauge(s.up, 0)
		return
	}
	gauge(s.up, 1)
	gauge(s.writable, flag(k.writeErr == nil))
	gauge(s.size, float64(k.size))
	gauge(s.held, flag(!k.state.Held.IsZero()))
	gauge(s.readOnly, flag(!k.state.ReadOnly.IsZero()))
	gauge(s.counted, flag(k.queueErr == nil))
	if k.queueErr != nil {
		return
	}
	gauge(s.unexpanded, float64(k.queue.Unexpanded))
	all := slices.Clone(k.queue.Backlogs)
	slices.SortFunc(all, func(a, b statistics.Backlog) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Channel, b.Channel))
	})
	shown := min(len(all), MaxChannels)
	for _, b := range all[:shown] {
		organization := ""
		if s.Organizations {
			organization = b.Slug
		}
		s.collectClasses(gauge, b.Classes, strconv.FormatInt(int64(b.Channel), 10), organization)
	}
	s.collectClasses(gauge, sumByPriority(all[shown:]), "other", "")
}

// collectClasses sends the backlog of each priority.
func (s *state) collectClasses(gauge func(d *prometheus.Desc, v float64, labels ...string), classes []statistics.Class, channel, organization string) {
	for _, c := range classes {
		gauge(s.waiting, float64(c.Waiting), channel, organization, c.Priority.String())
		gauge(s.oldest, seconds(c.Oldest), channel, organization, c.Priority.String())
	}
}

// sumByPriority adds up the backlogs of several channels by priority.
func sumByPriority(all []statistics.Backlog) (sums []statistics.Class) {
	for _, p := range events.Priorities() {
		if sum := statistics.Due(all, p); !sum.Oldest.IsZero() {
			sums = append(sums, sum)
		}
	}
	return sums
}

// stored returns the values from the database, cached for cacheLifetime.
func (s *state) stored() storedValues {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cachedAt.IsZero() || s.Clock.Now().Sub(s.cachedAt) >= cacheLifetime {
		s.cached = s.query()
		s.cachedAt = s.Clock.Now()
	}
	return s.cached
}

// query asks the database for all values at once: by default Prometheus waits 10 s for the metrics,
// also when nothing is answered.
func (s *state) query() (k storedValues) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	var sizeErr, stateErr error
	var asked sync.WaitGroup
	asked.Go(func() { k.size, sizeErr = s.Size(ctx) })
	asked.Go(func() { k.state, stateErr = s.Installation(ctx) })
	asked.Go(func() { k.writeErr = s.Writable(ctx) })
	asked.Go(func() { k.queue, k.queueErr = s.Queue(ctx, maxCounted) })
	asked.Wait()
	k.err = cmp.Or(sizeErr, stateErr)
	return k
}

// loop is the state of all loops with one name.
type loop struct {
	watchdog.State

	stalled int
}

// byName groups loops whose names differ only in a number, such as the senders of channels. Of
// their last turns it returns the oldest.
func byName(states []watchdog.State) []loop {
	var all []loop
	for _, l := range states {
		l.Name = strings.TrimRight(l.Name, " 0123456789")
		i := slices.IndexFunc(all, func(known loop) bool { return known.Name == l.Name })
		if i < 0 {
			all = append(all, loop{State: watchdog.State{Name: l.Name, Ticked: l.Ticked}})
			i = len(all) - 1
		}
		if l.Ticked.Before(all[i].Ticked) {
			all[i].Ticked = l.Ticked
		}
		all[i].Restarts += l.Restarts
		if l.Stalled {
			all[i].stalled++
		}
	}
	return all
}

// flag returns 1 for true.
func flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
