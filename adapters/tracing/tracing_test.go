package tracing_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/tracing"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/collector"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	caller  = "00-" + traceID + "-00f067aa0ba902b7-01"
)

func open(t *testing.T, c *collector.Collector, ratio float64) *tracing.Tracer {
	t.Helper()
	tracer, err := tracing.New(tracing.Settings{Endpoint: c.URL + "/v1/traces", Ratio: ratio, Version: "1.2.3", Instance: "here",
		Headers: map[string]string{"X-Key": "k"}}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = tracer.Close(context.Background()) }) // A second Close does nothing.
	return tracer
}

func TestSpansReachTheCollector(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	tracer := open(t, c, 1)
	ctx, request := tracer.Begin(t.Context(), ports.SpanStart{Name: "GET", Kind: ports.SpanServer, Parent: caller})
	request.Name("GET /things")
	request.Number("status", 500)
	below, transaction := ports.BeginSpan(ctx, ports.SpanStart{Name: "transaction"})
	_, statement := ports.BeginSpan(below, ports.SpanStart{Name: "SELECT", Kind: ports.SpanClient, Links: []string{caller, "", "nonsense"}})
	statement.Text("text", strings.Repeat("x", 5000))
	statement.End(false)
	transaction.End(true)
	request.End(true)
	require.NoError(t, tracer.Close(t.Context()))

	get, unit, query := c.The(t, "GET /things"), c.The(t, "transaction"), c.The(t, "SELECT")
	assert.Equal(t, []string{traceID, "00f067aa0ba902b7", "SERVER", "500"}, []string{get.Trace, get.Parent, get.Kind, get.About["status"]})
	assert.Equal(t, "00-"+traceID+"-"+get.ID+"-01", request.Traceparent())
	assert.True(t, get.Failed)
	assert.Equal(t, []string{traceID, get.ID, "INTERNAL"}, []string{unit.Trace, unit.Parent, unit.Kind})
	assert.Equal(t, []string{traceID, unit.ID, "CLIENT"}, []string{query.Trace, query.Parent, query.Kind})
	assert.Equal(t, []string{"00f067aa0ba902b7"}, query.Links)
	assert.Len(t, query.About["text"], 2048)
	assert.Equal(t, map[string]string{"service.name": "tocsin", "service.version": "1.2.3", "service.instance.id": "here"}, get.Resource)
	assert.Equal(t, "k", c.Headers()[0].Get("X-Key"))
	exported, dropped := tracer.Counts()
	assert.Equal(t, []int64{3, 0}, []int64{exported, dropped})
}

// TestSampling checks that the caller decides whether a trace is recorded, or the ratio if there is
// no caller. A trace that is not recorded still has an id, which says so.
func TestSampling(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ratio    float64
		parent   string
		recorded bool
	}{
		"All":                   {1, "", true},
		"None":                  {0, "", false},
		"TheCallerRecords":      {0, caller, true},
		"TheCallerDoesNot":      {1, caller[:len(caller)-1] + "0", false},
		"TheCallerSaysNonsense": {1, "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := collector.New(t)
			tracer := open(t, c, test.ratio)
			ctx, request := tracer.Begin(t.Context(), ports.SpanStart{Name: "GET", Parent: test.parent})
			assert.Equal(t, test.recorded, request.Recorded())
			assert.Equal(t, test.recorded, strings.HasSuffix(request.Traceparent(), "-01"))
			assert.NotEmpty(t, request.Traceparent())
			again, below := ports.BeginSpan(ctx, ports.SpanStart{Name: "below"})
			assert.Equal(t, test.recorded, below.Recorded())
			below.End(false)
			_, held := tracer.Begin(again, ports.SpanStart{Name: "held", Held: true})
			held.Release("")
			held.End(false)
			request.End(false)
			require.NoError(t, tracer.Close(t.Context()))
			assert.Equal(t, test.recorded, len(c.Spans()) > 0)
		})
	}
}

// TestHeldSpans checks that work which finds nothing leaves no span, and that the spans of other
// work have its times.
func TestHeldSpans(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	tracer := open(t, c, 1)
	look := func(parent string, release bool) {
		ctx, span := tracer.Begin(t.Context(), ports.SpanStart{Name: "expand", Held: true})
		assert.Empty(t, span.Traceparent())
		unit, transaction := ports.BeginSpan(ctx, ports.SpanStart{Name: "transaction"})
		_, statement := ports.BeginSpan(unit, ports.SpanStart{Name: "SELECT", Kind: ports.SpanClient})
		statement.Text("text", "q")
		statement.End(true)
		transaction.End(false)
		span.Number("found", 2)
		if release {
			span.Release(parent)
			assert.NotEmpty(t, span.Traceparent())
			_, late := ports.BeginSpan(ctx, ports.SpanStart{Name: "late"})
			late.End(false)
		}
		span.End(false)
		span.End(true)
	}
	look("", false)
	look(caller, true)
	require.NoError(t, tracer.Close(t.Context()))
	require.Len(t, c.Spans(), 4)
	expand, unit, statement, late := c.The(t, "expand"), c.The(t, "transaction"), c.The(t, "SELECT"), c.The(t, "late")
	assert.Equal(t, []string{traceID, "00f067aa0ba902b7", "2"}, []string{expand.Trace, expand.Parent, expand.About["found"]})
	assert.Equal(t, []string{expand.ID, unit.ID, expand.ID}, []string{unit.Parent, statement.Parent, late.Parent})
	assert.Equal(t, "q", statement.About["text"])
	assert.True(t, statement.Failed)
	assert.False(t, expand.Failed)
	assert.LessOrEqual(t, expand.Begin, unit.Begin)
	assert.LessOrEqual(t, statement.End, unit.End)
	assert.LessOrEqual(t, unit.End, expand.End)
}

// TestHangingCollector checks that work continues, that surplus spans are dropped and counted, and
// that Close ends in time.
func TestHangingCollector(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	hang, hangs := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(hangs) })
	c.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		once()
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		return true
	})
	defer close(hang)
	tracer := open(t, c, 1)
	const begun = 20_000
	began := time.Now()
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for range begun / 4 {
				_, s := tracer.Begin(context.Background(), ports.SpanStart{Name: "work"})
				s.End(false)
			}
		})
	}
	busy.Wait()
	assert.Less(t, time.Since(began), 5*time.Second)
	_, dropped := tracer.Counts()
	assert.Greater(t, dropped, int64(begun/4), "the queue is bounded")

	<-hangs
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began = time.Now()
	_ = tracer.Close(soon) // It may report a timeout.
	assert.Less(t, time.Since(began), 4*time.Second, "it does not wait until the export gives up, after five seconds")
	exported, dropped := tracer.Counts()
	assert.Equal(t, []int64{0, begun}, []int64{exported, dropped}, "what is lost is counted")
}

// TestRefusedSpans checks that it is retried if that may help, else dropped, and logged
// once.
func TestRefusedSpans(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status         int
		exported, lost int64
	}{
		"BusyIsTriedAgain": {http.StatusServiceUnavailable, 1, 0},
		"AFaultIsNot":      {http.StatusUnauthorized, 0, 1},
		"Redirect":         {http.StatusFound, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := collector.New(t)
			var asked atomic.Int64
			c.Answer(func(w http.ResponseWriter, _ *http.Request) bool {
				if asked.Add(1) > 1 {
					return false
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				return true
			})
			var log lockedBuffer
			tracer, err := tracing.New(tracing.Settings{Endpoint: c.URL + "/v1/traces", Ratio: 1}, slog.New(slog.NewTextHandler(&log, nil)))
			require.NoError(t, err)
			_, s := tracer.Begin(t.Context(), ports.SpanStart{Name: "work"})
			s.End(false)
			require.Eventually(t, func() bool {
				exported, dropped := tracer.Counts()
				return exported == test.exported && dropped == test.lost
			}, 20*time.Second, 10*time.Millisecond)
			_, s = tracer.Begin(t.Context(), ports.SpanStart{Name: "more"})
			s.End(false)
			require.NoError(t, tracer.Close(t.Context()))
			exported, _ := tracer.Counts()
			assert.Equal(t, test.exported+1, exported)
			assert.Equal(t, int(test.lost), strings.Count(log.String(), "traces cannot be exported"))
			assert.Equal(t, int(test.lost), strings.Count(log.String(), "traces are exported again"))
		})
	}
}

// TestWithoutAnEndpoint checks that there are no spans, nothing to close, and no allocations.
func TestWithoutAnEndpoint(t *testing.T) {
	tracer, err := tracing.New(tracing.Settings{}, nil)
	require.NoError(t, err)
	ctx, s := tracer.Begin(t.Context(), ports.SpanStart{Name: "GET", Parent: caller})
	assert.Equal(t, t.Context(), ctx)
	assert.False(t, s.Recorded())
	assert.Empty(t, s.Traceparent())
	s.End(false)
	require.NoError(t, tracer.Close(t.Context()))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, s := tracer.Begin(ctx, ports.SpanStart{Name: "GET", Parent: caller})
		_, below := ports.BeginSpan(ctx, ports.SpanStart{Name: "SELECT"})
		below.End(false)
		s.End(false)
	}))
}

// lockedBuffer is a log for concurrent writers.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
