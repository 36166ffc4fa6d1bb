package tracing

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// queueSize is the maximum number of spans that wait for their export. Further ones are
	// dropped.
	queueSize = 8192
	// batchSize is the maximum number of spans of an export, batchInterval the time for which they
	// are collected.
	batchSize     = 512
	batchInterval = time.Second
	// exportTimeout is the timeout of one attempt. After a temporary failure there are up to
	// maxAttempts attempts, with a pause that doubles.
	exportTimeout = 5 * time.Second
	maxAttempts   = 3
	firstPause    = time.Second
)

// queue exports ended spans. It never blocks: if it is full, it drops and counts a span.
// OpenTelemetry's own processor counts dropped spans only in its own metrics.
type queue struct {
	exporter sdk.SpanExporter
	log      *slog.Logger
	spans    chan sdk.ReadOnlySpan
	stop     chan struct{}
	stopped  chan struct{}
	once     sync.Once
	end      context.Context //nolint:containedctx // Shutdown's; written before stop is closed.
	failing  bool

	exported, dropped atomic.Int64
}

var _ sdk.SpanProcessor = (*queue)(nil)

func newQueue(exporter sdk.SpanExporter, log *slog.Logger) *queue {
	q := &queue{exporter: exporter, log: log, spans: make(chan sdk.ReadOnlySpan, queueSize), stop: make(chan struct{}), stopped: make(chan struct{})}
	go q.run()
	return q
}

// OnStart does nothing.
func (q *queue) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd queues a span.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case q.spans <- s:
	default:
		q.dropped.Add(1)
	}
}

// ForceFlush does nothing: nobody calls it, and spans are exported soon.
func (q *queue) ForceFlush(context.Context) error { return nil }

// Shutdown exports the queued spans until ctx ends, and drops the rest.
func (q *queue) Shutdown(ctx context.Context) error {
	q.once.Do(func() {
		q.end = ctx
		close(q.stop)
	})
	<-q.stopped
	return q.exporter.Shutdown(ctx)
}

func (q *queue) run() {
	defer close(q.stopped)
	tick := time.NewTicker(batchInterval)
	defer tick.Stop()
	var batch []sdk.ReadOnlySpan
	send := func(ctx context.Context) {
		q.export(ctx, batch)
		clear(batch)
		batch = batch[:0]
	}
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) == batchSize {
				send(context.Background())
			}
		case <-tick.C:
			send(context.Background())
		case <-q.stop:
			for {
				select {
				case s := <-q.spans:
					if batch = append(batch, s); len(batch) == batchSize {
						send(q.end)
					}
					continue
				default:
				}
				send(q.end)
				return
			}
		}
	}
}

// export exports spans, or drops them.
func (q *queue) export(ctx context.Context, spans []sdk.ReadOnlySpan) {
	if len(spans) == 0 {
		return
	}
	var err error
	pause := firstPause
	for n := 1; ; n++ {
		if err = q.attempt(ctx, spans); err == nil {
			q.exported.Add(int64(len(spans)))
			q.report(nil)
			return
		}
		if n == maxAttempts || !isTemporary(err) || !q.wait(pause) {
			break
		}
		pause *= 2
	}
	q.dropped.Add(int64(len(spans)))
	q.report(err)
}

func (q *queue) attempt(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	// Shutdown also ends a running export.
	go func() {
		select {
		case <-q.stop:
			select {
			case <-q.end.Done():
				cancel()
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}()
	return q.exporter.ExportSpans(ctx, spans)
}

// wait waits, and returns false if the tracer is closed: then nothing is retried.
func (q *queue) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-q.stop:
		return false
	}
}

// report logs when exports begin to fail, and when they succeed again.
func (q *queue) report(err error) {
	switch {
	case err != nil && !q.failing:
		q.log.Warn("traces cannot be exported; they are dropped", "error", err)
	case err == nil && q.failing:
		q.log.Info("traces are exported again", "dropped", q.dropped.Load())
	}
	q.failing = err != nil
}
