package metrics_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/metrics"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// sources returns the sources of an instance with so many backlogs and paused channels.
func sources(backlogs, paused int) metrics.Sources {
	s := metrics.Sources{
		Clock: clocks.At(noon),
		Loops: func() []watchdog.State {
			return []watchdog.State{{Name: "expand", Ticked: noon, Restarts: 2}, {Name: "sending by channel 17", Ticked: noon.Add(-time.Hour), Stalled: true},
				{Name: "sending by channel 4", Ticked: noon, Stalled: true}}
		},
		Pools: func() []metrics.Pool {
			return []metrics.Pool{{Name: "postgres", Open: 5, InUse: 3, Max: 16, Waits: 7, Waited: 90 * time.Millisecond}}
		},
		Batches:  func() []metrics.Batches { return []metrics.Batches{{Of: "register", Units: 10, Calls: 55}} },
		Imports:  func() (int64, int64) { return 1, 5_000 },
		Unstored: func() int { return 12 },
		Skew:     func() time.Duration { return -1500 * time.Millisecond },
		Spans:    func() (int64, int64) { return 7, 3 },

		Certificate: func() time.Time { return noon.Add(time.Hour) },
		Providers: func() map[channels.ID]time.Time {
			return map[channels.ID]time.Time{3: noon.Add(time.Hour)}
		},
		Paused: func() map[channels.ID]delivery.Pause {
			all := map[channels.ID]delivery.Pause{}
			for i := range paused {
				all[channels.ID(i+1)] = delivery.Pause{Until: noon.Add(time.Minute), Reason: delivery.Requested}
			}
			return all
		},
		Queue: func(context.Context, int) (q statistics.Queue, err error) {
			for i := range backlogs {
				b := statistics.Backlog{Channel: channels.ID(i + 1), Slug: "acme", Waiting: i + 3, Oldest: noon.Add(-time.Duration(i) * time.Second)}
				b.Classes = []statistics.Class{{Priority: events.Urgent, Waiting: 2, Oldest: b.Oldest}, {Priority: events.Bulk, Waiting: i + 1, Oldest: noon}}
				q.Backlogs = append(q.Backlogs, b)
			}
			q.Unexpanded = 3
			return q, nil
		},
		Size:     func(context.Context) (int64, error) { return 1 << 20, nil },
		Writable: func(context.Context) error { return nil },
		Installation: func(context.Context) (installation.State, error) {
			return installation.State{Held: noon}, nil
		},
	}
	return s
}

// shown returns what Prometheus reads after every kind of event.
func shown(t *testing.T, s metrics.Sources) string {
	t.Helper()
	m := metrics.New("1.2.3", "go1.26")
	require.NoError(t, m.Watch(s))
	m.Answered(http.MethodGet, "/api/o/:org/", http.StatusOK, 30*time.Millisecond)
	m.Attempted(delivery.Attempt{Protocol: channels.EMAIL, Became: deliveries.Sent, Took: 200 * time.Millisecond, Waited: 40 * time.Millisecond})
	m.Attempted(delivery.Attempt{Protocol: channels.EMAIL, Became: deliveries.Failed, Took: time.Second})
	m.Attempted(delivery.Attempt{Protocol: channels.SMS, Became: deliveries.Failed, Untried: true})
	m.Recorded([]deliveries.Outcome{{State: deliveries.Sent}, {State: deliveries.Sent}, {State: deliveries.Failed}}, 4)
	m.Expanded(deliveries.Expansion{Deliveries: 9})
	m.Expanded(deliveries.Expansion{Deliveries: 1, Completed: 3})
	m.ExpansionFailed()
	return read(t, m)
}

func read(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	require.Equal(t, http.StatusOK, answer.Code)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

func TestMetricsFollowTheConventions(t *testing.T) {
	t.Parallel()
	problems, err := promlint.New(strings.NewReader(shown(t, sources(3, 2)))).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestMetricValues(t *testing.T) {
	t.Parallel()
	text := shown(t, sources(1, 1))
	for _, line := range []string{
		`tocsin_build_info{goversion="go1.26",version="1.2.3"} 1`,
		`tocsin_http_requests_total{code="200",method="GET",route="/api/o/:org/"} 1`,
		`tocsin_http_request_duration_seconds_bucket{method="GET",route="/api/o/:org/",le="0.05"} 1`,
		`tocsin_delivery_attempts_total{protocol="EMAIL",state="failed"} 1`,
		`tocsin_delivery_attempts_total{protocol="SMS",state="failed"} 1`,
		`tocsin_delivery_attempt_duration_seconds_sum{protocol="EMAIL"} 1.2`,
		`tocsin_delivery_handoff_delay_seconds_count 1`,
		`tocsin_delivery_outcomes_total{state="sent"} 2`,
		`tocsin_leases_lost_total 4`,
		`tocsin_installation_held 1`,
		`tocsin_installation_read_only 0`,
		`tocsin_deliveries_created_total 10`,
		`tocsin_occurrences_expanded_total 3`,
		`tocsin_expansions_failed_total 1`,
		`tocsin_loop_restarts_total{loop="expand"} 2`,
		`tocsin_loops_stuck{loop="expand"} 0`,
		`tocsin_loops_stuck{loop="sending by channel"} 2`,
		`tocsin_loop_last_turn_timestamp_seconds{loop="sending by channel"} 1.7673516e+09`,
		`tocsin_database_connections_in_use{pool="postgres"} 3`,
		`tocsin_database_connection_wait_seconds_total{pool="postgres"} 0.09`,
		`tocsin_batched_calls_total{of="register"} 55`,
		`tocsin_imports_running 1`,
		`tocsin_deliveries_unrecorded 12`,
		`tocsin_clock_skew_seconds -1.5`,
		`tocsin_trace_spans_exported_total 7`, `tocsin_trace_spans_dropped_total 3`,
		`tocsin_certificate_expires_timestamp_seconds 1.7673588e+09`,
		`tocsin_channel_paused_until_timestamp_seconds{channel="1",reason="requested"} 1.76735526e+09`,
		`tocsin_channel_certificate_expires_timestamp_seconds{channel="3"} 1.7673588e+09`,
		`tocsin_database_up 1`,
		`tocsin_database_writable 1`,
		`tocsin_database_size_bytes 1.048576e+06`,
		`tocsin_backlog_counted 1`,
		`tocsin_occurrences_unexpanded 3`,
		`tocsin_channel_deliveries_due{channel="1",organization="",priority="bulk"} 1`,
		`tocsin_channel_deliveries_due{channel="1",organization="",priority="urgent"} 2`,
		`tocsin_channel_oldest_due_timestamp_seconds{channel="1",organization="",priority="urgent"} 1.7673552e+09`,
	} {
		assert.Contains(t, text, line+"\n")
	}
	assert.NotContains(t, text, `tocsin_delivery_attempt_duration_seconds_sum{protocol="SMS"}`, "no provider was asked")
	assert.Contains(t, text, "go_goroutines")
	assert.Contains(t, text, "process_resident_memory_bytes")
}

// TestMetricCardinality checks that the number of values is bounded, however much there is.
func TestMetricCardinality(t *testing.T) {
	t.Parallel()
	text := shown(t, sources(250, 250))
	assert.Equal(t, 2*(metrics.MaxChannels+1), strings.Count(text, "\ntocsin_channel_deliveries_due{"), "of each channel two priorities")
	assert.Contains(t, text, `tocsin_channel_deliveries_due{channel="250",organization="",priority="bulk"} 250`+"\n", "those with most are shown")
	assert.Contains(t, text, `tocsin_channel_deliveries_due{channel="other",organization="",priority="bulk"} 11325`+"\n", "the others together")
	assert.Contains(t, text, `tocsin_channel_oldest_due_timestamp_seconds{channel="other",organization="",priority="urgent"} 1.767355051e+09`+"\n", "of the others the first")
	assert.Equal(t, metrics.MaxChannels, strings.Count(text, "\ntocsin_channel_paused_until_timestamp_seconds{"))
}

func TestMetricsOrganizations(t *testing.T) {
	t.Parallel()
	s := sources(1, 0)
	s.Organizations = true
	assert.Contains(t, shown(t, s), `tocsin_channel_deliveries_due{channel="1",organization="acme",priority="bulk"} 1`+"\n")
}

// TestMetricsWithoutADatabase checks that only the database's metrics are missing without it, and
// that frequent scrapes cause no more work.
func TestMetricsWithoutADatabase(t *testing.T) {
	t.Parallel()
	s := sources(1, 0)
	asked := 0
	s.Size = func(context.Context) (int64, error) {
		asked++
		return 0, errors.New("it is away")
	}
	m := metrics.New("1.2.3", "go1.26")
	require.NoError(t, m.Watch(s))
	for range 5 {
		text := read(t, m)
		assert.Contains(t, text, "tocsin_database_up 0\n")
		assert.NotContains(t, text, "tocsin_backlog_counted")
		assert.NotContains(t, text, "tocsin_channel_deliveries_due{")
		assert.Contains(t, text, "tocsin_imports_running 1\n")
	}
	assert.Equal(t, 1, asked)
}

// TestMetricsWithoutWrites checks that a database which can only be read is not reported as away.
func TestMetricsWithoutWrites(t *testing.T) {
	t.Parallel()
	s := sources(1, 0)
	s.Writable = func(context.Context) error { return ports.ErrReadOnly }
	m := metrics.New("1.2.3", "go1.26")
	require.NoError(t, m.Watch(s))
	text := read(t, m)
	assert.Contains(t, text, "tocsin_database_up 1\n")
	assert.Contains(t, text, "tocsin_database_writable 0\n")
	assert.Contains(t, text, "tocsin_backlog_counted 1\n")
}

// TestMetricsWithoutTheBacklog checks that a database which answers, and only counts too slowly, is
// not reported as away.
func TestMetricsWithoutTheBacklog(t *testing.T) {
	t.Parallel()
	s := sources(1, 0)
	s.Queue = func(context.Context, int) (statistics.Queue, error) {
		return statistics.Queue{}, context.DeadlineExceeded
	}
	m := metrics.New("1.2.3", "go1.26")
	require.NoError(t, m.Watch(s))
	text := read(t, m)
	assert.Contains(t, text, "tocsin_database_up 1\n")
	assert.Contains(t, text, "tocsin_database_size_bytes 1.048576e+06\n")
	assert.Contains(t, text, "tocsin_installation_held 1\n")
	assert.Contains(t, text, "tocsin_backlog_counted 0\n")
	assert.NotContains(t, text, "tocsin_channel_deliveries_due{")
	assert.NotContains(t, text, "tocsin_occurrences_unexpanded")
}
